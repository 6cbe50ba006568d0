"""Markdown that arrives in pieces: which of its blocks are whole, and how the last one looks so far.

A block that is whole never changes again, so it can be printed once and left alone; only the last one is drawn anew.
Every line is looked at once, and the view of an unfinished block is bounded, so the work is linear in the text.
"""

from __future__ import annotations

import re

from attrs import define, field

_FENCE = re.compile(r"\s*(?P<fence>`{3,}|~{3,})(?P<info>.*)$")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")


@define
class MarkdownStream:
    """One message of Markdown. ``feed`` answers the blocks that became whole; ``tail`` shows the one that is not."""

    _lines: list[str] = field(factory=list, init=False)
    _partial: list[str] = field(factory=list, init=False)
    _fence: str = field(default="", init=False)
    _opener: str = field(default="", init=False)
    _blank: bool = field(default=False, init=False)

    def feed(self, text: str) -> list[str]:
        """Take more text; answers the source of each block that is whole now, in order."""
        *whole, rest = text.split("\n")
        blocks: list[str] = []
        for line in whole:
            self._partial.append(line)
            blocks.extend(self._line("".join(self._partial)))
            self._partial.clear()
        if rest:
            if self._blank and not self._partial and rest[0] not in " \t":
                blocks.extend(self._take())
            self._partial.append(rest)
        return blocks

    def finish(self) -> list[str]:
        """The text is over: answers what is left."""
        blocks = self._line("".join(self._partial)) if self._partial else []
        self._partial.clear()
        return [*blocks, *self._take()]

    def tail(self, rows: int, width: int) -> str:
        """The unfinished block's source, cut down to what fills ``rows`` rows of ``width`` columns at its end."""
        room = rows * width
        lines = [*self._lines[-rows:], "".join(self._partial)[-room:]]
        if self._fence and self._opener not in lines:
            lines.insert(0, self._opener)
        return "\n".join(lines)

    def _line(self, line: str) -> list[str]:
        if self._fence:
            return self._inside_fence(line)
        if not line.strip():
            self._blank = bool(self._lines)
            if self._lines:
                self._lines.append(line)
            return []
        opening = _FENCE.match(line)
        indented = line[0] in " \t"
        interrupts = opening is not None or _HEADING.match(line) is not None
        # After a blank line only an indented one can still belong to the block before (a list's item goes on).
        blocks = self._take() if not indented and (self._blank or interrupts) else []
        self._blank = False
        self._lines.append(line)
        if opening is not None and "`" not in opening["info"]:
            self._fence, self._opener = opening["fence"], line
        elif _HEADING.match(line):
            blocks.extend(self._take())
        return blocks

    def _inside_fence(self, line: str) -> list[str]:
        self._lines.append(line)
        closing = line.strip()
        if closing.startswith(self._fence) and not closing.strip(self._fence[0]):
            self._fence = ""
            if self._opener[0] not in " \t":
                return self._take()
        return []

    def _take(self) -> list[str]:
        block = "\n".join(self._lines).strip("\n")
        self._lines.clear()
        self._blank = False
        return [block] if block else []
