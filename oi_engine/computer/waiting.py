"""Whether a program waits for a line from the person: told from outside, without asking the program.

On Linux a process that blocks in ``read`` says so in ``/proc/PID/syscall`` (proc(5)): the number of the system call,
then its arguments in hexadecimal, the descriptor first. Where that descriptor is the terminal, the process waits for
input. This finds shells, ``cat``, Python's ``input`` and ``getpass``, and most else.

It misses programs that wait in ``select`` or ``poll`` (readline, node), those of other users (``sudo``), and systems
without ``/proc`` (macOS; not tested there). For those there is a guess: nothing is printed for a while, and either the
program reads single keys, hides what is typed, or left its last line unfinished.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator
from typing import Literal

from attrs import frozen

from oi_engine.computer.pseudo_terminal import PseudoTerminal

Waits = Literal["yes", "perhaps", "no"]

_LINUX = sys.platform == "linux"
_TTY_DEVICE = os.makedev(5, 0)
"""``/dev/tty``, another name for the terminal of whoever opens it."""


@frozen
class _Calls:
    """Numbers of system calls: of ``read``, and of those that wait for one of several descriptors."""

    read: int
    poll: frozenset[int]


_GENERIC = _Calls(63, frozenset({22, 72, 73}))  # include/uapi/asm-generic/unistd.h
_CALLS = {
    "x86_64": _Calls(0, frozenset({7, 23, 232, 270, 271, 281})),  # arch/x86/entry/syscalls/syscall_64.tbl
    "aarch64": _GENERIC,
    "riscv64": _GENERIC,
}.get(platform.machine())


def foreground_waits(terminal: PseudoTerminal, ancestor: int, *, unfinished: bool, ignore: int = 0) -> Waits:
    """Whether a program in the foreground of ``terminal`` waits for input.

    ``ancestor``: a process from which all of them descend. ``unfinished``: the last line of output has no end.
    ``ignore``: a process that tells by itself when it waits. ``perhaps`` is a guess that holds only where nothing has
    been printed for some time.
    """
    if terminal.has_input:
        return "no"
    hinted = unfinished or terminal.is_raw or terminal.asks_password
    if not _LINUX:
        return "perhaps" if hinted else "no"
    guess: Waits = "no"
    for pid in foreground_processes(terminal.foreground(), ancestor):
        if pid == ignore:
            continue
        for thread in _threads(pid):
            found = _thread_waits(pid, thread, terminal)
            if found == "yes":
                return "yes"
            if found == "perhaps":
                guess = "perhaps"
    return guess if hinted else "no"


def foreground_processes(group: int, ancestor: int) -> list[int]:
    """The processes of a process group among the descendants of ``ancestor``; none where there is no ``/proc``."""
    return [pid for pid in _descendants(ancestor) if group > 0 and _group(pid) == group]


def _descendants(pid: int) -> Iterator[int]:
    for thread in _threads(pid):
        for child in _read(f"/proc/{pid}/task/{thread}/children").split():
            yield int(child)
            yield from _descendants(int(child))


def _threads(pid: int) -> Iterable[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return ()  # it has ended


def _group(pid: int) -> int:
    # The second field, the program's name in parentheses, may hold anything.
    fields = _read(f"/proc/{pid}/stat").rpartition(") ")[2].split()
    return int(fields[2]) if len(fields) > 2 and fields[0] != "Z" else 0


def _thread_waits(pid: int, thread: str, terminal: PseudoTerminal) -> Waits:
    try:
        with open(f"/proc/{pid}/task/{thread}/syscall") as file:
            fields = file.read().split()
    except (FileNotFoundError, ProcessLookupError):
        return "no"  # it has ended
    except OSError:
        return "perhaps"  # of another user
    if len(fields) < 2 or not fields[0].isdigit():
        return "no"  # it runs
    if _CALLS is None:
        return "perhaps"
    number = int(fields[0])
    if number == _CALLS.read and _is_terminal(pid, int(fields[1], 16), terminal):
        return "yes"
    return "perhaps" if number in _CALLS.poll and _is_terminal(pid, 0, terminal) else "no"


def _is_terminal(pid: int, descriptor: int, terminal: PseudoTerminal) -> bool:
    try:
        return os.stat(f"/proc/{pid}/fd/{descriptor}").st_rdev in (terminal.device, _TTY_DEVICE)
    except OSError:
        return False


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""  # the process has ended
