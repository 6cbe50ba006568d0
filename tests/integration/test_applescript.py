"""The loop that runs AppleScript. Debian has no osascript: a shell that reads the script stands in for it."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oi_engine.computer.drivers.applescript import APPLESCRIPT
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Finished
from oi_engine.errors import LanguageUnavailable
from tests.integration.cells import run, stop


@pytest.fixture
async def loop(tmp_path: Path) -> AsyncIterator[ReplRuntime]:
    stand_in = tmp_path / "osascript"
    stand_in.write_text('#!/bin/sh\nexec /bin/sh "$1"\n')
    stand_in.chmod(0o755)
    runtime = ReplRuntime(APPLESCRIPT, cwd=tmp_path, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    yield runtime
    await runtime.close()


async def test_scripts_run_one_after_another(loop: ReplRuntime) -> None:
    said = await run(loop, "printf 'name? '; read name; echo hi $name; env | grep -c ^OI_", ["Zoé"])
    assert said.text == "name? Zoé\nhi Zoé\n0\n"
    assert said.finished == Finished("error", "exit status 1")
    assert (await run(loop, "echo again")).finished == Finished("ok")


@pytest.mark.parametrize("code", ["sleep 1000", "trap '' INT; sleep 1000", "cat"])
async def test_a_script_is_stopped_and_the_loop_goes_on(loop: ReplRuntime, code: str) -> None:
    stopped, said = await stop(loop, f"echo go; {code}", "go\n")
    assert stopped
    assert said.finished == Finished("interrupted")
    assert (await run(loop, "echo still")).text == "still\n"


@pytest.mark.skipif(sys.platform == "darwin", reason="it is there")
async def test_missing_osascript(tmp_path: Path) -> None:
    runtime = ReplRuntime(APPLESCRIPT, cwd=tmp_path)
    with pytest.raises(LanguageUnavailable) as caught:
        await runtime.start()
    assert "macOS" in caught.value.remedy
