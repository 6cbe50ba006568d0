"""Places in a document that move with it: where text goes, and what was written."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence

from attrs import define

from oi_lsp.documents import Change

KEPT = 2_000
"""About how many pieces are remembered, so that their undo is recognised; the oldest are forgotten first."""

_LOOKED_AT = 20


@define(eq=False)
class Anchor:
    """A place that text is written at; ``offset`` is where it is now.

    A change wholly before it shifts it. What the person inserts at it comes after it. Where a change spans it, it goes
    to the end of the new text.
    """

    offset: int

    def shift(self, change: Change) -> None:
        """Move with a change that was not made here."""
        if change.end <= self.offset and change.start < self.offset:
            self.offset += change.delta
        elif change.start < self.offset:
            self.offset = change.start + len(change.text)


class Anchors:
    """The anchors of a document, in order: of those at one offset, what is written at a later one is further down."""

    def __init__(self) -> None:
        self._all: list[Anchor] = []

    def add(self, offset: int) -> Anchor:
        """A new one, after those that are at its offset."""
        anchor = Anchor(offset)
        self._all.insert(bisect_right(self._all, offset, key=_offset), anchor)
        return anchor

    def add_after(self, other: Anchor) -> Anchor:
        """A new one right after another: what is written at it comes behind all that is written at that one."""
        anchor = Anchor(other.offset)
        self._all.insert(self._all.index(other) + 1, anchor)
        return anchor

    def add_before(self, other: Anchor) -> Anchor:
        """A new one right before another: what is written at it comes before all that is written at that one."""
        anchor = Anchor(other.offset)
        self._all.insert(self._all.index(other), anchor)
        return anchor

    def remove(self, anchor: Anchor) -> None:
        """Follow it no longer."""
        if anchor in self._all:
            self._all.remove(anchor)

    def shift(self, change: Change) -> None:
        """Move with a change that the person made."""
        for anchor in self._all:
            anchor.shift(change)

    def copies(self) -> list[tuple[Anchor, Anchor]]:
        """Each with one that is where it is now, and moves no more."""
        return [(anchor, Anchor(anchor.offset)) for anchor in self._all]

    def offsets(self) -> list[tuple[Anchor, int]]:
        """Where they are."""
        return [(anchor, anchor.offset) for anchor in self._all]

    def rank(self, anchor: Anchor) -> int:
        """Which one it is in their order; -1 where it is not followed."""
        return self._all.index(anchor) if anchor in self._all else -1

    def replace(self, first: Anchor, last: Anchor, start: int, end: int, size: int) -> None:
        """Move with what was written between two of them: ``size`` characters in the place of ``start`` to ``end``."""
        self._move(self.rank(first), self.rank(last), start, end, size)
        first.offset, last.offset = start, start + size

    def insert(self, anchors: Sequence[Anchor], start: int, ends: Sequence[int]) -> None:
        """Move with an insertion at some of them, in order: the text of each ends at so many characters from ``start``.

        Those between stay between the texts of their neighbours.
        """
        ranks = [self.rank(anchor) for anchor in anchors]
        self._move(ranks[0], ranks[-1], start, start, ends[-1])
        for rank, following, end in zip(ranks, [*ranks[1:], ranks[-1] + 1], ends, strict=True):
            for anchor in self._all[rank:following]:
                anchor.offset = start + end

    def _move(self, first: int, last: int, start: int, end: int, size: int) -> None:
        for rank, anchor in enumerate(self._all):
            if rank < first:
                anchor.offset = min(anchor.offset, start)
            elif rank > last:
                anchor.offset = max(anchor.offset, end) + size - (end - start)
            else:
                anchor.offset = start + size


def _offset(anchor: Anchor) -> int:
    return anchor.offset


@define(eq=False)
class Piece:
    """Text that was written by one edit, in the place of ``old``; it may have been changed since."""

    start: int
    end: int
    text: str
    old: str

    def shift(self, change: Change) -> None:
        """Move with a change; one within it is part of it."""
        edge = change.start + len(change.text)
        inserted_after = change.start == change.end == self.end
        if change.end <= self.end and not inserted_after:
            self.end += change.delta
        elif change.start < self.end:
            self.end = edge
        if change.end <= self.start:
            self.start += change.delta
        elif change.start < self.start:
            self.start = edge
        self.end = max(self.start, self.end)

    def is_whole(self, text: str) -> bool:
        """Whether it stands in a document's text as it was written."""
        return text[self.start : self.end] == self.text


class Written:
    """What was written into a document, so that it is seen when the person undoes that.

    An editor undoes the newest edit first. So it is an undo when the newest piece that stands whole is gone, alone or
    with those that were written right before it, and nothing else has changed.
    """

    def __init__(self) -> None:
        self._by_place: list[Piece] = []
        self._by_age: list[Piece] = []

    def add(self, piece: Piece) -> None:
        """Remember a piece that has been written."""
        insort(self._by_place, piece, key=_start)
        self._by_age.append(piece)
        if len(self._by_age) > 2 * KEPT:
            del self._by_age[:-KEPT]
            kept = set(map(id, self._by_age))
            self._by_place = [piece for piece in self._by_place if id(piece) in kept]

    def forget(self, piece: Piece) -> None:
        """It was not ours, or it is gone."""
        self._by_place.remove(piece)
        self._by_age.remove(piece)

    def shift(self, change: Change) -> None:
        """Move with a change."""
        for piece in reversed(self._by_place):
            if piece.end < change.start:
                break
            piece.shift(change)

    def undone(self, before: str, after: str, change: Change) -> str | None:
        """What of it a change that has just been made undoes; to be called before ``shift``."""
        by_age = self._by_age[::-1]
        newest = next((at for at, piece in enumerate(by_age[:_LOOKED_AT]) if piece.is_whole(before)), None)
        if newest is None:
            return None
        text, run = before, list[Piece]()
        for piece in by_age[newest:]:
            # A piece may stand in the midst of an older one.
            start = piece.start - sum(each.end - each.start for each in run if each.start < piece.start)
            end = start + len(piece.text)
            if text[start:end] != piece.text or (run and piece.old):
                break
            text = text[:start] + piece.old + text[end:]
            run.append(piece)
            if piece.old or len(text) <= len(after):
                break
        if text != after:
            return None
        run.sort(key=_start)
        for piece in run:
            self.forget(piece)
        return "".join(piece.text for piece in run)


def _start(piece: Piece) -> int:
    return piece.start
