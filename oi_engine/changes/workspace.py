"""A folder whose changes are followed: snapshots of it, and what differs between two of them."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import zstandard
from attrs import frozen

from oi_engine.changes.entries import Entry, FileChange, Snapshot, compare, signature
from oi_engine.changes.ignore import PatternFiles
from oi_engine.changes.scan import Abandoned, Scan, read
from oi_engine.changes.store import VERSION, ChangeSet, Store, pack
from oi_engine.errors import ChangesNotFollowed

BATCH_FILES, BATCH_BYTES = 250, 16_000_000
"""What is read at a time by one thread."""
_FEW = 100
_THREADS = min(4, os.cpu_count() or 1)
SHARE = 0.75
"""Of the store's bytes, what the files as they are may take: the rest is for what runs make of them."""
_PAUSE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_LEVEL = 1
"""Of zstd: most of what it gains, at a third of zlib's time for small files."""

_Batch = Sequence[tuple[str, os.stat_result]]
_Read = list[tuple[str, Entry, bytes | None]]


@frozen
class Limits:
    """How much is followed: bytes of one file, bytes of the store, days that changes are kept, and files."""

    file: int = 5_000_000
    total: int = 500_000_000
    days: float = 14.0
    files: int = 50_000


class Workspace:
    """One folder and its store. All of it blocks: for threads, of which one at a time takes a snapshot.

    Raises ``ChangesNotFollowed`` for a folder that is none of the person's work, and ``ChangesError``.
    """

    def __init__(self, folder: str, stores: Path, limits: Limits | None = None) -> None:
        self.folder = os.path.realpath(folder)
        self.limits = limits or Limits()
        check(self.folder, stores)
        name = hashlib.blake2b(os.fsencode(self.folder), digest_size=16).hexdigest()
        self.store = Store(stores / f"{name}.{VERSION}.db", largest_total=self.limits.total)
        self._looking = threading.Lock()
        self._patterns = PatternFiles()
        self._known: dict[str, Entry] | None = None
        self._collected = float("-inf")

    def close(self) -> None:
        """Let go of the store."""
        with self._looking:
            self.store.close()

    def snapshot(self, earlier: Snapshot | None = None, stop: Callable[[], bool] = lambda: False) -> Snapshot:
        """The folder as it is now, with what is new in the store. ``earlier``: what it will be compared with.

        Raises ``Abandoned`` once ``stop`` says so; what was read so far need not be read again.
        """
        with self._looking:
            if stop():
                raise Abandoned
            if self.store.total > self.limits.total * SHARE and time.monotonic() - self._collected > _PAUSE:
                self._collect()
            if self._known is None:
                self._known = self.store.files()
            known = self._known
            scan = Scan(self.folder, self._patterns, known, self.limits.files, earlier, stop)
            try:
                found = scan.look()
            except OSError as error:
                reason = error.strerror or str(error)
                raise ChangesNotFollowed(
                    f"{self.folder} cannot be read ({reason}), so what runs change in it is not followed."
                ) from error
            self._known = {**known, **found.entries}
            share = 1.0 if earlier is not None else SHARE
            self._read(found.pending, self._known, share, stop)
            for path, _ in found.pending:
                if path in self._known:
                    found.entries[path] = self._known[path]
            gone = [path for path in known if path not in found.entries and path not in found.ignored]
            if gone:
                self.store.forget(gone)
            self._known = dict(found.entries)
            return Snapshot(found.entries, frozenset(found.ignored), frozenset(found.unread))

    def changes(self, before: Snapshot, after: Snapshot) -> list[FileChange]:
        """What differs between two snapshots, by path."""
        return compare(before, after)

    def record(
        self, session: str, files: Iterable[FileChange], *, parent: str | None = None, reverts: str | None = None
    ) -> ChangeSet:
        """Write down what was changed, so that it can be shown and taken back."""
        return self.store.record(session, files, parent=parent, reverts=reverts)

    def tidy(self) -> None:
        """Let go of what is too old or too much, where that was not done lately."""
        with self._looking:
            if time.monotonic() - self._collected > _HOUR:
                self._collect()

    def _collect(self) -> None:
        self._collected = time.monotonic()
        if self.store.collect(oldest=time.time() - self.limits.days * _DAY):
            self._known = None  # what there was no room for is read again

    def keep(self, path: str, found: os.stat_result) -> Entry | None:
        """The entry of one path as it is now, with its content in the store; ``None`` where it is gone."""
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            return Entry(signature(found))
        return self.store.put(self._read_batch([(path, found)], set(), lambda: False)).get(path)

    # --- reading -----------------------------------------------------------------------------------------------

    def _read(self, pending: _Batch, entries: dict[str, Entry], share: float, stop: Callable[[], bool]) -> None:
        """Read what is new, keep it, and put its entries to the others."""
        for path, _ in pending:
            entries.pop(path, None)
        if not pending:
            return
        # Of a few it costs less to pack what is there already than to learn of all that is.
        kept = self.store.known() if len(pending) > _FEW else set()
        with ThreadPoolExecutor(_THREADS, "changes") as threads:
            work = (threads.submit(self._read_batch, batch, kept, stop) for batch in _batches(pending))
            waiting = []
            for job in work:
                waiting.append(job)
                # No more in memory than is being worked on.
                if len(waiting) > _THREADS:
                    entries.update(self.store.put(waiting.pop(0).result(), share))
            for job in waiting:
                entries.update(self.store.put(job.result(), share))
        if stop():
            raise Abandoned

    def _read_batch(self, batch: _Batch, kept: set[bytes], stop: Callable[[], bool]) -> _Read:
        packer = zstandard.ZstdCompressor(level=_LEVEL)
        done: _Read = []
        for path, found in batch:
            if stop():
                break
            content = read(self.folder, path, found, self.limits.file)
            if content is None:
                continue
            if content.data is None:
                done.append((path, content.entry, None))
                continue
            digest = digest_of(content.data)
            packed = None if digest in kept else pack(content.data, packer)
            done.append((path, Entry(content.entry.stat, digest, racy=content.entry.racy), packed))
        return done


def digest_of(data: bytes) -> bytes:
    """What a content goes by."""
    return hashlib.blake2b(data, digest_size=32).digest()


def check(folder: str, stores: Path) -> None:
    """Raise ``ChangesNotFollowed`` for a folder that holds far more than one piece of work."""
    home = os.path.realpath(os.path.expanduser("~"))
    for inner, words in ((home, "the home folder"), (os.path.realpath(stores), "the store of changes")):
        if Path(inner).is_relative_to(folder):
            what = "is" if inner == folder else "holds"
            raise ChangesNotFollowed(
                f"{folder} {what} {words}, so what runs change in it is not followed.",
                "Work in a folder of its own to have changes listed and taken back.",
            )


def _batches(pending: _Batch) -> Iterable[_Batch]:
    begin = size = 0
    for at, (_, found) in enumerate(pending):
        if at > begin and (at - begin >= BATCH_FILES or size + found.st_size > BATCH_BYTES):
            yield pending[begin:at]
            begin, size = at, 0
        size += found.st_size
    yield pending[begin:]
