"""What every test of the sandbox needs: a sandbox, and a home folder with a workspace in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_engine.computer.sandbox import look_for_sandbox
from tests.fakes.places import outside_scratch


@pytest.fixture(autouse=True)
async def sandbox_is_here() -> None:
    if problem := (await look_for_sandbox()).problem:
        assert os.environ.get("CI") != "true" or os.geteuid() != 0, problem
        pytest.skip(problem)


KEYS = (".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".gnupg/key", ".mozilla/cookies", ".netrc")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder with keys in it."""
    with outside_scratch() as folder:
        yield _furnished(folder, monkeypatch)


def _furnished(found: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in KEYS:
        path = found / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret words")
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        own = found / kind.lower()
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(own))
        (own / "oi-lsp").mkdir(parents=True)
        (own / "oi-lsp" / "file").write_text("secret words")
    (found / "notes.txt").write_text("notes")
    monkeypatch.setenv("HOME", str(found))
    return found


@pytest.fixture
def place(home: Path) -> Path:
    """A workspace in it, a git repository."""
    found = home / "work"
    found.mkdir()
    subprocess.run(["git", "init", "-q", str(found)], check=True)
    (found / ".vscode").mkdir()
    (found / ".vscode" / "tasks.json").write_text("{}")
    return found
