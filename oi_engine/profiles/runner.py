"""Runs one Python profile, in a process of its own, and writes what it set as JSON: started by ``profile_python``.

``python -P runner.py <profile>``. What the profile prints goes to stderr; what is written to the standard
output that the process was given is one object: that of ``Notes.result``, or
``{"error": text, "line": number or null, "column": number or null}``.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

if __name__ == "__main__":
    # This project's own modules, wherever the process was started and whatever is installed.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import oi_engine
from oi_engine.profiles.recorder import Notes, Recorder


def run(path: str) -> dict[str, Any]:
    """Run the profile with a recorder as ``interpreter``; answers what is to be written."""
    notes = Notes(path)
    recorder = Recorder(notes)
    _offer(recorder)
    sys.argv = [path]
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            return _failure(error, path, f"It ended itself: {error.code}")
    # It is a program: whatever it raises is told, with the place, and nothing here depends on it.
    except BaseException as error:  # noqa: BLE001
        return _failure(error, path, f"{type(error).__name__}: {error}")
    return notes.result()


def _offer(recorder: Recorder) -> None:
    """Make ``from interpreter import interpreter`` and ``from oi_engine import interpreter`` find the recorder."""
    documented = ModuleType("interpreter")
    for module in (documented, oi_engine):
        module.__dict__["interpreter"] = recorder
        for name in ("OpenInterpreter", "AsyncInterpreter"):
            module.__dict__[name] = _refuse(name)
    sys.modules["interpreter"] = documented


def _refuse(name: str) -> Any:
    def make(*_: object, **__: object) -> NoReturn:
        raise TypeError(f"{name}() makes an interpreter: in a profile, set the settings of `interpreter` instead.")

    return make


def _failure(error: BaseException, path: str, message: str) -> dict[str, Any]:
    line, column = None, None
    if isinstance(error, SyntaxError) and error.filename == path:
        message = f"{type(error).__name__}: {error.msg}"
        line, column = error.lineno, error.offset
    else:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        line = lines[-1] if lines else None
    return {"error": message, "line": line, "column": column}


def main() -> None:
    """Run the profile that the command line names."""
    (path,) = sys.argv[1:]
    result = os.dup(1)  # not inherited by what the profile starts
    os.dup2(2, 1)
    sys.path[1:1] = [os.path.dirname(path)]
    found = run(path)
    with open(result, "w", encoding="utf-8") as file:
        json.dump(found, file)
    # What the profile left behind, threads for instance, has no say in when this ends.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
