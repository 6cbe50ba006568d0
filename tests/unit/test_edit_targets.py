"""Which files may be edited: with real files, folders and links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oi_engine.edits.targets import may_create, may_edit
from oi_engine.errors import EditRefused


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a = 1\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.py").write_text("b = 1\n")
    return folder


def test_a_file_in_any_of_the_folders_may_be_edited(workspace: Path) -> None:
    other = workspace.parent / "elsewhere"
    assert may_edit(workspace / "src" / "a.py", [workspace]) == workspace / "src" / "a.py"
    assert may_edit(other / "b.py", [workspace, other]) == other / "b.py"
    assert may_edit(workspace / "src" / ".." / "src" / "a.py", [workspace]) == workspace / "src" / "a.py"


def test_without_a_workspace_an_open_file_may_be_edited(workspace: Path) -> None:
    assert may_edit(workspace / "src" / "a.py", []) == workspace / "src" / "a.py"


@pytest.mark.parametrize("path", ["../elsewhere/b.py", "src/../../elsewhere/b.py", "../work2/a.py"])
def test_what_is_outside_is_refused(workspace: Path, path: str) -> None:
    (workspace.parent / "work2").mkdir()
    (workspace.parent / "work2" / "a.py").touch()
    with pytest.raises(EditRefused, match="outside the workspace"):
        may_edit(workspace / path, [workspace])


def test_links_that_leave_are_refused(workspace: Path) -> None:
    elsewhere = workspace.parent / "elsewhere"
    (workspace / "b.py").symlink_to(elsewhere / "b.py")
    (workspace / "folder").symlink_to(elsewhere)
    for path in (workspace / "b.py", workspace / "folder" / "b.py"):
        with pytest.raises(EditRefused, match="leads out of the workspace"):
            may_edit(path, [workspace])
    with pytest.raises(EditRefused, match="leads out of the workspace"):
        may_create(workspace / "folder" / "new.py", [workspace])


def test_links_that_stay_inside_are_followed(workspace: Path) -> None:
    (workspace / "link.py").symlink_to(workspace / "src" / "a.py")
    assert may_edit(workspace / "link.py", [workspace]) == workspace / "src" / "a.py"


def test_a_workspace_that_is_a_link_itself_is_inside_of_itself(workspace: Path) -> None:
    (workspace.parent / "alias").symlink_to(workspace)
    alias = workspace.parent / "alias"
    assert may_edit(alias / "src" / "a.py", [alias]) == workspace / "src" / "a.py"
    assert may_edit(alias / "src" / "a.py", [workspace]) == workspace / "src" / "a.py"


def test_a_circle_of_links_is_refused(workspace: Path) -> None:
    (workspace / "one").symlink_to(workspace / "two")
    (workspace / "two").symlink_to(workspace / "one")
    with pytest.raises(EditRefused):
        may_edit(workspace / "one", [workspace])


def test_a_read_only_file_is_refused(workspace: Path) -> None:
    (workspace / "src" / "a.py").chmod(0o444)
    with pytest.raises(EditRefused, match="read-only"):
        may_edit(workspace / "src" / "a.py", [workspace])


def test_what_is_no_file_is_refused(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    for path in (workspace / "src", workspace / "pipe"):
        with pytest.raises(EditRefused, match="no regular file"):
            may_edit(path, [workspace])
    with pytest.raises(EditRefused, match="does not exist"):
        may_edit(workspace / "nothing.py", [workspace])
    with pytest.raises(EditRefused, match="cannot be read"):
        may_edit(workspace / "src" / "a.py" / "b", [workspace])


@pytest.mark.parametrize("name", [".git", ".GIT"])
def test_the_files_of_git_are_refused(workspace: Path, name: str) -> None:
    (workspace / name).mkdir()
    (workspace / name / "config").touch()
    (workspace / ".github").mkdir()
    (workspace / ".github" / "ci.yml").touch()
    (workspace / "link").symlink_to(workspace / name / "config")
    for path in (workspace / name / "config", workspace / "link"):
        with pytest.raises(EditRefused, match="Git"):
            may_edit(path, [workspace])
    with pytest.raises(EditRefused, match="Git"):
        may_edit(workspace / name / "config", [])
    with pytest.raises(EditRefused, match="Git"):
        may_create(workspace / name / "new", [workspace])
    assert may_edit(workspace / ".github" / "ci.yml", [workspace]).name == "ci.yml"


def test_a_path_must_be_absolute_and_possible() -> None:
    with pytest.raises(EditRefused, match="absolute"):
        may_edit(Path("a.py"), [])
    with pytest.raises(EditRefused, match="cannot be read"):
        may_edit(Path("/a\0b"), [])


def test_a_new_file_needs_a_folder_inside(workspace: Path) -> None:
    assert may_create(workspace / "src" / "new.py", [workspace]) == workspace / "src" / "new.py"
    with pytest.raises(EditRefused, match=r"folder .* does not exist"):
        may_create(workspace / "none" / "new.py", [workspace])
    with pytest.raises(EditRefused, match="exists already"):
        may_create(workspace / "src" / "a.py", [workspace])
    with pytest.raises(EditRefused, match="outside the workspace"):
        may_create(workspace.parent / "new.py", [workspace])
    (workspace / "dangling").symlink_to(workspace / "nowhere")
    with pytest.raises(EditRefused, match="exists already"):
        may_create(workspace / "dangling", [workspace])
