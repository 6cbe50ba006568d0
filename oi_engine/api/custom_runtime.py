"""A program's own language as a runtime: a class with ``name``, ``run``, ``stop`` and ``terminate``.

The shape is the documented one (``code-execution/custom-languages``): ``run(code)`` is a generator of LMC chunks, such
as ``{"type": "console", "format": "output", "content": "…"}``; the role may be left out.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from oi_engine.computer.runtime import ActiveLine, Finished, Rich, RunEvent, Text
from oi_engine.errors import KernelFailed, UnknownInput

STOP_SECONDS = 1.0
"""How long a cell may go on after ``stop()`` before it counts as one that does not stop."""


class CustomRuntime:
    """Runs cells with an object of the program's own, on a thread of its own: it may block for as long as it likes."""

    def __init__(self, language: Any) -> None:
        self._language = language
        self._made: Any = None
        self._stopped = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def alive(self) -> bool:
        """Whether the object is made."""
        return self._made is not None

    async def start(self) -> None:
        """Make the object, where a class was given. Raises ``KernelFailed``."""
        make = self._language if isinstance(self._language, type) else lambda: self._language
        try:
            self._made = await asyncio.to_thread(make)
        except Exception as error:  # whatever a stranger's class raises is told
            raise KernelFailed(f"{self._language.name} could not be started: {_words(error)}") from error

    async def run(self, code: str) -> AsyncGenerator[RunEvent, None]:
        """Run one cell; see ``Runtime.run``."""
        if not self.alive:
            await self.start()
        self._stopped = False
        self._idle.clear()
        events: asyncio.Queue[RunEvent] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(event: RunEvent) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        def work() -> None:
            tell(self._work(code, tell))

        # A daemon: a cell that never ends must not keep the program from ending.
        threading.Thread(target=work, name=f"language {self._language.name}", daemon=True).start()
        try:
            while not isinstance(event := await events.get(), Finished):
                yield event
            yield event
        finally:
            self._idle.set()

    def answer(self, text: str) -> None:
        """Programs of a custom language ask nothing."""
        raise UnknownInput("No program waits for input.")

    async def interrupt(self) -> bool:
        """Call ``stop`` and give the cell a moment to end."""
        self._stopped = True
        await asyncio.to_thread(self._made.stop)
        try:
            await asyncio.wait_for(self._idle.wait(), STOP_SECONDS)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Call ``terminate``."""
        made, self._made = self._made, None
        if made is not None:
            self._stopped = True
            await asyncio.to_thread(made.terminate)

    def _work(self, code: str, tell: Callable[[RunEvent], None]) -> Finished:
        try:
            for chunk in self._made.run(code):
                if self._stopped:
                    return Finished("interrupted")
                for event in _events(chunk):
                    tell(event)
        except Exception as error:  # noqa: BLE001 -- whatever a stranger's method raises is what the cell came to
            tell(Text(f"{_words(error)}\n", "traceback"))
            return Finished("error")
        return Finished("interrupted" if self._stopped else "ok")


def _events(chunk: Any) -> list[RunEvent]:
    if not isinstance(chunk, Mapping):
        raise TypeError(f"run() yielded {type(chunk).__name__} where an LMC chunk was expected")
    kind, form, content = chunk.get("type"), chunk.get("format"), chunk.get("content")
    if content is None and form != "active_line":
        return []
    match kind:
        case "console" if form == "active_line":
            return [ActiveLine(None if content is None else int(content))]
        case "console" | "message":
            return [Text(str(content))]
        case "image" | "code":
            return [Rich(kind, "base64.png" if form in (None, "base64") else str(form), str(content))]
    raise TypeError(f"run() yielded a chunk of type {kind!r}; console, image and code are known")


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
