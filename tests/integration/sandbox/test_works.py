"""Runtimes in the sandbox work as they do outside."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from oi_engine.computer.languages import driver
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Finished
from oi_engine.computer.sandbox import Confinement
from tests.integration.cells import DEADLINE, run, stop
from tests.integration.sandbox.inside import STRICT, cell, kernel, shell


async def test_input_interrupt_and_state_in_a_python_kernel(place: Path) -> None:
    async with kernel(place) as runtime:
        assert (await cell(runtime, "x = input('? '); print('got', x)", ["hi"])).text.endswith("got hi\n")
        stopped, said = await stop(runtime, "import time; print('on', flush=True)\nwhile True: time.sleep(0.01)", "on")  # type: ignore[arg-type]
        assert stopped
        assert said.finished.status == "interrupted"
        assert (await cell(runtime, "print(x)")).text == "hi\n"
        assert (await cell(runtime, "import os; os._exit(3)")).finished.status == "died"
        assert (await cell(runtime, "print(2)")).text == "2\n"


async def test_input_interrupt_and_state_in_a_shell(place: Path) -> None:
    runtime = shell(place)
    try:
        assert (await run(runtime, "read x; echo got $x", ["hi"])).text.endswith("got hi\n")
        stopped, said = await stop(runtime, "echo on; sleep 1000", "on")
        assert stopped
        assert said.finished.status == "interrupted"
        assert (await run(runtime, "echo $x; exit 3")).finished == Finished("error", "exit status 3")
        assert (await run(runtime, "kill -9 $$")).finished == Finished("died", "signal SIGKILL")
        assert (await run(runtime, "echo 2")).text == "2\n"
    finally:
        await runtime.close()


@pytest.mark.parametrize(
    ("language", "program", "script"),
    [
        ("shell", "zsh", "echo $((6 * 7))"),
        ("r", None, "x <- 6 * 7; print(x)"),
        ("ruby", None, "p 6 * 7"),
        ("java", None, "System.out.println(6 * 7);"),
    ],
)
async def test_the_other_languages_run_in_it(place: Path, language: str, program: str | None, script: str) -> None:
    found = driver(language, shell=program, env=os.environ)
    assert found is not None
    if found.find(os.environ.get("PATH")) is None:
        pytest.skip(f"{found.programs[0]} is not installed")
    confinement = Confinement(STRICT, str(place), 8192, 512)
    runtime = ReplRuntime(found, cwd=place, env=dict(os.environ), confinement=confinement)
    try:
        assert "42" in (await run(runtime, script)).text
    finally:
        await runtime.close()


async def test_node_is_interrupted(place: Path) -> None:
    found = driver("javascript", shell=None, env=os.environ)
    assert found is not None
    if found.find(os.environ.get("PATH")) is None:
        pytest.skip("node is not installed")
    confinement = Confinement(STRICT, str(place), 4096, 256)
    runtime = ReplRuntime(found, cwd=place, env=dict(os.environ), confinement=confinement)
    try:
        assert (await run(runtime, "const x = 6 * 7; x")).text == "42\n"
        stopped, said = await stop(runtime, "console.log('on'); while (true) {}", "on")
        assert stopped
        assert said.finished.status == "interrupted"
        assert (await run(runtime, "x + 1")).text == "43\n"
    finally:
        await runtime.close()


async def test_nothing_is_left_when_it_is_closed(place: Path) -> None:
    runtime = shell(place)
    try:
        await run(runtime, "setsid sleep 4321 & (sleep 4321 &) ; echo x")
        async with asyncio.timeout(DEADLINE):
            while sleepers() < 2:
                await asyncio.sleep(0.01)
    finally:
        await runtime.close()
    assert sleepers() == 0


def sleepers() -> int:
    found = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])]
    return sum(line == ["sleep", "4321"] for line in found)
