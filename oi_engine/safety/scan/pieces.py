"""What of a block goes to the scanner: its code, in the languages that there are rules for, and a last line of ours.

The last line calls ``oi_end_of_scan`` with a number that is used once. That it is found tells that a report is about
this very code, and that it could be read to its end.

In Python, the lines that IPython takes for shell commands and magics (``!rm x``, ``%pip install x``, ``%%bash``) are
no Python: they are scanned as shell code, in a piece of their own with the same line numbers.
"""

from __future__ import annotations

import ast
import re
import secrets
import warnings

from attrs import frozen

SUFFIXES = {"python": "py", "shell": "sh", "javascript": "js"}
"""Languages that there are rules for, and how their files end."""

_MAGIC = re.compile(r"^(?P<indent>[ \t]*)(?:(?P<name>[\w,. \t\[\]'\"]+=)\s*)?(?P<mark>!!?|%(?=\w))(?P<rest>.*)$", re.M)
_CELL_MAGIC = re.compile(r"\A\s*%%(?P<name>\w+|!)(?P<rest>[^\n]*)")
_SHELLS = frozenset({"bash", "sh", "zsh", "system", "sx", "cmd", "!"})
_SHELL_MAGICS = re.compile(r"^(sx|system|sc)\s+")
_PYTHON_MAGICS = re.compile(r"^(time|timeit|prun|memit|mprun|capture)\b(\s+-\S+(\s+\d+)?)*\s*")
_SUPPRESSION = re.compile("nosem", re.I)


@frozen
class Piece:
    """Text to be scanned as one of the languages of ``SUFFIXES``, with the number that its last line holds."""

    language: str
    text: str
    number: int

    @property
    def suffix(self) -> str:
        """How the name of its file ends."""
        return SUFFIXES[self.language]


def pieces(language: str, code: str) -> list[Piece]:
    """What is to be scanned of a block of code, in a language of ``SUFFIXES``. Lines keep their numbers."""
    if language != "python" or not (_CELL_MAGIC.match(code) or _MAGIC.search(code)) or _is_python(code):
        return [_piece(language, code)]
    python, shell = _apart(code)
    return [_piece(name, text) for name, text in (("python", python), ("shell", shell)) if text.strip()]


def _piece(language: str, code: str) -> Piece:
    number = secrets.randbelow(9 * 10**8) + 10**8
    last = f"oi_end_of_scan {number}" if language == "shell" else f"oi_end_of_scan({number})"
    # Comments that tell semgrep to overlook a line are none of the code's business.
    text = _SUPPRESSION.sub("n_sem", code.replace("\r\n", "\n").replace("\0", " "))
    return Piece(language, f"{text}\n{last}\n", number)


def _is_python(code: str) -> bool:
    """Whether it is Python without anything of IPython's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _apart(code: str) -> tuple[str, str]:
    """The Python and the shell commands of a cell, each with as many lines as the cell."""
    cell = _CELL_MAGIC.match(code)
    if cell is not None:
        before = "\n" * code[: cell.end()].count("\n")
        if cell["name"] in _SHELLS or (cell["name"] == "script" and re.search(r"\b(ba|z|da|k)?sh\b", cell["rest"])):
            return "", before + code[cell.end() :]
        code = before + code[cell.end() :]
    python, shell = [], []
    for line in code.split("\n"):
        magic = _MAGIC.match(line)
        if magic is None:
            python.append(line)
            shell.append("")
            continue
        rest = magic["rest"].strip()
        timed = _PYTHON_MAGICS.match(rest)
        if magic["mark"] == "%" and timed is not None:
            python.append(magic["indent"] + (rest[timed.end() :] or "pass"))
            shell.append("")
        else:
            python.append(f"{magic['indent']}pass")
            shell.append(_SHELL_MAGICS.sub("", rest) if magic["mark"] == "%" else rest)
    return "\n".join(python), "\n".join(shell)
