"""Snapshots: what is followed and what is not, hostile names, links, special files."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from oi_engine.changes.entries import FileChange
from oi_engine.changes.revert import revert
from oi_engine.changes.store import ChangeSet
from oi_engine.changes.workspace import Workspace
from oi_engine.errors import ChangesNotFollowed, RevertRefused, UnknownChange
from tests.unit.changes.recorded import Open, after, kinds, only
from tests.unit.changes.trees import read

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


def test_folders_that_a_sandbox_makes_are_no_change_and_what_is_put_into_them_is(opened: Open, root: Path) -> None:
    def run() -> None:
        for name in (".git", ".vscode", ".oi"):
            (root / name).mkdir()
        (root / ".vscode" / "tasks.json").write_text("{}")

    assert kinds(after(opened(), run)) == {".vscode/tasks.json": "added"}


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
