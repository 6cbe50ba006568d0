"""The replacement in a model's reply, while it arrives, and how it is made to fit where it goes.

The model is asked for one fenced block. What it says around the block is kept for the person. A reply without any
fence is the replacement itself, which is known at its end only; one that begins with a line of the old text is taken
for the replacement at once, whatever fences come in it.
"""

from __future__ import annotations

import re
from collections import Counter

from attrs import define, field

from oi_engine.edits.hunks import with_line_ends_of
from oi_engine.edits.lines import split_lines

_FENCE = re.compile(r"(?P<indent> {0,3})(?P<run>(?P<mark>[`~])(?P=mark){2,})(?P<info>.*)", re.DOTALL)
_MARKDOWN = frozenset({"markdown", "md", "mdx", "quarto", "rmd", "restructuredtext", "asciidoc"})


def fence_for(language: str, *texts: str) -> str:
    """A fence that is longer than any run of backticks in the texts; longer than usual where the text has blocks."""
    longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
    return "`" * max(4 if language.lower() in _MARKDOWN else 3, longest + 1 if longest >= 3 else 0)


@define
class ReplacementParser:
    """Finds the replacement of ``old`` in a reply: ``feed`` it as it arrives, then ``finish`` once.

    ``fence`` is how long the model was asked to make its fence. A shorter one in mid-reply is part of the text then.
    """

    _old: str
    _fence: int = 3
    _partial: list[str] = field(factory=list, init=False)
    _state: str = field(default="before", init=False)
    _lines: list[str] = field(factory=list, init=False)
    _aside: list[str] = field(factory=list, init=False)
    _open: str = field(default="", init=False)
    _indent: int = field(default=0, init=False)
    _nested: int = field(default=0, init=False)
    _known: frozenset[str] = field(init=False)
    _first: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        lines = [line.strip() for line in split_lines(self._old)]
        self._known = frozenset(filter(None, lines))
        self._first = next(filter(None, lines), "")

    @property
    def found(self) -> bool:
        """Whether the replacement has begun, so that ``text`` is part of it."""
        return self._state != "before"

    @property
    def closed(self) -> bool:
        """Whether the replacement is known to be whole: its block was closed, or it has no block and is over."""
        return self._state in ("after", "over")

    @property
    def text(self) -> str:
        """The replacement as far as it has arrived, in whole lines."""
        return "".join(self._lines) if self.found else ""

    @property
    def comment(self) -> str:
        """What the model said around its block."""
        return re.sub("\n{3,}", "\n\n", "".join(self._aside)).strip()

    def feed(self, text: str) -> bool:
        """Take more of the reply. Returns whether ``text`` has grown."""
        before = len(self._lines) if self.found else 0
        *whole, rest = text.split("\n")
        for line in whole:
            self._partial.append(line)
            self._line("".join(self._partial).removesuffix("\r") + "\n")
            self._partial.clear()
        self._partial.append(rest)
        return self.found and len(self._lines) > before

    def finish(self, *, broken: bool = False) -> None:
        """The reply is over; ``broken``: it broke off, and what there is may be half a line."""
        rest = "".join(self._partial)
        self._partial.clear()
        if rest and not broken:
            self._line(f"{rest}\n")
        if not broken and self._state == "before" and any(line.strip() for line in self._lines):
            self._begin_bare()
        if self._state == "bare" and not broken:
            while self._lines and not self._lines[-1].strip():
                self._lines.pop()
            self._state = "over"

    def _line(self, line: str) -> None:
        if self._state == "inside":
            self._inside(line)
        elif self._state == "before":
            self._before(line)
        else:
            (self._lines if self._state == "bare" else self._aside).append(line)

    def _before(self, line: str) -> None:
        self._lines.append(line)
        is_first = bool(line.strip()) and not any(held.strip() for held in self._lines[:-1])
        opening = _opening(line)
        if is_first and (line.strip() in self._known if opening is None else line.strip() == self._first):
            self._begin_bare()
        elif opening and (is_first or len(opening["run"]) >= self._fence):
            self._aside += self._lines[:-1]
            self._lines.clear()
            self._state, self._open, self._indent = "inside", opening["run"], len(opening["indent"])

    def _begin_bare(self) -> None:
        while self._lines and not self._lines[0].strip():
            self._lines.pop(0)
        self._state = "bare"

    def _inside(self, line: str) -> None:
        if self._closes(line) and not self._nested:
            self._state = "after"
            return
        if self._closes(line):
            self._nested -= 1
        elif (inner := _opening(line)) and inner["run"].startswith(self._open):
            self._nested += 1
        lost = min(self._indent, len(line) - len(line.lstrip(" ")))
        self._lines.append(line[lost:])

    def _closes(self, line: str) -> bool:
        match = _FENCE.fullmatch(line)
        return bool(match and match["run"].startswith(self._open) and not match["info"].strip())


def _opening(line: str) -> re.Match[str] | None:
    match = _FENCE.fullmatch(line)
    return match if match and not (match["mark"] == "`" and "`" in match["info"]) else None


def fitted(old: str, new: str, *, complete: bool, document: str = "") -> str:
    """The replacement as it goes into the document: with the line ends, the indentation and the last line of ``old``.

    Where ``old`` has no line end, those of the ``document`` are taken. While the replacement is not ``complete``, its
    last line is left out where ``old`` has no line end there: it may be the last.
    """
    lines = split_lines(new)
    ends_open = bool(old) and not old.endswith(("\n", "\r"))
    if ends_open and lines and not complete:
        lines.pop()
    elif ends_open and lines:
        lines[-1] = lines[-1].rstrip("\r\n")
    like = old if "\n" in old or "\r" in old else document
    return with_line_ends_of(like, "".join(_indented(split_lines(old), lines)))


def _indented(old: list[str], new: list[str]) -> list[str]:
    """The lines with the indentation that the old ones have in common, where the model left it out.

    It may have left it out everywhere, or of the first line alone. The reading that is closest to the old text counts.
    """
    common = _common_indent(old)
    first = next((at for at, line in enumerate(new) if line.strip()), None)
    if not common or first is None or _indent(new[first]):
        return new
    everywhere = [common + line if line.strip() else line for line in new]
    first_alone = [*new[:first], common + new[first], *new[first + 1 :]]
    lines, indents = Counter(line.strip("\r\n") for line in old), {_indent(line) for line in old if line.strip()}

    def closeness(reading: list[str]) -> tuple[int, int]:
        same = Counter(line.strip("\r\n") for line in reading if line.strip()) & lines
        return same.total(), sum(_indent(line) in indents for line in reading if line.strip())

    return max(everywhere, first_alone, new, key=closeness)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _common_indent(lines: list[str]) -> str:
    indents = [_indent(line) for line in lines if line.strip()]
    if not indents:
        return ""
    low, high = min(indents), max(indents)
    size = next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))
    return low[:size]
