"""Hunks: exact to the byte whatever the texts, and small."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.edits.hunks import apply, hunks, with_line_ends_of
from oi_engine.edits.lines import ends_line, matching, split_lines, starts_line

LINE = st.sampled_from(["a", "b", "c", "", "  a", "é🎉", "x\x0cy", "u\u2028v"])
END = st.sampled_from(["\n", "\r\n", "\r"])
TEXT = st.builds(
    lambda lines, tail: "".join(line + end for line, end in lines) + tail,
    st.lists(st.tuples(LINE, END), max_size=25),
    st.sampled_from(["", "", "a", "end", "\r"]),
)


@given(TEXT)
def test_lines_are_the_text(text: str) -> None:
    lines = split_lines(text)
    assert "".join(lines) == text
    at = 0
    for line in lines:
        assert starts_line(text, at)
        at += len(line)
        assert ends_line(text, at)


@given(TEXT, TEXT)
def test_all_hunks_make_the_new_text(old: str, new: str) -> None:
    found = hunks(old, new)
    assert apply(old, found) == new
    end = -1
    for hunk in found:
        assert old[hunk.start : hunk.end] == hunk.old != hunk.new
        assert hunk.start > end, "a line stays between two hunks"
        assert starts_line(old, hunk.start)
        assert ends_line(old, hunk.end)
        end = hunk.end
    assert [hunk.id for hunk in found] == [f"h{at}" for at in range(1, len(found) + 1)]


@given(TEXT, TEXT)
def test_the_beginning_of_a_text_leaves_the_rest(old: str, new: str) -> None:
    arrived = split_lines(new)
    for size in range(len(arrived) + 1):
        head = "".join(arrived[:size])
        found = hunks(old, head, open_end=True)
        written = apply(old, found)
        assert written.startswith(head)
        rest = written[len(head) :]
        assert old.endswith(rest)


@given(st.lists(st.integers(0, 3), max_size=30), st.lists(st.integers(0, 3), max_size=30))
def test_the_matching_is_of_equal_lines_in_order(old: list[int], new: list[int]) -> None:
    a, b = [f"{n}\n" for n in old], [f"{n}\n" for n in new]
    pairs = matching(a, b)
    assert all(a[x] == b[y] for x, y in pairs)
    assert all(x < x2 and y < y2 for (x, y), (x2, y2) in itertools.pairwise(pairs))


@pytest.mark.parametrize("seed", range(3))
def test_a_long_text_without_unique_lines_is_still_exact(seed: int) -> None:
    rng = random.Random(seed)
    old = "".join(rng.choice("ab") + "\n" for _ in range(1500))
    new = "".join(rng.choice("ab") + "\n" for _ in range(1500))
    assert apply(old, hunks(old, new)) == new


def test_where_nothing_is_unique_few_edits_are_found() -> None:
    lines = ["x\n", "y\n"] * 300
    changed = [*lines[:100], "x\n", *lines[100:400], *lines[402:500], "y\n", "y\n", *lines[500:]]
    found = hunks("".join(lines), "".join(changed))
    assert sum(len(hunk.old) + len(hunk.new) for hunk in found) <= 2 * 5


def test_an_inserted_function_is_one_block() -> None:
    old = "def a():\n    x()\n    return 1\n\n\ndef c():\n    z()\n    return 1\n"
    new = old.replace("def c", "def b():\n    y()\n    return 1\n\n\ndef c")
    (hunk,) = hunks(old, new)
    assert hunk.new == "def b():\n    y()\n    return 1\n\n\n"
    assert hunk.start == hunk.end == old.index("def c")


def test_scattered_changes_are_hunks_of_their_own() -> None:
    old = "".join(f"line {at}\n" for at in range(50))
    new = old.replace("line 10\n", "line ten\n").replace("line 30\n", "").replace("line 40\n", "line 40\nmore\n")
    assert [(hunk.old, hunk.new) for hunk in hunks(old, new)] == [
        ("line 10\n", "line ten\n"),
        ("line 30\n", ""),
        ("", "more\n"),
    ]


def test_what_has_not_arrived_is_not_deleted() -> None:
    old = "one\ntwo\nthree\nfour\n"
    assert hunks(old, "one\n", open_end=True) == []
    (hunk,) = hunks(old, "one\n2\n", open_end=True)
    assert (hunk.old, hunk.new) == ("two\n", "2\n")
    (hunk,) = hunks(old, "one\nfour\n", open_end=True)
    assert (hunk.old, hunk.new) == ("two\nthree\n", "")


@pytest.mark.parametrize(
    ("old", "new", "fitted"),
    [
        ("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
        ("a\nb\n", "a\r\nc", "a\nc"),
        ("", "a\r\n", "a\n"),
        ("a\nb\r\nc\n", "a\nb\nx\nc\n", "a\nb\r\nx\r\nc\n"),
        ("a\rb\r", "a\n\nb\n", "a\r\rb\r"),
    ],
)
def test_line_ends_stay_those_of_the_document(old: str, new: str, fitted: str) -> None:
    assert with_line_ends_of(old, new) == fitted
