"""What the tests of writing into documents share: an editor with a chat document, and a writer in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from attrs import define, field

from oi_lsp.anchors import Anchor
from oi_lsp.document_writer import DocumentWriter, Unwritten
from tests.fakes.editors import EXACT, VSCODE, Editor, Profile, in_virtual_time

HEAD, TAIL = "# Chat\n\nHello, wörld 😀\n\n## Assistant\n\n", "\n<!-- tail -->\n\n## You\n\n"
profiles = pytest.mark.parametrize("profile", EXACT, ids=lambda profile: profile.name)


@define
class Owner:
    stuck: list[str] = field(factory=list)
    misplaced: list[str] = field(factory=list)
    undone: list[tuple[str, list[Unwritten]]] = field(factory=list)
    closed: list[list[Unwritten]] = field(factory=list)

    def on_stuck(self, reason: str) -> None:
        self.stuck.append(reason)

    def on_misplaced(self, text: str, start: int, end: int) -> None:
        self.misplaced.append(text)

    def on_undone(self, text: str, unwritten: list[Unwritten]) -> None:
        self.undone.append((text, unwritten))

    def on_closed(self, unwritten: list[Unwritten]) -> None:
        self.closed.append(unwritten)


class Desk:
    """An editor with a chat document, and a writer at the end of its answer."""

    def __init__(
        self,
        profile: Profile = VSCODE,
        text: str = HEAD + TAIL,
        latency: Callable[[], float] = lambda: 0.001,
        pace: float = 0.1,
        buffered: bool = False,
    ) -> None:
        self.editor = Editor(profile, text, latency)
        self.owner = Owner()
        self.writer = DocumentWriter(self.editor.mirror, self.editor, self.owner, pace=pace, buffered=buffered)
        self.answer = self.writer.anchor(len(HEAD))

    @property
    def text(self) -> str:
        return self.editor.buffer.text

    async def write(self, text: str, anchor: Anchor | None = None) -> bool:
        self.writer.insert(anchor or self.answer, text)
        self.writer.flush()
        return await self.writer.written()

    async def told(self) -> None:
        """Wait until the server has been told of everything."""
        while self.editor.mirror.text != self.text:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)


@contextmanager
def closing(desk: Desk) -> Iterator[Desk]:
    try:
        yield desk
    finally:
        desk.writer.close()


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario()

    in_virtual_time(whole())
