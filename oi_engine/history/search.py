"""Finding messages by what is in them.

What a person types is words, each of which must be in the message: no text is syntax. Words are looked up in an FTS5
index (whole words, any case, accents or none; the last word may be the beginning of one). What such an index cannot
look up is sought as a piece of text instead, in any case of ASCII: signs (``==``), and words of scripts that put no
spaces between them. The same is done with all words where this Python's SQLite has no FTS5, and with messages that are
not in the index (yet): those that are being written, and those that a Python without FTS5 has stored.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator, Iterator
from heapq import merge

from attrs import frozen

MOST_WORDS = 16
LONGEST_WORD = 100
AT_ONCE = 500
"""Messages that one transaction takes into the index."""
SNIPPET = 160
"""Characters of a message that are shown."""

_TABLE = """
CREATE VIRTUAL TABLE IF NOT EXISTS message_search USING fts5 (
    text, content = 'messages', content_rowid = 'number', tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
)
"""
# Thai to Myanmar, Khmer, Chinese, Japanese.
_NO_SPACES = re.compile("[\u0e00-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_WILD, _ESCAPED = re.compile(r"([%_\\])"), r"\\\1"
_BLANK = re.compile(r"\s+")


@frozen
class Found:
    """A message that fits: the number of its row, its conversation's, and its place in it."""

    number: int
    conversation: int
    position: int


def has_fts5(connection: sqlite3.Connection) -> bool:
    """Whether this Python's SQLite can search full text."""
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.probe USING fts5 (text)")
    except sqlite3.OperationalError:
        return False
    connection.execute("DROP TABLE temp.probe")
    return True


def words_of(query: str) -> list[str]:
    """What a person typed, as words."""
    sayable = query.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return [word[:LONGEST_WORD] for word in sayable.split()[:MOST_WORDS]]


def like(words: list[str], column: str) -> tuple[str, list[str]]:
    """An SQL condition that every word is somewhere in ``column``, and its parameters."""
    condition = " AND ".join([f"{column} LIKE ? ESCAPE '\\'"] * len(words)) or "TRUE"
    return condition, [f"%{_WILD.sub(_ESCAPED, word)}%" for word in words]


def snippet(text: str, words: list[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A line of ``text`` around the first of ``words``, and where in that line words are (start, end)."""
    pattern = re.compile("|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE)
    first = pattern.search(text) if words else None
    at = max(first.start() - SNIPPET // 3, 0) if first else 0
    piece = _BLANK.sub(" ", text[at : at + SNIPPET]).strip()
    line = ("…" if at else "") + piece + ("…" if at + SNIPPET < len(text) else "")
    return line, tuple(found.span() for found in pattern.finditer(line)) if words else ()


class Search:
    """The index of one database, made ``anew`` if wanted. Each call is part of a transaction of the caller's."""

    def __init__(self, connection: sqlite3.Connection, *, anew: bool) -> None:
        self._full_text = has_fts5(connection)
        if self._full_text and anew:
            connection.execute("DROP TABLE IF EXISTS message_search")
            connection.execute("UPDATE messages SET indexed = 0 WHERE indexed = 1")
        if self._full_text and not self._is_made(connection):
            connection.execute(_TABLE)

    def index(self, connection: sqlite3.Connection) -> bool:
        """Take in whole messages that are not in the index yet: a bounded number. Answers whether there may be more.

        A transaction that takes in a whole long conversation would keep others from writing for too long.
        """
        if not self._full_text:
            return False
        numbers = connection.execute(
            "SELECT number FROM messages WHERE indexed = 0 AND complete = 1 LIMIT ?", (AT_ONCE,)
        ).fetchall()
        connection.executemany(
            "INSERT INTO message_search (rowid, text) SELECT number, text FROM messages WHERE number = ?", numbers
        )
        connection.executemany("UPDATE messages SET indexed = 1 WHERE number = ?", numbers)
        return len(numbers) == AT_ONCE

    def forget(self, connection: sqlite3.Connection, conversation: int, start: int) -> None:
        """Take the messages from ``start`` on out of the index, before they are deleted."""
        if self._full_text:
            connection.execute(
                "INSERT INTO message_search (message_search, rowid, text) SELECT 'delete', number, text FROM messages "
                "WHERE conversation = ? AND position >= ? AND indexed = 1",
                (conversation, start),
            )

    def find(self, connection: sqlite3.Connection, words: list[str]) -> Generator[Found, None, None]:
        """Messages that have all ``words``, newest first, no message twice."""
        if not words:
            return
        looked_up = [word for word in words if _is_word(word)] if self._full_text else []
        if not looked_up:
            yield from self._like(connection, words, "TRUE")
            return
        yield from merge(
            self._match(connection, looked_up, [word for word in words if word not in looked_up]),
            self._like(connection, words, "indexed = 0"),
            key=lambda found: -found.number,
        )

    def _match(self, connection: sqlite3.Connection, words: list[str], rest: list[str]) -> Iterator[Found]:
        condition, parameters = like(rest, "messages.text")
        rows = connection.execute(
            "SELECT number, conversation, position FROM message_search JOIN messages ON number = message_search.rowid "
            f"WHERE message_search MATCH ? AND {condition} ORDER BY message_search.rowid DESC",
            [" AND ".join(_quoted(word) for word in words) + " *", *parameters],
        )
        return (Found(*row) for row in rows)

    def _like(self, connection: sqlite3.Connection, words: list[str], which: str) -> Iterator[Found]:
        condition, parameters = like(words, "text")
        rows = connection.execute(
            f"SELECT number, conversation, position FROM messages WHERE {which} AND {condition} ORDER BY number DESC",
            parameters,
        )
        return (Found(*row) for row in rows)

    @staticmethod
    def _is_made(connection: sqlite3.Connection) -> bool:
        found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'message_search'")
        return found.fetchone() is not None


def _is_word(word: str) -> bool:
    return any(char.isalnum() for char in word) and not _NO_SPACES.search(word)


def _quoted(word: str) -> str:
    doubled = word.replace('"', '""')
    return f'"{doubled}"'
