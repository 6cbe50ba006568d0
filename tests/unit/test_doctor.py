"""The doctor: what it finds, what it says is missing, and that it tells no key."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import psutil
import pytest

from oi_engine import doctor
from oi_engine.doctor import Fact, Report, examine
from oi_engine.safety.scan import semgrep
from oi_lsp import cli

KEY = "sk-never-to-be-seen-0123456789"


def fact(report: Report, name: str) -> Fact:
    return next(found for found in report.facts if found.name == name)


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)


async def test_this_machine_has_what_is_essential(tmp_path: Path) -> None:
    report = await examine(tmp_path)
    assert report.healthy
    kernel = fact(report, "kernel")
    assert kernel.found
    assert kernel.essential
    assert "Python" in report.as_text()


async def test_no_key_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = await examine(tmp_path, {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": KEY})
    shown = report.as_text() + json.dumps(report.to_dict())
    assert "OPENAI_API_KEY is set" in shown
    assert KEY not in shown


async def test_what_is_missing_comes_with_what_adds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semgrep, "find", lambda environ: None)  # it is looked for beside this Python too
    report = await examine(tmp_path, {"PATH": str(tmp_path)})
    for name in ("JavaScript", "sandbox", "scanner"):
        missing = fact(report, name)
        assert not missing.found
        assert missing.remedy
    assert report.healthy  # the tool's own Python stands in


async def test_versions_are_those_of_the_programs_on_the_path(tmp_path: Path) -> None:
    program(tmp_path / "bin", "node", "echo v99.9.9")
    report = await examine(tmp_path / "work", {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"})
    assert fact(report, "JavaScript").detail == f"{tmp_path / 'bin' / 'node'} (v99.9.9)"


async def test_nothing_of_the_workspace_is_run(tmp_path: Path) -> None:
    """Its Python, active or not, and whatever of it is first on the PATH, whose name our own programs have."""
    work = tmp_path / "work"
    planted = f"echo $0 >> {tmp_path}/ran\nexit 1"
    for name in ("node", "ruby", "java", "jshell", "R", "bash", "semgrep", "bwrap", "python3"):
        program(work, name, planted)
    path = f"{work}:.:/usr/bin:/bin"
    report = await examine(work, {"PATH": path})
    assert fact(report, "JavaScript").detail.endswith("(of this folder, so it was not run)")
    assert "not looked at" in fact(report, "kernel").detail
    for place in (work / ".venv", work / "other"):
        (place / "bin").mkdir(parents=True)
        program(place / "bin", "python", planted)
    for env in ({}, {"VIRTUAL_ENV": str(work / "other")}):
        assert fact(await examine(work, {"PATH": path, **env}), "kernel").detail.startswith(str(work))
    assert not (tmp_path / "ran").exists()
    assert str(work) not in fact(report, "sandbox").detail


async def test_the_workspaces_environment_is_read_from_its_files(tmp_path: Path) -> None:
    venv = tmp_path / ".venv"
    site = venv / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    (venv / "bin").mkdir()
    program(venv / "bin", "python", f"touch {tmp_path}/ran")
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\nversion_info = 3.12.4.final.0\n\x1b]0;x\x07")
    (site / "ipykernel-6.29.5.dist-info").mkdir()
    report = await examine(tmp_path, {"PATH": "/usr/bin:/bin"})
    kernel, plots = fact(report, "kernel"), fact(report, "matplotlib")
    assert kernel.detail == f"{venv / 'bin' / 'python'} 3.12.4 (the workspace's environment, by its files)"
    assert (kernel.found, kernel.remedy, plots.found) == (True, "", False)
    assert plots.remedy.endswith("pip install matplotlib")
    assert not (tmp_path / "ran").exists()


async def test_what_does_not_answer_is_given_up_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LIMIT", 0.3)
    program(tmp_path / "bin", "node", f"echo $$ > {tmp_path}/pid\nexec sleep 600")
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    report = await asyncio.wait_for(examine(tmp_path / "work", env), 60)
    assert "no answer" in report.as_text()
    pid = int((tmp_path / "pid").read_text())
    assert not psutil.pid_exists(pid)


def test_without_what_is_essential_the_report_is_not_healthy() -> None:
    assert not Report((Fact("Python", "kernel", False, essential=True), Fact("x", "y", True))).healthy
    assert Report((Fact("Python", "kernel", True, essential=True), Fact("x", "y", False))).healthy


@pytest.mark.parametrize(("healthy", "status"), [(True, 0), (False, 1)])
def test_the_exit_status_says_whether_code_can_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], healthy: bool, status: int
) -> None:
    async def found() -> Report:
        return Report((Fact("Python", "kernel", healthy, "there", "do this", essential=True),))

    monkeypatch.setattr(doctor, "examine", found)
    assert cli.main(["doctor"]) == status
    assert "do this" in capsys.readouterr().out
    assert cli.main(["doctor", "--json"]) == status
    assert json.loads(capsys.readouterr().out)["healthy"] is healthy
