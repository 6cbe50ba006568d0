"""What is to be written into a document, and the edit that the client was asked for."""

from __future__ import annotations

import asyncio
from enum import Enum
from itertools import accumulate

from attrs import define, field

from oi_lsp.anchors import Anchor, Piece
from oi_lsp.client import EditAnswer
from oi_lsp.differences import parts
from oi_lsp.documents import Change
from oi_lsp.echoes import Sighting


class Outcome(Enum):
    """What became of a replacement."""

    WRITTEN = "written"
    CHANGED = "changed"
    """The text there was not as expected: nothing was written."""
    UNWRITTEN = "unwritten"
    """It was not written before the writer stopped or ended."""


@define(eq=False)
class Job:
    """Text that waits for its turn: an insertion at one anchor, or a replacement between two."""

    first: Anchor
    last: Anchor
    text: str
    due: float
    """When it is to be sent, as the event loop's clock has it; infinite for what waits for ``flush``."""
    expected: str = ""
    done: asyncio.Future[Outcome] | None = None

    @property
    def waits_for_flush(self) -> bool:
        """Whether it is held until then."""
        return self.due == float("inf")

    @property
    def next_due(self) -> float:
        """When some of it is to be sent; whole lines are sent at once."""
        return 0 if not self.waits_for_flush and "\n" in self.text else self.due

    def cut(self, now: float) -> tuple[str, str]:
        """What is to be sent now, and the rest: a line that has not ended is held for its time."""
        if self.done is not None or self.due <= now:
            return self.text, ""
        lines = self.text.rfind("\n") + 1
        return self.text[:lines], self.text[lines:]

    def settle(self, outcome: Outcome) -> None:
        """Say what became of it, where somebody waits for that."""
        if self.done is not None and not self.done.done():
            self.done.set_result(outcome)


@define(eq=False)
class Flight:
    """The edit that the client was asked for last: one replacement, or what is inserted at one place."""

    jobs: list[tuple[Job, str]]
    """What of each job it holds, in the order of their anchors."""
    text: str
    old: str
    result: str
    """The document's text when this edit, and nothing else, has been made."""
    anchors: list[tuple[Anchor, int]]
    change_count: int
    sent: float
    asked: asyncio.Future[EditAnswer] = field(init=False)
    seen: Sighting | None = None
    given_back: bool = False
    piece: Piece | None = None
    as_typed: list[tuple[Anchor, Anchor]] = field(factory=list)
    """Once it was seen: where the anchors are if it was the person who wrote that."""

    @property
    def start(self) -> int:
        """Where it is to be made."""
        return self.jobs[0][0].first.offset

    @property
    def replaces(self) -> bool:
        """Whether it is a replacement."""
        return self.jobs[0][0].done is not None

    def settle(self, outcome: Outcome) -> None:
        """Say what became of it, where somebody waits for that."""
        for job, _ in self.jobs:
            job.settle(outcome)

    def ends(self, written: str) -> list[int]:
        """Where the piece of each job ends in the text as it is in the document, which may have been typed into."""
        ends = [Anchor(end) for end in accumulate(len(piece) for _, piece in self.jobs)]
        for part in reversed(parts(self.text, Change(0, len(self.text), written, None))):
            for end in ends[:-1]:
                end.shift(part)
        ends[-1].offset = len(written)
        return [end.offset for end in ends]
