"""Languages that run in a Jupyter kernel; Python is the one that gets more than the protocol has.

The kernel is a supervised process (``supervised``), spoken to over sockets in a folder of the person's alone, or over
TCP on loopback where a socket's path would be too long. ``IPYTHONDIR`` is that folder too, so the person's own IPython
start-up files and profile are not read: a session is the same for everyone, and code that nobody approved does not run.

Output of a thread that goes on after its cell has ended waits in the kernel and is shown at the start of the next cell;
how much of it there may be is ``kernel_start.LATE_LIMIT``. An answer of ``"\\x04"`` (Ctrl-D) is the end of input.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from oi_engine.computer.environment import choose_python
from oi_engine.computer.kernel_link import Jupyter, KernelLink, load_jupyter, write_connection_file
from oi_engine.computer.kernel_looks import completions_of, inspection_of, looked_up
from oi_engine.computer.kernel_messages import Died, Idle, Inbox, Input, Item, Replied, Reply, death
from oi_engine.computer.kernel_process import PLAIN_TERMINAL, KernelProcess, KernelSpec, RuntimeFolder, environment_of
from oi_engine.computer.looks import LONGEST_CODE, Completions, Inspection
from oi_engine.computer.python_path import path_at, unfinished_at
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
from oi_engine.computer.sandbox import Confinement
from oi_engine.errors import KernelFailed, UnknownInput

_START_SECONDS = 60.0
_INTERRUPT_SECONDS = 1.0
_INTERRUPT_AGAIN = 0.1
_POLITE_SECONDS = 1.0
_DEATH_GRACE = 0.02
"""Seconds in which a dead kernel's last messages come out of the sockets."""
_KERNEL_START = str(Path(__file__).with_name("kernel_start.py"))


@define(eq=False)
class _Run:
    """One cell, from the call of ``run`` to its last event."""

    request: str = ""
    reply: Reply | None = None
    idle: bool = False
    waits_for_input: bool = False
    types_password: bool = False
    shows_line: bool = False
    interrupted: asyncio.Event = field(factory=asyncio.Event)
    ended: asyncio.Event = field(factory=asyncio.Event)


class JupyterKernel:
    """A language behind a Jupyter kernel; a ``Runtime``.

    ``spec`` is asked for when the process starts, not before. ``spill_folder`` is where output goes that is too much;
    without one it goes to the kernel's own folder and is gone when the kernel is closed. ``confinement``: the sandbox
    that it runs in.
    """

    def __init__(
        self,
        spec: Callable[[], Awaitable[KernelSpec]],
        *,
        cwd: Path,
        spill_folder: Path | None = None,
        confinement: Confinement | None = None,
    ) -> None:
        self._spec = spec
        self._confinement = confinement
        self._cwd = cwd
        self._spill_folder = spill_folder
        self._process: KernelProcess | None = None
        self._link: KernelLink | None = None
        self._inbox = Inbox()
        self._current: _Run | None = None
        self._notices: list[str] = []
        self._turn = asyncio.Lock()
        self._starting = asyncio.Lock()

    @property
    def alive(self) -> bool:
        """Whether the process is there and can take a cell."""
        return self._link is not None and self._process is not None and self._process.alive

    async def start(self) -> None:
        """Start the process; nothing happens where it is there. Raises ``KernelFailed``."""
        async with self._starting:
            if self.alive:
                return
            await self._discard()
            spec = await self._spec()
            jupyter = await load_jupyter()
            process = self._process = KernelProcess(spec, RuntimeFolder(), self._confinement)
            try:
                await self._bring_up(jupyter, process)
            except BaseException:
                await self._discard()
                raise
            if spec.notice:
                self._notices.append(spec.notice)

    async def run(self, code: str) -> AsyncGenerator[RunEvent, None]:
        """Run one cell; see ``Runtime.run``. A second one waits until the first has ended."""
        async with self._turn:
            run = self._current = _Run()
            try:
                async for event in self._events(run, code):
                    yield event
            finally:
                if run.request and not run.ended.is_set():
                    await self._abandon(run)
                self._current = None

    def answer(self, text: str) -> None:
        """Give the waiting program its line. Raises ``UnknownInput`` where none waits."""
        run = self._current
        if run is None or not run.waits_for_input or self._link is None:
            raise UnknownInput("No program waits for input.", "It may have gone on or ended.")
        self._inbox.put(Text("\n" if run.types_password or text == END_OF_INPUT else f"{text}\n"))
        self._link.answer(text)
        self._input_taken(run)

    async def interrupt(self) -> bool:
        """Stop the running cell; whether it stopped. True where none runs."""
        run = self._current
        if run is None:
            return True
        run.interrupted.set()
        return await self._interrupt(run)

    async def close(self) -> None:
        """End the process and everything that it started; politely (``atexit``) where no cell runs."""
        async with self._starting:
            if self.alive and self._current is None and self._link and self._process and self._process.supervised:
                self._link.ask_to_leave()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._process.supervised.wait_death(), _POLITE_SECONDS)
            await self._discard()

    async def complete(self, code: str, cursor: int) -> Completions:
        """What could stand at ``cursor``; see ``Looks.complete``. The kernel's own word (``complete_request``).

        A cell that begins meanwhile waits until the kernel has answered: the protocol has one queue for both.
        """
        reply = await self._look("shell", "complete_request", {"code": code, "cursor_pos": cursor})
        return completions_of(reply, len(code))

    async def inspect(self, code: str, cursor: int) -> Inspection | None:
        """Nothing: what a kernel's own ``inspect_request`` calls is not known."""
        return None

    async def _look(self, channel: str, kind: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The reply of an idle kernel to a request that runs nothing; nothing where there is none in time."""
        if self._link is None or not self.alive or self._current is not None or self._starting.locked():
            return {}
        try:
            return await self._link.look(channel, kind, content)
        except TimeoutError:
            return {}

    async def _bring_up(self, jupyter: Jupyter, process: KernelProcess) -> None:
        """Start the process, connect to it and wait until it answers."""
        folder = process.folder
        connection_file = folder.path / "connection.json"
        sockets = folder.sockets if folder.takes_sockets and process.spec.speaks_ipc else None
        if sockets is None and self._confinement is not None and not self._confinement.sandbox.network:
            problem = f"The {process.spec.name} can be reached by the network alone, which its sandbox has not."
            raise KernelFailed(problem, "Allow the network for this session (oi.sandbox.allow), or leave it.")
        write_connection_file(jupyter, connection_file, sockets)
        await process.start(connection_file, self._spill_folder or folder.path / "spill", self._cwd)
        self._inbox = inbox = Inbox()
        assert process.supervised is not None
        process.supervised.on_death(lambda status: self._on_death(inbox, status))
        self._link = link = KernelLink(jupyter, connection_file, inbox, self._on_reply)
        if not await link.wait_ready(process.supervised.wait_death(), _START_SECONDS):
            raise self._failed(process)
        process.forget_words()
        await process.hand_over(lambda stream, text: inbox.put(Text(text, stream)))

    def _failed(self, process: KernelProcess) -> KernelFailed:
        words = process.last_words().strip().splitlines()[-8:]
        supervised = process.supervised
        status = supervised.exit_status if supervised else None
        how = death(status) if status is not None else f"no answer within {_START_SECONDS:.0f} seconds"
        return KernelFailed("\n".join([f"The {process.spec.name} did not start ({how}).", *words]), process.spec.remedy)

    async def _events(self, run: _Run, code: str) -> AsyncGenerator[RunEvent, None]:
        if not _encodable(code):
            yield Text("The code holds characters that are none (lone surrogates).\n", "stderr")
            yield Finished("error", "not valid text")
            return
        if not await self._started_before_interrupt(run):
            yield Finished("interrupted")
            return
        for notice in self._notices:
            yield Notice(notice)
        self._notices.clear()
        assert self._link is not None
        run.request = self._link.execute(code)
        while not (run.idle and run.reply is not None):
            item = await self._inbox.get()
            if isinstance(item, Died):
                async for event in self._last_events(run, item.status):
                    yield event
                return
            for event in self._note(run, item):
                yield event
        for event in self._tidy(run):
            yield event
        if run.reply.failure is not None and not run.interrupted.is_set():
            yield run.reply.failure
        if run.reply.left:
            await self._discard()
            yield Finished("died", "the program left the kernel")
            return
        yield _finished(run, run.reply)

    def _note(self, run: _Run, item: Item) -> list[RunEvent]:
        """Note an item of the inbox in ``run``; what it says to the reader."""
        if isinstance(item, Idle):
            run.idle = run.idle or item.request == run.request
            return []
        if isinstance(item, Replied):
            run.reply = item.reply if item.request == run.request else run.reply
            return []
        if isinstance(item, Died):
            return []
        if isinstance(item, Input):
            if item.request != run.request or run.interrupted.is_set():
                return []  # that program does not wait any longer
            run.waits_for_input, run.types_password = True, item.password
            # As in a terminal, the question is part of what the program printed.
            asked = [Text(item.prompt)] if item.prompt else []
            return [*asked, InputRequest(item.prompt, item.password)]
        run.shows_line = run.shows_line or isinstance(item, ActiveLine)
        return [item]

    async def _last_events(self, run: _Run, status: int) -> AsyncGenerator[RunEvent, None]:
        """The process is gone: what it said last, and that it is."""
        with contextlib.suppress(TimeoutError):
            while True:
                for event in self._note(run, await asyncio.wait_for(self._inbox.get(), _DEATH_GRACE)):
                    yield event
        words = self._process.last_words() if self._process else ""
        if words:
            yield Text(words, "stderr")
        for event in self._tidy(run):
            yield event
        over = self._process.limit_passed if self._process else ""
        await self._discard()
        yield Finished("died", over or death(status))

    def _tidy(self, run: _Run) -> list[RunEvent]:
        """What must be taken back at the end."""
        events: list[RunEvent] = []
        if run.waits_for_input:
            events.append(InputTaken())
        if run.shows_line:
            events.append(ActiveLine(None))
        run.waits_for_input = run.shows_line = False
        return events

    async def _started_before_interrupt(self, run: _Run) -> bool:
        """Start the process where it is not there; False where the person stops the run before it is."""
        if self.alive:
            return True
        if self._link is not None:
            self._notices.append("The kernel had ended since the last cell: this is a fresh one, variables are gone.")
        starting = asyncio.ensure_future(self.start())
        stopped = asyncio.ensure_future(run.interrupted.wait())
        try:
            await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                run.ended.set()
                return False
            await starting
            return True
        finally:
            for task in (starting, stopped):
                task.cancel()
            await asyncio.wait({starting, stopped})

    def _on_reply(self, request: str, reply: Reply) -> None:
        run = self._current
        if run is not None and run.request == request:
            run.ended.set()
            self._inbox.put(Replied(request, reply))

    def _on_death(self, inbox: Inbox, status: int) -> None:
        inbox.put(Died(status))
        if self._current is not None and inbox is self._inbox:
            self._current.ended.set()

    def _input_taken(self, run: _Run) -> None:
        if run.waits_for_input:
            run.waits_for_input = False
            self._inbox.put(InputTaken())

    async def _interrupt(self, run: _Run) -> bool:
        """Interrupt until the cell ends: one that comes at a bad moment (in a destructor, say) is lost."""
        link, process = self._link, self._process
        deadline = asyncio.get_running_loop().time() + _INTERRUPT_SECONDS
        while not run.ended.is_set() and asyncio.get_running_loop().time() < deadline:
            if link is not None and run.request:
                self._input_taken(run)
                if process is not None and process.spec.interrupt_by_signal and process.supervised is not None:
                    process.supervised.interrupt()
                else:
                    link.interrupt()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(run.ended.wait(), _INTERRUPT_AGAIN)
        if link is not None:
            # One that is still on its way would stop the next cell.
            await link.interrupts_done(deadline + _INTERRUPT_AGAIN)
        return run.ended.is_set()

    async def _abandon(self, run: _Run) -> None:
        """Nobody reads on: stop the cell, and the kernel where the cell does not stop."""
        run.interrupted.set()
        if not await self._interrupt(run):
            await self._discard()
            self._notices.append("The last cell did not stop: this is a fresh kernel, variables are gone.")
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_INTERRUPT_SECONDS):
                while self.alive and not run.idle:
                    self._note(run, await self._inbox.get())

    async def _discard(self) -> None:
        """Leave nothing of the kernel."""
        link, self._link = self._link, None
        process, self._process = self._process, None
        if link is not None:
            await link.close()
        if process is not None:
            await process.close()


class PythonKernel(JupyterKernel):
    """Python, in the workspace's own environment where that has ipykernel."""

    def __init__(
        self,
        *,
        cwd: Path,
        env: Mapping[str, str],
        root: Path | None = None,
        python: str | None = None,
        spill_folder: Path | None = None,
        confinement: Confinement | None = None,
    ) -> None:
        async def spec() -> KernelSpec:
            choice = await choose_python(python, cwd, root or cwd, env, confinement)
            argv = (choice.python, _KERNEL_START, "{connection_file}", "{spill_folder}", "{stdout}", "{stderr}")
            return KernelSpec(
                "Python kernel",
                argv,
                {
                    **(env if choice.own else environment_of(choice.python, env)),
                    **PLAIN_TERMINAL,
                    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
                },
                remedy=f"See whether this works: {choice.python} -m ipykernel_launcher --version",
                reads_own_output=True,
                notice=choice.notice,
            )

        super().__init__(spec, cwd=cwd, spill_folder=spill_folder, confinement=confinement)

    async def complete(self, code: str, cursor: int) -> Completions:
        """What could stand at ``cursor``, without a call of the person's code; see ``kernel_side.looks``."""
        typed = unfinished_at(code, cursor) if len(code) <= LONGEST_CODE else None
        if typed is None:
            return Completions()
        owner = typed.owner and {"root": typed.owner.root, "steps": typed.owner.steps}
        asked = {"kind": typed.kind, "prefix": typed.prefix, "owner": owner}
        reply = await self._look("control", "oi_complete_request", asked)
        return looked_up(reply, typed.start, cursor)

    async def inspect(self, code: str, cursor: int) -> Inspection | None:
        """What the name at ``cursor`` stands for, without a call of the person's code; see ``kernel_side.looks``."""
        path = path_at(code, cursor) if len(code) <= LONGEST_CODE else None
        if path is None:
            return None
        reply = await self._look("control", "oi_inspect_request", {"root": path.root, "steps": path.steps})
        return inspection_of(reply, code, path)


def _finished(run: _Run, reply: Reply) -> Finished:
    if not reply.error:
        return Finished()
    if run.interrupted.is_set():
        return Finished("interrupted")
    return Finished("error", reply.error)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
