"""The whole: settings, gate, session, and the Python API."""

from __future__ import annotations

import asyncio
import os
import sys
import sysconfig
from pathlib import Path

import pytest

from oi_engine import OpenInterpreter
from oi_engine.api.hub import hub
from oi_engine.settings.tree import SandboxSettings
from tests.integration.sandbox.inside import Rig, there
from tests.unit.api.rig import Model


async def test_auto_run_sandboxed_runs_unasked_inside_and_tells_what_was_stopped(place: Path) -> None:
    rig = Rig(place, "touch inside; touch /etc/oi-test", auto_run="sandboxed")
    try:
        said = "\n".join(await rig.go())
        assert rig.proposals == []
        assert (place / "inside").exists()
        assert not there("/etc/oi-test")
        assert "The sandbox seems to have kept it from /etc/oi-test" in said
        assert "%sandbox allow" in said
    finally:
        await rig.close()


async def test_what_was_allowed_holds_from_the_next_run_on_and_variables_go(place: Path, home: Path) -> None:
    (home / "out").mkdir()
    rig = Rig(place, "x=5; echo a > ~/out/a", 'echo "x is $x"; echo b > ~/out/b', sandbox="strict", auto_run=True)
    try:
        await rig.go()
        assert not (home / "out" / "a").exists()
        rig.session.allow(str(home / "out"))
        rig.session.run("shell", 'echo "x is $x"; echo b > ~/out/b')
        await rig.session.idle()
        said = "\n".join(m.text for m in rig.session.messages if m.role == "computer")
        assert (home / "out" / "b").read_text() == "b\n"
        assert "its variables are gone" in said
        assert "x is \n" in said
    finally:
        await rig.close()


async def test_a_run_has_its_time(place: Path) -> None:
    rig = Rig(place, "sleep 1000", auto_run=True, sandbox="workspace", sandbox_limits=SandboxSettings(seconds=1))
    try:
        assert any("stopped after 1 seconds" in said for said in await rig.go())
    finally:
        await rig.close()


async def test_a_planted_python_is_asked_inside_the_sandbox(place: Path) -> None:
    planted = place / ".venv" / "bin" / "python"
    planted.parent.mkdir(parents=True)
    planted.write_text(f'#!/bin/sh\ntouch {place}/ran ~/escaped\nexec {sys.executable} "$@"\n')
    planted.chmod(0o755)
    rig = Rig(place, "print(6 * 7)", language="python", auto_run="sandboxed")
    try:
        assert any("42" in said for said in await rig.go())
        assert (place / "ran").exists()
        assert not (place.parent / "escaped").exists()
    finally:
        await rig.close()


async def test_a_planted_bubblewrap_is_no_way_out(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code may write to the workspace, and its environment comes first on the PATH of the next kernel."""
    folder = place / ".venv" / "bin"
    folder.mkdir(parents=True)
    (place / ".venv" / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")
    (folder / "python").symlink_to(sys.executable)
    own = Path(sysconfig.get_path("purelib"))
    site = place / ".venv" / own.relative_to(sys.prefix)
    site.parent.mkdir(parents=True)
    site.symlink_to(own)
    for path in (folder, place):
        (path / "bwrap").write_text(f"#!/bin/sh\necho $0 $1 >> {place.parent}/escaped\n")
        (path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    for language, script in (("python", "print(6 * 7)"), ("shell", "echo $((6 * 7))")):
        rig = Rig(place, script, language=language, auto_run="sandboxed")
        try:
            assert any("42" in said for said in await rig.go())
        finally:
            await rig.close()
    assert not there(str(place.parent / "escaped"))


@pytest.mark.parametrize("stream", [True, False])
async def test_the_python_api_runs_sandboxed_what_is_read_past(place: Path, stream: bool) -> None:
    def chat() -> None:
        interpreter = OpenInterpreter()
        interpreter.llm.completions = Model("```shell\ntouch inside; touch /etc/oi-test\n```")
        interpreter.auto_run = "sandboxed"
        try:
            if stream:
                assert list(interpreter.chat("go", display=False, stream=True))
            else:
                assert interpreter.chat("go", display=False)
        finally:
            interpreter.close()

    before = await asyncio.to_thread(os.getcwd)
    os.chdir(place)
    try:
        await asyncio.to_thread(chat)
    finally:
        os.chdir(before)
        await asyncio.to_thread(hub().close)
    assert there(str(place / "inside"))
    assert not there("/etc/oi-test")
