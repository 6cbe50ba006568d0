"""What a run changes, recorded, for tests."""

from __future__ import annotations

from collections.abc import Callable

from oi_engine.changes.entries import FileChange
from oi_engine.changes.store import ChangeSet
from oi_engine.changes.workspace import Workspace

Open = Callable[..., Workspace]


def after(made: Workspace, run: Callable[[], object]) -> ChangeSet:
    """What a run changes, recorded."""
    before = made.snapshot()
    run()
    return made.record("s", made.changes(before, made.snapshot(before)))


def kinds(changes: ChangeSet) -> dict[str, str]:
    return {one.shown: one.kind for one in changes.files}


def only(changes: ChangeSet) -> FileChange:
    (one,) = changes.files
    return one
