"""Temporary folders: private, and gone also where the process that made them was killed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_engine import temporary
from oi_engine.temporary import TemporaryFolder, remove_left_over

MAKE = """
import sys
from oi_engine.temporary import TemporaryFolder
print(TemporaryFolder("oi-scan-", sys.argv[1]).path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def none_is_young(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "_YOUNG", -1.0)


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, which has one of its own."""
    command = [sys.executable, "-c", MAKE, str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        yield process
        process.kill()


def test_it_is_private_and_gone_when_it_is_removed(tmp_path: Path) -> None:
    folder = TemporaryFolder("oi-cells-", str(tmp_path))
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert remove_left_over([str(tmp_path)]) == []  # it is held
    folder.remove()
    folder.remove()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_at_the_next_start(tmp_path: Path, owner: subprocess.Popen[str]) -> None:
    assert owner.stdout is not None
    path = Path(owner.stdout.readline().strip())
    (path / "code.py").write_text("secret = 1")
    assert remove_left_over([str(tmp_path)]) == []
    owner.kill()
    owner.wait()
    assert remove_left_over([str(tmp_path)]) == [path]
    assert not path.exists()


def test_one_that_is_just_being_made_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary, "_YOUNG", 60.0)
    (tmp_path / "oi-scan-new").mkdir()
    assert remove_left_over([str(tmp_path)]) == []


def test_links_files_and_what_is_not_ours_stay(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    (tmp_path / "oi-scan-link").symlink_to(precious)
    (tmp_path / "oi-scan-file").write_text("kept")
    (tmp_path / "oi-other-1").mkdir()
    left = tmp_path / "oi-scan-left"
    left.mkdir()
    (left / "out").symlink_to(precious)
    assert remove_left_over([str(tmp_path), str(tmp_path / "nowhere")]) == [left]
    assert (precious / "file").read_text() == "kept"
    assert {path.name for path in tmp_path.iterdir()} == {"precious", "oi-scan-link", "oi-scan-file", "oi-other-1"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make something that is another user's")
def test_another_users_stays(tmp_path: Path) -> None:
    (tmp_path / "oi-scan-theirs").mkdir()
    os.chown(tmp_path / "oi-scan-theirs", 65534, 65534)
    assert remove_left_over([str(tmp_path)]) == []
