"""Where output goes that is too long to show: private files, in one folder per session."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import time
from pathlib import Path
from typing import BinaryIO

import platformdirs

MAX_AGE = 7 * 24 * 3600.0
"""Seconds after its last change when a session's folder is cleaned away."""
MAX_TOTAL = 4 << 30
"""Bytes that all sessions' folders may have when a server starts: those that changed last are kept."""
SHARE = 4
"""A file takes no more than this part of what is free on its disk."""

_log = logging.getLogger(__name__)
_BUFFER = 1 << 16


def spill_root() -> Path:
    """The folder that holds every session's folder: in the user's cache, which is on disk and may be emptied."""
    return platformdirs.user_cache_path("oi-lsp", appauthor=False) / "output"


def spill_folder(session_id: str, root: Path | None = None) -> Path:
    """The folder of one session. It is made when something is written to it; an id cannot point out of ``root``."""
    name = session_id
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name) is None:
        name = "s-" + hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return (root or spill_root()) / name


def clean_spill_folders(root: Path | None = None, *, max_age: float = MAX_AGE, max_total: int = MAX_TOTAL) -> int:
    """Remove the folders in which nothing has changed for ``max_age`` seconds, and the oldest of the others while all
    have more than ``max_total`` bytes; how many. Never raises.

    It reads the disk: call it in a thread where an event loop runs.
    """
    removed = total = 0
    oldest = time.time() - max_age
    try:
        with os.scandir(root or spill_root()) as entries:
            folders = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return 0  # there is none yet, or it cannot be read
    for changed, size, folder in sorted(filter(None, map(_looked_at, folders)), reverse=True):
        total += size
        if changed >= oldest and total <= max_total:
            continue
        try:
            shutil.rmtree(folder)
            removed += 1
        except OSError as error:
            _log.warning("%s could not be cleaned: %s", folder, error.strerror)
    return removed


def _looked_at(folder: Path) -> tuple[float, int, Path] | None:
    """When it changed last, and how many bytes its files have; ``None`` where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.stat(follow_symlinks=False) for entry in entries]
        changed = max(stat.st_mtime for stat in [*found, folder.stat(follow_symlinks=False)])
    except OSError as error:
        _log.warning("%s could not be cleaned: %s", folder, error.strerror)
        return None
    return changed, sum(stat.st_size for stat in found), folder


def create_private(path: Path) -> BinaryIO:
    """A new file that only the user can read, in a folder of the same kind. Raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.parent.chmod(0o700)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    return os.fdopen(descriptor, "wb", buffering=_BUFFER)


class SpillFile:
    """The whole of one cell's output, UTF-8, at most ``cap`` bytes. Writing never raises: what failed is described."""

    __slots__ = ("_cap", "_failure", "_file", "_path", "_size")

    def __init__(self, path: Path, cap: int) -> None:
        self._path = path
        self._cap = cap
        self._file: BinaryIO | None = None
        self._size = 0
        self._failure = ""

    def write(self, text: str) -> None:
        """Add ``text``. The file is made by the first one; after a failure nothing more is written."""
        if self._failure:
            return
        data = text.encode("utf-8", "replace")
        try:
            if self._file is None:
                self._file = create_private(self._path)
                self._cap = min(self._cap, shutil.disk_usage(self._path.parent).free // SHARE)
        except OSError as error:
            self._fail(error)
            return
        full = self._size + len(data) > self._cap
        if full:
            data = data[: self._cap - self._size].decode("utf-8", "ignore").encode("utf-8")
        try:
            self._file.write(data)
        except OSError as error:
            self._fail(error)
            return
        self._size += len(data)
        if full:
            self._failure = f"a file may have {self._cap:,} bytes"

    def close(self) -> None:
        """Let go of the file; what was buffered is written."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            file.close()
        except OSError as error:
            self._fail(error)

    def discard(self) -> None:
        """Remove the file: nothing was left out, or the whole is elsewhere."""
        self.close()
        if self._size:
            try:
                self._path.unlink(missing_ok=True)
            except OSError as error:
                _log.warning("%s could not be removed: %s", self._path, error.strerror)
        self._size = 0

    def describe(self) -> str:
        """What the closed file holds, as the rest of a sentence."""
        if not self._failure:
            return f"the whole output is in {self._path}"
        if self._size:
            return f"the first {self._size:,} bytes of the output are in {self._path} ({self._failure})"
        return f"they could not be kept ({self._failure})"

    def _fail(self, error: OSError) -> None:
        self._failure = error.strerror or type(error).__name__
        self.close()
        try:
            self._size = self._path.stat().st_size if self._size else 0
        except OSError:
            self._size = 0
