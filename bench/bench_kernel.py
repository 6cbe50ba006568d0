"""The Python kernel's speed and memory; baselines are the same by bare jupyter_client."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from bench.rows import Row
from oi_engine.computer.kernel import PythonKernel
from oi_engine.computer.runtime import Spilled, Text
from oi_engine.computer.sandbox import Confinement, Sandbox, look_for_sandbox


class Stalls:
    """The longest time for which the event loop did not get to run a timer of 1 ms, in milliseconds."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def __aenter__(self) -> Stalls:
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _watch(self) -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, (time.perf_counter() - begun - 0.001) * 1000)


@asynccontextmanager
async def _kernel() -> AsyncIterator[PythonKernel]:
    with tempfile.TemporaryDirectory() as folder:
        kernel = PythonKernel(cwd=Path(folder), env=dict(os.environ), python=sys.executable)
        try:
            await kernel.start()
            await _first_output(kernel, "print(0)")
            yield kernel
        finally:
            await kernel.close()


@asynccontextmanager
async def _bare_client() -> AsyncIterator[Any]:
    from jupyter_client.manager import start_new_async_kernel

    manager, client = await start_new_async_kernel(stdout=-3, stderr=-3)
    try:
        yield client
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def _first_output(kernel: PythonKernel, code: str) -> float:
    """Seconds from the call of ``run`` to the first text; reads to the end."""
    begun, first = time.perf_counter(), 0.0
    async for event in kernel.run(code):
        if isinstance(event, Text) and not first:
            first = time.perf_counter() - begun
    return first


async def _first_output_bare(client: Any, code: str) -> float:
    begun = time.perf_counter()
    request = client.execute(code)
    first = 0.0
    while True:
        message = await client.get_iopub_msg(timeout=30)
        if message["msg_type"] == "stream" and not first:
            first = time.perf_counter() - begun
        if message["content"].get("execution_state") == "idle" and message["parent_header"]["msg_id"] == request:
            await client.get_shell_msg(timeout=30)
            return first


async def start() -> list[Row]:
    """A kernel's start, from nothing to ready, the import of jupyter_client not counted."""
    kernel = PythonKernel(cwd=Path(tempfile.gettempdir()), env=dict(os.environ), python=sys.executable)
    await kernel.start()
    await kernel.close()
    begun = time.perf_counter()
    await kernel.start()
    measured = time.perf_counter() - begun
    await kernel.close()
    begun = time.perf_counter()
    async with _bare_client():
        baseline = time.perf_counter() - begun
    return [Row("python kernel: start to ready", measured * 1000, baseline * 1000, "ms", "1000 ms")]


async def sandboxed_start() -> list[Row]:
    """A kernel's start in the sandbox, against the same without: medians, by turns."""
    if (await look_for_sandbox()).problem:
        return []
    with tempfile.TemporaryDirectory() as folder:
        taken: dict[bool, list[float]] = {False: [], True: []}
        for confined in [False, True] * 8:
            confinement = Confinement(Sandbox("strict", network=False), folder, 8192, 512) if confined else None
            kernel = PythonKernel(
                cwd=Path(folder), env=dict(os.environ), python=sys.executable, confinement=confinement
            )
            begun = time.perf_counter()
            await kernel.start()
            taken[confined].append(time.perf_counter() - begun)
            await kernel.close()
    measured, baseline = (statistics.median(taken[confined][1:]) * 1000 for confined in (True, False))
    return [Row("python kernel in the sandbox: start to ready", measured, baseline, "ms", "1.3 × the baseline")]


async def stall_at_first_start() -> list[Row]:
    """The longest stall while the first kernel starts, in a fresh process: jupyter_client is imported then."""
    script = (
        "import asyncio\nfrom bench.bench_kernel import Stalls, _kernel\n"
        "async def main():\n    async with Stalls() as stalls:\n        async with _kernel(): pass\n"
        "    print(stalls.longest)\nasyncio.run(main())"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return [Row("python: longest stall, first start included", float(output), None, "ms", "20 ms")]


async def first_output() -> list[Row]:
    """From an approved cell to its first output, warm."""
    async with _kernel() as kernel:
        measured = [await _first_output(kernel, f"print({i})") for i in range(60)]
    async with _bare_client() as client:
        baseline = [await _first_output_bare(client, f"print({i})") for i in range(60)]
    medians = statistics.median(measured) * 1000, statistics.median(baseline) * 1000
    return [Row("python: approved to first output, warm", *medians, "ms", "6 ms")]


async def paced_lines() -> list[Row]:
    """100 lines printed over 2 s: when the last is there."""
    code = "import time\nbegun = time.monotonic()\nfor i in range(1, 101):\n"
    code += "    time.sleep(max(0, begun + i * 0.02 - time.monotonic()))\n    print(i)"
    async with _kernel() as kernel:
        begun, last = time.perf_counter(), 0.0
        async for event in kernel.run(code):
            if isinstance(event, Text):
                last = time.perf_counter() - begun
    return [Row("python: 100 lines over 2 s, last line shown", last, None, "s", "2.05 s")]


async def stop() -> list[Row]:
    """``while True: pass`` stopped, with state kept: the 99th percentile of 30."""
    took = []
    async with _kernel() as kernel:
        for i in range(30):
            task, begun = None, 0.0
            async for event in kernel.run(f"state = {i}\nprint('begun', flush=True)\nwhile True: pass"):
                if task is None and isinstance(event, Text):
                    begun = time.perf_counter()
                    task = asyncio.create_task(kernel.interrupt())
            assert task is not None
            stopped = await task
            took.append(time.perf_counter() - begun)
            kept = [event async for event in kernel.run("state")]
            if not stopped or Text(f"{i}\n", "result") not in kept:
                raise RuntimeError("the cell did not stop, or its state was lost")
    return [Row("python: stop of `while True: pass`, p99 of 30", sorted(took)[-1] * 1000, None, "ms", "100 ms")]


async def flood() -> list[Row]:
    """100 MB printed: what it does to the reader's memory and event loop."""
    async with _kernel() as kernel:
        process = psutil.Process()
        before = highest = process.memory_info().rss
        characters, omitted = 0, 0
        async with Stalls() as stalls:
            async for event in kernel.run("for _ in range(100):\n    print('x' * 999_999)"):
                highest = max(highest, process.memory_info().rss)
                characters += len(event.text) if isinstance(event, Text) else 0
                omitted += event.omitted if isinstance(event, Spilled) else 0
        if characters + omitted != 100_000_000:
            raise RuntimeError(f"{characters} + {omitted} characters are not 100 MB")
    return [
        Row("python: 100 MB printed, growth of memory", (highest - before) / 1e6, None, "MB", "40 MB"),
        Row("python: 100 MB printed, longest stall", stalls.longest, None, "ms", "20 ms"),
    ]


BENCHES: list[Callable[[], Awaitable[list[Row]]]] = [
    start,
    sandboxed_start,
    stall_at_first_start,
    first_output,
    paced_lines,
    stop,
    flood,
]
