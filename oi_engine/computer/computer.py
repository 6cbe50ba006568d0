"""The computer of one session: takes grants, keeps a live runtime for each language, bounds what comes out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol

from attrs import evolve

from oi_engine.approval import Cell, Gate, Grant
from oi_engine.computer.denials import Denials
from oi_engine.computer.languages import BuiltInNames, Naming
from oi_engine.computer.looks import Completions, Inspection, Looks, made_harmless
from oi_engine.computer.output import OutputLimiter
from oi_engine.computer.runtime import Finished, Notice, RunEvent, Runtime
from oi_engine.computer.sandbox import OFF, Sandbox
from oi_engine.computer.spill import spill_folder
from oi_engine.errors import LanguageUnavailable, UnknownInput

RuntimeMaker = Callable[[str, str], Runtime]
"""Makes the runtime of a language (canonical name) in a working directory; raises ``LanguageUnavailable``."""


class Confining(Protocol):
    """Makes runtimes in sandboxes; see ``confiner``."""

    async def look(self) -> None:
        """Find out whether there is a sandbox here, before ``problem`` is asked."""
        ...

    def problem(self, language: str) -> str:
        """Why code of a language cannot be put into a sandbox; empty where it can."""
        ...

    def make(self, language: str, cwd: str, sandbox: str) -> Runtime:
        """The runtime of a language in a sandbox. Raises ``LanguageUnavailable``."""
        ...


LanguageFinder = Callable[[], Awaitable[tuple[str, ...]]]
"""Looks for the languages that take a while to be found (Jupyter kernels); answers the names of all there are."""


class Computer:
    """Runs approved cells, one at a time."""

    def __init__(
        self,
        gate: Gate,
        make_runtime: RuntimeMaker,
        session_id: str,
        languages: tuple[str, ...] = (),
        naming: Naming | None = None,
        look_for_languages: LanguageFinder | None = None,
        confiner: Confining | None = None,
        longest: Callable[[], int | None] = lambda: None,
    ) -> None:
        """``longest``: the most seconds that a run in a sandbox may take, asked for at each."""
        self.languages = languages
        self.naming = naming or BuiltInNames()
        self._look_for_languages = look_for_languages
        self._gate = gate
        self._make_runtime = make_runtime
        self._spill_folder = spill_folder(session_id)
        self._confiner = confiner
        self._longest = longest
        self._runtimes: dict[str, Runtime] = {}
        self._sandboxes: dict[str, str] = {}
        self._running: str | None = None
        self._starting = False

    @property
    def starting(self) -> bool:
        """Whether a runtime is being started, so that there is nothing to interrupt yet."""
        return self._starting

    @property
    def running(self) -> str | None:
        """The language whose cell runs now."""
        return self._running

    async def run(self, grant: Grant) -> AsyncGenerator[RunEvent, None]:
        """Run what a grant allows, in the sandbox that it names. Ends with one ``Finished``; output is sanitized and
        bounded. A live runtime that is in another sandbox is ended first.

        Raises ``GrantError``, ``LanguageUnavailable``, ``KernelFailed``.
        """
        cell = self._gate.redeem(grant)
        moved = await self._leave_other_sandbox(cell)
        runtime = self.prepare(cell.language, cell.cwd, cell.sandbox)
        self._running = cell.language
        try:
            if moved:
                yield Notice(moved)
            if not runtime.alive:
                await self._start(runtime)
            async with contextlib.aclosing(self._bounded(self._observed(runtime, cell))) as events:
                async for event in events:
                    yield event
        finally:
            self._running = None

    async def _leave_other_sandbox(self, cell: Cell) -> str:
        """End a runtime that is not where the cell is to run; what the person is told of that."""
        runtime = self._runtimes.get(cell.language)
        if runtime is None or self._sandboxes.get(cell.language) == cell.sandbox:
            return ""
        was_alive = runtime.alive
        await self.restart(cell.language)
        where = f"in the sandbox {Sandbox.parse(cell.sandbox).described}" if cell.sandbox != OFF else "in no sandbox"
        return f"{cell.language} was started afresh, {where}: its variables are gone." if was_alive else ""

    async def _observed(self, runtime: Runtime, cell: Cell) -> AsyncGenerator[RunEvent, None]:
        """A run; of one in a sandbox, it is told what the sandbox seems to have stopped, and it has its time."""
        if cell.sandbox == OFF:
            async with contextlib.aclosing(runtime.run(cell.code)) as events:
                async for event in events:
                    yield event
            return
        denials = Denials(Sandbox.parse(cell.sandbox), cell.cwd)
        longest = self._longest()
        late = asyncio.Event()
        timer = longest and asyncio.create_task(self._end_after(longest, runtime, cell.language, late))
        try:
            async with contextlib.aclosing(runtime.run(cell.code)) as events:
                async for event in events:
                    denials.take(event)
                    if isinstance(event, Finished):
                        if late.is_set():
                            yield Notice(f"It was stopped after {longest:,} seconds (`sandbox_limits.seconds`).")
                        if told := denials.told(failed=event.status != "ok"):
                            yield told
                    yield event
        finally:
            if timer:
                timer.cancel()

    async def _end_after(self, seconds: int, runtime: Runtime, language: str, late: asyncio.Event) -> None:
        await asyncio.sleep(seconds)
        late.set()
        if not await runtime.interrupt():
            # Not awaited by anybody: the run ends with its runtime.
            await self.restart(language)

    async def _bounded(self, events: AsyncGenerator[RunEvent, None]) -> AsyncGenerator[RunEvent, None]:
        limiter = OutputLimiter(self._spill_folder)
        try:
            async with contextlib.aclosing(events):
                async for event in events:
                    for bounded in limiter.feed(event):
                        yield bounded
        finally:
            limiter.finish()

    async def look_for_languages(self) -> None:
        """Have ``languages`` complete; takes a moment the first time."""
        if self._look_for_languages is not None:
            self.languages = await self._look_for_languages()
            self._look_for_languages = None

    def prepare(self, language: str, cwd: str, sandbox: str = OFF) -> Runtime:
        """The runtime of a language, made but not started where there is none. Raises ``LanguageUnavailable``."""
        runtime = self._runtimes.get(language)
        if runtime is None:
            runtime = self._runtimes[language] = self._made(language, cwd, sandbox)
            self._sandboxes[language] = sandbox
        return runtime

    def _made(self, language: str, cwd: str, sandbox: str) -> Runtime:
        if sandbox == OFF:
            return self._make_runtime(language, cwd)
        if self._confiner is None:
            raise LanguageUnavailable("This must run in a sandbox, and there is none here.")
        return self._confiner.make(language, cwd, sandbox)

    def answer(self, text: str) -> None:
        """Give the waiting program its line. Raises ``UnknownInput``."""
        runtime = self._runtimes.get(self._running or "")
        if runtime is None:
            raise UnknownInput("No program waits for input.")
        runtime.answer(text)

    async def complete(self, language: str, code: str, cursor: int) -> Completions:
        """What could stand at ``cursor`` (characters) in code of a language; nothing unless its runtime is idle."""
        runtime = self._idle(language)
        found = await runtime.complete(code, cursor) if runtime else Completions()
        return evolve(found, items=tuple(made_harmless(item) for item in found.items))

    async def inspect(self, language: str, code: str, cursor: int) -> Inspection | None:
        """What the name at ``cursor`` stands for; ``None`` unless the language's runtime is idle, and knows."""
        runtime = self._idle(language)
        found = await runtime.inspect(code, cursor) if runtime else None
        return found and made_harmless(found)

    def _idle(self, language: str) -> Looks | None:
        """The runtime of a language, where it can be looked into now."""
        name = self.naming.canonical(language) or language
        runtime = self._runtimes.get(name)
        if runtime is None or name == self._running or not runtime.alive or not isinstance(runtime, Looks):
            return None
        return runtime

    async def interrupt(self, language: str | None = None) -> bool:
        """Interrupt the running cell (of ``language``, where given). False where it does not stop in time."""
        wanted = language or self._running
        runtime = self._runtimes.get(wanted or "")
        if runtime is None or wanted != self._running:
            return True
        return await runtime.interrupt()

    async def restart(self, language: str | None = None) -> list[str]:
        """End the runtime of a language, or all of them; the next run starts afresh. Answers which were ended."""
        wanted = [language] if language else list(self._runtimes)
        ended = [name for name in wanted if name in self._runtimes]
        for name in ended:
            await self._runtimes.pop(name).close()
        return ended

    async def close(self) -> None:
        """End every runtime."""
        await self.restart()

    async def _start(self, runtime: Runtime) -> None:
        self._starting = True
        try:
            await runtime.start()
        finally:
            self._starting = False
