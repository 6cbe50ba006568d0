"""Reads a Python profile: a program of the person's own that sets attributes of ``interpreter``.

It runs in a process of its own. In the server's it would share the wire on stdout, the event loop and the memory; and a
profile that never ends, or ends the process, would take the server along. The price is that a profile can only set what
JSON can carry: no functions and no classes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oi_engine.errors import ProfileError
from oi_engine.profiles.files import Parsed

PATIENCE = 20.0
"""Seconds that a profile may run."""


async def read_python(path: Path, environ: Mapping[str, str] | None = None, patience: float = PATIENCE) -> Parsed:
    """Run the profile with ``environ`` (this process's, without) and take down what it sets.

    What it prints goes to stderr. Raises ``ProfileError`` for what it raised, with the line, and where it does not end
    in ``patience`` seconds; raises ``FileNotFoundError``. Cancelling ends the process.
    """
    path = await asyncio.to_thread(_found, path)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(Path(__file__).with_name("runner.py").absolute()),
        str(path),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        cwd=path.parent,
        env=None if environ is None else dict(environ),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(patience):
            output, _ = await process.communicate()
    except TimeoutError as error:
        raise ProfileError(str(path), f"It was still running after {patience:g} seconds, and was ended.") from error
    finally:
        if process.returncode is None:
            _end(process)
            await process.wait()
    return _parsed(path, output, process.returncode)


def _found(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(path)
    return path.absolute()


def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _parsed(path: Path, output: bytes, code: int | None) -> Parsed:
    try:
        found: dict[str, Any] = json.loads(output)
    except ValueError as error:
        raise ProfileError(str(path), f"It ended the process that ran it (exit code {code}).") from error
    if "error" in found:
        raise ProfileError(str(path), found["error"], found["line"], found["column"])
    return Parsed(found["data"], {name: (line, None) for name, line in found["lines"].items()})
