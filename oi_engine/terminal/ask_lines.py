"""Questions by whole lines: from a pipe or a file (where nobody can be asked), or on a terminal without controls."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator
from typing import TextIO

from attrs import define, field

from oi_engine.terminal.ask import HELP, QUESTION, REASON, VERDICTS, Interrupted, Left, Verdict, is_open_block
from oi_engine.terminal.tty_mode import TtyMode

_READ_SIZE = 65536


@define
class LineReader:
    """Lines from a descriptor, without blocking the event loop."""

    fd: int
    _buffer: bytearray = field(factory=bytearray, init=False)
    _ended: bool = field(default=False, init=False)
    _waiting: asyncio.Future[None] | None = field(default=None, init=False)

    async def line(self) -> str:
        """The next line without its end. Raises ``Left`` at the end of the input, ``Interrupted`` when told to."""
        while b"\n" not in self._buffer and not self._ended:
            await self._readable()
            data = os.read(self.fd, _READ_SIZE)
            self._buffer += data
            self._ended = not data
        line, newline, rest = self._buffer.partition(b"\n")
        if not line and not newline:
            raise Left
        self._buffer = bytearray(rest)
        return line.decode("utf-8", "replace").removesuffix("\r")

    def interrupt(self) -> None:
        """Whoever waits for a line gets ``Interrupted``."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Interrupted())

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        waiting = self._waiting = loop.create_future()
        try:
            loop.add_reader(self.fd, _settle, waiting)
        except PermissionError:
            # Plain files cannot be waited for, and never make a reader wait.
            return
        try:
            await waiting
        finally:
            loop.remove_reader(self.fd)


def _settle(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


@define
class PipeAsker:
    """Messages come from a pipe or a file, one a line; nobody is there to be asked."""

    _reader: LineReader
    _multi_line: bool = False

    @property
    def can_ask(self) -> bool:
        """Nobody is there."""
        return False

    async def message(self) -> str:
        """The next line, or with ``multi_line`` the next block between lines of three backticks."""
        text = await self._reader.line()
        while self._multi_line and is_open_block(text):
            text += "\n" + await self._reader.line()
        return text

    async def approval(self) -> Verdict:
        """Nobody can say yes."""
        return "no"

    async def reason(self) -> str:
        """None is given."""
        return ""

    async def program_input(self, prompt: str, *, password: bool) -> str:
        """Nobody can answer."""
        raise Left

    def interrupt(self) -> None:
        """Ctrl-C came as a signal."""
        self._reader.interrupt()


@define
class LineAsker:
    """Asks on a terminal that can only write lines (``TERM=dumb``)."""

    _reader: LineReader
    _file: TextIO
    _tty: TtyMode
    _multi_line: bool = False

    @property
    def can_ask(self) -> bool:
        """Somebody is there."""
        return True

    async def message(self) -> str:
        """The person's next message."""
        text = await self._ask("> ")
        while self._multi_line and is_open_block(text):
            text += "\n" + await self._reader.line()
        return text

    async def approval(self) -> Verdict:
        """Whether the code that is shown may run."""
        while (verdict := VERDICTS.get((await self._ask(QUESTION)).strip().lower())) is None:
            self._file.write(f"{HELP}\n")
        return verdict

    async def reason(self) -> str:
        """Why it may not."""
        return await self._ask(REASON)

    async def program_input(self, prompt: str, *, password: bool) -> str:
        """A line for the program that runs."""
        with self._hidden() if password else contextlib.nullcontext():
            return await self._ask(prompt or "? ")

    def interrupt(self) -> None:
        """Ctrl-C came as a signal."""
        self._reader.interrupt()

    async def _ask(self, question: str) -> str:
        self._tty.forget_typed()
        self._file.write(question)
        self._file.flush()
        return await self._reader.line()

    @contextlib.contextmanager
    def _hidden(self) -> Iterator[None]:
        self._tty.no_echo()
        try:
            yield
        finally:
            self._tty.restore()
            self._file.write("\n")
