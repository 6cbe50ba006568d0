"""The screen: what is printed for good, and under it a few lines that are drawn anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TextIO

from attrs import define, field

from oi_engine.terminal.width import rows_of

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
# Terminals that know synchronized output show a frame only when it is whole; the others ignore both.
_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"
_ERASE_LINE, _ERASE_BELOW = "\x1b[2K", "\x1b[J"


class Screen(Protocol):
    """Where a renderer draws."""

    def draw(self, finished: str, live: Sequence[str]) -> None:
        """Print ``finished`` (lines, each ended) for good, and show ``live`` (lines, not ended) under it."""
        ...

    def show_cursor(self) -> None:
        """Show the cursor, for a question that is asked under the live lines."""
        ...

    def forget(self) -> None:
        """Take nothing on the screen for one's own any more: something else has written to it."""
        ...


@define
class LiveScreen:
    """A screen on a real terminal. The cursor rests at the start of the line under the live ones.

    Lines that did not change are not written again, and a frame goes out in one write: nothing flickers.
    """

    _file: TextIO
    _columns: Callable[[], int]
    _shown: list[str] = field(factory=list, init=False)
    _width: int = field(default=0, init=False)

    def draw(self, finished: str, live: Sequence[str]) -> None:
        """Print ``finished`` for good and show ``live`` under it."""
        width = self._columns()
        if not finished and list(live) == self._shown and width == self._width:
            return
        resized = width != self._width
        parts = [self._up(width if resized else 0)]
        if finished or resized or len(live) < len(self._shown):
            parts += [_ERASE_BELOW, finished, *(f"{line}\n" for line in live)]
        else:
            parts += self._changes(live)
        cursor = _HIDE_CURSOR if live else _SHOW_CURSOR
        self._shown, self._width = list(live), width
        self._write(_BEGIN_FRAME + cursor + "".join(parts) + _END_FRAME)

    def show_cursor(self) -> None:
        """Show the cursor, for a question that is asked under the live lines."""
        self._write(_SHOW_CURSOR)

    def forget(self) -> None:
        """Take nothing on the screen for one's own any more: something else has written to it."""
        self._shown = []

    def _up(self, reflowed_width: int) -> str:
        rows = rows_of(self._shown, reflowed_width) if reflowed_width else len(self._shown)
        return f"\r\x1b[{rows}A" if rows else "\r"

    def _changes(self, live: Sequence[str]) -> list[str]:
        parts = []
        for at, line in enumerate(live):
            changed = at >= len(self._shown) or line != self._shown[at]
            parts.append(f"{_ERASE_LINE}{line}\n" if changed else "\n")
        return parts

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()
