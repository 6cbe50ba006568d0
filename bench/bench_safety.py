"""Safe mode: a scan once semgrep is warm, what it does to the event loop, and what the gate costs without it."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Coroutine
from typing import Any

from bench.rows import Row, percentile
from oi_engine.approval import Cell, Gate
from oi_engine.safety.scan import semgrep
from oi_engine.safety.scan.scanner import Scanner

ROUNDS = 100
CODE = {
    "python": "import os\n" + "for name in os.listdir('.'):\n    print(name, len(name))\n" * 20 + "os.remove('a')\n",
    "shell": "for f in *; do\n  echo $f\ndone\n" * 20 + "rm a\n",
    "javascript": "for (const a of [1, 2]) { console.log(a) }\n" * 20 + "fs.unlinkSync('a')\n",
}


async def scan() -> list[Row]:
    """Sixty lines in each language, the same semgrep for all; how late the event loop is meanwhile."""
    if semgrep.find(os.environ) is None:
        return []
    scanner = Scanner()
    rows = []
    try:
        began = time.perf_counter()
        await scanner.scan("python", "x = 1")
        rows.append(Row("scan: the first, with semgrep's start", (time.perf_counter() - began) * 1e3, None, "ms"))
        idle = await _late(asyncio.sleep(1))
        for language, code in CODE.items():
            taken: list[float] = []
            late = await _late(_scans(scanner, language, code, taken))
            name = f"scan: {language}, warm, median"
            rows.append(Row(name, statistics.median(taken) * 1e3, None, "ms", "20 ms"))
            stall = percentile(late, 99) * 1e3
            rows.append(
                Row(f"scan: {language}, event loop late, 99th", stall, percentile(idle, 99) * 1e3, "ms", "idle")
            )
    finally:
        await scanner.close()
    return rows


async def _scans(scanner: Scanner, language: str, code: str, taken: list[float]) -> None:
    for number in range(ROUNDS):
        began = time.perf_counter()
        report = await scanner.scan(language, f"{code}\n# {number}\n" if language != "javascript" else code)
        taken.append(time.perf_counter() - began)
        assert report.findings
        assert not report.problem


async def _late(work: Coroutine[Any, Any, None]) -> list[float]:
    late: list[float] = []
    task = asyncio.create_task(work)
    while not task.done():
        began = time.perf_counter()
        await asyncio.sleep(0.002)
        late.append(time.perf_counter() - began - 0.002)
    await task
    return late


async def gate() -> list[Row]:
    """Propose, approve and redeem a cell of 1,000 lines; the baseline is hashing it."""
    cell = Cell("s", "python", "print('a line of code')\n" * 1000, "/work")
    gates, hashed = [], []
    keeper = Gate()
    for _ in range(ROUNDS):
        began = time.perf_counter()
        proposal = keeper.propose(cell)
        keeper.allowed(proposal)
        keeper.redeem(keeper.approve(proposal.id, cell))
        gates.append(time.perf_counter() - began)
        began = time.perf_counter()
        assert cell.digest
        hashed.append(time.perf_counter() - began)
    taken, baseline = (statistics.median(times) * 1e3 for times in (gates, hashed))
    return [Row("gate: propose, approve, redeem 1,000 lines", taken, baseline, "ms", "1 ms")]


BENCHES = [scan, gate]
