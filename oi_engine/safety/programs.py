"""Programs that are run before anybody approved anything: never one that came with a workspace.

What the ``PATH`` of an editor or a terminal finds first may well lie in the workspace: an active environment, a folder
of scripts. Code that was approved may find it there. What this program starts by itself (the sandbox, the scanner, a
look at versions) may not.
"""

from __future__ import annotations

import os
from pathlib import Path

AnyPath = str | os.PathLike[str]

GUARDED = (".git", ".vscode", ".oi")
"""Of a workspace: what is in them is run, or believed, by programs outside of any sandbox. A sandbox makes empty ones
where they are missing, so that code cannot make them (``computer.guards``)."""


def lies_in(path: AnyPath, folder: AnyPath) -> bool:
    """Whether a file is in a folder, by its name or by where its links lead; a relative path counts as being there."""
    if not os.path.isabs(path):
        return True
    inside = os.path.realpath(folder)
    places = (os.path.abspath(path), os.path.realpath(path))
    return any(os.path.commonpath([inside, each]) == inside for each in places)


def path_outside(path: str | None, *folders: AnyPath) -> str:
    """A ``PATH`` (``None``: this process's) without what is relative and what is in one of ``folders``.

    A folder that holds the person's home is left alone: it came with nothing.
    """
    home = os.path.realpath(Path.home())
    foreign = [folder for folder in folders if not lies_in(home, folder)]
    entries = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    return os.pathsep.join(
        entry for entry in entries if os.path.isabs(entry) and not any(lies_in(entry, each) for each in foreign)
    )
