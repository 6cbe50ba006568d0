"""Which Python is chosen, and what is said where it cannot be used. Real interpreters, bare environments."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oi_engine.computer.environment import Choice, choose_python

NOWHERE = {"PATH": "/nowhere"}
WITH_KERNEL = Path(sys.executable).parent.parent


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with neither pip nor ipykernel."""
    folder = tmp_path_factory.mktemp("bare") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


async def test_the_setting_comes_first(tmp_path: Path, bare: Path) -> None:
    (tmp_path / ".venv").symlink_to(bare)
    choice = await choose_python(sys.executable, tmp_path, tmp_path, NOWHERE)
    assert choice == Choice(sys.executable, "the setting computer.python")


async def test_the_setting_may_name_an_environment(tmp_path: Path) -> None:
    choice = await choose_python(str(WITH_KERNEL), tmp_path, tmp_path, NOWHERE)
    assert (choice.python, choice.notice) == (sys.executable, None)


async def test_a_setting_that_names_nothing_is_said(tmp_path: Path) -> None:
    choice = await choose_python("no/such/python", tmp_path, tmp_path, NOWHERE)
    assert choice.own
    assert choice.notice is not None
    assert str(tmp_path / "no/such/python") in choice.notice
    assert "computer.python" in choice.notice


@pytest.mark.parametrize("name", [".venv", "venv"])
async def test_the_workspaces_environment_is_found_from_below(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(WITH_KERNEL)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    choice = await choose_python(None, below, tmp_path, NOWHERE)
    assert choice.python == str(tmp_path / name / "bin" / "python")
    assert choice.notice is None
    assert not choice.own


async def test_nothing_above_the_root_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(WITH_KERNEL)
    root = tmp_path / "root"
    root.mkdir()
    choice = await choose_python(None, root, root, NOWHERE)
    assert choice == Choice(sys.executable, "the tool's own, for want of another", own=True)


async def test_the_workspaces_environment_comes_before_the_active_one(tmp_path: Path, bare: Path) -> None:
    (tmp_path / ".venv").symlink_to(WITH_KERNEL)
    choice = await choose_python(None, tmp_path, tmp_path, {**NOWHERE, "VIRTUAL_ENV": str(bare)})
    assert choice.why == "the workspace's environment"


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
async def test_the_active_environment(tmp_path: Path, variable: str) -> None:
    choice = await choose_python(None, tmp_path, tmp_path, {**NOWHERE, variable: str(WITH_KERNEL)})
    assert (choice.why, choice.notice) == ("the active environment", None)


async def test_python_on_the_path(tmp_path: Path) -> None:
    script(tmp_path / "bin" / "python3", f'exec "{sys.executable}" "$@"')
    choice = await choose_python(None, tmp_path, tmp_path, {"PATH": str(tmp_path / "bin")})
    assert choice == Choice(sys.executable, "python3 on the PATH")


async def test_without_ipykernel_the_tools_own_stands_in(tmp_path: Path, bare: Path) -> None:
    (tmp_path / ".venv").symlink_to(bare)
    choice = await choose_python(None, tmp_path, tmp_path, dict(os.environ))
    assert (choice.python, choice.own) == (sys.executable, True)
    assert choice.notice is not None
    assert "has no ipykernel" in choice.notice
    assert choice.notice.endswith(f"uv pip install --python {tmp_path}/.venv/bin/python ipykernel")


@pytest.mark.parametrize(
    ("pip", "managed", "command"),
    [
        ("true", "false", "/the/python -m pip install ipykernel"),
        ("true", "true", "/the/python -m venv .venv && .venv/bin/python -m pip install ipykernel"),
        ("false", "false", "uv pip install --python /the/python ipykernel"),
    ],
)
async def test_the_command_that_installs_it(tmp_path: Path, pip: str, managed: str, command: str) -> None:
    answer = f'{{"executable": "/the/python", "ipykernel": false, "pip": {pip}, "managed": {managed}}}'
    python = script(tmp_path / "python", f"echo '{answer}'")
    choice = await choose_python(str(python), tmp_path, tmp_path, dict(os.environ))
    assert choice.notice is not None
    assert choice.notice.endswith(f"Install it with: {command}")


@pytest.mark.parametrize("broken", ["exit 1", "echo nonsense", "echo '[]'", "echo '{}'"])
async def test_a_broken_python_is_said(tmp_path: Path, broken: str) -> None:
    python = script(tmp_path / ".venv" / "bin" / "python", broken)
    choice = await choose_python(None, tmp_path, tmp_path, dict(os.environ))
    assert choice.own
    assert choice.notice is not None
    assert f"{python} (the workspace's environment) does not work" in choice.notice


async def test_a_python_that_cannot_be_run_is_said(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("no program")
    python.chmod(0o755)
    choice = await choose_python(str(python), tmp_path, tmp_path, dict(os.environ))
    assert choice.own
    assert choice.notice is not None
    assert "does not work" in choice.notice
