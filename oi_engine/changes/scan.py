"""Looks through a folder: first what is there, then the bytes of what is new or was changed.

Nothing outside of the folder is read: links are not followed, and what is opened must be the file (by its inode) that
was found on the way down. Special files (pipes, sockets, devices) are left out and never opened.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping

from attrs import Factory, define, frozen

from oi_engine.changes.entries import Entry, Signature, Snapshot, signature
from oi_engine.changes.ignore import ALWAYS, CONVERSATIONS, NAME, PICTURES, Chain, PatternFiles, ignored
from oi_engine.errors import ChangesNotFollowed
from oi_engine.safety.programs import GUARDED

ATTEMPTS = 3
"""How often a file is read that changes while it is read."""
_COARSE, _FINE = 2_000_000_000, 100_000_000
"""Nanoseconds that a time stamp may be behind: FAT counts in two seconds, and a time that is a whole number of
milliseconds is taken for one of a coarse clock. Others tick with the kernel, every 10 ms or more often."""

_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FILE = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
_BY_DESCRIPTOR = os.scandir in os.supports_fd


class Abandoned(Exception):
    """The look was given up: what it has read so far is kept for the next one."""


@frozen
class Found:
    """One look at what is there. ``pending`` are paths whose bytes have to be read; they have no entry yet."""

    entries: dict[str, Entry]
    pending: list[tuple[str, os.stat_result]]
    ignored: set[str]
    unread: set[str]


@define
class Scan:
    """How a folder is looked through.

    ``folder`` is a real path. ``known`` is what was read before. ``earlier`` is the snapshot that this one is compared
    with: what it has is looked at whatever the ignore rules say by now, and what it ignored is ignored. ``stop`` ends
    the look (``Abandoned``).
    """

    folder: str
    patterns: PatternFiles
    known: Mapping[str, Entry]
    most: int
    earlier: Snapshot | None = None
    stop: Callable[[], bool] = lambda: False
    skip: frozenset[str] = frozenset()
    _found: Found = Factory(lambda: Found({}, [], set(), set()))

    def look(self) -> Found:
        """All that is there. Raises ``Abandoned``, ``ChangesNotFollowed``, ``OSError`` for the folder itself."""
        todo: list[tuple[str, os.stat_result, Chain, bool]] = [
            ("", os.stat(self.folder), self.patterns.above(self.folder), False)
        ]
        while todo:
            if self.stop():
                raise Abandoned
            path, expected, chain, outside = todo.pop()
            try:
                listed = self._listed(path, expected)
            except FileNotFoundError:
                if not path:
                    raise
                self._found.entries.pop(path, None)  # it went while we looked
                continue
            except OSError:
                if not path:
                    raise
                self._found.unread.add(path)
                continue
            todo += self._take(path, listed, chain, outside)
            if len(self._found.entries) + len(self._found.pending) > self.most:
                raise ChangesNotFollowed(
                    f"This folder has more than {self.most:,} files, so what runs change in it is not followed.",
                    "Have `.gitignore` name what need not be followed, or work in a smaller folder.",
                )
        return self._found

    def _listed(self, path: str, expected: os.stat_result) -> list[tuple[str, os.stat_result]]:
        """The names in a folder with what they stand for; those that went meanwhile are left out."""
        where = os.path.join(self.folder, path)
        if not _BY_DESCRIPTOR:
            return list(_stats(where))
        descriptor = os.open(where, _FOLDER)
        try:
            now = os.fstat(descriptor)
            if (now.st_dev, now.st_ino) != (expected.st_dev, expected.st_ino):
                raise NotADirectoryError(where)
            return list(_stats(descriptor))
        finally:
            os.close(descriptor)

    def _take(
        self, path: str, listed: list[tuple[str, os.stat_result]], chain: Chain, outside: bool
    ) -> Iterator[tuple[str, os.stat_result, Chain, bool]]:
        """Note what is in a folder. Answers the folders in it that are to be looked through."""
        prefix = f"{path}/" if path else ""
        for name, found in listed:
            if name == NAME:
                chain += self.patterns.of(os.path.join(self.folder, path), found)
        decided = self.patterns.decisions(path, chain)
        pictures = {name.removesuffix(CONVERSATIONS) + PICTURES for name, _ in listed if name.endswith(CONVERSATIONS)}
        before = self.earlier.entries if self.earlier is not None else {}
        entries, pending = self._found.entries, self._found.pending
        for name, found in listed:
            inner, mode = prefix + name, found.st_mode
            is_folder = stat.S_ISDIR(mode)
            if not (is_folder or stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                continue
            past = outside
            if outside or name in pictures or self._ignores(inner, name, is_folder, chain, decided):
                past = True
                if inner not in before:
                    self._found.ignored.add(inner)
                    continue
            if is_folder:
                old = self.known.get(inner)
                if inner not in GUARDED:  # the sandbox makes them: only what is in them is a change
                    entries[inner] = old if old is not None and old.stat[0] == mode else Entry(signature(found))
                yield inner, found, chain, past
                continue
            old = self.known.get(inner)
            if old is not None and not old.racy and old.stat == signature(found):
                entries[inner] = old
            else:
                pending.append((inner, found))

    def _ignores(self, path: str, name: str, is_folder: bool, chain: Chain, decided: dict[str, bool]) -> bool:
        if name.lower() in ALWAYS or name.endswith(CONVERSATIONS) or path in self.skip:
            return True
        if self.earlier is not None and path in self.earlier.ignored:
            return True
        if not chain:
            return False
        key = f"{name}/" if is_folder else name
        answer = decided.get(key)
        if answer is None:
            full = os.path.join(self.folder, path) + ("/" if is_folder else "")
            answer = decided[key] = ignored(chain, full.replace(os.sep, "/"))
        return answer


def _stats(where: str | int) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(where) as listing:
        for entry in listing:
            try:
                # On Windows what a listing knows has no inode.
                yield entry.name, entry.stat(follow_symlinks=False) if os.name != "nt" else os.lstat(entry.path)
            except FileNotFoundError:
                continue


@frozen
class Content:
    """What was read of one path: its entry, which is not kept yet, and the bytes."""

    path: str
    entry: Entry
    data: bytes | None


def read(folder: str, path: str, found: os.stat_result, largest: int) -> Content | None:
    """Read a file or a link of ``folder``, a real path; ``None`` where it is gone.

    One that keeps changing, or cannot be read, has no hash.
    """
    full = os.path.join(folder, path)
    for _ in range(ATTEMPTS):
        if stat.S_ISREG(found.st_mode) and found.st_size > largest:
            return Content(path, Entry(signature(found), why=f"It is larger than {size_words(largest)}."), None)
        began = time.time_ns()
        try:
            data = os.fsencode(os.readlink(full)) if stat.S_ISLNK(found.st_mode) else _bytes(full, found)
            now = os.lstat(full)
        except FileNotFoundError:
            return None
        except OSError as error:
            if (failed := _failed(full, found, error)) is not None:
                return Content(path, failed, None)
            data, now = None, found
        if data is not None and signature(now) == signature(found):
            return Content(path, Entry(signature(now), racy=_is_racy(signature(now), began)), data)
        try:
            found = os.lstat(full)
        except OSError:
            return None
        inside = os.path.realpath(os.path.dirname(full)) == os.path.dirname(full)
        if not inside or not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            return None  # something else has taken its place
    return Content(path, Entry(signature(found), racy=True, why="It changed while it was read."), None)


def _failed(full: str, found: os.stat_result, error: OSError) -> Entry | None:
    """The entry of what cannot be read; ``None`` where something else has taken its place."""
    try:
        now = os.lstat(full)
    except OSError:
        return None
    if signature(now) != signature(found):
        return None
    return Entry(signature(found), racy=True, why=f"It could not be read: {error.strerror or error}.")


def _bytes(full: str, found: os.stat_result) -> bytes | None:
    """The bytes of a file; ``None`` where it is not the one that was found, or changed meanwhile."""
    descriptor = os.open(full, os.O_RDONLY | _FILE)
    try:
        if signature(os.fstat(descriptor)) != signature(found):
            return None
        # One more than there should be: a longer file shows.
        data = os.read(descriptor, found.st_size + 1)
        while 0 < len(data) < found.st_size:
            piece = os.read(descriptor, found.st_size + 1 - len(data))
            if not piece:
                break
            data += piece
        return data if len(data) == found.st_size else None
    finally:
        os.close(descriptor)


def _is_racy(of: Signature, began: int) -> bool:
    """Whether a write after the reading may get the times that the file has: they are those of about this moment.

    A time far ahead was set by somebody, or is another machine's: a write would give the file an earlier one.
    """
    return any(abs(began - at) <= (_FINE if at % 1_000_000 else _COARSE) for at in of[2:4])


def size_words(size: int) -> str:
    """Bytes in words."""
    return f"{size / 1_000_000:g} MB" if size >= 1_000_000 else f"{size:,} bytes"
