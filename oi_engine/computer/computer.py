"""The computer of one session: takes grants, keeps a live runtime for each language, bounds what comes out."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable

from oi_engine.approval import Gate, Grant
from oi_engine.computer.languages import BuiltInNames, Naming
from oi_engine.computer.output import OutputLimiter
from oi_engine.computer.runtime import RunEvent, Runtime
from oi_engine.computer.spill import spill_folder
from oi_engine.errors import UnknownInput

RuntimeMaker = Callable[[str, str], Runtime]
"""Makes the runtime of a language (canonical name) in a working directory; raises ``LanguageUnavailable``."""


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
    ) -> None:
        self.languages = languages
        self.naming = naming or BuiltInNames()
        self._look_for_languages = look_for_languages
        self._gate = gate
        self._make_runtime = make_runtime
        self._spill_folder = spill_folder(session_id)
        self._runtimes: dict[str, Runtime] = {}
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
        """Run what a grant allows. Ends with one ``Finished``; output is sanitized and bounded.

        Raises ``GrantError``, ``LanguageUnavailable``, ``KernelFailed``.
        """
        cell = self._gate.redeem(grant)
        runtime = self.prepare(cell.language, cell.cwd)
        self._running = cell.language
        try:
            if not runtime.alive:
                await self._start(runtime)
            async with contextlib.aclosing(self._bounded(runtime.run(cell.code))) as events:
                async for event in events:
                    yield event
        finally:
            self._running = None

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

    def prepare(self, language: str, cwd: str) -> Runtime:
        """The runtime of a language, made but not started where there is none. Raises ``LanguageUnavailable``."""
        runtime = self._runtimes.get(language)
        if runtime is None:
            runtime = self._runtimes[language] = self._make_runtime(language, cwd)
        return runtime

    def answer(self, text: str) -> None:
        """Give the waiting program its line. Raises ``UnknownInput``."""
        runtime = self._runtimes.get(self._running or "")
        if runtime is None:
            raise UnknownInput("No program waits for input.")
        runtime.answer(text)

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
