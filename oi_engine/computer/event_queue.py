"""What a program said, in order, until somebody takes it: bytes of output between events, bounded.

Pieces of output that follow one another are joined, so that a fast program costs one event per look and not one per
write. Above ``HIGH`` bytes the queue is ``full`` and whoever fills it has to wait; it says when it is no longer.
"""

from __future__ import annotations

import asyncio
import codecs
from collections import deque
from collections.abc import Callable

from oi_engine.computer.runtime import ActiveLine, RunEvent, Text

HIGH = 256 * 1024
LOW = 64 * 1024
_TAIL = 1000
"""Characters of the unfinished line that are remembered: a prompt is shorter."""


class EventQueue:
    """An ordered queue of output and events, for one taker. ``on_room`` is called when a full queue has room again."""

    def __init__(self, on_room: Callable[[], None]) -> None:
        self._items: deque[bytearray | RunEvent | None] = deque()
        self._size = 0
        self._on_room = on_room
        self._filled = asyncio.Event()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._tail = bytearray()

    @property
    def full(self) -> bool:
        """Whether there is so much output that no more should be read for now."""
        return self._size >= HIGH

    @property
    def unfinished_line(self) -> str:
        """The end of the output after its last newline, 1000 bytes at most."""
        return self._tail.decode(errors="replace")

    def end_line(self) -> None:
        """Take the line as finished: the person has pressed Enter."""
        self._tail.clear()

    def put_output(self, data: bytes) -> None:
        """Append output of the program."""
        if not data:
            return
        if self._items and isinstance(self._items[-1], bytearray):
            self._items[-1] += data
        else:
            self._items.append(bytearray(data))
        self._size += len(data)
        start = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if start:
            self._tail.clear()
        self._tail += data[start:][-_TAIL:]
        del self._tail[:-_TAIL]
        self._filled.set()

    def put(self, event: RunEvent) -> None:
        """Append an event. Of active lines that nobody has seen yet, the last is enough."""
        if isinstance(event, ActiveLine) and self._items and isinstance(self._items[-1], ActiveLine):
            self._items[-1] = event
        else:
            self._items.append(event)
        self._filled.set()

    async def take(self) -> RunEvent:
        """The next event; output as ``Text``, all that there is up to the next event. Waits where there is none."""
        while True:
            while not self._items:
                self._filled.clear()
                await self._filled.wait()
            item = self._items.popleft()
            if item is None:
                rest = self._decoder.decode(b"", final=True)
                if rest:
                    return Text(rest)
                continue
            if not isinstance(item, bytearray):
                return item
            was_full, self._size = self.full, self._size - len(item)
            if was_full and self._size <= LOW:
                self._on_room()
            text = self._decoder.decode(item)
            if text:
                return Text(text)

    def forget(self) -> None:
        """Drop what nobody has taken yet."""
        self._items.clear()
        self._size = 0
        self._tail.clear()
        self._decoder.reset()

    def end_output(self) -> None:
        """What comes after this is other output: a character that is cut short here is replaced."""
        self._items.append(None)
        self._filled.set()
