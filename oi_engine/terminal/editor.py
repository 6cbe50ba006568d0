"""Code in the person's own editor, before it runs."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from pathlib import Path

from oi_engine.errors import OiError
from oi_engine.safety.programs import path_outside

_SUFFIXES = {
    "python": ".py",
    "shell": ".sh",
    "javascript": ".js",
    "typescript": ".ts",
    "html": ".html",
    "react": ".jsx",
    "r": ".R",
    "ruby": ".rb",
    "java": ".java",
    "powershell": ".ps1",
    "applescript": ".applescript",
}
_USUAL = ("nano", "vim", "vi")


class EditorFailed(OiError):
    """The editor did not give the code back."""


async def edit(code: str, language: str) -> str:
    """The code as the person leaves it in ``$VISUAL``, ``$EDITOR`` or a usual editor. Raises ``EditorFailed``.

    The terminal must be as another program expects it. A final newline that the editor added is taken off again.
    """
    command = _command()
    with tempfile.TemporaryDirectory(prefix="oi-lsp-") as folder:
        path = Path(folder, f"code{_SUFFIXES.get(language, '.txt')}")
        _write(path, code)
        try:
            process = await asyncio.create_subprocess_exec(*command, str(path))
        except OSError as error:
            raise EditorFailed(
                f"{command[0]} could not be started: {error.strerror}.", "Set EDITOR to the editor that you use."
            ) from error
        status = await process.wait()
        if status:
            raise EditorFailed(f"{command[0]} ended with status {status}; the code is as it was.")
        return _read_back(path, code)


def _write(path: Path, code: str) -> None:
    path.write_bytes(code.encode("utf-8", "surrogatepass"))


def _read_back(path: Path, before: str) -> str:
    try:
        edited = path.read_bytes().decode("utf-8", "surrogatepass")
    except (OSError, UnicodeDecodeError) as error:
        raise EditorFailed(f"The edited code cannot be read: {error}.") from error
    return edited if before.endswith("\n") else edited.removesuffix("\n")


def _command() -> list[str]:
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named and named.strip():
        try:
            return shlex.split(named)
        except ValueError as error:
            raise EditorFailed(f"EDITOR cannot be read as a command: {error}.", "Quote it as a shell would.") from error
    here = path_outside(None, os.getcwd())
    found = next((path for name in _USUAL if (path := shutil.which(name, path=here))), None)
    if found is None:
        raise EditorFailed("No editor was found.", "Set EDITOR to the editor that you use.")
    return [found]
