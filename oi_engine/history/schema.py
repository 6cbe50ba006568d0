"""The database's format: its tables, its version, and how an older one becomes the present one.

``PRAGMA user_version`` is the version of the format; each step of ``MIGRATIONS`` leads to the next one, in one
transaction. A new database takes all the steps too, so that there is one way to every table.

``messages.body`` is the message in the documented form (LMC, JSON), with what is told after it as a list of chunks,
``told``; ``messages.text`` is what is searched, computed from it. A body is never changed: rows are replaced, and their
``number`` is never used again. So the search index, which names rows by number, cannot come to mean another row, even
when a process without FTS5 writes in between.
"""

from __future__ import annotations

import sqlite3

from oi_engine.errors import HistoryError, HistoryTooNew

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE conversations (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            title TEXT NOT NULL DEFAULT '',
            cwd TEXT NOT NULL DEFAULT '',
            profile TEXT NOT NULL DEFAULT '',
            model TEXT NOT NULL DEFAULT '',
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL
        )
        """,
        "CREATE INDEX conversations_by_time ON conversations (updated_at, id)",
        """
        CREATE TABLE messages (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            conversation INTEGER NOT NULL REFERENCES conversations (number),
            position INTEGER NOT NULL,
            begins_turn INTEGER NOT NULL DEFAULT 0,
            complete INTEGER NOT NULL DEFAULT 1,
            body TEXT NOT NULL,
            UNIQUE (conversation, position)
        )
        """,
    ),
    (
        # Branches; a count of changes, by which two writers notice each other; and full text.
        "ALTER TABLE conversations ADD COLUMN parent TEXT",
        "ALTER TABLE conversations ADD COLUMN revision INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE messages ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0",
        """
        ALTER TABLE messages ADD COLUMN text TEXT GENERATED ALWAYS AS (
            CASE
                WHEN json_extract(body, '$.type') IN ('image', 'audio') THEN ''
                WHEN json_type(body, '$.content') = 'text' THEN json_extract(body, '$.content')
                ELSE ''
            END
        ) VIRTUAL
        """,
        "CREATE INDEX messages_not_indexed ON messages (number) WHERE indexed = 0",
    ),
    (
        # Whether the last turn had not ended when it was last written, and what the replies cost.
        "ALTER TABLE conversations ADD COLUMN under_way INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE conversations ADD COLUMN prompt_tokens INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE conversations ADD COLUMN completion_tokens INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE conversations ADD COLUMN cost REAL",
    ),
)
FORMAT = len(MIGRATIONS)
"""The version of the format that this program writes."""


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring the database to ``FORMAT``. A present one is only read.

    Raises ``HistoryTooNew`` for a later format and ``HistoryError`` for a database of something else, untouched;
    ``sqlite3.Error`` where it cannot be written.
    """
    if _version(connection, path) == FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been faster.
        for step in MIGRATIONS[_version(connection, path) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection, path: str) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > FORMAT:
        raise HistoryTooNew(
            f"The history in {path} was written by a later version of oi-lsp (format {version}; this one knows "
            f"{FORMAT}).",
            "Update oi-lsp; nothing was changed.",
        )
    if not version and connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise HistoryError(
            f"{path} is a database of something else.", "Name another file for the history; nothing was changed."
        )
    return version
