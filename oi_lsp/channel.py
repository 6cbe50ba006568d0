"""Bytes to and from the client: framed messages in, and a writer that never blocks the event loop.

The framing is LSP's base protocol: header lines, of which ``Content-Length`` counts, a blank line, that many bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator

from attrs import frozen

log = logging.getLogger(__name__)

MESSAGE_LIMIT = 128 * 1024 * 1024
"""Bytes of the longest message that is read; a longer one is skipped."""

FULL = 8 * 1024 * 1024
"""With more bytes than this waiting for the client to read, nothing more is read from it."""

_BLOCK = 256 * 1024
_LONGEST_LINE = 64 * 1024
# Not anchored at the start: after a message with too small a length, its rest and the next header share a line.
_LENGTH = re.compile(rb"Content-Length:[ \t]*([0-9]{1,18})[ \t]*$", re.IGNORECASE)


@frozen
class Channel:
    """Two-way bytes. ``read(n)`` blocks and answers at most n bytes, none at the end; ``write`` may take a part."""

    read: Callable[[int], bytes]
    write: Callable[[memoryview], int]


def frames(read: Callable[[int], bytes], limit: int = MESSAGE_LIMIT) -> Iterator[bytes | None]:
    """The bodies of the messages that come in; ``None`` for one that is longer than ``limit`` bytes.

    Bytes that are no message are passed over up to the next header, so that a client that counts wrongly loses the
    message but not the connection.
    """
    buffer = bytearray()
    length: int | None = None
    while True:
        end = buffer.find(b"\n")
        if end < 0:
            del buffer[: -_LONGEST_LINE or None]
            block = read(_BLOCK)
            if not block:
                return
            buffer += block
            continue
        line = bytes(buffer[:end]).rstrip(b"\r")
        del buffer[: end + 1]
        match = _LENGTH.search(line)
        if match:
            length = int(match[1])
        elif not line.strip() and length is not None:
            try:
                yield _body(buffer, length, read, limit)
            except EOFError:
                return
            length = None


def _body(buffer: bytearray, length: int, read: Callable[[int], bytes], limit: int) -> bytes | None:
    """Take a body off the front of the buffer: ``None`` if it is too long. Raises ``EOFError``."""
    missing = length
    keep = length <= limit
    while len(buffer) < missing:
        if not keep:
            missing -= len(buffer)
            buffer.clear()
        block = read(_BLOCK)
        if not block:
            raise EOFError
        buffer += block
    body = bytes(buffer[:missing]) if keep else None
    del buffer[:missing]
    return body


class PipeWriter:
    """Writes to the client from a thread of its own, in order.

    ``on_idle`` is called in the event loop each time that all has been written, ``on_broken`` once when the client is
    gone; what is written after that is dropped.
    """

    def __init__(
        self, write: Callable[[memoryview], int], on_idle: Callable[[], None], on_broken: Callable[[], None]
    ) -> None:
        self._write = write
        self._on_idle = on_idle
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes] = deque()
        self._pending = 0
        self._broken = False
        self._changed = threading.Condition()
        self._drained = asyncio.Event()
        self._drained.set()
        threading.Thread(target=self._run, name="oi-writer", daemon=True).start()

    @property
    def pending(self) -> int:
        """Bytes that wait to be written, the piece under way included."""
        return self._pending

    def write(self, data: bytes) -> None:
        """Have the bytes written when their turn comes."""
        with self._changed:
            if self._broken:
                return
            self._queue.append(data)
            self._pending += len(data)
            self._drained.clear()
            self._changed.notify()

    def close(self) -> None:
        """Nothing to do: the thread ends with the process, and ``drained`` waits for what is under way."""

    async def drained(self) -> None:
        """Wait until all has been written."""
        await self._drained.wait()

    def _run(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the server has ended
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._queue)
                    data = self._queue.popleft()
                if not self._written(data):
                    self._loop.call_soon_threadsafe(self._gone)
                    return
                with self._changed:
                    self._pending -= len(data)
                    idle = self._pending == 0
                if idle:
                    self._loop.call_soon_threadsafe(self._idle)

    def _written(self, data: bytes) -> bool:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._write(rest) :]
        except OSError as error:
            log.info("The client no longer reads: %s", error)
            return False
        return True

    def _idle(self) -> None:
        if self._pending == 0:
            self._drained.set()
            self._on_idle()

    def _gone(self) -> None:
        with self._changed:
            self._broken = True
            self._queue.clear()
            self._pending = 0
        self._drained.set()
        self._on_broken()
