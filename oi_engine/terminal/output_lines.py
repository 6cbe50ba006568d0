"""A program's output as lines of a terminal: newlines end them, carriage returns write over them."""

from __future__ import annotations

import re

from attrs import define, field

_STEPS = re.compile(r"([\r\n])")


@define
class OutputLines:
    """Output that has been sanitized, line by line. Characters are taken to be one cell wide when written over."""

    finished: list[str] = field(factory=list, init=False)
    _written: list[str] = field(factory=list, init=False)
    _right_of_cursor: str = field(default="", init=False)

    def feed(self, text: str) -> None:
        """Take more output."""
        for part in _STEPS.split(text):
            if part == "\n":
                self.finished.append(self.current)
                self._written.clear()
                self._right_of_cursor = ""
            elif part == "\r":
                self._right_of_cursor = self.current
                self._written.clear()
            elif part:
                self._written.append(part)
                self._right_of_cursor = self._right_of_cursor[len(part) :]

    @property
    def current(self) -> str:
        """The line that has not ended."""
        return "".join(self._written) + self._right_of_cursor

    def last(self, count: int) -> list[str]:
        """The last ``count`` lines, the unfinished one included where it holds anything."""
        current = self.current
        lines = self.finished[-count:]
        return [*lines, current][-count:] if current else lines

    def all(self) -> list[str]:
        """Every line."""
        return self.last(len(self.finished) + 1)

    def take_finished(self) -> list[str]:
        """The lines that have ended since this was last asked; they are forgotten here."""
        taken, self.finished = self.finished, []
        return taken
