"""What the sandbox bounds: processes, memory, scratch folders."""

from __future__ import annotations

import os
from pathlib import Path

from oi_engine.computer.runtime import Finished
from tests.integration.sandbox.inside import cell, in_shell, kernel


async def test_a_fork_bomb_is_ended_and_said(place: Path) -> None:
    said = await in_shell(place, "bomb() { bomb | bomb & sleep 100; }; bomb; sleep 100", processes=120)
    assert said.finished.status in ("died", "error")
    if os.geteuid() == 0:  # the kernel counts no processes for root: the supervisor does
        passed = "more than 120 processes: the sandbox's limit, `sandbox_limits.processes`"
        assert said.finished == Finished("died", passed)


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
