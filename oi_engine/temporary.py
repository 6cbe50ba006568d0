"""Folders that are gone with the process that made them: also with one that was killed, at the next start.

While it lives, the process holds an advisory lock (flock) on each of its folders; what nobody holds is left over.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

_KINDS = ("oi-kernel-", "oi-cells-", "oi-scan-")
_YOUNG = 60.0
"""Seconds for which a folder is left alone that is not locked: it may be that it is just being made."""


class TemporaryFolder:
    """A folder of the person's alone (mode 0700), in the system's temporary one or in ``parent``; ``kind`` is the
    begin of its name. Raises ``OSError``.
    """

    def __init__(self, kind: str, parent: str | None = None) -> None:
        assert kind in _KINDS
        self.path = Path(tempfile.mkdtemp(prefix=kind, dir=parent)).resolve()
        self._lock = _locked(self.path)

    def remove(self) -> None:
        """Delete it with all that is in it. May be called more than once."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def temporary_parents() -> tuple[str, ...]:
    """Where such folders are made: in the folder for sockets and the like, where there is one, and in the system's."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = os.path.isabs(given) and os.access(given, os.W_OK | os.X_OK)
    return (*([given] if usable else []), tempfile.gettempdir())


def remove_left_over(parents: Iterable[str] | None = None) -> list[Path]:
    """Delete what processes of this user that are gone have left; which. No link is followed. Never raises.

    It reads the disk: call it in a thread where an event loop runs.
    """
    if sys.platform == "win32":
        return []
    removed: list[Path] = []
    for parent in parents or temporary_parents():
        with contextlib.suppress(OSError), os.scandir(parent) as entries:
            removed += [Path(entry.path) for entry in entries if entry.name.startswith(_KINDS) and _taken(entry)]
    return removed


def _taken(entry: os.DirEntry[str]) -> bool:
    """Delete a folder of this user's that nobody holds; whether it was one."""
    found = entry.stat(follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or time.time() - found.st_ctime < _YOUNG:
        return False
    lock = _locked(Path(entry.path))
    if lock is None:
        return False
    try:
        # Its parent is the user's alone or sticky, so that nobody else can put a link in its place.
        shutil.rmtree(entry.path, ignore_errors=True)
    finally:
        os.close(lock)
    return True


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a folder; ``None`` where another process does, or there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
