"""What the sandbox bounds: processes, memory, scratch folders."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from oi_engine.computer import confined
from oi_engine.computer.runtime import Finished
from tests.integration.cells import DEADLINE
from tests.integration.sandbox.inside import cell, in_shell, kernel

# Doubles every few hundredths of a second, so that a machine that others use goes on; nothing in it ends by itself.
BOMB = "bomb() { sleep 0.03; bomb & bomb & sleep 100; }; bomb; sleep 100"


async def test_a_fork_bomb_is_ended_and_said(place: Path) -> None:
    said = await in_shell(place, BOMB, processes=60)
    assert said.finished.status in ("died", "error")
    if os.geteuid() == 0:  # the kernel counts no processes for root: the supervisor does
        passed = "more than 60 processes: the sandbox's limit, `sandbox_limits.processes`"
        assert said.finished == Finished("died", passed)


CONFINED = Path(confined.__file__).read_bytes()
# Starts processes until it may not, and says how many there were.
COUNT = """
import subprocess
made = []
try:
    while len(made) < 300:
        made.append(subprocess.Popen(["sleep", "9"]))
except OSError as error:
    print(len(made), error.strerror)
for process in made:
    process.kill()
    process.wait()
"""


async def test_to_whom_is_not_root_the_kernel_gives_no_more_processes() -> None:
    """Another user starts what is first in a sandbox; nobody watches."""
    python = shutil.which("python3", path="/usr/bin:/bin")
    if os.geteuid() != 0 or python is None:
        pytest.skip("only root can be another user, who needs a Python in /usr/bin")
    other = ("setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", python, "-I", "-S", "-")
    process = await asyncio.create_subprocess_exec(
        *(*other, "--processes=40", "--", python, "-I", "-c", COUNT),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd="/",
    )
    async with asyncio.timeout(DEADLINE):
        said, _ = await process.communicate(CONFINED)
    made, _, why = said.decode().partition(" ")
    assert 30 < int(made) < 41
    assert why == "Resource temporarily unavailable\n"


async def test_a_memory_bomb_of_many_processes_is_ended_and_said(place: Path) -> None:
    bomb = "import os, time\nfor _ in range(7): os.fork()\nkept = bytearray(os.urandom(1 << 20) * 30)\ntime.sleep(100)"
    async with kernel(place, memory=1024) as runtime:
        said = await cell(runtime, bomb)
        assert said.finished == Finished(
            "died", "more than 1,024 MB of memory: the sandbox's limit, `sandbox_limits.memory`"
        )
        assert (await cell(runtime, "print(1)")).text == "1\n"


async def test_one_process_gets_no_more_memory_than_that(place: Path) -> None:
    async with kernel(place, memory=1024) as runtime:
        said = await cell(runtime, "kept = bytearray(4 << 30)")
        assert "MemoryError" in said.text
        assert (await cell(runtime, "print(1)")).text == "1\n"


async def test_tmp_and_shared_memory_are_bounded(place: Path) -> None:
    said = await in_shell(place, "for d in /tmp /dev/shm /var/tmp; do head -c 400M /dev/zero > $d/x; done", memory=1024)
    assert said.text.count("No space left on device") == 3
