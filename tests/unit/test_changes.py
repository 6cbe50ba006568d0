"""Snapshots and the store: what is followed and what is not, hostile names, links, races, limits, damage."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oi_engine.changes import scan
from oi_engine.changes.entries import FileChange, Snapshot
from oi_engine.changes.revert import diff, revert
from oi_engine.changes.scan import Abandoned
from oi_engine.changes.store import GRACE, ChangeSet, Store
from oi_engine.changes.workspace import Limits, Workspace
from oi_engine.changes.workspaces import LEFT, Workspaces, clean
from oi_engine.errors import ChangesError, ChangesNotFollowed, RevertRefused, UnknownChange
from tests.unit.trees import read

DAY = 86_400.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "work"
    found.mkdir()
    return found


Open = Callable[..., Workspace]


@pytest.fixture
def opened(tmp_path: Path, root: Path) -> Iterator[Open]:
    made: list[Workspace] = []

    def workspace(**limits: float) -> Workspace:
        made.append(Workspace(str(root), tmp_path / "stores", Limits(**limits)))  # type: ignore[arg-type]
        return made[-1]

    yield workspace
    for one in made:
        one.close()


def after(made: Workspace, run: Callable[[], object]) -> ChangeSet:
    """What a run changes, recorded."""
    before = made.snapshot()
    run()
    return made.record("s", made.changes(before, made.snapshot(before)))


def kinds(changes: ChangeSet) -> dict[str, str]:
    return {one.shown: one.kind for one in changes.files}


def only(changes: ChangeSet) -> FileChange:
    (one,) = changes.files
    return one


# --- what is followed ----------------------------------------------------------------------------------------------


def test_ignore_rules_are_those_of_git(opened: Open, root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n!keep.log\nbuild/\n/top\nin[\\\n")
    (root / "sub").mkdir()
    (root / "sub" / ".gitignore").write_text("!sub.log\ntop\n")
    names = [
        "a.log",
        "keep.log",
        "top",
        "sub/sub.log",
        "sub/other.log",
        "sub/top",
        "sub/deep/a.log",
        "build/x",
        "b/build",
    ]
    always = [
        ".git/config",
        "node_modules/x",
        ".venv/x",
        "sub/__pycache__/x",
        ".GIT/hooks/x",
        "notes.oi.md",
        "notes.files/1.png",
    ]
    for name in [*names, *always]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    found = {path for path, entry in opened().snapshot().entries.items() if entry.what == "file"}
    assert found == {".gitignore", "sub/.gitignore", "keep.log", "sub/sub.log", "b/build"}


def test_the_repository_s_own_rules_count_in_a_folder_of_it(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    (repository / ".git" / "info").mkdir(parents=True)
    (repository / ".git" / "info" / "exclude").write_text("secret\n")
    (repository / ".gitignore").write_text("/inner/anchored\n*.tmp\n")
    inner = repository / "inner"
    inner.mkdir()
    for name in ("secret", "anchored", "a.tmp", "seen"):
        (inner / name).write_text("x")
    made = Workspace(str(inner), tmp_path / "stores")
    assert set(made.snapshot().entries) == {"seen"}
    made.close()


def test_nothing_is_written_into_the_folder_or_its_repository(opened: Open, root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "a").write_text("x")
    before = read(root)
    made = opened()
    changes = after(made, lambda: (root / "a").write_text("y"))
    revert(made, changes)
    assert read(root) == before


def test_a_run_that_changes_the_ignore_rules_neither_hides_nor_endangers_a_file(opened: Open, root: Path) -> None:
    (root / ".gitignore").write_text(".env\n")
    (root / ".env").write_text("KEY=1")
    (root / "seen").mkdir()
    (root / "seen" / "a").write_text("a")

    def run() -> None:
        (root / ".gitignore").write_text("seen/\n")
        (root / "seen" / "a").write_text("b")
        (root / "seen" / "made").write_text("b")

    made = opened()
    changes = after(made, run)
    # .env is no longer ignored, and yet not taken for a file that the run has made: taking back would delete it.
    assert kinds(changes) == {".gitignore": "modified", "seen/a": "modified"}
    revert(made, changes)
    assert (root / ".env").read_text() == "KEY=1"
    assert (root / "seen" / "a").read_text() == "a"


@pytest.mark.parametrize("folder", ["home", "home/..", "home/stores/.."])
def test_a_folder_that_holds_more_than_work_is_not_followed(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home" / "stores").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(ChangesNotFollowed, match="not followed"):
        Workspace(str(tmp_path / folder), tmp_path / "home" / "stores")


def test_too_many_files_are_not_followed(opened: Open, root: Path) -> None:
    for number in range(5):
        (root / f"{number}").write_text("x")
    with pytest.raises(ChangesNotFollowed, match="more than 4 files"):
        opened(files=4).snapshot()


# --- hostile names, links, special files, permissions ---------------------------------------------------------------


def test_names_that_are_no_text_or_control_a_terminal_are_kept_exactly(opened: Open, root: Path) -> None:
    names = [b"\xff\xfe", b"a\nb", b"\x1b]0;x\x07", b" ", b"-rf", "e\u0301".encode(), b"`x`", b"a\\b", b"h1"]
    made = opened()

    def run() -> None:
        for name in names:
            with open(os.path.join(os.fsencode(root), name), "wb") as file:
                file.write(name)

    changes = after(made, run)
    assert {os.fsencode(one.path) for one in changes.files} == set(names)
    assert "\\xff\\xfe" in kinds(changes)
    for one in changes.files:
        one.shown.encode()  # can be sent
    revert(made, changes, "\\xff\\xfe")
    assert set(read(root)) == set(names[1:])


def test_links_are_kept_as_links_and_never_followed(opened: Open, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret")
    (root / "self").symlink_to("self")
    made = opened()

    def run() -> None:
        (outside / "secret").write_text("changed outside")
        (root / "file").unlink()
        (root / "file").symlink_to("elsewhere")

    before = made.snapshot()
    assert {path: entry.what for path, entry in before.entries.items()} == dict.fromkeys(
        ("folder", "file", "self"), "link"
    )
    changes = after(made, run)
    assert kinds(changes) == {"file": "modified"}
    revert(made, changes)
    assert os.readlink(root / "file") == str(outside / "secret")
    assert (outside / "secret").read_text() == "changed outside"


def test_nothing_is_written_through_a_link_that_took_a_folder_s_place(opened: Open, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("changed", "made"):
        (outside / name).write_text("new")
    (root / "folder").mkdir()
    (root / "folder" / "changed").write_text("old")
    (root / "folder" / "deleted").write_text("old")
    made = opened()

    def run() -> None:
        (root / "folder" / "changed").write_text("new")
        (root / "folder" / "made").write_text("new")
        (root / "folder" / "deleted").unlink()

    changes = after(made, run)
    (root / "folder").rename(root / "moved")
    (root / "folder").symlink_to(outside)
    for path in ("folder/changed", "folder/made", "folder/deleted"):
        with pytest.raises(RevertRefused, match="a file or a link by now"):
            revert(made, changes, path)
    assert len(revert(made, changes).refused) == 3
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"changed": "new", "made": "new"}


def test_a_link_that_took_a_file_s_place_is_not_written_through(opened: Open, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("new")
    (root / "a").write_text("old")
    made = opened()
    changes = after(made, lambda: (root / "a").write_text("new"))
    (root / "a").unlink()
    (root / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(RevertRefused):
        revert(made, changes, "a")
    assert (tmp_path / "outside").read_text() == "new"


def test_paths_out_of_the_folder_are_not_known(opened: Open, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("x")
    made = opened()
    changes = after(made, lambda: (root / "a").write_text("new"))
    for path in ("../outside", str(tmp_path / "outside"), "", ".", "a/../a", "b"):
        with pytest.raises(UnknownChange):
            revert(made, changes, path)
    forged = ChangeSet("c", "s", 0.0, (FileChange("../outside", None, only(changes).after),))
    with pytest.raises(RevertRefused):
        revert(made, forged, "../outside")
    assert (tmp_path / "outside").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are there on POSIX alone")
def test_special_files_are_left_out_and_never_opened(opened: Open, root: Path) -> None:
    os.mkfifo(root / "pipe")
    os.mkfifo(root / ".gitignore")
    listener = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(root)  # the name of a socket is short
    try:
        listener.bind("socket")
    finally:
        os.chdir(here)
        listener.close()
    (root / "a").write_text("old")
    made = opened()
    assert set(made.snapshot().entries) == {"a"}

    def run() -> None:
        (root / "a").unlink()
        os.mkfifo(root / "a")

    changes = after(made, run)
    assert kinds(changes) == {"a": "deleted"}
    with pytest.raises(RevertRefused, match="changed since"):
        revert(made, changes, "a")
    assert stat.S_ISFIFO((root / "a").stat().st_mode)


def test_what_cannot_be_read_is_named_and_not_taken_for_deleted(opened: Open, root: Path) -> None:
    (root / "shut").mkdir()
    (root / "shut" / "inner").write_text("x")
    (root / "file").write_text("x")
    (root / "file").chmod(0)
    if os.access(root / "file", os.R_OK):
        pytest.skip("nothing is shut to this user")
    (root / "file").chmod(0o644)
    made = opened()

    def run() -> None:
        (root / "file").chmod(0)
        (root / "shut").chmod(0)

    try:
        changes = after(made, run)
    finally:
        (root / "shut").chmod(0o755)
    assert kinds(changes) == {"shut/": "mode", "file": "modified"}
    assert "could not be read" in changes.files[0].why


def test_a_folder_that_could_not_be_listed_hides_what_is_in_it(
    opened: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for whoever may read everything: the listing fails, as it does in a folder that is shut."""
    (root / "shut").mkdir()
    (root / "shut" / "inner").write_text("x")
    made = opened()
    before = made.snapshot()
    real = os.scandir
    shut = os.stat(root / "shut").st_ino

    def scandir(where: int) -> object:
        if os.fstat(where).st_ino == shut:
            raise PermissionError(13, "Permission denied")
        return real(where)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", scandir)
        later = made.snapshot(before)
    assert later.unread == {"shut"}
    assert made.changes(before, later) == []
    assert made.changes(later, made.snapshot()) == []


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


# --- taking back ---------------------------------------------------------------------------------------------------


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
