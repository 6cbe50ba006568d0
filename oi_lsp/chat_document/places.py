"""Where text goes into a document that the person edits meanwhile: named places, and what moves them.

``Insertion`` is what the renderer answers. ``Places`` keeps the offsets of the names: a server feeds it the changes of
the document, its own insertions among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from attrs import define, field, frozen


class Place(Enum):
    """The places that a renderer writes at. The last three are those of the block that was begun last."""

    APPEND = "append"
    """The end of the answer, a blank line before the tail marker."""
    FENCE = "fence"
    """After the backticks that open the block."""
    INFO = "info"
    """After the block's info string."""
    BODY = "body"
    """The end of the block's content."""


@frozen
class Insertion:
    """``text`` goes in at ``place``, which from then on is behind it. ``sets`` names places within the text."""

    place: Place
    text: str
    sets: tuple[tuple[Place, int], ...] = ()


@define
class Places:
    """The offsets of the places in one document, in characters."""

    offsets: dict[Place, int] = field(factory=dict)

    def changed(self, start: int, end: int, length: int) -> None:
        """The characters from ``start`` to ``end`` were replaced by ``length`` others.

        A place behind or before the change stays with its surroundings; one that the change reaches around is then
        behind the new text. What is inserted exactly at a place by the person comes behind it.
        """
        for place, at in self.offsets.items():
            if at > start:
                self.offsets[place] = at + length - (end - start) if at >= end else start + length

    def inserted(self, insertion: Insertion) -> int:
        """The server's own insertion went in. Answers the offset that it went in at."""
        start = self.offsets[insertion.place]
        for place, at in self.offsets.items():
            if at >= start:
                self.offsets[place] = at + len(insertion.text)
        for place, within in insertion.sets:
            self.offsets[place] = start + within
        return start

    def apply(self, text: str, insertions: Iterable[Insertion]) -> str:
        """``text`` with the insertions, where nobody else writes; the places move along."""
        for insertion in insertions:
            start = self.inserted(insertion)
            text = text[:start] + insertion.text + text[start:]
        return text
