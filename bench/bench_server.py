"""Start-up and memory of the language server, beside a minimal pygls server, in turns in one run."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence

import psutil

from bench.rows import Row
from tests.fakes.lsp_client import PRODUCT, server

ROUNDS = 15
MINIMAL = """
from pygls.lsp.server import LanguageServer
server = LanguageServer("minimal", "0")

@server.command("minimal.hello")
def hello(*arguments):
    return "hello"

server.start_io()
"""


async def start_up() -> list[Row]:
    """Spawn to ``initialize`` answered, and the memory just after."""
    commands = {"oi-lsp": PRODUCT, "minimal pygls": (sys.executable, "-c", MINIMAL)}
    times: dict[str, list[float]] = {name: [] for name in commands}
    memory: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        await _start(command)
    for _ in range(ROUNDS):
        for name, command in commands.items():
            taken, resident = await _start(command)
            times[name].append(taken)
            memory[name].append(resident)
    taken, pygls_taken = (statistics.median(times[name]) * 1e3 for name in commands)
    used, pygls_used = (statistics.median(memory[name]) / 1e6 for name in commands)
    return [
        Row("spawn to initialize answered, median", taken, pygls_taken, "ms", "baseline"),
        Row("memory after initialize, median", used, pygls_used, "MB", "60 MB"),
    ]


async def _start(command: Sequence[str]) -> tuple[float, float]:
    """Seconds until ``initialize`` is answered, and the bytes of memory resident then."""
    began = time.perf_counter()
    async with server(command) as client:
        await client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        taken = time.perf_counter() - began
        return taken, psutil.Process(client.process.pid).memory_info().rss


async def memory_with_the_engine() -> list[Row]:
    """Memory once the engine is loaded and a session is open, before any kernel or model."""
    async with server(PRODUCT) as client:
        await client.initialize({"oi": {"protocolVersion": 1}, "settings": {"llm": {"model": "tour"}}})
        await client.new_session()
        used = psutil.Process(client.process.pid).memory_info().rss / 1e6
    return [Row("memory with the engine and one session", used, None, "MB")]


BENCHES = [start_up, memory_with_the_engine]
