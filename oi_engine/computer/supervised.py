"""A process that leaves nothing behind: the owner's side of ``supervisor.py``.

::

    process = await start_supervised(
        ["bash", "-i"],                 # found on the PATH of env
        env=env, cwd="/work",
        stdin=DEVNULL, stdout=fd, stderr=fd,   # as for subprocess.Popen: descriptors, DEVNULL, PIPE is not offered
        pass_fds=(4, 5),                # keep their numbers; close your own copies afterwards
        confinement=confinement,        # optional: a sandbox around the command (``sandbox.Confinement``)
        tty=fd,                         # optional: becomes the controlling terminal of the command's new session
                                        # (and is not inherited under that number: give it as stdin, stdout, … too)
    )                                   # raises KernelFailed where the command cannot be run
    process.pid                         # of the command: a session and process group of its own
    process.over                        # the limit of its sandbox that ended it: "memory", "processes" or nothing
    process.alive                       # whether the command is there still
    process.exit_status                 # None while it is; -N for signal N
    await process.wait_death()          # its exit status, at once when the command ends (any number of waiters)
    process.on_death(callback)          # the same as a call: callback(exit_status), on the event loop
    process.signal(signal.SIGINT)       # to the command's process group; interrupt() is SIGINT
    await process.close()               # the command and everything that it started is gone when this returns

All that the command started is killed when it ends, when ``close`` is called, or when this process dies, however it
dies: it holds the only writing end of a pipe (the lifeline) whose end of file tells the supervisor.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from attrs import evolve

from oi_engine.computer.guards import held
from oi_engine.computer.sandbox import Confinement
from oi_engine.computer.syscalls import filter_program
from oi_engine.errors import KernelFailed

DEVNULL = subprocess.DEVNULL

_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
_START_SECONDS = 10.0


class Supervised:
    """A running command and its supervisor; made by ``start_supervised``. Belongs to one event loop."""

    def __init__(self, process: subprocess.Popen[bytes], lifeline: int, report: int) -> None:
        self.pid = 0
        self.over = ""
        self.exit_status: int | None = None
        self._process = process
        self._lifeline: int | None = lifeline
        self._report = report
        self._unread = b""
        self._callbacks: list[Callable[[int], None]] = []
        self._loop = asyncio.get_running_loop()
        self._started: asyncio.Future[str] = self._loop.create_future()
        self._dead: asyncio.Future[int] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(report, self._read_report)

    @property
    def supervisor_pid(self) -> int:
        """Process id of the supervisor, the parent of the command."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the command has been started and has not ended."""
        return self.pid != 0 and self.exit_status is None

    async def wait_death(self) -> int:
        """Wait until the command ends; its exit status, -N for signal N."""
        return await asyncio.shield(self._dead)

    def on_death(self, callback: Callable[[int], None]) -> None:
        """Call back with the exit status when the command ends; soon, where it has ended already."""
        if self.exit_status is None:
            self._callbacks.append(callback)
        else:
            self._loop.call_soon(callback, self.exit_status)

    def signal(self, number: int) -> None:
        """Send a signal to the command's process group; nothing happens where the command has ended."""
        if self.alive:
            try:
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                pass  # it ended a moment ago; macOS answers EPERM for a group of zombies

    def interrupt(self) -> None:
        """Send SIGINT to the command's process group."""
        self.signal(signal.SIGINT)

    async def close(self, timeout: float = 4.0) -> None:
        """Kill the command and everything that it started; ``timeout`` in seconds until the supervisor is killed too.

        May be called more than once.
        """
        self._cut_lifeline()
        try:
            await asyncio.wait_for(asyncio.shield(self._gone), timeout)
        except TimeoutError:
            self.signal(signal.SIGKILL)
            self._process.kill()
            await asyncio.shield(self._gone)

    async def _wait_started(self) -> None:
        """Wait until the command runs. Raises ``KernelFailed`` with the system's reason where it cannot be run."""
        try:
            line = await asyncio.wait_for(asyncio.shield(self._started), _START_SECONDS)
        except TimeoutError:
            line = f"it did not answer within {_START_SECONDS:.0f} seconds"
        if line:
            await self.close()
            raise KernelFailed(f"The process could not be started: {line}.")

    def _read_report(self) -> None:
        data = os.read(self._report, 4096)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._take(line.decode(errors="replace"))
        if not data:
            self._end()

    def _take(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "started":
            self.pid = int(rest)
            self._started.set_result("")
        elif word == "failed":
            self._started.set_result(rest.partition(" ")[2])
        elif word == "limit":
            self.over = rest
        elif word == "exited":
            self._die(int(rest))

    def _die(self, status: int) -> None:
        if self.exit_status is not None:
            return
        self.exit_status = status
        if not self._dead.done():
            self._dead.set_result(status)
        for callback in self._callbacks:
            self._loop.call_soon(callback, status)
        self._callbacks.clear()

    def _end(self) -> None:
        """The supervisor has ended: nothing is left, unless it was killed, in which case its command dies with it."""
        self._loop.remove_reader(self._report)
        os.close(self._report)
        self._cut_lifeline()
        # The report is closed in the last moments of the supervisor: this takes microseconds.
        self._process.wait()
        if not self._started.done():
            self._started.set_result("its supervisor ended early")
        self._die(-signal.SIGKILL)
        self._gone.set_result(None)

    def _cut_lifeline(self) -> None:
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None


def ending(status: int) -> str:
    """An exit status for a person; -N is signal N."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


async def start_supervised(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | os.PathLike[str],
    stdin: int = DEVNULL,
    stdout: int = DEVNULL,
    stderr: int = DEVNULL,
    pass_fds: Sequence[int] = (),
    tty: int | None = None,
    confinement: Confinement | None = None,
) -> Supervised:
    """Start ``argv`` under a supervisor; see the module's docstring.

    Raises ``KernelFailed`` where the command or its folder is not there or may not be used.
    """
    options = [] if tty is None else ["--tty", str(tty)]
    given = [*pass_fds, *([] if tty is None else [tty])]
    own: list[int] = []
    async with held(confinement.folder) if confinement is not None else nullcontext() as workspace:
        try:
            if confinement is not None:
                env = confinement.environment(env)
                confinement = evolve(confinement, held=workspace is not None)
            if confinement is not None and sys.platform == "linux":
                inner, writer = own = list(os.pipe())
                options += ["--inner", str(inner), "--told", str(writer), *confinement.watched]
                filter_ = _in_pipe(filter_program())
                own += [] if filter_ is None else [filter_]
                argv = confinement.command(argv, told=writer, tty=None if tty is None else 1, filter_=filter_)
            elif confinement is not None:
                argv = confinement.command(argv)
            if workspace is not None:
                options += ["--workspace", str(workspace)]
                given.append(workspace)
            supervised = _spawn(argv, options, dict(env), cwd, (stdin, stdout, stderr), [*given, *own])
        finally:
            for descriptor in own:
                os.close(descriptor)
    try:
        await supervised._wait_started()
    except asyncio.CancelledError:
        await supervised.close()
        raise
    return supervised


def _in_pipe(data: bytes | None) -> int | None:
    """A descriptor from which ``data`` can be read; it is shorter than what a pipe holds."""
    if data is None:
        return None
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    return reader


def _spawn(
    argv: Sequence[str],
    options: list[str],
    env: dict[str, str],
    cwd: str | os.PathLike[str],
    files: tuple[int, int, int],
    pass_fds: list[int],
) -> Supervised:
    lifeline, held = os.pipe()
    report, reported = os.pipe()
    pipes = ["--lifeline", str(lifeline), "--report", str(reported)]
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", _SUPERVISOR, *pipes, *options, "--", *argv],
            env=env,
            cwd=cwd,
            stdin=files[0],
            stdout=files[1],
            stderr=files[2],
            pass_fds=(lifeline, reported, *pass_fds),
            start_new_session=True,
        )
    except OSError as error:
        os.close(held)
        os.close(report)
        raise KernelFailed(f"The process could not be started: {error}.") from error
    finally:
        os.close(lifeline)
        os.close(reported)
    return Supervised(process, held, report)
