"""A session's stream on its way into the chat document.

Each turn has a *spot* where what comes of it is written: below the message that was sent, below the block that was run
again, or in sections of its own. The spot is named when the turn is asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from attrs import define, field

from oi_lsp.anchors import Anchor
from oi_lsp.chat_document.places import Insertion
from oi_lsp.chat_document.places import Place as At
from oi_lsp.chat_document.render import Renderer
from oi_lsp.document_writer import DocumentWriter

if TYPE_CHECKING:
    from oi_engine.messages import Chunk
    from oi_engine.session.state import PendingInput, Ticket
    from oi_engine.stream import Entry

HELD = 0.3
"""Seconds after which output whose line has not ended is written all the same."""
_WORDS = ("unasked", "denied")
"""What a document shows of what programs are told of blocks, by the formats of the chunks."""


@define(eq=False)
class Spot:
    """Where what comes of one turn goes."""

    renderer: Renderer
    places: dict[At, Anchor]
    opening: Callable[[], None] = lambda: None
    """Writes what comes before it; called when the turn begins."""
    block: str | None = None
    """The block that is run again; then the document holds the code."""
    has_request: bool = True
    """Whether the document holds what the person asked."""
    given_up: bool = False
    """Whether nothing more is to be written there."""
    anchors: list[Anchor] = field(factory=list)
    """All that were made for it; they are followed until it is over and written."""


@define(eq=False)
class Answers:
    """Writes one session's turns into one document.

    ``on_over`` is called with a turn's spot when all of it is in the document, ``on_block`` when all of a block is that
    waits for the person: only then can they take it for what it is. ``on_word`` is called with the id of a block and
    what the stream has of it for programs (``_WORDS``), when all before that is in the document.
    """

    writer: DocumentWriter
    on_over: Callable[[Spot], None]
    on_block: Callable[[], None]
    on_word: Callable[[str, Chunk], None]
    holds_lines: bool = False
    """Whether output is written only when its line has ended; ``unended`` has the rest."""
    proposals: dict[str, str] = field(factory=dict)
    """The block in the document of each proposal."""
    questions: dict[str, str] = field(factory=dict)
    """The input block in the document of each question that a program asked."""
    _next: Spot | None = None
    _expected: dict[str, Spot] = field(factory=dict)
    _spots: dict[str, Spot] = field(factory=dict)
    _latest: Spot | None = None
    _held: asyncio.TimerHandle | None = None
    _next_block: int = 1
    _next_number: int = 1
    _asked: set[str] = field(factory=set)
    _tasks: set[asyncio.Task[None]] = field(factory=set)

    @property
    def waiting(self) -> bool:
        """Whether a turn that was asked for has not begun."""
        return bool(self._expected)

    @property
    def unended(self) -> str:
        """Output that is not written yet, because its line has not ended."""
        return self._latest.renderer.unended if self._latest is not None else ""

    def block_of(self, chunk: Chunk) -> str | None:
        """The block in the document that a chunk of the turn's is of: the code itself, or what came of it."""
        blocks = self._latest.renderer.blocks if self._latest is not None else {}
        return blocks.get(chunk.parent or chunk.id)

    def load(self, chunks: Iterable[Chunk], spot: Spot) -> None:
        """Write a conversation that was before."""
        for chunk in chunks:
            if chunk.type != "confirmation":
                self._put(spot, spot.renderer.feed(chunk))
        self._put(spot, spot.renderer.finish())
        self.writer.flush()

    def ask(self, spot: Spot, start: Callable[[], Ticket]) -> Ticket:
        """Start what begins a turn, which is written at ``spot``."""
        self._next = spot
        try:
            ticket = start()
            if self._next is not None:
                self._expected[ticket.turn_id] = spot
            return ticket
        finally:
            self._next = None

    def forget_waiting(self) -> None:
        """The turns that were asked for and have not begun will not come."""
        self._expected.clear()

    def undone(self, is_in_answer: Callable[[int], bool]) -> None:
        """After an undo, write no more of what was being said, and nothing at all where the answer itself is gone."""
        for spot in self._spots.values():
            spot.renderer.undone()
            spot.given_up = spot.block is None and not is_in_answer(spot.places[At.APPEND].offset)

    def follow(self, entry: Entry, otherwise: Callable[[], Spot]) -> None:
        """Write what is new in the stream. ``otherwise`` makes the spot of a turn that was asked for elsewhere."""
        turn = entry.turn_id
        spot = self._spots.get(turn)
        if spot is None:
            spot = self._expected.pop(turn, None) or self._next or otherwise()
            self._next = None
            self._spots[turn] = spot
            spot.opening()
            # At once, and not with what comes: it shows that the message was sent, and has an undo of its own.
            self.writer.flush()
        self._latest = spot
        if not spot.given_up:
            self._feed(spot, entry.chunk)
        if entry.chunk.type == "status":
            self._spots.pop(turn, None)
            self._when_written(lambda: self._over(spot))

    def question(self, asked: PendingInput) -> None:
        """A program waits for a line: write where the person can answer."""
        spot = self._latest
        if spot is None or spot.given_up or asked.id in self._asked:
            return
        self._asked.add(asked.id)
        self._count_on(spot.renderer)
        block, insertions = spot.renderer.question(asked.prompt, password=asked.password)
        self._put(spot, insertions)
        self._when_written(lambda: self._known(self.questions, asked.id, block))

    def edited(self, block: str) -> None:
        """The person edited a block in the document before it runs: the edit is not written again."""
        if self._latest is not None:
            self._latest.renderer.edited_in_place(block)

    def close(self) -> None:
        """Write nothing more."""
        if self._held is not None:
            self._held.cancel()
        for task in self._tasks:
            task.cancel()

    # --- chunks --------------------------------------------------------------------------------------------------

    def _feed(self, spot: Spot, chunk: Chunk) -> None:
        if spot.has_request and chunk.role == "user" and chunk.type != "command" and _is_request(chunk):
            if chunk.start and spot.block is not None:
                spot.renderer.adopt(chunk.id, spot.block)
            return
        self._count_on(spot.renderer)
        self._put(spot, spot.renderer.feed(chunk))
        block = spot.renderer.blocks.get(chunk.parent or "", "")
        if chunk.type == "confirmation":
            self._when_written(lambda: self._known(self.proposals, chunk.id, block))
        elif chunk.type == "command" and chunk.format in _WORDS and block:
            self._when_written(lambda: self.on_word(block, chunk))
        if chunk.type == "console" and self._held is None and not self.holds_lines:
            self._held = asyncio.get_running_loop().call_later(HELD, self._write_held, spot)

    def _write_held(self, spot: Spot) -> None:
        self._held = None
        if not spot.given_up:
            self._put(spot, spot.renderer.flush())

    def _count_on(self, renderer: Renderer) -> None:
        """Have a renderer give numbers that no other has given."""
        renderer.next_block = self._next_block = max(self._next_block, renderer.next_block)
        renderer.next_number = self._next_number = max(self._next_number, renderer.next_number)

    def _put(self, spot: Spot, insertions: Iterable[Insertion]) -> None:
        for insertion in insertions:
            # An anchor stays behind what is written at it: so each piece of the text has one, and a named place within
            # the text is the anchor of the piece before it.
            anchor, at = spot.places[insertion.place], 0
            sets = sorted(insertion.sets, key=lambda each: each[1])
            whole = bool(sets)  # a fence is written with what it closes
            for place, within in sets:
                self.writer.insert(anchor, insertion.text[at:within], whole=whole)
                spot.places[place], at = anchor, within
                anchor = self.writer.anchor_after(anchor)
                spot.anchors.append(anchor)
            self.writer.insert(anchor, insertion.text[at:], whole=whole)
            if all(place != insertion.place for place, _ in sets):
                spot.places[insertion.place] = anchor
        self._next_block = max(self._next_block, spot.renderer.next_block)
        self._next_number = max(self._next_number, spot.renderer.next_number)

    def _over(self, spot: Spot) -> None:
        spot.given_up = True
        for anchor in spot.anchors:
            self.writer.release(anchor)
        self.on_over(spot)

    def _known(self, blocks: dict[str, str], asked: str, block: str) -> None:
        blocks[asked] = block
        self.on_block()

    def _when_written(self, then: Callable[[], None]) -> None:
        """Do something once all that there is now is in the document; not where it does not get there."""

        async def written() -> None:
            self.writer.flush()
            if await self.writer.written():
                then()

        task = asyncio.get_running_loop().create_task(written())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _is_request(chunk: Chunk) -> bool:
    """Whether a chunk of the person's is of what was asked, and not of how they edited the model's code."""
    return chunk.type != "code" or chunk.parent is None
