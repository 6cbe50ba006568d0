"""What code in the sandbox can read and write."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from pathlib import Path

import pytest

from oi_engine.computer import guards, supervisor
from oi_engine.computer.guards import MADE
from oi_engine.computer.sandbox import Allowed
from oi_engine.errors import KernelFailed, OiError
from oi_engine.safety.programs import GUARDED
from tests.integration.cells import run
from tests.integration.sandbox.inside import STRICT, cell, in_shell, kernel, shell, there


async def test_the_workspace_and_tmp_can_be_written_and_nothing_else(place: Path, home: Path) -> None:
    script = """
        echo x > a && cat a; echo y > /tmp/b && cat /tmp/b
        for path in /etc/x /usr/x ~/x ~/.bashrc ~/notes.txt /x /run/x /dev/x /sys/x; do
            (echo z > $path) 2> /dev/null && echo "WROTE $path"
        done; rm -f ~/notes.txt 2> /dev/null; mv ~/notes.txt . 2> /dev/null; chmod 777 ~ 2> /dev/null; true"""
    said = await in_shell(place, script)
    assert said.text.split() == ["x", "y"]
    assert (place / "a").read_text() == "x\n"
    assert not there("/tmp/b")
    assert (home / "notes.txt").read_text() == "notes"
    assert not (home / ".bashrc").exists()


async def test_keys_profiles_and_our_own_files_cannot_be_read(place: Path) -> None:
    script = """
        cat ~/notes.txt; find ~ -name 'id_ed25519'; grep -rs 'secret words' ~; cat ~/.netrc
        ls -A ~/.ssh ~/.aws ~/.config/gh ~/.gnupg ~/.mozilla ~/data/oi-lsp
    """
    said = await in_shell(place, script)
    assert "notes" in said.text
    assert "secret words" not in said.text
    assert "id_ed25519" not in said.text


async def test_a_link_out_of_the_workspace_leads_nowhere_else(place: Path, home: Path) -> None:
    (place / "keys").symlink_to(home / ".ssh")
    (place / "etc").symlink_to("/etc")
    (place / "notes").symlink_to(home / "notes.txt")
    script = "cat keys/id_ed25519; echo x > etc/oi-test; echo x > notes; ln ~/notes.txt hard; echo x >> hard"
    said = await in_shell(place, script)
    assert "secret words" not in said.text
    assert not there("/etc/oi-test")
    assert (home / "notes.txt").read_text() == "notes"


GUARD_TRICKS = """
    echo x > .git/hooks/pre-commit; echo x >> .git/config; echo x > .git/commondir; git config core.fsmonitor x
    echo x > .vscode/tasks.json; rm -rf .vscode; mkdir .oi; echo 'auto_run: true' > .oi/settings.yaml
    mv .git .git2; mv .vscode v; rm -rf .git; ln -sfn /tmp .oi; mount -o remount,rw .git; umount .git; umount -l .vscode
    unshare -r sh -c 'umount .git; echo x > .git/hooks/pre-commit'; mkdir .VSCODE; true
"""


async def test_what_others_run_of_the_workspace_cannot_be_changed(place: Path) -> None:
    before = (place / ".git" / "config").read_text()
    hooks = sorted(os.listdir(place / ".git" / "hooks"))
    said = await in_shell(place, GUARD_TRICKS)
    assert said.finished.status in ("ok", "error")
    assert (place / ".git" / "config").read_text() == before
    assert sorted(os.listdir(place / ".git" / "hooks")) == hooks
    assert not (place / ".git" / "commondir").exists()
    assert (place / ".vscode" / "tasks.json").read_text() == "{}"
    assert not there(str(place / ".oi"))


async def test_this_program_cannot_be_changed_where_it_is_in_the_workspace(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed in the workspace's own environment, it would run outside of the sandbox at the next start."""
    site = place / ".venv" / "lib"
    site.mkdir(parents=True)
    (site / "supervisor.py").write_text("ours")
    monkeypatch.setattr(sys, "prefix", str(place / ".venv"))
    await in_shell(place, "echo x > .venv/lib/supervisor.py; mv .venv v; rm -rf .venv; touch inside")
    assert (site / "supervisor.py").read_text() == "ours"
    assert (place / "inside").exists()


async def test_other_letters_of_a_guarded_name_are_guarded_too(place: Path) -> None:
    """A file system may take them for the same."""
    for name in (".VSCode", ".Git", ".OI"):
        (place / name).mkdir()
        (place / name / "file").write_text("{}")
    await in_shell(place, "for name in .VSCode .Git .OI; do echo x > $name/file; rm -rf $name; mv $name v; done; true")
    assert [(place / name / "file").read_text() for name in (".VSCode", ".Git", ".OI")] == ["{}"] * 3


async def test_what_is_missing_of_it_cannot_be_made(home: Path) -> None:
    bare = home / "bare"
    bare.mkdir()
    made = "git init .; mkdir -p .git/hooks .vscode .oi; echo x > .git/config; echo x > .vscode/tasks.json"
    runtime = shell(bare)
    await run(runtime, made)
    assert [os.listdir(bare / name) for name in GUARDED] == [[], [], []]
    # Another sandbox comes and goes: what is mounted over in this one must stay.
    await in_shell(bare, "true")
    await run(runtime, made)
    assert [os.listdir(bare / name) for name in GUARDED] == [[], [], []]
    await runtime.close()
    assert os.listdir(bare) == []


async def test_what_is_the_persons_own_stays(home: Path) -> None:
    """Empty from the beginning, or used while the sandbox was there."""
    bare = home / "bare"
    bare.mkdir()
    (bare / ".vscode").mkdir()
    runtime = shell(bare)
    await run(runtime, "true")
    (bare / ".git" / "config").write_text("mine")
    await runtime.close()
    assert sorted(os.listdir(bare)) == [".git", ".vscode"]
    assert (bare / ".git" / "config").read_text() == "mine"
    assert not (bare / ".git").stat().st_mode & stat.S_ISVTX


async def test_a_kernel_leaves_nothing_and_removes_what_was_left(home: Path) -> None:
    bare = home / "bare"
    bare.mkdir()
    for name in GUARDED:  # as where a machine was switched off
        (bare / name).mkdir(MADE)
    async with kernel(bare) as runtime:
        await cell(runtime, "1")
        assert sorted(os.listdir(bare)) == sorted(GUARDED)
    assert os.listdir(bare) == []


async def test_a_folder_that_another_program_keeps_locked_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_TRIES", 2)
    runtime, locked = shell(place), os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(locked, fcntl.LOCK_EX)
        with pytest.raises(KernelFailed, match="has locked"):
            await runtime.start()
    finally:
        os.close(locked)
        await runtime.close()


def test_the_supervisor_knows_what_is_made() -> None:
    assert supervisor.GUARDED == GUARDED


async def test_a_guarded_folder_that_is_a_link_is_refused(place: Path) -> None:
    (place / ".oi").symlink_to("/tmp")
    runtime = shell(place)
    with pytest.raises(KernelFailed, match="is a link"):
        await runtime.start()
    await runtime.close()


async def test_the_home_folder_is_no_workspace(home: Path) -> None:
    said = await in_shell(home, "echo x > ~/.bashrc; cat ~/.ssh/*")
    assert "secret words" not in said.text
    assert not (home / ".bashrc").exists()
    assert not (home / ".oi").exists()


async def test_a_folder_that_was_allowed_can_be_written(place: Path, home: Path) -> None:
    (home / "out").mkdir()
    allowed = Allowed().with_folder(str(home / "out")).added_to(STRICT)
    await in_shell(place, "echo x > ~/out/x; echo y > ~/y; cat ~/.ssh/*", allowed)
    assert (home / "out" / "x").read_text() == "x\n"
    assert not (home / "y").exists()
    for path in (home, "/", home / "nothing"):
        with pytest.raises(OiError):
            Allowed().with_folder(str(path))
