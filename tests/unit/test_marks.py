"""Lines that something is shown at: they move with the text, and go when they are edited."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from oi_lsp.documents import Change, Document
from oi_lsp.sources.marks import Mark

TEXT = "one\ntwo\nthree"


def edited(document: Document, start: int, end: int, text: str) -> None:
    document.apply(types.TextDocumentContentChangePartial(document.range(start, end), text), 1)


def follow(document: Document) -> list[Mark]:
    """A mark for each line, which moves with the document."""
    found = [Mark(*document.line_span(line)) for line in range(document.line_count)]

    def changed(document: Document, change: Change) -> None:
        for mark in found:
            mark.shift(change, document.text)

    document.subscribe(changed)
    return found


@pytest.mark.parametrize(
    ("start", "end", "text", "left"),
    [
        (4, 4, "new\n", ["one", "two", "three"]),
        (3, 3, "\nnew", ["one", "two", "three"]),
        (4, 4, "x", ["one", "three"]),
        (7, 7, "x", ["one", "three"]),
        (5, 6, "", ["one", "three"]),
        (3, 4, "", ["three"]),
        (4, 8, "", ["one", "three"]),
        (0, 13, "", []),
        (13, 13, "\n", ["one", "two", "three"]),
        (0, 0, "\r", ["one", "two", "three"]),
    ],
)
def test_which_lines_are_left(start: int, end: int, text: str, left: list[str]) -> None:
    document = Document("file:///a", "", 0, TEXT)
    all_marks = follow(document)
    edited(document, start, end, text)
    assert [document.text[mark.start : mark.end] for mark in all_marks if not mark.gone] == left


@given(
    st.lists(st.sampled_from(["a", "bb", "", "c d", "x𝒳"]), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.data(),
)
def test_a_mark_stands_on_the_line_it_stood_on(lines: list[str], newline: str, data: st.DataObject) -> None:
    document = Document("file:///a", "", 0, newline.join(f"{number}{line}" for number, line in enumerate(lines)))
    before = [(mark, document.text[mark.start : mark.end]) for mark in follow(document)]
    changes: list[Change] = []
    document.subscribe(lambda _, change: changes.append(change))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(document.text)))
        end = data.draw(st.integers(start, len(document.text)))
        spans = [(mark, mark.start, mark.end) for mark, _ in before if not mark.gone]
        changes.clear()
        edited(document, start, end, data.draw(st.sampled_from(["", "y", "\n", "\r\n", "q\n", "\nq", "1\n2\n"])))
        for change in changes:
            far = [mark for mark, first, last in spans if last + 2 < change.start or first - 2 > change.end]
            assert not any(mark.gone for mark in far), "what is nowhere near the change stays"
    for mark, text in before:
        if not mark.gone:
            assert document.text[mark.start : mark.end] == text
            line = document.line_at(mark.start)
            assert document.line_span(line) == (mark.start, mark.end), "it is a whole line"
