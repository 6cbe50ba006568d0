"""Shells and node behind the driver protocol."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.rows import Row
from oi_engine.computer.driver import Driver
from oi_engine.computer.drivers.node import NODE
from oi_engine.computer.drivers.shell import BASH
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Text

_PRINTED = 100_000_000


async def _first_output(runtime: ReplRuntime, code: str, rounds: int) -> list[float]:
    """Milliseconds from the call of ``run`` to the first output, for each round."""
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        first = None
        async for event in runtime.run(code):
            if first is None and isinstance(event, Text):
                first = time.perf_counter() - began
        assert first is not None
        found.append(first * 1000)
    return sorted(found)


async def _stops(runtime: ReplRuntime, code: str, rounds: int) -> list[float]:
    """Milliseconds that ``interrupt`` takes, for each round."""
    found = []
    for _ in range(rounds):
        cell = runtime.run(code)
        async for event in cell:
            if isinstance(event, Text):
                break
        began = time.perf_counter()
        assert await runtime.interrupt()
        found.append((time.perf_counter() - began) * 1000)
        async for _event in cell:
            pass
    return sorted(found)


async def _with(driver: Driver, measure: Callable[[ReplRuntime], Awaitable[list[Row]]]) -> list[Row]:
    if driver.find() is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        runtime = ReplRuntime(driver, cwd=folder)
        await runtime.start()
        try:
            return await measure(runtime)
        finally:
            await runtime.close()


async def bench_start() -> list[Row]:
    """From nothing to ready."""
    rows: list[Row] = []
    for driver in (BASH, NODE):
        if driver.find() is None:
            continue
        found = []
        for _ in range(10):
            runtime = ReplRuntime(driver, cwd=tempfile.gettempdir())
            began = time.perf_counter()
            await runtime.start()
            found.append((time.perf_counter() - began) * 1000)
            await runtime.close()
        rows.append(Row(f"{driver.language}: start to ready, median", statistics.median(found), None, "ms"))
    return rows


async def bench_shell() -> list[Row]:
    """First output and stop."""

    async def measure(runtime: ReplRuntime) -> list[Row]:
        first = await _first_output(runtime, "echo hello", 200)
        stops = await _stops(runtime, "echo go; while :; do :; done", 100)
        sleeps = await _stops(runtime, "echo go; sleep 1000", 30)
        return [
            Row("shell: run to first output, warm, median", statistics.median(first), None, "ms", "6 ms"),
            Row("shell: the same, p99", first[-2], None, "ms"),
            Row("shell: stop of `while :; do :; done`, median of 100", statistics.median(stops), None, "ms"),
            Row("shell: the same, p99", stops[-2], None, "ms", "100 ms"),
            Row("shell: stop of `sleep 1000`, the longest of 30", sleeps[-1], None, "ms", "100 ms"),
        ]

    return await _with(BASH, measure)


async def bench_node() -> list[Row]:
    """First output and stop."""

    async def measure(runtime: ReplRuntime) -> list[Row]:
        first = await _first_output(runtime, "console.log('hello')", 200)
        stops = await _stops(runtime, "console.log('go'); while (true) {}", 30)
        return [
            Row("javascript: run to first output, warm, median", statistics.median(first), None, "ms", "6 ms"),
            Row("javascript: stop of `while (true) {}`, the longest of 30", stops[-1], None, "ms", "100 ms"),
        ]

    return await _with(NODE, measure)


async def bench_much_output() -> list[Row]:
    """100 MB printed, taken as fast as it comes: memory of this process and stalls of its event loop."""
    return await _with(BASH, _much_output)


async def _much_output(runtime: ReplRuntime) -> list[Row]:
    stop = threading.Event()
    peak = [_resident()]
    before = peak[0]

    def sample() -> None:
        while not stop.wait(0.005):
            peak[0] = max(peak[0], _resident())

    sampler = threading.Thread(target=sample)
    sampler.start()
    stalls = asyncio.create_task(_longest_stall(stop))
    began, size = time.perf_counter(), 0
    async for event in runtime.run(f"yes 'a line of some length, as programs print them' | head -c {_PRINTED}"):
        if isinstance(event, Text):
            size += len(event.text)
    took = time.perf_counter() - began
    stop.set()
    sampler.join()
    assert size == _PRINTED
    return [
        Row("shell: 100 MB printed", took, None, "s"),
        Row("shell: the same, growth of memory", (peak[0] - before) / 1e6, None, "MB", "20 MB"),
        Row("shell: the same, longest stall of the event loop", await stalls, None, "ms", "20 ms"),
    ]


async def _longest_stall(stop: threading.Event) -> float:
    """The longest time, in milliseconds, that the event loop did not come round."""
    longest, last = 0.0, time.perf_counter()
    while not stop.is_set():
        await asyncio.sleep(0)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest * 1000


def _resident() -> int:
    """Bytes of this process in memory; 0 where there is no ``/proc``."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


BENCHES: list[Callable[[], Awaitable[list[Row]]]] = [bench_start, bench_shell, bench_node, bench_much_output]
