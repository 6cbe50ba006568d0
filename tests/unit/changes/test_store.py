"""The store and its snapshots: limits, races, damage, several processes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from oi_engine.changes import scan
from oi_engine.changes.revert import diff, revert
from oi_engine.changes.scan import Abandoned
from oi_engine.changes.store import GRACE, Store
from oi_engine.changes.workspace import Limits
from oi_engine.changes.workspaces import LEFT, Workspaces, clean
from oi_engine.errors import ChangesError, UnknownChange
from tests.unit.changes.recorded import Open, after, kinds, only

DAY = 86_400.0


# --- limits and races ----------------------------------------------------------------------------------------------


def test_a_large_file_is_named_but_not_kept(opened: Open, root: Path) -> None:
    (root / "large").write_bytes(bytes(2000))
    made = opened(file=1000)

    def run() -> None:
        (root / "large").write_bytes(b"x" * 2000)
        (root / "made").write_bytes(bytes(3000))

    changes = after(made, run)
    assert kinds(changes) == {"large": "modified", "made": "added"}
    assert diff(made, changes.files[0]).why == "It is larger than 1,000 bytes."
    done = revert(made, changes)
    assert done.done is None
    assert [refusal.path for refusal in done.refused] == ["large", "made"]
    assert (root / "made").exists()


def test_a_full_store_says_so_and_has_room_again_for_what_comes_later(opened: Open, root: Path) -> None:
    made = opened(total=40_000, days=10)
    sets = []
    for _ in range(8):
        data = os.urandom(9_000)
        sets.append(after(made, lambda data=data: (root / "a").write_bytes(data)))  # type: ignore[misc]
        made._collect()
    assert made.store.total <= 40_000
    left = {one.id for one in made.store.sets("s")}
    assert sets[-1].id in left
    assert sets[0].id not in left
    revert(made, made.store.set("s", sets[-1].id))
    (root / "b").write_bytes(os.urandom(60_000))
    made.snapshot()
    changes = after(made, lambda: (root / "b").write_bytes(b""))
    assert "full" in only(changes).why


def test_a_change_within_one_tick_of_the_clock_is_seen(opened: Open, root: Path) -> None:
    """Of the same size and in the same place, with the times set back: only the bytes tell."""
    path = root / "a"
    path.write_text("old")
    made = opened()
    before = made.snapshot()
    found = path.stat()
    with open(path, "r+") as file:
        file.write("new")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert [one.kind for one in made.changes(before, made.snapshot(before))] == ["modified"]


def test_times_far_from_now_are_in_no_doubt() -> None:
    now = time.time_ns()
    for at, racy in ((now, True), (now - 10**7 - 1, True), (now - 10**10, False), (now + 10**13, False)):
        assert scan._is_racy((0, 0, at, 1, 0), now) is racy
    whole = now // 10**6 * 10**6
    assert scan._is_racy((0, 0, 1, whole - 10**9, 0), now)


def test_a_file_that_changes_while_it_is_read_is_read_again_or_named(
    root: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "a"
    path.write_text("0")
    real, rounds = os.fstat, iter(range(100))
    restless = 1

    def fstat(descriptor: int) -> os.stat_result:
        if stat.S_ISREG(real(descriptor).st_mode) and next(rounds) < restless:
            path.write_text("x" * (2 + path.stat().st_size))
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", fstat)
    made = opened()
    assert made.snapshot().entries["a"].size == 3
    restless = 100
    path.write_text("y")
    entry = made.snapshot().entries["a"]
    assert (entry.hash, entry.why) == (None, "It changed while it was read.")


def test_files_that_come_and_go_meanwhile_do_no_harm(opened: Open, root: Path) -> None:
    made = opened()
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            for number in range(20):
                folder = root / f"d{number}"
                folder.mkdir(exist_ok=True)
                (folder / "f").write_text("x")
                (folder / "f").unlink()
                folder.rmdir()

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(30):
            made.snapshot()
    finally:
        done.set()
        thread.join()
    assert made.snapshot().entries == {}


def test_a_look_that_is_given_up_keeps_what_it_has_read(opened: Open, root: Path) -> None:
    for number in range(600):
        (root / f"{number}").write_text("x" * number)
    made = opened()
    calls = iter(range(10_000))
    with pytest.raises(Abandoned):
        made.snapshot(stop=lambda: next(calls) > 400)
    assert 0 < len(made.store.files()) < 600
    assert len(made.snapshot().entries) == 600


def test_what_was_read_once_is_known_to_the_next_process(
    opened: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("x")
    os.utime(root / "a", ns=(1, 1))
    made = opened()
    # A time stamp this old is not in doubt; the one that nobody can set is a moment old.
    monkeypatch.setattr(scan, "_FINE", -(10**18))
    monkeypatch.setattr(scan, "_COARSE", -(10**18))
    first = made.snapshot()
    again = opened()
    monkeypatch.setattr(scan, "_bytes", None)
    assert again.snapshot() == first


# --- the store -----------------------------------------------------------------------------------------------------


def test_the_store_is_private_and_begun_anew_where_it_is_damaged(opened: Open, root: Path, tmp_path: Path) -> None:
    (root / "a").write_text("x")
    made = opened()
    made.snapshot()
    path = made.store.path
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    made.close()
    path.write_bytes(b"no database at all" * 1000)
    fresh = opened()
    assert set(fresh.snapshot().entries) == {"a"}


def test_old_changes_go_and_contents_in_use_stay(opened: Open, root: Path) -> None:
    (root / "a").write_text("one")
    made = opened()
    old = after(made, lambda: (root / "a").write_text("two"))
    store = made.store
    now = time.time()
    store.collect(oldest=now - DAY, now=now)
    assert store.set("s", old.id).files == old.files
    store.collect(oldest=now + 1, now=now)
    with pytest.raises(UnknownChange):
        store.set("s", old.id)
    entry = only(old).before
    assert entry is not None
    assert entry.hash is not None
    assert store.content(entry.hash) == b"one"  # another process may hold a snapshot that has it
    store.collect(oldest=now + 1, now=now + GRACE + 1)
    with pytest.raises(ChangesError, match="no longer kept"):
        store.content(entry.hash)
    kept = only(old).after
    assert kept is not None
    assert kept.hash is not None
    assert store.content(kept.hash) == b"two"


def test_two_processes_share_a_store(opened: Open, root: Path, tmp_path: Path) -> None:
    (root / "a").write_text("one")
    made = opened()
    before = made.snapshot()
    code = (
        "import sys; from pathlib import Path\n"
        "from oi_engine.changes.workspace import Workspace\n"
        "made = Workspace(sys.argv[1], Path(sys.argv[2]))\n"
        "before = made.snapshot(); Path(sys.argv[1], 'a').write_text('two')\n"
        "made.record('other', made.changes(before, made.snapshot(before))); made.close()\n"
    )
    subprocess.run([sys.executable, "-c", code, str(root), str(tmp_path / "stores")], check=True)
    (theirs,) = made.store.sets("other")
    mine = made.record("s", made.changes(before, made.snapshot(before)))
    assert [one.path for one in theirs.files] == [one.path for one in mine.files] == ["a"]
    revert(made, theirs)
    assert (root / "a").read_text() == "one"


def test_a_store_that_cannot_be_written_is_an_error_with_a_word(tmp_path: Path) -> None:
    (tmp_path / "stores").write_text("a file in its place")
    with pytest.raises(ChangesError, match="cannot be used"):
        Store(tmp_path / "stores" / "x.db", largest_total=1)


def test_stores_that_nobody_used_for_long_are_deleted(tmp_path: Path, root: Path) -> None:
    workspaces = Workspaces(tmp_path / "stores")
    one = workspaces.get(str(root), Limits())
    assert workspaces.get(str(root / "."), Limits()) is one
    workspaces.close()
    clean(tmp_path / "stores", time.time() + (LEFT - 1) * DAY)
    assert one.store.path.exists()
    clean(tmp_path / "stores", time.time() + (LEFT + 1) * DAY)
    assert list((tmp_path / "stores").iterdir()) == []
