"""``make bench``: every benchmark, its measure beside the baseline of the same run and the target."""

from __future__ import annotations

import asyncio
import importlib
import os
import pkgutil
import platform
import sys
import time

import bench
from bench.rows import Row


def main(wanted: list[str]) -> int:
    """Run the benchmarks of all ``bench/bench_*.py``, or of those whose names are given."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {_load()}\n")
    print(f"{'what':<62} {'measured':>12} {'baseline':>12}  {'to reach'}")
    for module in pkgutil.iter_modules(bench.__path__):
        name = module.name.removeprefix("bench_")
        if module.name.startswith("bench_") and (not wanted or name in wanted):
            _run(module.name)
    return 0


def _run(module: str) -> None:
    for benchmark in importlib.import_module(f"bench.{module}").BENCHES:
        began = time.monotonic()
        rows: list[Row] = asyncio.run(benchmark())
        for row in rows:
            against = "" if row.baseline is None else f"{_figure(row.baseline)} {row.unit}"
            measured = f"{_figure(row.measured)} {row.unit}"
            print(f"{row.name:<62} {measured:>12} {against:>12}  {row.target}", flush=True)
        print(f"    ({benchmark.__name__}: {time.monotonic() - began:.0f} s, load {_load()})", file=sys.stderr)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
