"""What a cell may print, inside the kernel: however it comes, what is sent, kept and told is the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oi_engine.computer import kernel_start
from oi_engine.computer.kernel_start import Cap

LIMIT, TAIL = 20, 7


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_start, "TAIL", TAIL)
    monkeypatch.setattr(kernel_start, "PIECE", 11)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text("abcé\n", max_size=9), max_size=12), st.integers(0, 12))
def test_the_whole_is_in_the_file_and_its_end_is_told(tmp_path: Path, pieces: list[str], asked_after: int) -> None:
    cap = Cap(LIMIT, str(tmp_path))
    sent, told, printed = "", 0, ""
    for number, piece in enumerate([*pieces, None]):
        if number == asked_after or piece is None:
            spilled = cap.tell()
            new = max(len(printed) - LIMIT, 0) - told
            assert (spilled is None) == (new == 0)
            if spilled is not None:
                assert spilled["tail"] == printed[-min(TAIL, new) :]
                assert spilled["omitted"] == new - len(spilled["tail"])
                assert (spilled["problem"], Path(spilled["path"]).read_text()) == ("", printed)
                told += new
        if piece is not None:
            sent += cap.take(piece)
            printed += piece
    cap.close()
    assert sent == printed[:LIMIT]


def test_what_a_cell_prints_after_its_end_has_little_room_and_is_not_kept(tmp_path: Path) -> None:
    cap = Cap(LIMIT, None)
    assert "".join(cap.take("abc") for _ in range(99)) == ("abc" * 99)[:LIMIT]
    assert cap.tell() is None


def test_a_loop_of_prints_is_written_in_large_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by itself would cost as much as printing it."""
    kept: list[Cap] = []
    keep = Cap._keep

    def counted(cap: Cap) -> None:
        kept.append(cap)
        keep(cap)

    monkeypatch.setattr(Cap, "_keep", counted)
    cap = Cap(LIMIT, str(tmp_path))
    for _ in range(1100):
        cap.take("x")
    cap.close()
    assert len(kept) == (1100 - LIMIT) // kernel_start.PIECE


def test_a_file_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cap = Cap(LIMIT, str(tmp_path / "file"))
    cap.take("x" * (LIMIT + 3))
    told = cap.tell()
    assert told is not None
    assert (told["tail"], told["omitted"]) == ("xxx", 0)
    assert told["problem"]
    cap.close()
