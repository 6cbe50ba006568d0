"""Pieces of files as LSP's ranges mean them, and which paths are inside the workspace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from oi_lsp.attachments import piece
from oi_lsp.paths import is_inside, path_of
from oi_lsp.protocol_settings import Position, Range
from oi_lsp.structure import InvalidField

UTF_16 = types.PositionEncodingKind.Utf16
TEXT = "one\r\ntwo 🦆 ducks\rthree\n\nfive"


def of(first: int, at: int, last: int, end: int) -> Range:
    return Range(Position(first, at), Position(last, end))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (of(0, 0, 0, 3), "one"),
        (of(0, 1, 1, 3), "ne\r\ntwo"),
        (of(1, 4, 1, 6), "🦆"),
        (of(1, 6, 1, 12), " ducks"),
        (of(1, 7, 3, 0), "ducks\rthree\n"),
        (of(0, 2, 0, 99), "e"),
        (of(4, 0, 99, 0), "five"),
        (of(3, 0, 3, 0), ""),
    ],
)
def test_a_piece_is_counted_in_utf_16(wanted: Range, found: str) -> None:
    assert piece(TEXT, wanted, "range", UTF_16) == found


@pytest.mark.parametrize(("encoding", "end"), [("utf-8", 8), ("utf-16", 6), ("utf-32", 5)])
def test_a_piece_is_counted_as_agreed(encoding: str, end: int) -> None:
    assert piece(TEXT, of(1, 4, 1, end), "range", types.PositionEncodingKind(encoding)) == "🦆"


@given(st.text("a🦆é\r\n"), *(st.integers(0, 6) for _ in range(4)))
def test_any_range_answers_a_piece_or_is_refused(text: str, first: int, at: int, last: int, end: int) -> None:
    wanted = of(first, at, last, end)
    begins = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    if (last, end) < (first, at) or first >= begins:
        with pytest.raises(InvalidField, match="range"):
            piece(text, wanted, "range", UTF_16)
    else:
        assert piece(text, wanted, "range", UTF_16) in text


def test_only_files_of_this_machine_have_a_path() -> None:
    assert path_of("file:///a%20b/%C3%A9") == "/a b/é"
    assert path_of("file://localhost/x") == "/x"
    for uri in ("https://example.org/x", "file://elsewhere/x", "untitled:one", "/x", "file:", "file://[/x", ""):
        assert path_of(uri) is None, uri


def test_inside_is_where_links_lead(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out").symlink_to(tmp_path)
    assert is_inside(str(inside / "a" / "b"), str(inside))
    assert is_inside(str(inside), str(inside))
    for path in (inside / ".." / "x", inside / "out" / "x", tmp_path / "inside-not"):
        assert not is_inside(str(path), str(inside)), path
