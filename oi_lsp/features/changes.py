"""Commands about what runs changed on disk. All of them read or write the disk, off the event loop."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from oi_lsp import protocol_changes as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.host import SessionHost
from oi_lsp.structure import InvalidField

if TYPE_CHECKING:
    from oi_engine.changes.diff import FileDiff
    from oi_engine.changes.entries import FileChange
    from oi_engine.changes.store import ChangeSet

HANDLERS = Handlers()


@HANDLERS.serves(wire.ChangesList)
async def list_changes(host: SessionHost, params: wire.ChangesList) -> wire.ChangesListResult:
    """``oi.changes.list``."""
    sets = await host.live(params.session_id).effects.sets()
    return wire.ChangesListResult(tuple(_set(one) for one in sets))


@HANDLERS.serves(wire.ChangesDiff)
async def diff(host: SessionHost, params: wire.ChangesDiff) -> wire.ChangesDiffResult:
    """``oi.changes.diff``."""
    diffs = await host.live(params.session_id).effects.diff(params.change_id, params.path)
    return wire.ChangesDiffResult(tuple(_difference(one) for one in diffs))


@HANDLERS.serves(wire.ChangesRead)
async def read(host: SessionHost, params: wire.ChangesRead) -> wire.ChangesReadResult:
    """``oi.changes.read``."""
    before, after = await host.live(params.session_id).effects.texts(params.change_id, params.path)
    return wire.ChangesReadResult(*(None if text is None else _text(text) for text in (before, after)))


@HANDLERS.serves(wire.ChangesRevert)
async def revert(host: SessionHost, params: wire.ChangesRevert) -> wire.ChangesRevertResult:
    """``oi.changes.revert``."""
    if params.hunk_id is not None and params.path is None:
        raise InvalidField("path", "is needed where a hunk is named.")
    done = await host.live(params.session_id).effects.revert(params.change_id, params.path, params.hunk_id)
    left = tuple(wire.LeftPath(refusal.path, refusal.reason) for refusal in done.refused)
    return wire.ChangesRevertResult(None if done.done is None else _set(done.done), left)


def _set(changes: ChangeSet) -> wire.Changes:
    return wire.Changes(
        change_id=changes.id,
        created_at=datetime.fromtimestamp(changes.created, UTC).isoformat(timespec="milliseconds"),
        files=tuple(_file(one) for one in changes.files),
        parent=changes.parent,
        reverts=changes.reverts,
    )


def _file(change: FileChange) -> wire.ChangedFile:
    return wire.ChangedFile(change.shown, change.kind, change.what, change.size, change.why or None)


def _difference(found: FileDiff) -> wire.FileDifference:
    placed = zip(found.hunks, found.lines, strict=True)
    hunks = (wire.ChangeHunk(hunk.id, line, _text(hunk.old), _text(hunk.new)) for hunk, line in placed)
    return wire.FileDifference(_file(found.change), tuple(hunks), found.why or None, found.binary)


def _text(lines: str) -> str:
    """Text that can be sent: a byte that is no UTF-8 is told by a replacement character."""
    return lines.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
