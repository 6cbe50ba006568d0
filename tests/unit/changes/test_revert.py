"""Taking changes back: what is left alone, links, failing writes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from oi_engine.changes.entries import Snapshot
from oi_engine.changes.revert import revert
from oi_engine.errors import RevertRefused
from tests.unit.changes.recorded import Open, after, kinds
from tests.unit.changes.trees import read


def test_a_file_that_was_changed_since_is_left_unless_the_lines_still_fit(opened: Open, root: Path) -> None:
    (root / "a").write_text("1\n2\n3\n4\n5\n")
    (root / "b").write_bytes(b"\0old")
    made = opened()

    def run() -> None:
        (root / "a").write_text("1\nTWO\n3\n4\n5\n")
        (root / "b").write_bytes(b"\0new")

    changes = after(made, run)
    (root / "b").write_bytes(b"\0mine")
    (root / "a").write_text("0\n1\nTWO!\n3\n4\n5\n")
    assert [refusal.path for refusal in revert(made, changes).refused] == ["a", "b"]
    (root / "a").write_text("0\n1\nTWO\n3\n4\nfive")
    done = revert(made, changes)
    assert [refusal.path for refusal in done.refused] == ["b"]
    assert (root / "a").read_text() == "0\n1\n2\n3\n4\nfive"
    assert (root / "b").read_bytes() == b"\0mine"
    assert done.done is not None
    revert(made, done.done)
    assert (root / "a").read_text() == "0\n1\nTWO\n3\n4\nfive"


def test_a_folder_with_files_of_somebody_else_stays(opened: Open, root: Path) -> None:
    made = opened()

    def run() -> None:
        (root / "made").mkdir()
        (root / "made" / "a").write_text("x")

    changes = after(made, run)
    (root / "made" / "mine").write_text("mine")
    done = revert(made, changes)
    assert [(refusal.path, "other files" in refusal.reason) for refusal in done.refused] == [("made/", True)]
    assert [path.name for path in (root / "made").iterdir()] == ["mine"]


def test_folders_that_are_read_only_now_or_were_do_not_keep_files_from_coming_back(opened: Open, root: Path) -> None:
    for name in ("now", "then"):
        (root / name).mkdir()
        (root / name / "a").write_text("old")
    (root / "then").chmod(0o555)
    made = opened()

    def run() -> None:
        (root / "then").chmod(0o755)
        for name in ("now", "then"):
            (root / name / "a").write_text("new")
            (root / name / "b").write_text("new")
        (root / "now").chmod(0o555)

    before = read(root)
    try:
        changes = after(made, run)
        assert revert(made, changes).refused == ()
        assert read(root) == before
    finally:
        for name in ("now", "then"):
            (root / name).chmod(0o755)


def test_a_file_comes_back_with_the_folder_that_it_was_in(opened: Open, root: Path) -> None:
    (root / "gone").mkdir(mode=0o700)
    (root / "gone" / "a").write_text("a")
    (root / "gone" / "b").write_text("b")
    made = opened()

    def run() -> None:
        for name in ("a", "b"):
            (root / "gone" / name).unlink()
        (root / "gone").rmdir()

    changes = after(made, run)
    done = revert(made, changes, "gone/a").done
    assert done is not None
    assert kinds(done) == {"gone/": "added", "gone/a": "added"}
    assert stat.S_IMODE((root / "gone").stat().st_mode) == 0o700
    revert(made, done)
    assert read(root) == {}


def test_a_write_that_fails_leaves_the_file_as_it_was(
    opened: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old")
    made = opened()
    changes = after(made, lambda: (root / "a").write_text("new"))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("oi_engine.changes.place.os.fchmod", full)
        with pytest.raises(RevertRefused, match="No space left"):
            revert(made, changes, "a")
    assert read(root).keys() == {b"a"}
    assert (root / "a").read_text() == "new"


def test_a_file_that_is_written_at_the_last_moment_is_left(
    opened: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old")
    made = opened()
    changes = after(made, lambda: (root / "a").write_text("new"))
    real = os.fchmod

    def meanwhile(descriptor: int, mode: int) -> None:
        (root / "a").write_text("mine, just now")
        real(descriptor, mode)

    with monkeypatch.context() as patch:
        patch.setattr("oi_engine.changes.place.os.fchmod", meanwhile)
        with pytest.raises(RevertRefused, match="right now"):
            revert(made, changes, "a")
    assert read(root)[b"a"][2] == b"mine, just now"
    assert read(root).keys() == {b"a"}


def test_nothing_is_taken_back_twice(opened: Open, root: Path) -> None:
    (root / "a").write_text("old")
    made = opened()
    changes = after(made, lambda: (root / "a").write_text("new"))
    first = revert(made, changes)
    assert first.done is not None
    assert first.done.reverts == changes.id
    assert revert(made, changes).done is None


def test_an_empty_snapshot_of_an_empty_folder(opened: Open) -> None:
    assert opened().snapshot() == Snapshot({})
