"""What a place in Python code names, read from its text: names, attributes and plain subscripts, nothing else.

What is found here is looked up in a kernel. A call, an operator or an index that is itself a name ends a path, so that
nothing of it would have to be evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from attrs import frozen

_WINDOW = 2_000
"""Characters of a line, before and after the cursor, that are read."""
_NAME = r"[^\W\d]\w*"
_STRING = r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\""
_STEP = rf"[ \t]*\.[ \t]*{_NAME}|[ \t]*\[[ \t]*(?:-?\d{{1,18}}|{_STRING})[ \t]*\]"
_PATH = re.compile(rf"(?<![\w.])(?P<root>{_NAME})(?:{_STEP})*")
_ONE_STEP = re.compile(_STEP)
_PREFIX = re.compile(rf"(?<!\w)(?:{_NAME})?$")
_KEY = re.compile(r"\[[ \t]*(?P<quote>['\"])(?P<prefix>[^'\"\\]*)$")
_MAGIC = re.compile(r"^[ \t]*(?P<prefix>%{1,2}\w*)$")
_TEXTS = re.compile(
    r"#[^\n]*|(?P<letters>(?:\b[A-Za-z]{1,2})?)(?:"
    r"(?P<long>'''|\"\"\")(?:\\.|(?!(?P=long)).)*(?P<long_end>(?P=long))?|"
    r"(?P<short>['\"])(?:\\.|(?!(?P=short))[^\\\n])*(?P<short_end>(?P=short))?)",
    re.DOTALL,
)
"""Comments and string literals, whole or not yet closed."""

Step = tuple[Literal["attribute", "item"], str | int]


@frozen
class Path:
    """A name and the way from there: ``frame.columns[0]``. It stands at ``code[start:end]``."""

    root: str
    steps: tuple[Step, ...]
    start: int
    end: int


@frozen
class Unfinished:
    """What is being typed: ``prefix``, at ``code[start:cursor]``.

    ``kind`` is what it will be: a ``name``, an ``attribute`` or a ``key`` of ``owner``, a ``magic`` with its ``%``.
    """

    kind: Literal["name", "attribute", "key", "magic"]
    prefix: str
    start: int
    owner: Path | None = None


def path_at(code: str, cursor: int) -> Path | None:
    """The path at ``cursor``, up to the part that the cursor is in; ``None`` where there is none.

    A cursor right behind a part is in it.
    """
    first, last = _around(code, cursor)
    for match in _PATH.finditer(code, first, last):
        if match.start() <= cursor <= match.end() and _stands_alone(code, match.start()):
            return _up_to(code, match, cursor)
    return None


def unfinished_at(code: str, cursor: int) -> Unfinished | None:
    """What is being typed at ``cursor``; ``None`` where no name can stand (in a comment, after a call's dot)."""
    first, _ = _around(code, cursor)
    head = code[first:cursor]
    if key := _KEY.search(head):
        owner = _ending_at(code, first, first + key.start())
        return Unfinished("key", key["prefix"], first + key.start("prefix"), owner) if owner else None
    if magic := _MAGIC.search(head):
        return Unfinished("magic", magic["prefix"], first + magic.start("prefix"))
    match = _PREFIX.search(head)
    if match is None or _in_text(code, cursor):
        return None
    start = first + match.start()
    before = head[: match.start()].rstrip(" \t")
    if not before.endswith("."):
        return Unfinished("name", match[0], start)
    owner = _ending_at(code, first, first + len(before) - 1)
    return Unfinished("attribute", match[0], start, owner) if owner else None


def _around(code: str, cursor: int) -> tuple[int, int]:
    """The line of the cursor, or what of it is near."""
    start = code.rfind("\n", 0, cursor) + 1
    end = code.find("\n", cursor)
    return max(start, cursor - _WINDOW), min(len(code) if end < 0 else end, cursor + _WINDOW)


def _ending_at(code: str, first: int, end: int) -> Path | None:
    """The path that ends at ``end``."""
    end = first + len(code[first:end].rstrip(" \t"))
    for match in _PATH.finditer(code, first, end):
        if match.end() == end and _stands_alone(code, match.start()):
            return _up_to(code, match, end)
    return None


def _up_to(code: str, match: re.Match[str], cursor: int) -> Path | None:
    steps: list[Step] = []
    end = match.end("root")
    while end < cursor and (step := _ONE_STEP.match(code, end, match.end())):
        word = step[0].strip(" \t")
        value = word[1:].strip(" \t") if word[0] == "." else _literal(word[1:-1].strip(" \t"))
        if value is None:
            return None
        steps.append(("attribute" if word[0] == "." else "item", value))
        end = step.end()
    return Path(match["root"], tuple(steps), match.start(), end)


def _literal(text: str) -> str | int | None:
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return None
    return value if isinstance(value, str | int) else None


def _stands_alone(code: str, start: int) -> bool:
    """Whether a path begins here: not after a dot, and not in a text."""
    before = code[max(0, start - 20) : start].rstrip(" \t")
    return not before.endswith(".") and not _in_text(code, start)


def _in_text(code: str, place: int) -> bool:
    """Whether a place is in a comment or in a string; the expressions in an f-string are code."""
    for match in _texts(code, place):
        if match.start() < place and (place < match.end() or _is_open(match)):
            return not _in_braces(match, place)
    return False


def _texts(code: str, place: int) -> Iterator[re.Match[str]]:
    for match in _TEXTS.finditer(code):
        if match.start() >= place:
            return
        if match.end() >= place:
            yield match


def _is_open(match: re.Match[str]) -> bool:
    return not (match["long_end"] or match["short_end"])


def _in_braces(match: re.Match[str], place: int) -> bool:
    if "f" not in (match["letters"] or "").lower():
        return False
    before = match[0][: place - match.start()].replace("{{", "").replace("}}", "")
    return before.count("{") > before.count("}")
