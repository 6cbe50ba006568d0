"""The states of an inline edit's hunks, step by step."""

from __future__ import annotations

import pytest

from oi_engine.edits.alignment import Change
from oi_engine.edits.proposal import Proposal, Shown, Write
from oi_engine.errors import HunkError

OLD = "".join(f"line {at}\n" for at in range(20))
NEW = OLD.replace("line 3\n", "three\n").replace("line 8\n", "").replace("line 15\n", "line 15\nmore\n")


def proposal(old: str = OLD, new: str = NEW) -> Proposal:
    made = Proposal("e", old, 0, len(old))
    made.update(new, complete=True)
    return made


def states(edit: Proposal) -> dict[str, str]:
    return {hunk.id: hunk.state for hunk in edit.hunks}


def written(edit: Proposal, write: Write) -> Change:
    """What the editor tells of a write."""
    assert edit.text[write.start : write.end] == write.expected
    return Change(write.start, write.end, write.text)


def take(edit: Proposal, hunk_id: str) -> Change:
    change = written(edit, edit.accept(hunk_id))
    edit.changed(change)
    edit.applied(hunk_id)
    return change


def typed(edit: Proposal, before: str, text: str, *, instead: int = 0) -> None:
    at = edit.text.index(before)
    edit.changed(Change(at, at + instead, text))


def test_hunks_are_accepted_one_by_one_in_any_order() -> None:
    edit = proposal()
    assert states(edit) == {"h1": "proposed", "h2": "proposed", "h3": "proposed"}
    for hunk_id in ("h2", "h3", "h1"):
        take(edit, hunk_id)
    assert edit.text == NEW
    assert set(states(edit).values()) == {"accepted"}
    assert edit.open == ()


def test_a_hunk_is_pending_until_the_document_has_it() -> None:
    edit = proposal()
    write = edit.accept("h1")
    edit.applied("h1")
    assert states(edit)["h1"] == "pending"
    with pytest.raises(HunkError, match="is being written"):
        edit.accept("h1")
    edit.changed(written(edit, write))
    assert states(edit)["h1"] == "accepted"


def test_a_refused_write_can_be_made_again() -> None:
    edit = proposal()
    edit.accept("h1")
    edit.refused("h1")
    assert states(edit)["h1"] == "proposed"
    take(edit, "h1")
    assert "three\n" in edit.text


def test_a_write_that_was_thought_refused_is_recognised_when_it_comes() -> None:
    edit = proposal()
    write = edit.accept("h1")
    edit.refused("h1")
    edit.changed(written(edit, write))
    assert states(edit)["h1"] == "accepted"


def test_hunks_move_with_the_document() -> None:
    edit = proposal()
    typed(edit, "line 0", "import x\n")
    typed(edit, "line 5", "# ")
    for hunk_id in ("h3", "h2", "h1"):
        take(edit, hunk_id)
    assert edit.text == "import x\n" + NEW.replace("line 5", "# line 5")


def test_a_hunk_whose_lines_are_changed_is_stale_until_that_is_undone() -> None:
    edit = proposal()
    typed(edit, "ne 3", "xy")
    assert states(edit) == {"h1": "stale", "h2": "proposed", "h3": "proposed"}
    (stale, *_) = edit.hunks
    assert (stale.start, stale.end) == (None, None)
    with pytest.raises(HunkError, match="no longer fits"):
        edit.accept("h1")
    typed(edit, "xyne 3", "", instead=2)
    assert states(edit)["h1"] == "proposed"


def test_a_line_that_is_joined_to_a_hunk_makes_it_stale() -> None:
    edit = proposal()
    at = edit.text.index("line 3") - 1
    edit.changed(Change(at, at + 1, ""))
    assert states(edit)["h1"] == "stale"
    other = proposal()
    typed(other, "line 3", "    ")
    assert states(other)["h1"] == "stale"


def test_undo_proposes_again_and_redo_accepts() -> None:
    edit = proposal()
    change = take(edit, "h2")
    edit.changed(Change(change.start, change.start, "line 8\n"))
    assert edit.text == OLD
    assert states(edit)["h2"] == "proposed"
    edit.changed(change)
    assert states(edit)["h2"] == "accepted"


def test_an_editor_that_sends_the_whole_document_is_understood() -> None:
    edit = proposal()
    for hunk_id in ("h1", "h2", "h3"):
        write = edit.accept(hunk_id)
        edit.changed(Change(0, len(edit.text), written(edit, write).applied_to(edit.text)))
    assert set(states(edit).values()) == {"accepted"}
    edit.changed(Change(0, len(edit.text), OLD))
    assert set(states(edit).values()) == {"proposed"}
    edit.changed(Change(0, len(edit.text), OLD.replace("line 3", "line III") + "end\n"))
    assert states(edit) == {"h1": "stale", "h2": "proposed", "h3": "proposed"}


def test_a_write_that_comes_in_pieces_is_recognised() -> None:
    edit = proposal()
    write = edit.accept("h1")
    end = write.end
    edit.changed(
        Change(write.start, write.start, "th"),
        Change(write.start + 2, end + 1, "ree"),
        Change(write.start + 5, write.start + 6, "\n"),
    )
    assert edit.text[write.start :].startswith("three\n")
    assert states(edit)["h1"] == "accepted"


def test_a_change_at_the_place_of_a_pending_write_makes_it_stale_in_the_end() -> None:
    edit = proposal()
    edit.accept("h1")
    typed(edit, "line 3", "x", instead=4)
    assert states(edit)["h1"] == "pending"
    edit.refused("h1")
    assert states(edit)["h1"] == "stale"


def test_a_write_in_pieces_beside_what_was_typed_is_recognised() -> None:
    edit = Proposal("e", "a\nb\n", 0, 4)
    edit.update("a\nnew\nb\n", complete=True)
    edit.changed(Change(2, 2, "typed\n"))
    write = edit.accept("h1")
    assert (write.start, write.text) == (2, "new\n")
    edit.changed(Change(2, 2, "n"), Change(3, 3, "ew\n"), Change(len(edit.text) + 4, len(edit.text) + 4, "end\n"))
    edit.applied("h1")
    assert edit.text == "a\nnew\ntyped\nb\nend\n"
    assert states(edit) == {"h1": "accepted"}


def test_two_edits_of_one_document_see_each_other_as_any_change() -> None:
    one, other = proposal(), proposal(new=OLD.replace("line 3\n", "III\n").replace("line 12\n", "twelve\n"))
    other.changed(take(one, "h1"))
    assert states(other) == {"h1": "stale", "h2": "proposed"}
    one.changed(take(other, "h2"))
    assert one.text == other.text
    assert states(one) == {"h1": "accepted", "h2": "proposed", "h3": "proposed"}


def test_redo_is_recognised_after_the_stream_has_gone_on() -> None:
    edit = Proposal("e", "a\n", 0, 2)
    edit.update("a\nb\n", complete=False)
    change = take(edit, "h1")
    edit.changed(Change(2, 4, ""))
    edit.update("a\nb\nc\n", complete=True)
    assert states(edit) == {"h2": "proposed"}
    edit.changed(change)
    assert states(edit) == {"h1": "accepted", "h3": "proposed"}
    take(edit, "h3")
    assert edit.text == "a\nb\nc\n"


def test_rejected_stays_rejected() -> None:
    edit = proposal()
    edit.reject("h1")
    assert states(edit)["h1"] == "rejected"
    with pytest.raises(HunkError, match="has been rejected"):
        edit.accept("h1")
    with pytest.raises(HunkError, match="no hunk 'h9'"):
        edit.reject("h9")


def test_a_newer_edit_supersedes_what_is_open() -> None:
    edit = proposal()
    change = take(edit, "h1")
    told: list[Shown] = []
    edit.subscribe(told.extend)
    edit.supersede()
    assert [(hunk.id, hunk.state) for hunk in told] == [("h2", "superseded"), ("h3", "superseded")]
    with pytest.raises(HunkError, match="replaced by a newer one"):
        edit.accept("h2")
    edit.changed(Change(change.start, change.start + len("three\n"), "line 3\n"))
    assert states(edit) == {}


def test_a_pending_write_outlives_a_newer_edit() -> None:
    edit = proposal()
    write = edit.accept("h1")
    edit.supersede()
    assert states(edit) == {"h1": "pending"}
    edit.changed(written(edit, write))
    assert states(edit) == {"h1": "accepted"}
    other = proposal()
    other.accept("h1")
    other.supersede()
    other.refused("h1")
    assert states(other) == {}


def test_listeners_are_told_what_changed_and_can_leave() -> None:
    edit = Proposal("e", OLD, 0, len(OLD))
    told: list[tuple[str, str]] = []
    leave = edit.subscribe(lambda hunks: told.extend((hunk.id, hunk.state) for hunk in hunks))
    edit.update(NEW, complete=True)
    assert told == [("h1", "proposed"), ("h2", "proposed"), ("h3", "proposed")]
    told.clear()
    edit.reject("h2")
    typed(edit, "line 0", "x\n")
    assert told == [("h2", "rejected")]
    leave()
    edit.reject("h1")
    assert len(told) == 1


# --- while the model streams ----------------------------------------------------------------------------------------


def stream(edit: Proposal, new: str) -> list[str]:
    lines = new.splitlines(keepends=True)
    return ["".join(lines[:size]) for size in range(len(lines) + 1)]


def test_hunks_keep_their_ids_while_more_arrives() -> None:
    edit = Proposal("e", OLD, 0, len(OLD))
    first: dict[str, str] = {}
    for head in stream(edit, NEW):
        edit.update(head, complete=False)
        for hunk in edit.hunks:
            first.setdefault(hunk.new, hunk.id)
    edit.update(NEW, complete=True)
    three, gone, more = edit.hunks
    assert (three.id, gone.old, more.new) == (first["three\n"], "line 8\n", "more\n")


def test_what_has_not_arrived_is_not_deleted_until_the_end() -> None:
    edit = Proposal("e", OLD, 0, len(OLD))
    edit.update("line 0\n", complete=False)
    assert not edit.hunks
    edit.update("line 0\n", complete=True)
    (hunk,) = edit.hunks
    assert hunk.old == OLD.removeprefix("line 0\n")


@pytest.mark.parametrize("at", range(20))
def test_accepting_in_mid_stream_comes_out_right(at: int) -> None:
    old = "def f():\n    a = 1\n    b = 2\n    c = 3\n    return a\n"
    new = "def f(x):\n    # what it does\n    a = x\n    c = 3\n\n    print(a)\n    return a + c\n"
    edit = Proposal("e", f"# top\n{old}# end\n", 6, 6 + len(old))
    heads = stream(edit, new)
    for step, head in enumerate(heads):
        edit.update(head, complete=False)
        if step == at % len(heads):
            for hunk_id in edit.open:
                take(edit, hunk_id)
    edit.update(new, complete=True)
    while edit.open:
        take(edit, edit.open[0])
    assert edit.text == f"# top\n{new}# end\n"


def test_an_accepted_hunk_that_the_stream_changes_again_can_be_undone_in_turn() -> None:
    edit = Proposal("e", "a\nb\nc\n", 0, 6)
    edit.update("x\n", complete=False)
    first = take(edit, edit.open[0])
    edit.update("x2\nb\nc\n", complete=True)
    (second_id,) = edit.open
    second = take(edit, second_id)
    assert edit.text == "x2\nb\nc\n"
    edit.changed(Change(second.start, second.start + 3, "x\n"))
    assert states(edit) == {"h1": "accepted", "h2": "proposed"}
    edit.changed(Change(first.start, first.start + 2, "a\n"))
    assert edit.text == "a\nb\nc\n"
    take(edit, edit.open[0])
    assert edit.text == "x2\nb\nc\n"


def test_the_stream_waits_for_a_write_under_way() -> None:
    edit = Proposal("e", OLD, 0, len(OLD))
    edit.update(NEW[: NEW.index("line 9")], complete=False)
    (first, *_) = edit.open
    write = edit.accept(first)
    edit.update(NEW, complete=True)
    waiting = edit.complete
    edit.changed(written(edit, write))
    assert (waiting, edit.complete) == (False, True)
    assert [hunk.state for hunk in edit.hunks] == ["accepted", "proposed", "proposed"]


def test_what_was_rejected_is_not_proposed_again_by_the_stream() -> None:
    edit = Proposal("e", OLD, 0, len(OLD))
    for head in stream(edit, NEW):
        edit.update(head, complete=False)
        for hunk in edit.hunks:
            if hunk.new == "three\n" and hunk.state == "proposed":
                edit.reject(hunk.id)
    edit.update(NEW, complete=True)
    assert [hunk.state for hunk in edit.hunks] == ["rejected", "proposed", "proposed"]


def test_a_new_file_is_one_insertion() -> None:
    edit = Proposal("e", "", 0, 0)
    edit.update("a\nb\n", complete=True)
    take(edit, edit.open[0])
    assert edit.text == "a\nb\n"


def test_the_range_moves_with_the_document() -> None:
    edit = Proposal("e", "a\nb\nc\n", 2, 4)
    edit.changed(Change(0, 0, "zz\n"))
    assert edit.range == (5, 7)
    edit.changed(Change(4, 8, ""))
    assert edit.range == (4, 4)


def test_a_place_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="no place"):
        proposal().changed(Change(0, 9999, ""))
