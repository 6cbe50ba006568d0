"""What is known of the files of a folder at one moment, and what differs between two moments."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from typing import Literal

from attrs import frozen

Kind = Literal["added", "deleted", "modified", "mode"]
"""``mode``: the permissions alone. Another type at the same place (a link for a file) is ``modified``."""
What = Literal["file", "folder", "link"]

_INODES = 2**63 - 1
"""Inodes may have 64 bits without a sign, and a column of SQLite has one."""

Signature = tuple[int, int, int, int, int]
"""Mode with type, size in bytes, ``mtime`` and ``ctime`` in nanoseconds, inode: as long as none of them changes, nor
does the content (but see ``Entry.racy``). A program can set ``mtime``, and cannot set ``ctime``."""


def signature(found: os.stat_result) -> Signature:
    """What tells whether a file is as it was."""
    return found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino & _INODES


@frozen
class Entry:
    """One file, link or folder.

    ``hash`` is that of its bytes, or of the bytes that a link holds; ``None`` where they are not known, and then
    ``why`` says why not. ``kept``: the bytes are in the store. ``racy``: it was written so shortly before it was read
    that a later change may have left the signature as it is.
    """

    stat: Signature
    hash: bytes | None = None
    kept: bool = False
    racy: bool = False
    why: str = ""

    @property
    def what(self) -> What:
        """Its type."""
        mode = self.stat[0]
        return "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "file"

    @property
    def mode(self) -> int:
        """Its permissions; a link has none of its own."""
        return 0 if self.what == "link" else stat.S_IMODE(self.stat[0])

    @property
    def size(self) -> int:
        """Bytes; a folder has none."""
        return 0 if self.what == "folder" else self.stat[1]

    def same_content(self, other: Entry) -> bool:
        """Whether both are of one type and hold the same."""
        if self.what != other.what:
            return False
        if self.what == "folder":
            return True
        if self.hash is None or other.hash is None:
            return self.stat == other.stat
        return self.hash == other.hash


@frozen
class Snapshot:
    """A folder at one moment.

    ``entries`` by path (relative, ``/`` between names, as ``os.fsdecode`` reads them). ``ignored`` are the paths at
    which the ignore rules ended the search. ``unread`` are folders that could not be listed.
    """

    entries: Mapping[str, Entry]
    ignored: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()


@frozen
class FileChange:
    """What became of one path: the entry before, the entry after; one of them may be missing."""

    path: str
    before: Entry | None
    after: Entry | None

    @property
    def kind(self) -> Kind:
        """What happened."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "deleted"
        return "mode" if self.before.same_content(self.after) else "modified"

    @property
    def what(self) -> What:
        """The type of what is there, or was there last."""
        return _last(self).what

    @property
    def size(self) -> int:
        """Bytes of what is there, or was there last."""
        return _last(self).size

    @property
    def kept(self) -> bool:
        """Whether both sides are in the store, so that either can be made again."""
        return not self.why

    @property
    def why(self) -> str:
        """Why a side is not kept, or nothing."""
        for entry in (self.before, self.after):
            if entry is not None and entry.what != "folder" and not entry.kept:
                return entry.why or "It was not kept."
        return ""

    @property
    def shown(self) -> str:
        """The path as it can be shown and sent: what is no UTF-8 as ``\\xff``, and ``/`` behind a folder."""
        return shown_path(self.path) + ("/" if self.what == "folder" else "")


def _last(change: FileChange) -> Entry:
    entry = change.after or change.before
    if entry is None:
        raise ValueError("a change of nothing")
    return entry


def shown_path(path: str) -> str:
    """A path as text: bytes that are no UTF-8 as ``\\xff``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def compare(before: Snapshot, after: Snapshot) -> list[FileChange]:
    """What differs, by path. What could not be looked at on either side is not taken for changed."""
    found = [
        FileChange(path, old, after.entries.get(path))
        for path, old in before.entries.items()
        if _differs(old, after.entries.get(path))
    ]
    found += [FileChange(path, None, new) for path, new in after.entries.items() if path not in before.entries]
    unread = before.unread | after.unread
    if unread:
        found = [change for change in found if not unread.intersection(parents(change.path))]
    return sorted(found, key=lambda change: change.path)


def _differs(old: Entry, new: Entry | None) -> bool:
    if old is new:  # most of them: a pass hands on the entries that it finds as they were
        return False
    return new is None or old.mode != new.mode or not old.same_content(new)


def parents(path: str) -> Iterator[str]:
    """The folders that a path is in, the top one (``""``) last."""
    while path:
        path = path.rpartition("/")[0]
        yield path
