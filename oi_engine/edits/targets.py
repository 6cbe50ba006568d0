"""Which files an inline edit may change.

Everything here reads the disk: call it in a thread.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from oi_engine.errors import EditRefused


def may_edit(path: Path, folders: Sequence[Path]) -> Path:
    """The file that an edit of ``path`` changes, links followed. Raises ``EditRefused`` with the reason.

    ``folders`` are the workspace's. Where there are none, any file may be edited: the caller sees to it that the person
    has it open and asked for the edit.
    """
    resolved = _allowed(path, folders)
    try:
        found = resolved.stat()
    except FileNotFoundError as error:
        raise EditRefused(f"{path} does not exist.", "Save it first, or ask for a new file.") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(found.st_mode):
        raise EditRefused(f"{path} is no regular file.", "Only files can be edited.")
    # Somebody with every right could write a file that is marked as read-only all the same.
    if not found.st_mode & 0o222 or not os.access(resolved, os.W_OK):
        raise EditRefused(f"{path} is read-only.", "Make it writable first, if it is meant to be changed.")
    return resolved


def may_create(path: Path, folders: Sequence[Path]) -> Path:
    """The file that a new ``path`` will be, links followed. Raises ``EditRefused`` with the reason."""
    if os.path.lexists(path):
        raise EditRefused(f"{path} exists already.", "Ask for an edit of it, or choose another name.")
    resolved = _allowed(path, folders)
    parent = resolved.parent
    if not parent.is_dir():
        raise EditRefused(f"The folder {path.parent} does not exist.", "Create it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise EditRefused(f"The folder {path.parent} is read-only.", "Choose another folder.")
    return resolved


def _allowed(path: Path, folders: Sequence[Path]) -> Path:
    if not path.is_absolute():
        raise EditRefused(f"{path} is no absolute path.")
    named = Path(os.path.normpath(path))
    try:
        resolved = path.resolve()
        roots = [folder.resolve() for folder in folders]
    except (OSError, RuntimeError, ValueError) as error:
        # A circle of links is a RuntimeError before Python 3.13; a name with a null character is a ValueError.
        raise _unreadable(path, error) from error
    if folders and not any(resolved.is_relative_to(root) for root in roots):
        if any(named.is_relative_to(root) for root in (*roots, *folders)):
            raise EditRefused(
                f"{path} leads out of the workspace, to {resolved}.",
                "Open the file where it really is, and edit it there.",
            )
        raise EditRefused(f"{path} is outside the workspace.", "Open its folder as a workspace folder to edit it.")
    if any(part.casefold() == ".git" for part in (*named.parts, *resolved.parts)):
        raise EditRefused(f"{path} is part of a Git repository's own files.", "Use Git's commands to change those.")
    return resolved


def _unreadable(path: Path, error: Exception) -> EditRefused:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return EditRefused(f"{path} cannot be read: {reason}.")
