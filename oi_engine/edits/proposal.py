"""One inline edit of one document: its hunks, what becomes of each, and where they are while the document changes.

::

                    ┌────────────── refused ──────────────┐
                    ▼                                     │
    update ──► proposed ──── accept ───► pending ─────────┘
                 │ ▲ ▲                     │
                 │ │ └── it fits again     │ the document has it
       reject    │ └──── undone ───────────┼──────────┐
                 ▼                         ▼          │
              rejected    stale         accepted ─────┘

A hunk is *stale* when the document no longer has its lines as it would replace them, and *superseded* when the model's
stream, or another edit, has taken its place. What the document says decides, and not what was said to have been
done: a hunk is accepted when its text is there, and proposed again when its old text is back.

The hunks are kept in offsets of a base text: the document as it was, with the accepted hunks. The alignment tells what
people made of that text, so that neither their changes nor the accepted hunks are ever proposed to be undone.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable
from typing import Literal

from attrs import define, field, frozen

from oi_engine.edits.alignment import Alignment, Change, trimmed
from oi_engine.edits.hunks import hunks
from oi_engine.errors import HunkError

HunkState = Literal["proposed", "pending", "accepted", "rejected", "stale", "superseded"]

_LOOK = 64
"""Characters."""

_WHY = {
    "pending": "is being written",
    "accepted": "has been accepted",
    "rejected": "has been rejected",
    "stale": "no longer fits: the document was changed there",
    "superseded": "was replaced by a newer one",
}


@frozen
class Shown:
    """A hunk as it is now.

    ``start`` and ``end`` are where its lines (``old``, or ``new`` once accepted) are in the document, in characters;
    ``None`` where they are no more.
    """

    id: str
    state: HunkState
    start: int | None
    end: int | None
    old: str
    new: str


@frozen
class Write:
    """What is to be written for a hunk: ``text`` over the characters ``start:end``, which must be ``expected``."""

    hunk_id: str
    start: int
    end: int
    text: str
    expected: str


Listener = Callable[[tuple[Shown, ...]], None]


@define(eq=False)
class _Item:
    """A hunk in offsets of the base text, which has ``new`` where it is accepted, else ``old``."""

    id: str
    start: int
    end: int
    old: str
    new: str
    state: HunkState = "proposed"
    told: HunkState | None = None
    # Whether it was ever accepted: an undo may be taken back.
    written: bool = False
    # Accepted hunks in whose text this one was accepted: each with where it was, counted from this one's start.
    over: list[tuple[_Item, int, int]] = field(factory=list)

    @property
    def other(self) -> str:
        """What the base would have there after the next step: accepting, or its undo."""
        return self.old if self.state == "accepted" else self.new

    @property
    def growth(self) -> int:
        return len(self.other) - (self.end - self.start)


class Proposal:
    """A replacement of the characters ``start:end`` of a document, whole lines of it, hunk by hunk.

    The caller tells it every change of the document, in order, and what became of each write.
    """

    def __init__(self, edit_id: str, text: str, start: int, end: int) -> None:
        self.id = edit_id
        self._document = Alignment(text)
        # In offsets of the base text.
        self._start, self._end = start, end
        self._items: list[_Item] = []
        self._made = 0
        self._target: str | None = None
        self._complete = False
        self._due = False
        self._over = False
        self._gone: list[_Item] = []
        # Superseded hunks that an editor may bring back, as they were undone.
        self._undone: list[_Item] = []
        self._listeners: list[Listener] = []

    @property
    def text(self) -> str:
        """The document as far as it is known here."""
        return self._document.text

    @property
    def complete(self) -> bool:
        """Whether the whole replacement has arrived, and every hunk of it is here."""
        return self._complete and not self._due

    @property
    def hunks(self) -> tuple[Shown, ...]:
        """All hunks in the order of the document, without those that were superseded."""
        return tuple(self._shown(item) for item in self._items)

    @property
    def open(self) -> tuple[str, ...]:
        """The ids of the hunks that can be accepted or rejected."""
        return tuple(item.id for item in self._items if item.state == "proposed")

    @property
    def range(self) -> tuple[int, int]:
        """Where the lines that are replaced are now, in characters of the document, or what is left of them."""
        return self._document.about(self._start, self._end)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Be told the hunks whose state has changed, and new ones, after each step. Returns what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # --- the model -----------------------------------------------------------------------------------------------

    def update(self, replacement: str, *, complete: bool) -> None:
        """The replacement as far as it has arrived: whole lines of it, unless it is ``complete``.

        Where the stream breaks off, the hunks of the last update stay, and what had not arrived is left as it was.
        While a hunk is pending the update is kept, and compared when that is over.
        """
        if self._over:
            return
        self._target, self._complete, self._due = replacement, complete, True
        self._settle()

    def supersede(self) -> None:
        """Another edit has taken its place. What is being written is still waited for."""
        self._over = True
        self._settle()

    # --- the person ----------------------------------------------------------------------------------------------

    def accept(self, hunk_id: str) -> Write:
        """What to write for a hunk; until ``applied`` or ``refused``, it is pending.

        Raises ``HunkError`` where it cannot be accepted.
        """
        item = self._wanted(hunk_id)
        place = self._document.place(item.start, item.end)
        if place is None:
            raise RuntimeError("a proposed hunk always has its place")
        item.state = "pending"
        self._settle()
        return Write(item.id, *place, item.new, item.old)

    def reject(self, hunk_id: str) -> None:
        """The person does not want it. Raises ``HunkError`` where it cannot be rejected; a stale one can."""
        self._wanted(hunk_id, "stale").state = "rejected"
        self._settle()

    # --- the front end -------------------------------------------------------------------------------------------

    def applied(self, hunk_id: str) -> None:
        """The editor says that it has written the hunk.

        It is accepted when the document's change tells so, which may have come before or may come yet. Where it does
        not come (some editors say *applied* and write nothing), call ``refused`` after a while.
        """
        item = self._found(hunk_id)
        if item is not None and item.state == "pending" and self._place(item) is None:
            # The document was changed there, and not to this.
            item.state = "stale"
        self._settle()

    def refused(self, hunk_id: str) -> None:
        """The editor did not write it. A change that comes later all the same is still recognised."""
        item = self._found(hunk_id)
        if item is not None and item.state == "pending":
            item.state = "proposed"
        self._settle()

    def changed(self, *changes: Change) -> None:
        """The document was changed, by anyone: the changes of one notification, each to the text before it.

        Raises ``ValueError`` where the document has no such place.
        """
        if len(changes) > 1 and self._is_one_step(changes):
            self._settle()
            return
        for change in changes:
            if not self._is_step(change):
                self._document.change(change)
        self._take_steps()
        self._settle()

    # --- which changes are ours ----------------------------------------------------------------------------------

    def _steps(self) -> dict[int, list[_Item]]:
        """The hunks that may be taken or undone by a change, by how much the text grows thereby."""
        found: dict[int, list[_Item]] = defaultdict(list)
        for item in (*self._items, *self._undone):
            found[item.growth].append(item)
        for items in found.values():
            items.sort(key=lambda item: (item.state != "pending", not item.written))
        return found

    def _is_one_step(self, changes: tuple[Change, ...]) -> bool:
        """Whether all the changes of a notification together are one step."""
        after = self.text
        for change in changes:
            after = change.applied_to(after)
        return self._is_step(trimmed(self.text, Change(0, len(self.text), after)))

    def _is_step(self, change: Change) -> bool:
        """Whether a change does exactly what accepting a hunk does, or undoes it; if so, the step is taken."""
        after = change.applied_to(self.text)
        for item in self._steps()[len(after) - len(self.text)]:
            place = self._place(item)
            # A look at what should be there, before all that lies between the two is compared: of equal lines it is
            # arbitrary which of them an editor says have come.
            if place is None or not after.startswith(item.other + self.text[place[1] : place[1] + _LOOK], place[0]):
                continue
            low, high = min(place[0], change.start), max(place[1], change.end)
            grown = high + len(after) - len(self.text)
            if after[low:grown] == self.text[low : place[0]] + item.other + self.text[place[1] : high]:
                start, end, new = item.start, item.end, item.other
                self._take(item)
                self._document.write(start, end, place, new)
                return True
        return False

    def _take_steps(self) -> None:
        """Take the steps that several changes together came to."""
        while self._take_one():
            pass

    def _take_one(self) -> bool:
        gaps = self._document.gaps
        steps = self._steps() if gaps else {}
        pending = [item for item in self._items if item.state == "pending"]
        for gap, item in itertools.product(gaps, pending):
            if self._document.adopt_part(gap, item.start, item.end, item.new):
                self._take(item)
                return True
        for gap in gaps:
            for item in steps.get((gap.text1 - gap.text0) - (gap.base1 - gap.base0), ()):
                near = _touch((item.start, item.end), (gap.base0, gap.base1))
                if near and self._document.adopt(gap, item.start, item.end, item.other):
                    self._take(item)
                    return True
        return False

    def _take(self, taken: _Item) -> None:
        """Accept a hunk, or undo it: the base text has the other text there (the caller sees to that)."""
        start, end, by = taken.start, taken.end, taken.growth
        undone = taken.state == "accepted"
        for item in [*self._items, *self._undone]:
            # Two hunks at one place would be in no order.
            if undone and item.state != "accepted" and _touch((item.start, item.end), (start, end)):
                self._due = True
            if item is taken or item.end <= start:
                continue
            if item.start >= end:
                item.start, item.end = item.start + by, item.end + by
            elif item.state == "accepted" and not undone:
                taken.over.append((item, item.start - start, item.end - start))
                item.start = item.end = -1
            else:
                self._lose(item)
        taken.end += by
        self._end += by
        if taken in self._undone:
            self._undone.remove(taken)
            self._items.append(taken)
            self._due = True
        taken.state, taken.written = "proposed" if undone else "accepted", True
        for item, low, high in taken.over if undone else ():
            item.start, item.end = start + low, start + high
        if undone:
            taken.over.clear()
        self._items.sort(key=lambda item: (item.start, item.end))

    def _lose(self, item: _Item) -> None:
        """A hunk of a text that is no more."""
        if item in self._undone:
            self._undone.remove(item)
        else:
            self._drop(item, for_good=True)
        self._due = True

    # --- keeping order -------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Bring the states in line with the document, and tell what has changed."""
        if self._due and not any(item.state == "pending" for item in self._items):
            self._due = False
            self._compare()
        for item in tuple(self._items):
            if item.state not in ("proposed", "stale"):
                continue
            if self._over:
                self._drop(item)
            else:
                item.state = "stale" if self._place(item) is None else "proposed"
        changed = [item for item in (*self._gone, *self._items) if item.state != item.told]
        self._gone.clear()
        for item in changed:
            item.told = item.state
        shown = tuple(self._shown(item) for item in changed)
        if shown:
            for listener in tuple(self._listeners):
                listener(shown)

    def _compare(self) -> None:
        """The hunks between the base text and the replacement; those that are there already stay what they are."""
        if self._target is None or self._over:
            return
        base = self._document.base[self._start : self._end]
        known = {(item.start, item.end, item.new): item for item in self._items if item.state != "accepted"}
        kept: list[_Item] = []
        for hunk in hunks(base, self._target, open_end=not self._complete):
            start, end = self._start + hunk.start, self._start + hunk.end
            item = known.pop((start, end, hunk.new), None)
            if item is None:
                self._made += 1
                item = _Item(f"h{self._made}", start, end, hunk.old, hunk.new)
            kept.append(item)
        for item in known.values():
            # What was rejected may be a hunk again when more has arrived: it stays rejected.
            if item.state == "rejected" and not self._complete:
                kept.append(item)
            else:
                self._drop(item)
        accepted = [item for item in self._items if item.state == "accepted"]
        self._items = sorted([*kept, *accepted], key=lambda item: (item.start, item.end))

    def _drop(self, item: _Item, *, for_good: bool = False) -> None:
        if item.told is not None:
            self._gone.append(item)
        item.state = "superseded"
        self._items.remove(item)
        if item.written and not for_good:
            self._undone.append(item)

    def _place(self, item: _Item) -> tuple[int, int] | None:
        return None if item.start < 0 else self._document.place(item.start, item.end)

    def _shown(self, item: _Item) -> Shown:
        place = self._place(item) if item.state != "superseded" else None
        start, end = place or (None, None)
        return Shown(item.id, item.state, start, end, item.old, item.new)

    def _found(self, hunk_id: str) -> _Item | None:
        return next((item for item in self._items if item.id == hunk_id), None)

    def _wanted(self, hunk_id: str, *also: HunkState) -> _Item:
        item = self._found(hunk_id)
        if item is not None and item.state in ("proposed", *also):
            return item
        made = hunk_id[:1] == "h" and hunk_id[1:].isdecimal() and 0 < int(hunk_id[1:]) <= self._made
        if item is None and not made:
            raise HunkError(f"The edit {self.id} has no hunk {hunk_id!r}.")
        state = item.state if item else "superseded"
        remedy = "Ask for the edit again." if state in ("stale", "superseded") else ""
        raise HunkError(f"The hunk {hunk_id} {_WHY[state]}.", remedy)


def _touch(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
