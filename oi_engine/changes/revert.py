"""Takes changes back: a whole set of them, one file, or single hunks of one; what was done is a change set again.

A path is only written where it is as the change left it. A text that was changed since loses the change's own lines,
where they and their neighbours are still there. What could not be brought back again is not taken away.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterable

from attrs import Factory, define, frozen

from oi_engine.changes.diff import FileDiff, bytes_of, difference, text_of, without
from oi_engine.changes.entries import Entry, FileChange, parents
from oi_engine.changes.place import FolderGone, Spot, spot
from oi_engine.changes.store import ChangeSet
from oi_engine.changes.workspace import Workspace
from oi_engine.errors import ChangesError, OiError, RevertRefused, UnknownChange


@frozen
class Refusal:
    """A path that was left as it is, and why."""

    path: str
    reason: str


@frozen
class Reverted:
    """What came of a revert. ``done`` is ``None`` where nothing was written: all was as before already, or refused."""

    done: ChangeSet | None
    refused: tuple[Refusal, ...] = ()


def find_file(changes: ChangeSet, path: str) -> FileChange:
    """The change of a path, as it is or as it is shown. Raises ``UnknownChange``."""
    for one in changes.files:
        if path in (one.path, one.shown, one.shown.rstrip("/")):
            return one
    raise UnknownChange(f"{path} was not changed then.")


def _folders(changes: ChangeSet, asked: FileChange) -> list[FileChange]:
    """The folders that went with a path that is to come back."""
    above = set(parents(asked.path)) if asked.before is not None else set()
    return [one for one in changes.files if one.path in above and one.kind == "deleted" and one.what == "folder"]


def diff(workspace: Workspace, change: FileChange) -> FileDiff:
    """The lines of a change. Raises ``ChangesError`` where what was kept is damaged."""
    if change.why:
        return FileDiff(change, why=change.why)
    if change.kind == "mode" or change.what == "folder":
        return FileDiff(change)
    before, after = (_content(workspace, entry) for entry in (change.before, change.after))
    old, new = text_of(before), text_of(after)
    if old is None or new is None:
        return FileDiff(change, why="It is no text.", binary=True)
    return difference(change, old, new)


def texts(workspace: Workspace, change: FileChange) -> tuple[str | None, str | None]:
    """What a file held before its change, and after it; ``None`` where there was none.

    Raises ``ChangesError`` where it is not kept, or is no text.
    """
    if change.why:
        raise ChangesError(change.why)
    found: list[str | None] = []
    for entry in (change.before, change.after):
        text = None if entry is None or entry.what == "folder" else text_of(_content(workspace, entry))
        if text is None and entry is not None:
            raise ChangesError(f"{change.shown} is no text.")
        found.append(text)
    return found[0], found[1]


def revert(
    workspace: Workspace, changes: ChangeSet, path: str | None = None, wanted: Collection[str] | None = None
) -> Reverted:
    """Take back a change set, one path of it, or hunks of that.

    What cannot be taken back is left and named; where one path is asked for, that is a ``RevertRefused``. Raises
    ``UnknownChange``, ``ChangesError``.
    """
    asked = None if path is None else find_file(changes, path)
    files = changes.files if asked is None else (*_folders(changes, asked), asked)
    run = _Revert(workspace)
    if asked is None or wanted is None:
        run.files(files)
    else:
        try:
            run.hunks(asked, wanted)
        except OSError as error:
            raise RevertRefused(f"{asked.shown}: {_words(error)}") from error
    if asked is not None and asked.path in run.refused and not run.written:
        raise RevertRefused(f"{asked.shown}: {run.refused[asked.path]}")
    done = None
    if run.written:
        written = (FileChange(at, old, run.now(at)) for at, old in sorted(run.written.items()))
        real = [one for one in written if one.before is not None or one.after is not None]
        done = workspace.record(changes.session, real, parent=changes.parent, reverts=changes.id)
    shown = {one.path: one.shown for one in files}
    return Reverted(done, tuple(Refusal(shown[at], reason) for at, reason in sorted(run.refused.items())))


@define
class _Revert:
    """One revert under way. ``written`` holds what was at each path before, ``refused`` why a path was left."""

    workspace: Workspace
    written: dict[str, Entry | None] = Factory(dict)
    refused: dict[str, str] = Factory(dict)

    def files(self, files: Iterable[FileChange]) -> None:
        """Take back changes: first away with what came in the way, deepest first; then back with what was."""
        ordered = sorted(files, key=lambda change: change.path.count("/"))
        for change in ordered:
            if change.kind == "mode" and change.before is not None and _takes_files(change.before):
                self._try(change, self._set_mode)
        for change in reversed(ordered):
            if change.after is not None and _in_the_way(change):
                self._try(change, self._remove)
        for change in ordered:
            if change.before is not None and change.path not in self.refused:
                self._try(change, self._restore)
        for change in reversed(ordered):
            if change.before is not None and change.before.what == "folder" and change.path not in self.refused:
                self._try(change, self._set_mode)

    def hunks(self, change: FileChange, wanted: Collection[str]) -> None:
        """Take single hunks back. Raises ``RevertRefused`` where one of them does not fit."""
        if change.kind != "modified" or not (_is_file(change.before) and _is_file(change.after)):
            raise RevertRefused(f"{change.shown} was not changed in part.", "Take it back as a whole.")
        with spot(self.workspace.folder, change.path) as place:
            now = self._found(place, change.path)
            if now is None or now.what != "file":
                raise RevertRefused(f"{change.shown} is gone.")
            self._write(change, place, now, self._merged(change, now, wanted), now.mode)

    def now(self, path: str) -> Entry | None:
        """What is at a path now, with its content in the store."""
        try:
            with spot(self.workspace.folder, path) as place:
                return self._found(place, path)
        except RevertRefused:  # its folder is gone, or something else is there by now
            return None

    def _try(self, change: FileChange, step: Callable[[FileChange], None]) -> None:
        try:
            step(change)
        except FolderGone as error:
            if change.before is not None:
                self.refused[change.path] = str(error)
        except OSError as error:
            self.refused[change.path] = _words(error)
        except OiError as error:
            self.refused[change.path] = str(error)

    # --- one path ----------------------------------------------------------------------------------------------

    def _remove(self, change: FileChange) -> None:
        with spot(self.workspace.folder, change.path) as place:
            now = self._found(place, change.path)
            if _same(now, change.before) or now is None:
                return
            if not _same(now, change.after):
                raise _changed()
            if now.what != "folder" and not now.kept:
                raise RevertRefused(f"It could not be brought back. {now.why}", "Delete it yourself.")
            place.remove(now.stat)
            self.written.setdefault(change.path, now)

    def _restore(self, change: FileChange) -> None:
        before = change.before
        assert before is not None
        with spot(self.workspace.folder, change.path, make=change.after is None) as place:
            now = self._found(place, change.path)
            if _same(now, before) or (before.what == "folder" and now is not None and now.what == "folder"):
                return
            removed = None if _in_the_way(change) else change.after
            if before.what == "folder":
                if now is not None:
                    raise _changed()
                place.make_folder()
                self.written.setdefault(change.path, None)
            elif _same(now, removed):
                self._put(change, place, now)
            elif _is_file(before) and _is_file(change.after) and _is_file(now) and now is not None:
                self._put_into(change, place, now)
            else:
                raise _changed()

    def _put(self, change: FileChange, place: Spot, now: Entry | None) -> None:
        """Put back what was, where all is as the change left it."""
        before = change.before
        assert before is not None
        if change.kind == "mode" and now is not None:
            place.chmod(before.mode, now.stat)
            self.written.setdefault(change.path, now)
            return
        if change.why:
            raise RevertRefused(f"It was not kept. {change.why}")
        content = _content(self.workspace, before)
        if before.what == "link":
            place.link(content, None if now is None else now.stat)
            self.written.setdefault(change.path, now)
        else:
            self._write(change, place, now, content, before.mode)

    def _put_into(self, change: FileChange, place: Spot, now: Entry) -> None:
        """Take the change out of a file that was changed since."""
        assert change.before is not None
        assert change.after is not None
        mode = change.before.mode if now.mode == change.after.mode else now.mode
        if change.kind == "mode":
            if now.mode != change.after.mode:
                raise _changed()
            place.chmod(mode, now.stat)
            self.written.setdefault(change.path, now)
        else:
            self._write(change, place, now, self._merged(change, now, None), mode)

    def _set_mode(self, change: FileChange) -> None:
        """Give a folder the permissions that it had, once nothing more is to be written into it."""
        before = change.before
        assert before is not None
        with spot(self.workspace.folder, change.path) as place:
            now = self._found(place, change.path)
            if now is None or now.what != "folder" or now.mode == before.mode:
                return
            if change.path not in self.written and not _same(now, change.after):
                raise _changed()
            place.chmod(before.mode, now.stat)
            self.written.setdefault(change.path, now)

    def _write(self, change: FileChange, place: Spot, now: Entry | None, content: bytes, mode: int) -> None:
        if now is not None and not now.kept:
            raise RevertRefused(f"What is there could not be brought back. {now.why}")
        place.write(content, mode, None if now is None else now.stat)
        self.written.setdefault(change.path, now)

    def _merged(self, change: FileChange, now: Entry, wanted: Collection[str] | None) -> bytes:
        """What is there now without the change, or without hunks of it."""
        if change.why:
            raise RevertRefused(f"It was not kept. {change.why}")
        before, after, current = (_content(self.workspace, entry) for entry in (change.before, change.after, now))
        old, new, text = text_of(before), text_of(after), text_of(current)
        if old is None or new is None or text is None:
            raise _changed()
        return bytes_of(without(old, new, text, wanted))

    def _found(self, place: Spot, path: str) -> Entry | None:
        found = place.look()
        return None if found is None else self.workspace.keep(path, found)


def _content(workspace: Workspace, entry: Entry | None) -> bytes:
    if entry is None:
        return b""
    if entry.hash is None or not entry.kept:
        raise ChangesError(entry.why or "What was in the file is not kept.")
    return workspace.store.content(entry.hash)


def _takes_files(entry: Entry) -> bool:
    """Whether it is a folder whose owner may write into it."""
    return entry.what == "folder" and entry.mode & 0o300 == 0o300


def _is_file(entry: Entry | None) -> bool:
    return entry is not None and entry.what == "file"


def _same(one: Entry | None, other: Entry | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.mode == other.mode and one.same_content(other)


def _in_the_way(change: FileChange) -> bool:
    """Whether what the change left has to go before what was there can come back; a file is simply replaced."""
    if change.after is None:
        return False
    if change.before is None:
        return True
    return "folder" in (change.before.what, change.after.what) and change.before.what != change.after.what


def _changed() -> RevertRefused:
    return RevertRefused("It has changed since.", "Look at the difference and edit it yourself.")


def _words(error: OSError) -> str:
    if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
        return "It is a folder that other files are in."
    return f"It could not be written: {error.strerror or os.strerror(error.errno or 0)}."
