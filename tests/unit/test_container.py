"""When a container is taken for a sandbox: what the person says and what can be seen must both be so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oi_engine.computer import container
from oi_engine.computer.confiner import Confiner
from oi_engine.computer.container import container_problem
from oi_engine.computer.runtimes import RuntimeFactory
from oi_engine.errors import LanguageUnavailable, OiError
from oi_engine.session.session import Session
from oi_engine.settings import ComputerSettings, Settings
from tests.fakes.scripted import ScriptedModel

NONE = "0" * 16
HOLDS = {
    **dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), NONE),
    "NoNewPrivs": "1",
    "Seccomp": "2",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file system as it is seen in a container that holds, in which this is the first process and not root's."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    monkeypatch.setattr(container, "_prctl", lambda option, value: 0)
    (tmp_path / ".dockerenv").touch()
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[4026532800]")
    say(tmp_path)
    return tmp_path


def say(root: Path, **other: str) -> None:
    lines = ["Name:\tpython", *(f"{name}:\t{value}" for name, value in {**HOLDS, **other}.items())]
    (root / "proc/self/status").write_text("\n".join(lines) + "\n")


def test_one_that_holds(root: Path) -> None:
    assert container_problem(root) == ""
    (root / ".dockerenv").unlink()
    (root / "run").mkdir()
    (root / "run/.containerenv").touch()
    assert container_problem(root) == ""


def test_the_machine_itself_is_none(root: Path) -> None:
    (root / ".dockerenv").unlink()
    assert "does not run in a container" in container_problem(root)


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("CapEff", "00000000a80425fb", "it has capabilities"),
        ("CapBnd", "00000000a80425fb", "it has capabilities"),
        ("NoNewPrivs", "0", "its programs can gain rights"),
        ("Seccomp", "0", "its system calls are not filtered"),
    ],
)
def test_one_that_was_started_with_less(root: Path, field: str, value: str, why: str) -> None:
    say(root, **{field: value})
    assert container_problem(root) == f"The container does not hold what it runs: {why}."


def test_what_is_not_said_is_not_taken_for_granted(root: Path) -> None:
    (root / "proc/self/status").write_text("Name:\tpython\n")
    assert "it has capabilities; its programs can gain rights; its system calls" in container_problem(root)
    (root / "proc/self/status").unlink()
    assert "cannot be seen" in container_problem(root)


def test_one_that_leads_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = root / "proc/self/ns/pid"
    pid.unlink()
    pid.symlink_to("pid:[4026531836]")
    (root / "run").mkdir()
    (root / "run/docker.sock").touch()
    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(container, "_prctl", lambda option, value: 1)
    told = container_problem(root)
    for why in ("sees the processes", "runs as root", "/run/docker.sock is in it", "others can write to this process"):
        assert why in told
    monkeypatch.setattr(os, "getpid", lambda: 7)
    assert "this is not its first process" in container_problem(root)


def test_code_runs_in_no_container_that_is_only_said_to_be_there(tmp_path: Path) -> None:
    confiner = Confiner(RuntimeFactory(ComputerSettings, {}), Settings, tmp_path, str(tmp_path))
    with pytest.raises(LanguageUnavailable, match="This must run in a container"):
        confiner.make("shell", str(tmp_path), "container")


async def test_a_session_in_a_container_cannot_widen_it(tmp_path: Path) -> None:
    session = Session(ScriptedModel([]), lambda language, cwd: pytest.fail(language), Settings(sandbox="container"))
    assert (await session.cell("shell", "ls")).sandbox == "container"
    with pytest.raises(OiError, match="where it is started"):
        session.allow(str(tmp_path))
