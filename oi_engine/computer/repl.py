"""Runs cells in a long-lived process behind the driver protocol, which ``driver.py`` describes.

The runtime reads the terminal and the reports as they come, tells when the program waits for input, and interrupts.
Nothing is read while 256 KB wait to be taken, so that a program that prints without end waits in its own ``write``.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import json
import os
import re
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from attrs import define, field

from oi_engine.computer.driver import Driver
from oi_engine.computer.event_queue import EventQueue
from oi_engine.computer.pseudo_terminal import ENVIRONMENT, READ_BYTES, PseudoTerminal
from oi_engine.computer.runtime import (
    END_OF_INPUT,
    ActiveLine,
    Finished,
    InputRequest,
    InputTaken,
    Notice,
    RunEvent,
    Text,
)
from oi_engine.computer.sandbox import Confinement, limit_passed
from oi_engine.computer.supervised import Supervised, ending, start_supervised
from oi_engine.computer.waiting import foreground_processes, foreground_waits
from oi_engine.errors import KernelFailed, LanguageUnavailable, SessionBusy, UnknownInput
from oi_engine.temporary import TemporaryFolder

_FIRST_DESCRIPTOR = 60
_START_SECONDS = 15.0
_LEAVE_SECONDS = 0.3
_SETTLE_SECONDS = 2.0
_WATCH_SECONDS = 0.06
_GUESS_SECONDS = 0.3
_RESEND_SECONDS, _TERMINATE_SECONDS, _KILL_SECONDS, _GIVE_UP_SECONDS = 0.05, 0.4, 0.7, 0.98
_LINE = re.compile("[0-9]{1,9}")
_LONGEST_REPORT = 4 * 1024 * 1024
_Stream = Literal["stdout", "stderr", "result", "traceback"]
_STREAMS: dict[str, _Stream] = {stream: stream for stream in get_args(_Stream)}


@define
class _Cell:
    id: str
    file: Path
    done: asyncio.Event = field(factory=asyncio.Event)
    stopped: bool = False
    """Somebody asked to stop it."""
    had_lines: bool = False
    waits: InputRequest | None = None
    says_it_waits: bool = False
    quiet: float = 0.0
    """Seconds since the last output, counted by the watch."""


@define
class _Live:
    """What exists while the process does."""

    process: Supervised
    terminal: PseudoTerminal
    requests: int
    reports: int
    ready: asyncio.Future[None]
    unread: bytes = b""
    probe: str = ""
    """What the driver has been asked to report as done, to see that no interrupt is under way any more."""
    probed: asyncio.Event = field(factory=asyncio.Event)
    disturbed: bool = False
    """An interrupt was sent since the driver was last seen to be at rest."""


class ReplRuntime:
    """One language's live process behind the driver protocol; see ``Runtime`` in ``runtime.py``.

    ``cwd``: where it starts. ``env``: its environment, to which the terminal's is added; ``None``: this process's.
    ``confinement``: the sandbox that it runs in.
    """

    def __init__(
        self,
        driver: Driver,
        *,
        cwd: str | os.PathLike[str],
        env: Mapping[str, str] | None = None,
        confinement: Confinement | None = None,
    ) -> None:
        self._driver = driver
        self._confinement = confinement
        self._cwd = cwd
        self._env = dict(os.environ if env is None else env)
        self._live: _Live | None = None
        self._cell: _Cell | None = None
        self._folder: TemporaryFolder | None = None
        self._cells = itertools.count(1)
        self._queue = EventQueue(self._resume)
        self._reading = False
        self._produced = False

    @property
    def alive(self) -> bool:
        """Whether the process is there and can take a cell."""
        return self._live is not None and self._live.process.alive and self._live.ready.done()

    @property
    def pid(self) -> int | None:
        """Process id of the driver, ``None`` where there is none."""
        return self._live.process.pid if self._live else None

    async def start(self) -> None:
        """Start the process; nothing where it is there. Raises ``LanguageUnavailable`` or ``KernelFailed``."""
        if self.alive:
            return
        await self._end()
        program = self._driver.find(self._env.get("PATH"))
        if program is None:
            raise LanguageUnavailable(f"{self._driver.programs[0]} is not installed.", self._driver.remedy)
        live = self._live = await self._spawn(program)
        self._resume()
        # Only now: a callback for a process that is gone already must find it.
        live.process.on_death(lambda status: self._died(live, status))
        try:
            await asyncio.wait_for(asyncio.shield(live.ready), _START_SECONDS)
        except (TimeoutError, KernelFailed) as error:
            said = self._queue.unfinished_line or str(error)
            await self._end()
            raise KernelFailed(
                f"{program} did not start: {said or 'it did not answer'}.", f"Try `{program}` in a terminal."
            ) from error
        except asyncio.CancelledError:
            await self._end()
            raise

    async def run(self, code: str) -> AsyncGenerator[RunEvent, None]:
        """Run one cell; see ``Runtime.run``. Raises ``SessionBusy`` where one runs already."""
        if self._cell is not None:
            raise SessionBusy("A cell runs already.", "Wait for it, or stop it.")
        cell = self._cell = _Cell(f"c{next(self._cells)}", self._file())
        event: RunEvent | None = None
        try:
            await self._settle()
            await self.start()
            self._begin(cell, code)
            while not isinstance(event, Finished):
                event = await self._queue.take()
                yield event
        finally:
            try:
                if not cell.done.is_set() and self._live and not await self.interrupt():
                    await self._end()
            finally:
                self._cell = None
                if not isinstance(event, Finished):
                    self._queue.forget()
                cell.file.unlink(missing_ok=True)

    def answer(self, text: str) -> None:
        """Give the waiting program its line; see ``Runtime.answer``. A lone ``^D`` is the end of input."""
        if self._live is None or self._cell is None or self._cell.waits is None:
            raise UnknownInput("No program waits for input.")
        if self._live.terminal.takes_lines and not self._cell.waits.password and text != END_OF_INPUT:
            self._queue.put(Text(text))
        self._live.terminal.type_line(text)
        self._queue.end_line()
        self._no_longer_waits(self._cell)

    async def interrupt(self) -> bool:
        """Stop the running cell and keep the state; see ``Runtime.interrupt``."""
        cell, live = self._cell, self._live
        if cell is None or live is None or cell.done.is_set():
            return True
        cell.stopped = True
        self._resume()
        loop = asyncio.get_running_loop()
        began = loop.time()
        while (passed := loop.time() - began) < _GIVE_UP_SECONDS:
            self._stop(cell, live, passed)
            wait = min(_RESEND_SECONDS, _GIVE_UP_SECONDS - passed)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(cell.done.wait(), wait)
                return True
        return False

    async def _settle(self) -> None:
        """After an interrupt, wait until the driver reads on: one that comes late would hit the next request."""
        live, probe = self._live, self._driver.probe
        if live is None or probe is None or not live.disturbed:
            return
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _SETTLE_SECONDS
        while not live.probed.is_set() and live.process.alive and loop.time() < deadline:
            live.probe = f"p{next(self._cells)}"
            self._send(live, probe(live.probe))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(live.probed.wait(), _RESEND_SECONDS)
        live.disturbed = False
        if live.process.alive and not live.probed.is_set():
            self._queue.put(Notice("It did not answer after it was stopped, and was started afresh."))
            await self._end()
        live.probed.clear()

    async def close(self) -> None:
        """End the process and all that it started. A cell that runs has died then; where none runs it may clean up."""
        live = self._live
        if live is not None and self._cell is None and live.process.alive:
            os.close(live.requests)
            live.requests = -1
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(live.process.wait_death(), _LEAVE_SECONDS)
        elif live is not None:
            await live.process.close()  # first: whoever reads the cell is told of its end
        await self._end()
        if self._folder is not None:
            self._folder.remove()
            self._folder = None

    # Starting and ending

    async def _spawn(self, program: str) -> _Live:
        terminal = PseudoTerminal()
        opened: list[int] = []
        kept: list[int] = []
        try:
            reading, requests = os.pipe()
            reports, writing = os.pipe()
            opened += [reading, writing]
            kept += [requests, reports]
            # High numbers: cells may use the low ones (`exec 3> file`) as they like.
            given = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR) for fd in (reading, writing)]
            opened += given
            given.append(fcntl.fcntl(terminal.slave, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR))
            opened.append(given[2])
            os.set_blocking(requests, False)
            os.set_blocking(reports, False)
            process = await start_supervised(
                [program, *self._driver.arguments],
                env=self._environment(given),
                cwd=self._cwd,
                stdin=reading if self._driver.reads_requests_on_stdin else terminal.slave,
                stdout=terminal.slave,
                stderr=terminal.slave,
                pass_fds=given,
                tty=terminal.slave,
                confinement=self._confinement and self._confinement.sharing((self._cells_folder(), False)),
            )
        except BaseException:  # a cancellation, too, leaves no descriptor open
            terminal.close()
            _close_all(kept)
            raise
        finally:
            _close_all(opened)
        live = _Live(process, terminal, requests, reports, asyncio.get_running_loop().create_future())
        if self._driver.opening:
            self._send(live, self._driver.opening)
        return live

    def _environment(self, given: Sequence[int]) -> dict[str, str]:
        requests, reports, tty = given
        numbers = {"OI_REQUESTS": str(requests), "OI_REPORTS": str(reports), "OI_TTY": str(tty)}
        if self._driver.reads_requests_on_stdin:
            numbers["OI_REQUESTS"] = "0"
        return {**self._env, **ENVIRONMENT, **self._driver.environment, **numbers}

    def _file(self) -> Path:
        return self._cells_folder() / f"cell-{next(self._cells)}{self._driver.suffix}"

    def _cells_folder(self) -> Path:
        if self._folder is None:
            self._folder = TemporaryFolder("oi-cells-")
        return self._folder.path

    async def _end(self) -> None:
        """End the process, if there is one, and let go of everything that belonged to it."""
        live, self._live = self._live, None
        if live is None:
            return
        self._pause(live)
        try:
            await live.process.close()
        finally:
            live.terminal.close()
            _close_all([fd for fd in (live.requests, live.reports) if fd >= 0])
            if not live.ready.done():
                live.ready.cancel()

    def _died(self, live: _Live, status: int) -> None:
        """The driver's process ended by itself."""
        if live is not self._live:
            return
        over = live.process.over
        detail = limit_passed(over, self._confinement) if over else ending(status)
        if not live.ready.done():
            live.ready.set_exception(KernelFailed(f"it ended with {detail}"))
        self._drain(live)
        self._pause(live)
        if self._cell is not None:
            self._finish(self._cell, Finished("died", detail))

    # A cell

    def _begin(self, cell: _Cell, code: str) -> None:
        assert self._live is not None
        try:
            cell.file.write_text(code, encoding="utf-8", errors="replace", newline="")
        except OSError as error:
            raise KernelFailed(f"The code could not be written to {cell.file}: {error.strerror}.") from error
        self._live.terminal.reset()
        self._queue.end_line()
        self._send(self._live, self._driver.request(cell.id, str(cell.file)))
        self._watch(cell)

    def _send(self, live: _Live, request: bytes) -> None:
        # A driver that has just died is told of by on_death. One that reads nothing while it is interrupted for a
        # second is far from filling the pipe, and a run is sent to one at rest alone.
        with contextlib.suppress(BrokenPipeError, BlockingIOError):
            os.write(live.requests, request)

    def _finish(self, cell: _Cell, finished: Finished) -> None:
        if cell.done.is_set():
            return
        self._no_longer_waits(cell)
        if cell.had_lines:
            self._queue.put(ActiveLine(None))
        self._queue.end_output()
        self._queue.put(finished)
        cell.done.set()

    def _stop(self, cell: _Cell, live: _Live, passed: float) -> None:
        """One attempt at stopping the cell, ``passed`` seconds after the first."""
        live.disturbed = True
        if not self._driver.one_interrupt_is_enough:
            # The driver itself, first: a shell whose child ends well after ^C would go on with the cell.
            _kill(live.process.pid, signal.SIGINT)
        live.terminal.interrupt()
        if self._driver.interrupted_by_request:
            self._send(live, f"interrupt {cell.id}\n".encode())
        if self._driver.probe is not None:
            self._send(live, self._driver.probe(cell.id))
        if passed >= _RESEND_SECONDS and cell.waits is not None:
            # A program that takes up its read again after the signal (R) heeds it once the read returns.
            live.terminal.type_line(END_OF_INPUT)
        if passed < _TERMINATE_SECONDS:
            return
        number = signal.SIGTERM if passed < _KILL_SECONDS else signal.SIGKILL
        for pid in foreground_processes(live.terminal.foreground(), live.process.supervisor_pid):
            if pid != live.process.pid:
                _kill(pid, number)

    # Waiting for input

    def _watch(self, cell: _Cell) -> None:
        asyncio.get_running_loop().call_later(_WATCH_SECONDS, self._look, cell)

    def _look(self, cell: _Cell) -> None:
        """Look, while nothing is printed, whether the program waits for a line."""
        live = self._live
        if live is None or cell is not self._cell or cell.done.is_set():
            return
        if self._produced or not self._reading:
            self._produced, cell.quiet = False, 0.0
        else:
            cell.quiet += _WATCH_SECONDS
            if not cell.says_it_waits:
                self._judge(cell, live)
        self._watch(cell)

    def _judge(self, cell: _Cell, live: _Live) -> None:
        waits = foreground_waits(
            live.terminal,
            live.process.supervisor_pid,
            unfinished=bool(self._queue.unfinished_line),
            ignore=live.process.pid if self._driver.reports_input else 0,
        )
        if waits == "no":
            self._no_longer_waits(cell)
        elif waits == "yes" or cell.quiet >= _GUESS_SECONDS:
            self._now_waits(cell, live)

    def _now_waits(self, cell: _Cell, live: _Live) -> None:
        if cell.waits is None:
            self._drain(live)  # the prompt may have come this very moment
            cell.waits = InputRequest(self._queue.unfinished_line, password=live.terminal.asks_password)
            self._queue.put(cell.waits)

    def _no_longer_waits(self, cell: _Cell) -> None:
        if cell.waits is not None:
            cell.waits = None
            self._queue.put(InputTaken())

    # Reading

    def _resume(self) -> None:
        live = self._live
        if live is None or self._reading or not (live.process.alive or live.reports >= 0):
            return
        self._reading = True
        loop = asyncio.get_running_loop()
        loop.add_reader(live.terminal.master, self._read_terminal, live)
        loop.add_reader(live.reports, self._read_reports, live)

    def _pause(self, live: _Live) -> None:
        if self._reading:
            self._reading = False
            loop = asyncio.get_running_loop()
            loop.remove_reader(live.terminal.master)
            loop.remove_reader(live.reports)

    def _read_terminal(self, live: _Live) -> None:
        data = live.terminal.read()
        self._produced = self._produced or bool(data)
        stopping = self._cell is not None and self._cell.stopped
        if not (stopping and self._queue.full):
            self._queue.put_output(data)
        if self._queue.full and not stopping:
            self._pause(live)

    def _drain(self, live: _Live) -> None:
        """Read all that was written before the call: the terminal's buffers are smaller than two reads. More is not
        read, as a background job may never stop writing."""
        for _ in range(2):
            self._read_terminal(live)

    def _read_reports(self, live: _Live) -> None:
        try:
            data = os.read(live.reports, READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(live.reports)
            return
        self._drain(live)
        *lines, live.unread = (live.unread + data).split(b"\n")
        if len(live.unread) > _LONGEST_REPORT:
            live.unread = b""
        for line in lines:
            self._take_report(live, line.decode(errors="replace"))

    def _take_report(self, live: _Live, line: str) -> None:
        word, _, rest = line.partition(" ")
        about, _, rest = rest.partition(" ")
        cell = self._cell
        if word == "ready":
            if not live.ready.done():
                self._queue.forget()  # what a program says while it starts is no cell's output
                live.ready.set_result(None)
        elif word == "text":
            self._take_text(rest)
        elif word == "done" and about == live.probe:
            live.probed.set()
        elif cell is None or cell.id != about or cell.done.is_set():
            return
        elif word == "line" and _LINE.fullmatch(rest):
            cell.had_lines = True
            self._queue.put(ActiveLine(int(rest)))
        elif word == "input":
            cell.says_it_waits = rest == "yes"
            if cell.says_it_waits:
                self._now_waits(cell, live)
            else:
                self._no_longer_waits(cell)
        elif word == "done":
            self._take_done(cell, rest)

    def _take_text(self, rest: str) -> None:
        stream, _, encoded = rest.partition(" ")
        try:
            text = json.loads(encoded)
        except (ValueError, RecursionError):
            return
        if isinstance(text, str) and text and stream in _STREAMS:
            self._queue.put(Text(text, _STREAMS[stream]))

    def _take_done(self, cell: _Cell, rest: str) -> None:
        status, _, detail = rest.partition(" ")
        ended = Finished("ok") if status == "ok" else Finished("error", detail)
        self._finish(cell, Finished("interrupted") if cell.stopped else ended)


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _kill(pid: int, number: int) -> None:
    # It may have ended a moment ago, or belong to another user.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
