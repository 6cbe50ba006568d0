"""Random edits by a person, a stream, answers, refusals and undos: every write is right, and none is made twice.

The editor here keeps for every character where it came from: its number in the first text, or the hunk that brought it,
or nothing for what was typed. So whether a write is at the right place is told by what is there, and not by offsets.
"""

from __future__ import annotations

import itertools

from attrs import define, frozen
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from oi_engine.edits.alignment import Change
from oi_engine.edits.proposal import Proposal, Shown, Write

Char = tuple[str, object]
"""A character and where it came from."""

PLAIN = st.lists(st.sampled_from(["a\n", "b\n", "\n", "  c\n", "}\n"]), min_size=1, max_size=14).map("".join)
TYPED = st.sampled_from(["q", "z\n", "\nq", "qq\nzz\n", "", "", "\n"])


@frozen
class Moment:
    """What an editor's undo goes back to."""

    chars: tuple[Char, ...]
    written: frozenset[str]
    shadow: tuple[Char, ...] | None
    """The document as it were without what the person typed and deleted; nothing where that cannot be told."""


@define
class Editor:
    """A document, its undo and redo steps, and which hunks are written in it."""

    now: Moment
    undos: list[Moment]
    redos: list[Moment]

    @property
    def text(self) -> str:
        return "".join(char for char, _ in self.now.chars)

    def type(self, start: int, end: int, text: str) -> None:
        self.replace(start, end, [(char, None) for char in text], self.now.written, self.now.shadow)

    def write(self, write: Write) -> None:
        chars: list[Char] = [(char, (write.hunk_id, at)) for at, char in enumerate(write.text)]
        shadow = self.shadow_with(write, chars)
        self.replace(write.start, write.end, chars, self.now.written | {write.hunk_id}, shadow)

    def shadow_with(self, write: Write, chars: list[Char]) -> tuple[Char, ...] | None:
        """The shadow with what is written, at the place that the characters replaced, or beside, have in it."""
        shadow, here = self.now.shadow, self.now.chars
        if shadow is None:
            return None
        where = {tag: at for at, (_, tag) in enumerate(shadow)}
        where[None] = -1
        if write.start < write.end:
            places = [where.get(tag, -1) for _, tag in here[write.start : write.end]]
            if -1 in places:
                return None
            assert places == list(range(places[0], places[0] + len(places))), "in one piece, and in order"
            return (*shadow[: places[0]], *chars, *shadow[places[-1] + 1 :])
        before = where.get(here[write.start - 1][1], -1) + 1 if write.start else 0
        after = where.get(here[write.end][1], -1) if write.end < len(here) else len(shadow)
        sure = [at for at in {before if before or not write.start else -1, after} if at >= 0]
        return (*shadow[: sure[0]], *chars, *shadow[sure[0] :]) if len(sure) == 1 else None

    def replace(
        self, start: int, end: int, chars: list[Char], written: frozenset[str], shadow: tuple[Char, ...] | None
    ) -> None:
        self.undos.append(self.now)
        self.redos.clear()
        self.now = Moment((*self.now.chars[:start], *chars, *self.now.chars[end:]), written, shadow)


class Machine(RuleBasedStateMachine):
    """A proposal, and the document as its editor has it."""

    def __init__(self) -> None:
        super().__init__()
        self.editor = Editor(Moment((), frozenset(), ()), [], [])
        self.edit = Proposal("e", "", 0, 0)
        self.pending: Write | None = None
        self.version_moved = False
        self.typed = False
        # Whether the person's own typing was, to the character, what a hunk does or undoes.
        self.did_it_themselves = False
        self.retyped_lines = False
        self.seen: dict[str, Shown] = {}

    @initialize(head=PLAIN, old=PLAIN, tail=st.sampled_from(["", "a\n", "}"]), data=st.data())
    def begin(self, head: str, old: str, tail: str, data: st.DataObject) -> None:
        self.new = data.draw(PLAIN | st.just(old.replace("a\n", "A\n").replace("b\n", "")), "new")
        self.head, self.tail = head, tail
        text = head + old + tail
        chars: tuple[Char, ...] = tuple((char, at) for at, char in enumerate(text))
        self.editor.now = Moment(chars, frozenset(), chars)
        self.edit = Proposal("e", text, len(head), len(head) + len(old))
        self.edit.subscribe(self.see)
        self.arrived = 0

    def accepted(self) -> set[str]:
        for hunk in self.edit.hunks:
            if hunk.state == "accepted" and hunk.start is not None:
                assert self.edit.text[hunk.start : hunk.end] == hunk.new
        return {hunk.id for hunk in self.edit.hunks if hunk.state == "accepted"}

    def see(self, hunks: tuple[Shown, ...]) -> None:
        self.seen.update((hunk.id, hunk) for hunk in hunks)

    # --- what happens ------------------------------------------------------------------------------------------

    @rule(lines=st.integers(1, 6))
    def more_arrives(self, lines: int) -> None:
        whole = self.new.splitlines(keepends=True)
        self.arrived = min(len(whole), self.arrived + lines)
        self.edit.update("".join(whole[: self.arrived]), complete=self.arrived == len(whole))

    @rule(data=st.data(), text=TYPED)
    def the_person_types(self, data: st.DataObject, text: str) -> None:
        size = len(self.editor.now.chars)
        start = data.draw(st.integers(0, size), "start")
        end = data.draw(st.sampled_from([start, start, min(size, start + 1), min(size, start + 5)]), "end")
        if start == end and not text:
            return
        before = self.editor.text
        # Which of several equal lines is left then, nobody can tell.
        self.retyped_lines |= "\n" in text and "\n" in before[start:end]
        self.editor.type(start, end, text)
        self.typed = True
        accepted = self.accepted()
        self.tell(before, Change(start, end, text))
        self.did_it_themselves |= accepted != self.accepted()

    @precondition(lambda self: self.pending is None and self.edit.open)
    @rule(data=st.data())
    def accept(self, data: st.DataObject) -> None:
        hunk_id = data.draw(st.sampled_from(self.edit.open), "hunk")
        self.pending = self.edit.accept(hunk_id)
        self.version_moved = False
        assert hunk_id not in self.editor.now.written or self.did_it_themselves
        self.is_at_its_place(self.pending)

    @precondition(lambda self: self.pending is not None)
    @rule(said_first=st.booleans())
    def the_editor_answers(self, said_first: bool) -> None:
        write, self.pending = self.pending, None
        assert write is not None
        if self.version_moved:
            self.edit.refused(write.hunk_id)
            return
        if said_first:
            self.edit.applied(write.hunk_id)
        before = self.editor.text
        assert before[write.start : write.end] == write.expected
        self.editor.write(write)
        self.tell(before, Change(write.start, write.end, write.text))
        if not said_first:
            self.edit.applied(write.hunk_id)

    @precondition(lambda self: self.pending is not None)
    @rule()
    def the_editor_refuses(self) -> None:
        write, self.pending = self.pending, None
        assert write is not None
        self.edit.refused(write.hunk_id)

    @precondition(lambda self: self.edit.open)
    @rule(data=st.data())
    def reject(self, data: st.DataObject) -> None:
        self.edit.reject(data.draw(st.sampled_from(self.edit.open), "hunk"))

    @precondition(lambda self: self.editor.undos)
    @rule()
    def undo(self) -> None:
        self.go_to(self.editor.undos, self.editor.redos)

    @precondition(lambda self: self.editor.redos)
    @rule()
    def redo(self) -> None:
        self.go_to(self.editor.redos, self.editor.undos)

    def go_to(self, there: list[Moment], back: list[Moment]) -> None:
        before = self.editor.text
        back.append(self.editor.now)
        self.editor.now = there.pop()
        after, accepted = self.editor.text, self.accepted()
        self.tell(before, smallest(before, after))
        if back[-1].written == self.editor.now.written:
            self.did_it_themselves |= accepted != self.accepted()

    def tell(self, before: str, change: Change) -> None:
        assert change.applied_to(before) == self.editor.text
        self.version_moved = True
        self.edit.changed(*self.as_told(before, change))

    def as_told(self, before: str, change: Change) -> list[Change]:
        return [change]

    # --- what holds --------------------------------------------------------------------------------------------

    def is_at_its_place(self, write: Write) -> None:
        """What it replaces is of the old text, or of hunks, and in one piece; and an insertion is beside such."""
        assert self.editor.text[write.start : write.end] == write.expected

    @invariant()
    def the_document_is_known(self) -> None:
        assert self.edit.text == self.editor.text

    @invariant()
    def what_is_proposed_fits(self) -> None:
        text = self.editor.text
        ends = []
        for hunk in self.edit.hunks:
            if hunk.state == "stale":
                assert hunk.start is None
            if hunk.state == "proposed":
                assert hunk.start is not None
                assert hunk.end is not None
                assert text[hunk.start : hunk.end] == hunk.old
                ends.append((hunk.start, hunk.end))
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(ends))

    @invariant()
    def listeners_know_all(self) -> None:
        for hunk in self.edit.hunks:
            assert self.seen[hunk.id].state == hunk.state

    def teardown(self) -> None:
        """With nothing typed, all that is open accepted, and nothing rejected, it is the new text."""
        rejected = any(hunk.state == "rejected" for hunk in self.seen.values())
        if self.pending is not None:
            self.the_editor_refuses()
        if not hasattr(self, "new"):
            return
        self.edit.update(self.new, complete=True)
        while self.edit.open:
            self.pending = self.edit.accept(self.edit.open[0])
            self.version_moved = False
            self.is_at_its_place(self.pending)
            self.the_editor_answers(said_first=False)
        assert not any(hunk.state in ("proposed", "pending") for hunk in self.edit.hunks)
        if not self.typed and not rejected:
            assert self.editor.text == self.head + self.new + self.tail
        self.check_shadow(rejected)

    def check_shadow(self, rejected: bool) -> None:
        """Whatever was typed: with every hunk accepted, the rest of the document is the new text."""


class ExactMachine(Machine):
    """An editor that tells each change as it was made: accepted is what is written, and nothing else."""

    def check_shadow(self, rejected: bool) -> None:
        stale = any(hunk.state == "stale" for hunk in self.edit.hunks)
        shadow = self.editor.now.shadow
        if shadow is not None and not (rejected or stale or self.did_it_themselves or self.retyped_lines):
            assert "".join(char for char, _ in shadow) == self.head + self.new + self.tail

    @invariant()
    def nothing_is_there_twice_or_moved(self) -> None:
        tags = [tag for _, tag in self.editor.now.chars if tag is not None]
        assert len(tags) == len(set(tags))
        first = [tag for tag in tags if isinstance(tag, int)]
        assert first == sorted(first)

    @invariant()
    def what_is_written_is_accepted(self) -> None:
        if not self.did_it_themselves:
            assert self.editor.now.written == self.accepted()


class WholeMachine(Machine):
    """An editor that sends the whole document each time."""

    def as_told(self, before: str, change: Change) -> list[Change]:
        return [Change(0, len(before), change.applied_to(before))]


class PiecesMachine(Machine):
    """An editor that tells a change in pieces."""

    def as_told(self, before: str, change: Change) -> list[Change]:
        middle = (change.start + change.end) // 2
        half = len(change.text) // 2
        return [
            Change(middle, change.end, change.text[half:]),
            Change(change.start, middle, ""),
            Change(change.start, change.start, change.text[:half]),
        ]


def smallest(before: str, after: str) -> Change:
    """The change without what is equal at the ends."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return Change(head, len(before) - tail, after[head : len(after) - tail])


CALM = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)
TestExact = ExactMachine.TestCase
TestExact.settings = CALM
TestWhole = WholeMachine.TestCase
TestWhole.settings = CALM
TestPieces = PiecesMachine.TestCase
TestPieces.settings = CALM
