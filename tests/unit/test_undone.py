"""What was written is known when the person undoes it, in whatever order it was written."""

from __future__ import annotations

import pytest

from oi_lsp.anchors import Piece, Written
from oi_lsp.documents import Change


def written(*inserted: tuple[int, str]) -> tuple[Written, str]:
    """Text written at those places, one piece after another; and the text that it comes to."""
    found, text = Written(), ""
    for at, piece in inserted:
        found.shift(Change(at, at, piece, None))
        found.add(Piece(at, at + len(piece), piece, ""))
        text = text[:at] + piece + text[at:]
    return found, text


@pytest.mark.parametrize(
    "pieces",
    [
        [(0, "a\n"), (2, "b\n"), (4, "c\n")],
        [(0, "a\n"), (2, "c\n"), (2, "b\n")],
        [(0, "a\nc\n"), (2, "b\n")],
        [(0, "heading\ntail\n"), (8, "one\n"), (12, "two\n")],
    ],
    ids=["one after another", "between two", "within one", "two within one"],
)
def test_an_undo_of_all_and_of_the_newest(pieces: list[tuple[int, str]]) -> None:
    found, text = written(*pieces)
    assert sorted(found.undone(text, "", Change(0, len(text), "", None)) or "") == sorted(text)
    found, text = written(*pieces)
    at, newest = pieces[-1]
    without = text[:at] + text[at + len(newest) :]
    assert found.undone(text, without, Change(at, at + len(newest), "", None)) == newest


def test_what_the_person_deletes_is_no_undo() -> None:
    found, text = written((0, "a\n"), (2, "b\n"))
    assert found.undone(text, "b\n", Change(0, 2, "", None)) is None
    assert found.undone(text, "a\n\n", Change(2, 3, "", None)) is None
