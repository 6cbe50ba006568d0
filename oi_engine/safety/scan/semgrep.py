"""The program semgrep: where it is, what it is started with, and what its findings mean.

Nothing of it uses the network: the rules are files, and its metrics, its check for newer versions and its account are
off. Its settings and its log are in a folder of ours. It gets an environment without anything that it does not need.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from oi_engine.safety.scan.pieces import Piece
from oi_engine.safety.scan.report import Finding
from oi_engine.safety.scan.rulebook import ENDS, rules

INSTALL = f"{shlex.quote(sys.executable)} -m pip install semgrep"
"""The command that adds it."""

_PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT")


class ScanFailed(Exception):
    """semgrep is not there or does not do what it should; the sentence is for the person."""


def find(environ: Mapping[str, str]) -> str | None:
    """The program: the one beside this Python, as ``pip install`` puts it, else the one on the PATH."""
    beside = Path(sys.executable).parent / "semgrep"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("semgrep", path=environ.get("PATH"))


def environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """What semgrep is started with; ``home`` is a folder of its own."""
    own = {name: environ[name] for name in _PASSED if name in environ}
    own.setdefault("LANG", "C.UTF-8")
    folder = str(home)
    return own | {
        "HOME": folder,
        "TMPDIR": folder,
        "XDG_CONFIG_HOME": folder,
        "XDG_CACHE_HOME": folder,
        "SEMGREP_SETTINGS_FILE": str(home / "settings.yml"),
        "SEMGREP_LOG_FILE": str(home / "semgrep.log"),
        "SEMGREP_SEND_METRICS": "off",
        "SEMGREP_ENABLE_VERSION_CHECK": "0",
        "SEMGREP_URL": "http://127.0.0.1:9",  # the port that discards: should it ask for anything, it asks nobody
        "PYTHONWARNINGS": "ignore",
    }


def end(process: asyncio.subprocess.Process) -> None:
    """Kill a process that was started as the leader of its own group, and what it started."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def read(found: Iterable[tuple[Any, Any, Any]], piece: Piece) -> tuple[list[Finding], bool]:
    """Findings out of what semgrep says: (rule, line from 1, message) each.

    Also answers whether the piece's last line is among them. What no rule of ours is left out.
    """
    findings, to_the_end = [], False
    for check, line, message in found:
        name = str(check).rpartition(".")[2]
        if name in ENDS:
            to_the_end = to_the_end or str(piece.number) in str(message)
        elif name in rules() and isinstance(line, int):
            rule = rules()[name]
            findings.append(Finding(name, rule.message, rule.severity, line))
    return findings, to_the_end
