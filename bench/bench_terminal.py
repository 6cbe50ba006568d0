"""Start of ``oi-lsp chat`` to its prompt, beside a bare Python that does the same with rich and prompt_toolkit.

Both are spawned in a pseudo-terminal, in turns. Time counts until the prompt's text is there; on a busy machine the
processor time that was used by then says more.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import statistics
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Sequence

import psutil

from bench.rows import Row

ROUNDS = 15
DEADLINE = 60.0
PROMPT = b"\x1b[J\x1b[0m>"
"""prompt_toolkit clears what is below and writes the prompt."""
_WHERE = b"\x1b[6n"
_ANSWER = b"\x1b[1;1R"
CHAT = (sys.executable, "-m", "oi_lsp", "chat", "--model", "tour")
BARE_PROGRAM = """
from rich.console import Console
from prompt_toolkit import PromptSession
Console().print("Hello.")
PromptSession().prompt("> ")
"""
BARE = (sys.executable, "-c", BARE_PROGRAM)


async def to_the_prompt() -> list[Row]:
    """Spawn to the prompt on the screen."""
    commands = {"chat": CHAT, "bare": BARE}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as home:
        for command in commands.values():
            await asyncio.to_thread(_start, command, home)
        for _ in range(ROUNDS):
            for name, command in commands.items():
                taken[name].append(await asyncio.to_thread(_start, command, home))
    what = ("oi-lsp chat, spawn to its prompt, median", "processor time of that, median")
    rows = []
    for at, (name, target) in enumerate(zip(what, ("500 ms", ""), strict=True)):
        chat, bare = (statistics.median(each[at] for each in taken[command]) * 1e3 for command in commands)
        rows.append(Row(name, chat, bare, "ms", target))
    return rows


def _start(command: Sequence[str], home: str) -> tuple[float, float]:
    """Seconds until the prompt is there, and seconds of processor time used by then. The program is ended then."""
    began = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(HOME=home, TERM="xterm-256color", PYTHONPATH=os.getcwd())
        for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
            os.environ[f"XDG_{kind}_HOME"] = f"{home}/{kind}"
        os.execv(command[0], tuple(command))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    try:
        _await_prompt(terminal)
        taken = time.perf_counter() - began
        spent = psutil.Process(pid).cpu_times()
        return taken, spent.user + spent.system
    finally:
        os.close(terminal)  # the program sees its terminal gone, and ends
        os.waitpid(pid, 0)


def _await_prompt(terminal: int) -> None:
    seen = b""
    end = time.monotonic() + DEADLINE
    while PROMPT not in seen:
        if time.monotonic() > end:
            raise TimeoutError(f"no prompt in {seen!r}")
        read = os.read(terminal, 65536)
        if _WHERE in read:
            os.write(terminal, _ANSWER)
        seen += read


BENCHES = [to_the_prompt]
