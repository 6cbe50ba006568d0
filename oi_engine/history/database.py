"""The database file: made private, opened for sharing, checked, and moved aside when it is damaged.

SQLite in WAL mode. ``synchronous`` is NORMAL: what a transaction has written is with the operating system when it ends,
so that no end of the process can lose it, ``kill -9`` included. A power failure may cost the last transactions, and
never the database; FULL would buy that back with an ``fsync`` for each of them.

Every process that has the database open holds a shared lock on a file beside it. Moving a damaged one aside takes that
lock alone: a file that is renamed under a process that writes to it would be lost, and the new one with it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from oi_engine.errors import HistoryDamaged, HistoryError
from oi_engine.history.schema import migrate

if os.name == "posix":
    import fcntl

log = logging.getLogger(__name__)

BUSY = 10.0
"""Seconds that a transaction waits for another process's."""
ALONE = 3.0
"""Seconds to wait for others to let go of a damaged database."""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_COMPANIONS = ("", "-wal", "-shm")


def default_path() -> Path:
    """Where the history is: in the user's data folder."""
    return platformdirs.user_data_path("oi-lsp", appauthor=False) / "history.db"


class Database:
    """One open connection, for any number of threads, one at a time. Raises ``HistoryError`` and its kinds.

    ``notices`` are sentences for the person: what was found on opening. ``suspected`` says that somebody has come upon
    damage, which a look at the whole has not found: then it is in what SQLite does not look at, the search index.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notices: list[str] = []
        self.suspected = _suspect(path).exists()
        self._turn = threading.RLock()
        self._lock: int | None = None
        try:
            _prepare(path)
            self._hold(alone=False)
        except OSError as error:
            raise _unusable(path, error) from error
        try:
            self.connection = self._opened()
        except BaseException:
            self._let_go()
            raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read, as of one moment."""
        with self._turn, self._explained():
            self.connection.execute("BEGIN")
            try:
                yield self.connection
            finally:
                self.connection.execute("COMMIT")

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it or nothing."""
        with self._turn, self._explained():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # SQLite may have done so itself
                    self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            self.connection.close()
            self._let_go()

    def settle(self) -> None:
        """Bring the log into the database and empty it: what was deleted is in neither. Later, if others read now."""
        with self._turn, contextlib.suppress(sqlite3.OperationalError):
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if _code(error) in _DAMAGED:
                with contextlib.suppress(OSError):
                    _suspect(self.path).touch()
                raise HistoryDamaged(
                    f"The history in {self.path} is damaged ({error}).",
                    "Restart oi-lsp everywhere: it is then moved aside and a new one is begun.",
                ) from error
            raise _unusable(self.path, error) from error

    # --- opening -----------------------------------------------------------------------------------------------

    def _opened(self) -> sqlite3.Connection:
        try:
            return _connect(self.path)
        except sqlite3.Error as error:
            if _code(error) not in _DAMAGED:
                raise _unusable(self.path, error) from error
        self._let_go()
        self._hold(alone=True)
        # Another process may have moved it meanwhile.
        try:
            connection = _connect(self.path)
        except sqlite3.Error as error:
            if _code(error) not in _DAMAGED:
                raise _unusable(self.path, error) from error
            self._move_aside()
            connection = _connect(self.path)
        self._let_go()
        self._hold(alone=False)
        return connection

    def _move_aside(self) -> None:
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
        kept = self.path.with_name(f"{self.path.stem}.damaged-{stamp}{self.path.suffix}")
        for companion in _COMPANIONS:
            with contextlib.suppress(FileNotFoundError):
                Path(f"{self.path}{companion}").rename(f"{kept}{companion}")
        _suspect(self.path).unlink(missing_ok=True)
        self.suspected = False
        _prepare(self.path)
        self.notices.append(f"The history was damaged. It is kept as {kept}, and a new one was begun.")
        log.error("%s", self.notices[-1])

    def _hold(self, *, alone: bool) -> None:
        """Take the lock beside the database. Windows lets nobody rename an open file, and needs none."""
        if os.name != "posix":
            return
        self._lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + ALONE
        while True:
            try:
                fcntl.flock(self._lock, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    self._let_go()
                    raise HistoryDamaged(
                        f"The history in {self.path} is damaged, and another oi-lsp has it open.",
                        "Close the others and start again: it is then moved aside and a new one is begun.",
                    ) from None
            time.sleep(0.02)  # a lock has no event to wait for with a limit

    def _let_go(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


def _prepare(path: Path) -> None:
    """The folder and the file, for this user alone."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path == default_path():
        path.parent.chmod(0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
    path.chmod(0o600)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
    try:
        migrate(connection, str(path))
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        # What was deleted is gone from the file too.
        connection.execute("PRAGMA secure_delete = ON")
        if _suspect(path).exists():
            _examine(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Write-ahead logging. SQLite's own waiting does not cover the change to it, which needs the file alone."""
    deadline = time.monotonic() + BUSY
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY_CODES or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _examine(connection: sqlite3.Connection, path: Path) -> None:
    """Somebody has come upon damage: look at the whole. Raises ``sqlite3.DatabaseError`` where it is there."""
    found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        damage = sqlite3.DatabaseError(found)
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage
    _suspect(path).unlink(missing_ok=True)


def _suspect(path: Path) -> Path:
    return path.with_name(f"{path.name}.suspect")


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 where the error is not SQLite's."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _unusable(path: Path, error: Exception) -> HistoryError:
    code = _code(error) if isinstance(error, sqlite3.Error) else 0
    if code in _BUSY_CODES:
        return HistoryError(f"The history in {path} is busy: another oi-lsp writes to it.", "Try again in a moment.")
    if code == sqlite3.SQLITE_FULL:
        return HistoryError(f"The disk is full: the history in {path} cannot be written.", "Make room on it.")
    return HistoryError(f"The history in {path} cannot be used: {error}.", "Look at its permissions and its disk.")
