"""Pieces of files as they are run: which lines, what is dedented, and where each character stands."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_lsp.documents import Document
from oi_lsp.sources.pieces import Piece, piece_of
from oi_lsp.sources.quotes import explanation, quote


def selected(text: str, *, dedent: bool = True) -> tuple[Document, Piece]:
    """The piece between two marks ``«`` and ``»``, or at ``|``."""
    if "|" in text:
        text = text.replace("|", "«»")
    start = text.index("«")
    end = text.index("»") - 1
    document = Document("file:///a.py", "python", 0, text.replace("«", "").replace("»", ""))
    return document, piece_of(document, start, end, dedent=dedent)


@pytest.mark.parametrize(
    ("text", "first", "code", "removed"),
    [
        ("a\nb|c\nd", 1, "bc", (0,)),
        ("a\n«b\nc\n»d", 1, "b\nc", (0, 0)),
        ("x = «f(1)» + 2", 0, "f(1)", (4,)),
        ("if x:\n    «a = 1\n    b = 2»\n", 1, "a = 1\nb = 2", (4, 4)),
        ("if x:\n    a = |1\n", 1, "a = 1", (4,)),
        ("if x:\n  «  if y:\n        b\n\n    c»", 1, "if y:\n    b\n\nc", (4, 4, 0, 4)),
        ("  «  a = (1,\n 2)\n    b»", 0, "a = (1,\n2)\nb", (4, 1, 4)),
        ("«# note\n    a\n    b»", 0, "# note\na\nb", (0, 4, 4)),
        ("\t«a\n\tb»", 0, "a\nb", (1, 1)),
        ("a\r\n«b\r\nc\r\n»d", 1, "b\nc", (0, 0)),
        ("    «x = (1,\n    2»", 0, "x = (1,\n2", (4, 4)),
        ("«»", 0, "", (0,)),
    ],
)
def test_what_runs(text: str, first: int, code: str, removed: tuple[int, ...]) -> None:
    document, piece = selected(text)
    assert (piece.first, piece.code, piece.removed) == (first, code, removed)
    assert piece.blank == (not code)
    assert piece.last < document.line_count


def test_strings_keep_their_lines() -> None:
    _, piece = selected("«    a = '''\n      one\n    two'''\n    b = 2»")
    assert piece.code == "a = '''\n      one\n    two'''\nb = 2"
    assert piece.removed == (4, 0, 0, 4)
    _, piece = selected("«    a = f'''\n      {1}\n    two'''\n    b = 2»")
    assert piece.code == "a = f'''\n      {1}\n    two'''\nb = 2"


def test_other_languages_stay_as_they_are() -> None:
    assert selected("  «  a\n    b»", dedent=False)[1].code == "    a\n    b"


@given(
    st.integers(0, 8), st.lists(st.sampled_from(["a = 1", "if a:\n    b = 2", "", "# note", "f(1,\n  2)"])), st.data()
)
def test_each_character_has_its_place(indent: int, statements: list[str], data: st.DataObject) -> None:
    text = textwrap.indent("\n".join(statements), " " * indent)
    document = Document("file:///a.py", "python", 0, text)
    piece = piece_of(document, 0, len(text), dedent=True)
    lines = piece.code.split("\n")
    line = data.draw(st.integers(1, len(lines)))
    for column, character in enumerate(lines[line - 1]):
        begin, _ = document.line_span(piece.first + line - 1)
        assert text[begin + piece.column(line, column)] == character
    compile(piece.code, "cell", "exec")


def test_a_quote_names_its_file_and_lines() -> None:
    document = Document("file:///place/src/a.py", "python", 0, "one\ntwo\r\nthree ```\nfour")
    start, end = 4, document.text.index("four")
    assert quote(document, start, end, "python", ["/place"]) == (
        "From `src/a.py`, lines 2 to 3:\n\n````python\ntwo\nthree ```\n````"
    )
    assert quote(document, 5, 5, "python", []).startswith("From `a.py`, line 2:")


def test_an_explanation_has_the_code_around() -> None:
    document = Document("file:///place/a.py", "python", 0, "\n".join(f"line{number}" for number in range(1, 41)))
    offset = document.line_span(19)[0]
    said = explanation(document, offset, offset + 3, "No such\nname", "python", ["/place"])
    assert "`a.py`, line 20" in said
    assert "> No such\n> name" in said
    assert "from line 10 to 30" in said
    assert "line10\n" in said
    assert "line31" not in said
