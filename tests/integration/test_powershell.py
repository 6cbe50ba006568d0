"""PowerShell in a real pwsh, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oi_engine.computer.drivers.powershell import POWERSHELL
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Finished
from oi_engine.errors import LanguageUnavailable
from tests.integration.cells import run, stop

needs_pwsh = pytest.mark.skipif(shutil.which("pwsh") is None, reason="pwsh is not installed")


@pytest.fixture
async def pwsh(tmp_path: Path) -> AsyncIterator[ReplRuntime]:
    runtime = ReplRuntime(POWERSHELL, cwd=tmp_path)
    yield runtime
    await runtime.close()


@needs_pwsh
async def test_state_and_values(pwsh: ReplRuntime) -> None:
    await run(pwsh, "$kept = 1; function Double($n) { 2 * $n }")
    said = await run(pwsh, "Write-Host 'grüße'; Double 4; $kept")
    assert said.text.split() == ["grüße", "8", "1"]
    assert said.finished == Finished("ok")


@needs_pwsh
async def test_errors(pwsh: ReplRuntime) -> None:
    said = await run(pwsh, "1\n\nthrow 'boom'")
    assert said.finished.status == "error"
    assert "boom" in said.text
    assert "ine:3" in said.text


@needs_pwsh
async def test_interrupt_keeps_the_state(pwsh: ReplRuntime) -> None:
    await run(pwsh, "$kept = 1")
    stopped, said = await stop(pwsh, "Write-Host go; while ($true) {}", "go")
    assert stopped
    assert said.finished == Finished("interrupted")
    assert (await run(pwsh, "$kept + 1")).text.strip() == "2"


async def test_missing_pwsh(tmp_path: Path) -> None:
    runtime = ReplRuntime(POWERSHELL, cwd=tmp_path, env={"PATH": str(tmp_path)})
    with pytest.raises(LanguageUnavailable) as caught:
        await runtime.start()
    assert "PowerShell 7" in caught.value.remedy
