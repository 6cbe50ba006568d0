"""``sandbox: container``: this whole program runs in a container, which holds what it starts.

That there is one is never guessed. The person says so (``docs/docker.md``), and what can be seen from inside must
agree: a user without rights, who cannot gain any, behind a filter of system calls, among processes of the container's
own. Which files and which network it has is said where it is started, and cannot be judged from here.

What runs in it is the same user's as this program, whose connection to the editor leads out of the container: whoever
writes to it can have any file edited. So this must be the container's first process (an ``--init`` before it would have
the connection too), and closed to the others (``keep_to_itself``).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REMEDY = "Start oi-lsp as docs/docker.md says, or set `sandbox` to something else."

_MARKS = ("/.dockerenv", "/run/.containerenv")
"""What Docker and Podman put into each container."""
_SOCKETS = ("/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock")
"""Whoever may talk to these can start a container that has everything."""
_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4
_HOST_PROCESSES = "pid:[4026531836]"
"""The PID namespace that a system starts with (``PROC_PID_INIT_INO`` of Linux)."""
_STATUS = {
    **dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), ("0" * 16, "it has capabilities")),
    "NoNewPrivs": ("1", "its programs can gain rights"),
    "Seccomp": ("2", "its system calls are not filtered"),
}
"""Fields of ``/proc/self/status`` (proc(5)): what they must be, and what it means where they are not."""


def keep_to_itself() -> None:
    """In a container, keep other processes of this user from this one's memory, descriptors and environment.

    To be called before any code runs. Elsewhere, where others are this user's own, a debugger may look.
    """
    if sys.platform == "linux" and _marked(Path("/")):
        _prctl(_PR_SET_DUMPABLE, 0)


def container_problem(root: Path = Path("/")) -> str:
    """Why this is no container that holds what it runs; empty where it is one. ``root``: of the file system."""
    if sys.platform != "linux":
        return f"There are no containers on {sys.platform}."
    if not _marked(root):
        return "This program does not run in a container of Docker or Podman."
    try:
        status = dict(line.split(":", 1) for line in _under(root, "/proc/self/status").read_text("ascii").splitlines())
        processes = os.readlink(_under(root, "/proc/self/ns/pid"))
    except (OSError, ValueError) as error:
        return f"What the container holds cannot be seen ({error})."
    problems = [why for name, (must, why) in _STATUS.items() if status.get(name, "").strip() != must]
    if processes == _HOST_PROCESSES:
        problems.append("it sees the processes of the machine")
    if os.getuid() == 0:
        problems.append("it runs as root")
    if os.getpid() != 1:
        problems.append("this is not its first process, which has the same connections")
    elif _prctl(_PR_GET_DUMPABLE, 0) != 0:
        problems.append("others can write to this process")
    problems += [f"{path} is in it" for path in _SOCKETS if os.path.lexists(_under(root, path))]
    return f"The container does not hold what it runs: {'; '.join(dict.fromkeys(problems))}." if problems else ""


def _marked(root: Path) -> bool:
    return any(os.path.lexists(_under(root, mark)) for mark in _MARKS)


def _prctl(option: int, value: int) -> int:
    import ctypes

    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))


def _under(root: Path, path: str) -> Path:
    return root / path[1:]
