"""A large change in parts: together they are the change, and a place between them stays where it was."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from oi_lsp.anchors import Anchor
from oi_lsp.differences import LARGEST, parts
from oi_lsp.documents import Change

texts = st.lists(st.sampled_from(("\n", "a", "bc\n", "é", "😀", "a line of words\n")), max_size=30).map("".join)


@given(texts, texts, texts, texts)
def test_the_parts_together_are_the_change(head: str, old: str, new: str, tail: str) -> None:
    before = after = head + old + tail
    found = parts(before, Change(len(head), len(head) + len(old), new, 1))
    for part in reversed(found):
        after = after[: part.start] + part.text + after[part.end :]
    assert after == head + new + tail
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_a_place_between_two_changes_that_are_told_of_as_one_stays_where_it_was() -> None:
    before = "first line\n## Assistant\n\nlast line\n"
    anchor = Anchor(before.index("\nlast"))
    after = "1st line\n## Assistant\n\nlast line of all\n"
    for part in reversed(parts(before, Change(0, len(before), after, 1))):
        anchor.shift(part)
    assert after[anchor.offset :] == "\nlast line of all\n"


def test_what_is_too_large_is_one_change() -> None:
    change = Change(0, LARGEST, "x\n" * LARGEST, 1)
    assert parts("y" * LARGEST, change) == [change]
