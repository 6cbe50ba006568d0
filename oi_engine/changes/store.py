"""The shadow store of one folder: contents by their hash, what was read last, and the changes that were recorded.

One SQLite file in the person's data folder, readable by them alone; nothing in the folder itself, its repository least
of all, is written. Several processes may use it at a time. What it costs to lose it is that changes before cannot be
taken back any more; so a file that cannot be read is begun anew.

Contents that nothing refers to go only ``GRACE`` after that was first seen, since another process may hold a snapshot
that has them.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import zstandard
from attrs import evolve, frozen

from oi_engine import paths
from oi_engine.changes.entries import Entry, FileChange
from oi_engine.errors import ChangesError, UnknownChange
from oi_engine.messages import new_id

GRACE = 3600.0
"""Seconds."""
BUSY = 5.0
"""Seconds that a transaction waits for another process's."""
VERSION = 1
"""Of the tables. Each version has files of its own: what is kept is not worth a migration."""
_SCHEMA = """
CREATE TABLE contents (hash BLOB PRIMARY KEY, packed BLOB NOT NULL, released REAL);
CREATE TABLE files (
    path BLOB PRIMARY KEY, mode INTEGER, size INTEGER, mtime INTEGER, ctime INTEGER, inode INTEGER,
    hash BLOB, kept INTEGER, racy INTEGER, why TEXT
) WITHOUT ROWID;
CREATE TABLE sets (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, session TEXT NOT NULL, created REAL NOT NULL,
    parent TEXT, reverts TEXT
);
CREATE INDEX of_session ON sets (session);
CREATE TABLE changes (
    number INTEGER NOT NULL REFERENCES sets ON DELETE CASCADE, path BLOB NOT NULL,
    before_mode INTEGER, before_size INTEGER, before_mtime INTEGER, before_ctime INTEGER, before_inode INTEGER,
    before_hash BLOB, before_kept INTEGER, before_racy INTEGER, before_why TEXT,
    after_mode INTEGER, after_size INTEGER, after_mtime INTEGER, after_ctime INTEGER, after_inode INTEGER,
    after_hash BLOB, after_kept INTEGER, after_racy INTEGER, after_why TEXT,
    PRIMARY KEY (number, path)
) WITHOUT ROWID;
CREATE INDEX before_contents ON changes (before_hash);
CREATE INDEX after_contents ON changes (after_hash);
CREATE INDEX file_contents ON files (hash);
"""
_UNUSED = (
    "NOT EXISTS (SELECT 1 FROM files WHERE files.hash = contents.hash)"
    " AND NOT EXISTS (SELECT 1 FROM changes WHERE before_hash = contents.hash)"
    " AND NOT EXISTS (SELECT 1 FROM changes WHERE after_hash = contents.hash)"
)
_Row = tuple[
    int | None, int | None, int | None, int | None, int | None, bytes | None, int | None, int | None, str | None
]
_NOTHING: _Row = (None, None, None, None, None, None, None, None, None)


@frozen
class ChangeSet:
    """What one run, or one revert, changed. ``created`` is seconds since the epoch.

    ``parent`` is the id of the code message that ran; ``reverts`` the id of the change set that was taken back.
    """

    id: str
    session: str
    created: float
    files: tuple[FileChange, ...]
    parent: str | None = None
    reverts: str | None = None


class Store:
    """One open store, for any number of threads, one at a time. Raises ``ChangesError``."""

    def __init__(self, path: Path, *, largest_total: int) -> None:
        self.path = path
        self.largest_total = largest_total
        self._turn = threading.RLock()
        self._unpack = zstandard.ZstdDecompressor()
        with self._explained():
            self._connection = _opened(path)
        self.total = self._measured()

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            self._connection.close()

    # --- what was read last ------------------------------------------------------------------------------------

    def files(self) -> dict[str, Entry]:
        """What is known of the files, by path."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT path, mode, size, mtime, ctime, inode, hash, kept, racy, why FROM files"
            ).fetchall()
        return {os.fsdecode(path): _entry(row) for path, *row in rows}

    def put(self, read: Iterable[tuple[str, Entry, bytes | None]], share: float = 1.0) -> dict[str, Entry]:
        """Keep what was read of files (packed, or ``None`` where it is not to be kept or there already).

        Nothing is added beyond that ``share`` of the store. Answers the files' entries, by path, which say whether the
        content is kept.
        """
        entries: dict[str, Entry] = {}
        with self._writing() as connection:
            for path, found, packed in read:
                if found.hash is None:
                    entries[path] = found
                elif self._keep(connection, found.hash, packed, share):
                    # Not by evolve, which takes several times as long.
                    entries[path] = Entry(found.stat, found.hash, True, found.racy)
                else:
                    # Without its bytes: another process has just let go of what was there, so it is read again.
                    entries[path] = evolve(
                        found, racy=found.racy or packed is None, why="The store of changes is full."
                    )
            connection.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(os.fsencode(path), *_row(entry)) for path, entry in entries.items()],
            )
        return entries

    def forget(self, gone: Iterable[str]) -> None:
        """These files are no longer there."""
        with self._writing() as connection:
            connection.executemany("DELETE FROM files WHERE path = ?", [(os.fsencode(path),) for path in gone])

    def known(self) -> set[bytes]:
        """The hashes of all contents that are kept."""
        with self._reading() as connection:
            return {digest for (digest,) in connection.execute("SELECT hash FROM contents")}

    def content(self, digest: bytes) -> bytes:
        """The bytes of a hash. Raises ``ChangesError`` where they are not kept (any more)."""
        with self._reading() as connection:
            row = connection.execute("SELECT packed FROM contents WHERE hash = ?", (digest,)).fetchone()
        if row is None:
            raise ChangesError("What was in the file is no longer kept.")
        try:
            return self._unpack.decompress(row[0])
        except zstandard.ZstdError as error:
            raise ChangesError("What was kept of the file is damaged.") from error

    def _keep(self, connection: sqlite3.Connection, digest: bytes, packed: bytes | None, share: float) -> bool:
        if packed is not None and self.total + len(packed) <= self.largest_total * share:
            added = connection.execute(
                "INSERT OR IGNORE INTO contents (hash, packed) VALUES (?, ?)", (digest, packed)
            ).rowcount
            self.total += len(packed) * added
            if added:
                return True
        # It is there, and in use from now on.
        return connection.execute("UPDATE contents SET released = NULL WHERE hash = ?", (digest,)).rowcount > 0

    # --- changes -----------------------------------------------------------------------------------------------

    def record(
        self, session: str, files: Iterable[FileChange], *, parent: str | None = None, reverts: str | None = None
    ) -> ChangeSet:
        """Write down what was changed."""
        made = ChangeSet(new_id("c"), session, time.time(), tuple(files), parent, reverts)
        with self._writing() as connection:
            number = connection.execute(
                "INSERT INTO sets (id, session, created, parent, reverts) VALUES (?, ?, ?, ?, ?)",
                (made.id, session, made.created, parent, reverts),
            ).lastrowid
            connection.executemany(
                f"INSERT INTO changes VALUES ({', '.join('?' * 20)})",
                [(number, os.fsencode(one.path), *_row(one.before), *_row(one.after)) for one in made.files],
            )
        return made

    def sets(self, session: str) -> list[ChangeSet]:
        """What was changed in a session, the oldest first."""
        return self._sets("session = ?", session)

    def set(self, session: str, change_id: str) -> ChangeSet:
        """One of them. Raises ``UnknownChange``."""
        found = self._sets("session = ? AND id = ?", session, change_id)
        if not found:
            raise UnknownChange(f"There is no change {change_id!r} here.", "It may be too old to be kept.")
        return found[0]

    def _sets(self, condition: str, *values: str) -> list[ChangeSet]:
        with self._reading() as connection:
            sets = connection.execute(
                f"SELECT number, id, session, created, parent, reverts FROM sets WHERE {condition} ORDER BY number",
                values,
            ).fetchall()
            return [
                ChangeSet(change_id, session, created, self._files(connection, number), parent, reverts)
                for number, change_id, session, created, parent, reverts in sets
            ]

    @staticmethod
    def _files(connection: sqlite3.Connection, number: int) -> tuple[FileChange, ...]:
        rows = connection.execute("SELECT * FROM changes WHERE number = ? ORDER BY path", (number,))
        return tuple(
            FileChange(
                os.fsdecode(path),
                _entry(row[:9]) if row[0] is not None else None,
                _entry(row[9:]) if row[9] is not None else None,
            )
            for _, path, *row in rows
        )

    # --- keeping it small --------------------------------------------------------------------------------------

    def collect(self, *, oldest: float, now: float | None = None) -> bool:
        """Let go of changes from before ``oldest``, of the oldest ones while there is too much, and of what is unused.

        ``oldest`` and ``now`` are seconds since the epoch. Answers whether there is more room than before.
        """
        now = time.time() if now is None else now
        with self._writing() as connection:
            connection.execute("DELETE FROM sets WHERE created < ?", (oldest,))
            self._sweep(connection, now, GRACE)
            before, self.total = self.total, self._measured()
            if self._is_crowded(connection):
                self._sweep(connection, now, 0)
                self.total = self._measured()
            while self._is_crowded(connection):
                gone = connection.execute(
                    "DELETE FROM sets WHERE number IN (SELECT number FROM sets WHERE number < (SELECT max(number)"
                    " FROM sets) ORDER BY number LIMIT (SELECT (count(*) + 3) / 4 FROM sets))"
                ).rowcount
                self._sweep(connection, now, 0)
                self.total = self._measured()
                if not gone:
                    break
            more = self.total < before
            if more:
                # There is room for what there was none for.
                connection.execute("UPDATE files SET racy = 1 WHERE hash IS NOT NULL AND NOT kept")
        with self._turn, contextlib.suppress(sqlite3.OperationalError):  # another process is at it
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return more

    def _is_crowded(self, connection: sqlite3.Connection) -> bool:
        """Whether changes take so much that the oldest of them should go."""
        files = connection.execute(
            "SELECT coalesce(sum(length(packed)), 0) FROM contents WHERE hash IN (SELECT hash FROM files)"
        ).fetchone()[0]
        return self.total > 0.8 * self.largest_total and self.total - files > 0.1 * self.largest_total

    @staticmethod
    def _sweep(connection: sqlite3.Connection, now: float, grace: float) -> None:
        connection.execute(f"UPDATE contents SET released = ? WHERE released IS NULL AND {_UNUSED}", (now,))
        connection.execute(f"DELETE FROM contents WHERE released <= ? AND {_UNUSED}", (now - grace,))

    def _measured(self) -> int:
        with self._reading() as connection:
            return int(connection.execute("SELECT coalesce(sum(length(packed)), 0) FROM contents").fetchone()[0])

    # --- the connection ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._turn, self._explained():
            yield self._connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._turn, self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # SQLite may have done so itself
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise ChangesError(
                f"The store of changes in {self.path} cannot be used: {error}.",
                "If that stays so, delete the file: only what could be taken back is lost with it.",
            ) from error


def pack(data: bytes, packer: zstandard.ZstdCompressor) -> bytes:
    """The form in which a content is kept."""
    return packer.compress(data)


def _opened(path: Path) -> sqlite3.Connection:
    paths.made(path.parent)
    try:
        return _connect(path)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise
    for companion in ("", "-wal", "-shm"):
        Path(f"{path}{companion}").unlink(missing_ok=True)
    return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    # Made here, so that nobody else can read it from the beginning.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    os.utime(path)  # it is in use
    connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        # Of 4 kB: what a first look writes is brought into the database at its end, by ``collect``.
        connection.execute("PRAGMA wal_autocheckpoint = 10000")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _row(entry: Entry | None) -> _Row:
    if entry is None:
        return _NOTHING
    return (*entry.stat, entry.hash, int(entry.kept), int(entry.racy), entry.why)


def _entry(row: list[object]) -> Entry:
    mode, size, mtime, ctime, inode, digest, kept, racy, why = row
    return Entry((mode, size, mtime, ctime, inode), digest, bool(kept), bool(racy), why)  # type: ignore[arg-type]
