"""Commands about what runs changed on disk, for ``oi_lsp.protocol``."""

from __future__ import annotations

from typing import Literal

from oi_lsp.fields import Command, OfSession, identifier, wire, wire_type

PATH_LIMIT = 10_000
"""The most characters of a path."""


@wire_type
class ChangedFile:
    """One path that was changed."""

    path: str = wire(
        "Relative to the session's folder; a byte that is no UTF-8 is `\\xff`, and a folder ends with `/`."
    )
    kind: Literal["added", "deleted", "modified", "mode"] = wire("`mode`: its permissions alone.")
    what: Literal["file", "folder", "link"] = wire("What is there, or was there last.")
    size: int = wire("Bytes of that.")
    why: str | None = wire("Why it can be neither shown nor taken back: it is too large, say.", default=None)


@wire_type
class Changes:
    """What one run, or one revert, changed."""

    change_id: str = wire("Its id, as in the chunk of the format `changes`.")
    created_at: str = wire("ISO 8601, UTC.")
    files: tuple[ChangedFile, ...] = wire("By path.")
    parent: str | None = wire("The id of the code message that ran.", default=None)
    reverts: str | None = wire("What was taken back; absent: a run changed this.", default=None)


@wire_type
class ChangeHunk:
    """Lines of a file that were changed."""

    hunk_id: str = wire("Its id within the file's change.")
    start: int = wire(
        "The first of the old lines, counted from 0; where `old` is empty, the line that `new` is before."
    )
    old: str = wire("The lines before, with their ends; what is no UTF-8 is `\ufffd`.")
    new: str = wire("The lines after.")


@wire_type
class FileDifference:
    """The difference of one path."""

    file: ChangedFile = wire("The path.")
    hunks: tuple[ChangeHunk, ...] = wire("In order; none of what has no lines: folders, permissions, binary files.")
    why: str | None = wire("Why there are no hunks, where that is not clear from the file.", default=None)
    binary: bool = wire("Whether it is no text.", default=False)


@wire_type
class ChangesList(OfSession):
    """List what runs of a session changed on disk, the oldest first.

    After a run that changed something, the stream has `{"role": "computer", "type": "command", "format": "changes",
    "parent": the code's id, "content": {"id", "files", "more"}}`, and a message for the person before it.
    """


@wire_type
class ChangesListResult:
    """What was changed."""

    changes: tuple[Changes, ...] = wire("The oldest first.")


@wire_type
class ChangesDiff(OfSession):
    """Show the difference that a change made. Of a long one, files come without hunks; ask for them by their paths."""

    change_id: str = identifier("The change.")
    path: str | None = wire("This path alone; absent: all.", default=None, limit=PATH_LIMIT)


@wire_type
class ChangesDiffResult:
    """The difference."""

    files: tuple[FileDifference, ...] = wire("By path.")


@wire_type
class ChangesRead(OfSession):
    """Read what a path held before a change and after it, for an editor that compares texts itself."""

    change_id: str = identifier("The change.")
    path: str = wire("The path.", limit=PATH_LIMIT)


@wire_type
class ChangesReadResult:
    """A text twice; what is no UTF-8 in it is `\ufffd`."""

    before: str | None = wire("Before; absent: there was no such file.", default=None)
    after: str | None = wire("After; absent: there is no such file.", default=None)


@wire_type
class ChangesRevert(OfSession):
    """Take a change back: all of it, one path, or one hunk of that. The model is told before the next request.

    A path is written only where it is as the change left it, or where the change's lines and their neighbours still
    are. Refused while a program of the session runs.
    """

    change_id: str = identifier("The change.")
    path: str | None = wire("This path alone; absent: all.", default=None, limit=PATH_LIMIT)
    hunk_id: str | None = identifier("This hunk of the path alone.", default=None)


@wire_type
class LeftPath:
    """A path that was left as it is."""

    path: str = wire("The path.")
    reason: str = wire("Why, in words for the person.")


@wire_type
class ChangesRevertResult:
    """What was taken back."""

    reverted: Changes | None = wire(
        "What was written, which can be taken back itself; absent: nothing, since all was as before or was left.",
        default=None,
    )
    left: tuple[LeftPath, ...] = wire("What was not taken back.", default=())


COMMANDS: tuple[Command, ...] = (
    Command("oi.changes.list", ChangesList, ChangesListResult),
    Command("oi.changes.diff", ChangesDiff, ChangesDiffResult),
    Command("oi.changes.read", ChangesRead, ChangesReadResult),
    Command("oi.changes.revert", ChangesRevert, ChangesRevertResult),
)
