"""The code that ran, as scripts: one for each language.

State lived on between the blocks of one language and not between languages, and so it is in a script of each. Blocks
are as they ran, after the person's edits; what was declined or never run is left out. Each block stands under a comment
with its place among all that ran, so that the order across languages can be seen; where a block failed, the comment
says so, and the script will stop there as the program did.

Python blocks are Python for a kernel: lines for IPython (``%…``, ``!…``) become comments, as does a block that is no
Python by itself (it ended with a syntax error, or awaits outside a function); ``from __future__`` goes to the top. The
script is always one that Python can read.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable

from attrs import frozen

from oi_engine.history.export.steps import Run, failure, steps
from oi_engine.messages import Message


@frozen
class Script:
    """The script of one language: a name for its file, and its text."""

    language: str
    name: str
    text: str


@frozen
class _Form:
    suffix: str
    comment: str
    comment_end: str = ""
    first: str = ""


_FORMS = {
    "python": _Form(".py", "# ", first="#!/usr/bin/env python3\n"),
    "shell": _Form(".sh", "# ", first="#!/usr/bin/env bash\n"),
    "javascript": _Form(".js", "// ", first="#!/usr/bin/env node\n"),
    "ruby": _Form(".rb", "# ", first="#!/usr/bin/env ruby\n"),
    "r": _Form(".R", "# ", first="#!/usr/bin/env Rscript\n"),
    "powershell": _Form(".ps1", "# "),
    "applescript": _Form(".applescript", "-- "),
    "java": _Form(".java", "// "),
    "react": _Form(".jsx", "// "),
    "html": _Form(".html", "<!-- ", " -->"),
}
_OTHER = _Form(".txt", "# ")
SHELLS = frozenset({"shell", "bash", "sh", "zsh"})
_FUTURE = re.compile(r"^from __future__ import .*\n?", re.MULTILINE)
_IPYTHON = re.compile(r"^(\s*[%!].*)$", re.MULTILINE)


def to_scripts(messages: Iterable[Message], name: str = "conversation") -> list[Script]:
    """A script for each language that ran, in the order of their first blocks; ``name`` is that of the files."""
    ran = [step for step in steps(messages) if isinstance(step, Run) and step.ran]
    blocks: dict[str, list[str]] = {}
    for place, run in enumerate(ran, 1):
        language = "shell" if run.language in SHELLS else run.language
        blocks.setdefault(language, []).append(_block(run, language, f"{place} of {len(ran)}"))
    return [_script(language, name, texts) for language, texts in blocks.items()]


def _script(language: str, name: str, texts: list[str]) -> Script:
    form = _FORMS.get(language, _OTHER)
    body = "\n".join(texts)
    first = form.first
    if language == "python":
        first += "".join(dict.fromkeys(line.rstrip("\n") + "\n" for line in _FUTURE.findall(body)))
        body = _FUTURE.sub("", body)
    return Script(language, name + form.suffix, f"{first}\n{body}" if first else body)


def _block(run: Run, language: str, place: str) -> str:
    form = _FORMS.get(language, _OTHER)
    heads = [f"Block {place}"]
    code = run.final.text
    if run.edit is not None:
        heads.append("edited before it ran")
    if language == "python":
        if failure(run.printed) is not None:
            heads.append("ended with an error")
        code, word = _plain_python(code)
        heads.extend(word)
    return f"{form.comment}{', '.join(heads)}{form.comment_end}\n{code.rstrip(chr(10))}\n"


def _plain_python(code: str) -> tuple[str, list[str]]:
    """Code of a kernel as Python alone, and a word on what was done to it."""
    attempts: tuple[tuple[Callable[[str], str], list[str]], ...] = (
        (str, []),
        (lambda text: _IPYTHON.sub(r"# \1", text), ["lines for IPython as comments"]),
    )
    for change, word in attempts:
        changed = change(code)
        if _parses(changed):
            return changed, word
    lines = code.replace("\0", "\N{SYMBOL FOR NULL}").splitlines()
    return "\n".join(f"# {line}".rstrip() for line in lines), ["as a comment, since it is no plain Python"]


def _parses(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on the style of code that has run already
            compile(_FUTURE.sub("", code), "<block>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # all that the compiler may say of bad source
        return False
    return True
