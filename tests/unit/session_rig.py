"""A session on a scripted model, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from oi_engine.messages import Chunk
from oi_engine.session.session import Session
from oi_engine.session.state import Snapshot
from oi_engine.settings import Settings
from oi_engine.stream import check_stream
from oi_engine.transcript import fold
from tests.fakes.scripted import ScriptedModel, Step, TinyRuntime


class Rig:
    """A session with its model, all that ran, and all that was said."""

    def __init__(self, *replies: list[Step], tools: bool = True, **settings: Any) -> None:
        self.ran: list[str] = []
        self.runtimes: list[TinyRuntime] = []
        self.model = ScriptedModel(replies, tools=tools)
        self.session = Session(self.model, self._runtime, Settings(**settings), cwd="/")
        self.chunks: list[Chunk] = []
        self.session.stream.subscribe(lambda entry: self.chunks.append(entry.chunk))

    def _runtime(self, language: str, cwd: str) -> TinyRuntime:
        self.runtimes.append(TinyRuntime(self.ran))
        return self.runtimes[-1]

    async def until(self, wanted: Callable[[Snapshot], bool]) -> Snapshot:
        """Wait for a snapshot."""
        if wanted(self.session.snapshot):
            return self.session.snapshot
        found: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()

        def look(snapshot: Snapshot) -> None:
            if wanted(snapshot) and not found.done():
                found.set_result(snapshot)

        done = self.session.on_state(look)
        try:
            return await asyncio.wait_for(found, 10)
        finally:
            done()

    async def ask(self, text: str) -> None:
        self.session.send(text)
        await self.session.idle()

    async def proposal(self) -> str:
        snapshot = await self.until(lambda s: s.proposal is not None)
        assert snapshot.proposal is not None
        return snapshot.proposal.id

    def said(self) -> list[tuple[str, str, str]]:
        """The conversation, each message as role, type and text."""
        return [(m.role, m.type, m.text) for m in self.session.messages]

    def checked(self) -> None:
        """The stream is well formed and the transcript is its fold."""
        check_stream(self.chunks)
        assert fold(self.chunks) == self.session.messages
        kept = [entry.chunk for entry in self.session.stream.entries_after(0)]
        check_stream(kept)
        assert fold(kept) == self.session.messages
