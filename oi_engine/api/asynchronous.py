"""``AsyncInterpreter``: the engine for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from functools import partial
from typing import Any, Literal, overload

from oi_engine.api.core import MakeShown
from oi_engine.api.face import Face, Given
from oi_engine.api.hub import hub
from oi_engine.api.parts import AsyncComputer
from oi_engine.api.run import Mode, Run
from oi_engine.errors import NotHere

Messages = list[dict[str, Any]]


class AsyncInterpreter(Face):
    """As ``OpenInterpreter``, with ``chat`` and what waits to be awaited. It is bound to no loop.

    Settings are plain attributes here too; reading one takes a millisecond at most.
    """

    def __init__(self) -> None:
        super().__init__()
        self._computer = AsyncComputer(self._core)

    @property
    def computer(self) -> AsyncComputer:
        """What runs code."""
        return self._computer

    @overload
    def chat(
        self, message: Given, display: bool = False, stream: Literal[False] = False
    ) -> Coroutine[Any, Any, Messages]: ...
    @overload
    def chat(
        self, message: Given, display: bool = False, *, stream: Literal[True]
    ) -> AsyncIterator[dict[str, Any]]: ...
    def chat(
        self, message: Given, display: bool = False, stream: bool = False
    ) -> Coroutine[Any, Any, Messages] | AsyncIterator[dict[str, Any]]:
        """``await chat(message)``, or ``async for chunk in chat(message, stream=True)``; see ``OpenInterpreter.chat``.

        Cancelling it, or leaving the loop and closing the generator, stops the turn; what is undecided means no.
        """
        show = _shown(streaming=stream) if display else None
        return self._stream(message, show) if stream else self._whole(message, show)

    async def stop(self) -> bool:
        """Stop the turn, in whatever state. Answers whether there was anything to stop."""
        return await hub().acall(self._core.stop())

    async def reset(self) -> None:
        """Begin anew: the conversation is stopped and forgotten, and every kernel ends."""
        await self.stop()
        self.messages = []
        await self._computer.terminate()

    async def close(self) -> None:
        """End the kernels and store what is to be stored."""
        await hub().acall(self._core.close())

    def _absent(self, name: str) -> NotHere | None:
        if name != "server":
            return None
        return NotHere(
            "AsyncInterpreter.server is not here: this version of oi-lsp has no HTTP server.",
            "An editor talks to `oi-lsp --stdio`; a program can serve what `chat(stream=True)` yields.",
        )

    async def _begin(self, message: Given, mode: Mode, show: MakeShown | None, sink: Any) -> tuple[Run, int]:
        messages, before = self._request(message)
        if before is not None:
            await hub().acall(self._core.conversation(before))
        start = 0 if before is not None else len(await hub().acall(self._core.messages()))
        return await hub().acall(self._core.begin(messages, mode, sink, show)), start

    async def _whole(self, message: Given, show: MakeShown | None) -> Messages:
        run, start = await self._begin(message, Mode(), show, lambda chunk: None)
        try:
            return await hub().acall(self._core.result(run, start))
        except asyncio.CancelledError:
            await asyncio.shield(self.stop())
            raise

    async def _stream(self, message: Given, show: MakeShown | None) -> AsyncIterator[dict[str, Any]]:
        chunks: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def sink(chunk: dict[str, Any] | None) -> None:
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)

        run, start = await self._begin(message, Mode(stream=True), show, sink)
        over = False
        try:
            while (chunk := await chunks.get()) is not None:
                yield chunk
                if chunk["type"] == "confirmation":
                    await hub().acall(run.lapse(chunk["id"]))
            over = True
            await hub().acall(self._core.result(run, start))
        finally:
            if not over:
                await self.stop()


def _shown(*, streaming: bool) -> MakeShown:
    from oi_engine.terminal.display import Display

    return partial(Display, streaming=streaming)
