"""Every conversation, in one SQLite database that any number of processes share.

All calls read or write the disk and may wait for another process: call them in a thread where an event loop runs. A
``Store`` may be used by any number of threads; what writes as a conversation goes on (``recorder``) has one of its own,
so that it never waits for a search.

Errors are ``HistoryError`` and its kinds.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from oi_engine.errors import ConversationChanged, HistoryDamaged, UnknownConversation
from oi_engine.history.database import Database, default_path
from oi_engine.history.search import Search, like, snippet, words_of
from oi_engine.messages import Chunk, Message, chunk_from_dict, message_from_dict, new_id, now

_SURROGATE = re.compile(r"[\ud800-\udfff]")
_COLUMNS = """
    conversations.id, title, cwd, profile, model, created_at, updated_at, parent,
    (SELECT COALESCE(MAX(position) - MIN(position) + 1, 0) FROM messages WHERE conversation = conversations.number),
    under_way, prompt_tokens, completion_tokens, cost
"""


@frozen
class Conversation:
    """What is known of a conversation beside its messages. Times are ISO 8601, UTC, to the millisecond.

    ``parent`` is the id of the conversation that it was branched from, which may be gone; ``length`` counts messages.
    ``under_way``: the last turn had not ended when it was last written. Tokens and ``cost`` (US dollars; ``None``: not
    known) are what its replies took.
    """

    id: str
    title: str = ""
    cwd: str = ""
    profile: str = ""
    model: str = ""
    created_at: str = ""
    updated_at: str = ""
    parent: str | None = None
    length: int = 0
    under_way: bool = field(default=False, converter=bool)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


@frozen
class Opened:
    """A whole conversation. ``turns`` are the positions at which turns begin; ``revision`` counts its changes.

    ``told`` is what is told after the message at a position (``Transcript.told``).
    """

    conversation: Conversation
    messages: tuple[Message, ...]
    turns: tuple[int, ...]
    revision: int
    told: Mapping[int, Sequence[Chunk]] = field(factory=dict)


@frozen
class Hit:
    """A conversation that was found.

    ``position`` is the message's, or ``None`` where the title alone fits; ``spans`` say where in ``snippet`` the words
    are (start, end).
    """

    conversation: Conversation
    snippet: str
    spans: tuple[tuple[int, int], ...]
    position: int | None


@frozen
class Row:
    """A message as it is written: whether a turn begins with it, whether it has ended, and what is told after it."""

    message: Message
    begins_turn: bool = False
    complete: bool = True
    told: Sequence[Chunk] = ()


class Store:
    """The stored conversations. ``notices`` are sentences for the person, about what was found on opening.

    Raises ``HistoryTooNew`` where a later version wrote the database, and ``HistoryDamaged`` where a damaged one cannot
    be moved aside, since others have it open.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or default_path()
        try:
            self._prepare()
        except HistoryDamaged:
            self._prepare()  # now that it is known, the database is looked at, and moved aside if need be
        self.notices = tuple(self._database.notices)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    # --- reading -----------------------------------------------------------------------------------------------

    def page(self, limit: int = 50, after: Conversation | None = None) -> list[Conversation]:
        """Conversations, the one written last first; the next page is that ``after`` the last one of this."""
        condition, parameters = "TRUE", []
        if after is not None:
            condition, parameters = "(updated_at, conversations.id) < (?, ?)", [after.updated_at, after.id]
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT {_COLUMNS} FROM conversations WHERE {condition} "
                "ORDER BY updated_at DESC, conversations.id DESC LIMIT ?",
                [*parameters, limit],
            )
            return [Conversation(*row) for row in rows]

    def search(self, query: str, limit: int = 20) -> list[Hit]:
        """Conversations with all words of ``query`` in one message or in the title, the one written last first."""
        words = words_of(query)
        if not words:
            return []
        with self._database.reading() as connection:
            found = dict(self._titles(connection, words, limit))
            found.update(self._in_messages(connection, words, limit))
        hits = sorted(found.values(), key=lambda hit: (hit.conversation.updated_at, hit.conversation.id), reverse=True)
        return hits[:limit]

    def get(self, conversation_id: str) -> Conversation:
        """What is known of a conversation. Raises ``UnknownConversation``."""
        with self._database.reading() as connection:
            return _conversation(connection, _number(connection, conversation_id))

    def open(self, conversation_id: str) -> Opened:
        """A whole conversation. Raises ``UnknownConversation``."""
        with self._database.reading() as connection:
            number = _number(connection, conversation_id)
            conversation = _conversation(connection, number)
            (revision,) = connection.execute(
                "SELECT revision FROM conversations WHERE number = ?", (number,)
            ).fetchone()
            rows = connection.execute(
                "SELECT body, begins_turn FROM messages WHERE conversation = ? ORDER BY position", (number,)
            ).fetchall()
        turns = tuple(at for at, (_, begins) in enumerate(rows) if begins)
        bodies = [json.loads(body) for body, _ in rows]
        told = {at: _told(body) for at, body in enumerate(bodies) if "told" in body}
        return Opened(conversation, tuple(map(message_from_dict, bodies)), turns, revision, told)

    def messages_tail(self, conversation_id: str, count: int, skip: int = 0) -> list[Message]:
        """The last ``count`` messages, in order, before the last ``skip``. Raises ``UnknownConversation``."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT body FROM messages WHERE conversation = ? ORDER BY position DESC LIMIT ? OFFSET ?",
                (_number(connection, conversation_id), count, skip),
            ).fetchall()
        return [message_from_dict(json.loads(body)) for (body,) in reversed(rows)]

    # --- changing ----------------------------------------------------------------------------------------------

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title. Raises ``UnknownConversation``."""
        with self._database.writing() as connection:
            number = _number(connection, conversation_id)
            connection.execute("UPDATE conversations SET title = ? WHERE number = ?", (_storable(title), number))

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation; its text is overwritten in the file. Raises ``UnknownConversation``.

        A session that still goes on with it stores what is said from then on.
        """
        with self._database.writing() as connection:
            number = _number(connection, conversation_id)
            self._cut(connection, number, 0)
            connection.execute("DELETE FROM conversations WHERE number = ?", (number,))
        self._database.settle()

    def undo(self, conversation_id: str) -> int:
        """Take back the last turn of a conversation that no session has open. Answers how many messages went.

        A session undoes by ``Session.undo``, which is recorded. Raises ``UnknownConversation``.
        """
        with self._database.writing() as connection:
            number = _number(connection, conversation_id)
            (start,) = connection.execute(
                "SELECT MAX(position) FROM messages WHERE conversation = ? AND begins_turn = 1", (number,)
            ).fetchone()
            if start is None:
                return 0
            _touch(connection, number)
            return self._cut(connection, number, start)

    def branch(self, conversation_id: str, message_id: str, title: str | None = None) -> Conversation:
        """A new conversation that is this one up to and including a message. Raises ``UnknownConversation``."""
        with self._database.writing() as connection:
            number = _number(connection, conversation_id)
            found = connection.execute(
                "SELECT position FROM messages WHERE conversation = ? AND json_extract(body, '$.id') = ?",
                (number, message_id),
            ).fetchone()
            if found is None:
                raise UnknownConversation(f"The conversation has no message {message_id!r}.")
            origin = _conversation(connection, number)
            branch = evolve(
                origin,
                id=new_id("s"),
                title=_storable(origin.title if title is None else title),
                created_at=now(),
                updated_at=now(),
                parent=origin.id,
                under_way=False,
                prompt_tokens=0,
                completion_tokens=0,
                cost=None,
            )
            copy = _insert(connection, branch, revision=1)
            connection.execute(
                "INSERT INTO messages (conversation, position, begins_turn, complete, body) "
                "SELECT ?, position, begins_turn, 1, body FROM messages WHERE conversation = ? AND position <= ?",
                (copy, number, found[0]),
            )
        self._index()
        return self.get(branch.id)

    def save(self, conversation: Conversation, messages: Sequence[Message]) -> Conversation:
        """Store a whole conversation at once, as an import does. Raises ``ConversationChanged`` where it is stored."""
        starts = set(turn_starts(messages))
        rows = [Row(message, at in starts) for at, message in enumerate(messages)]
        self.write(conversation, 0, rows, revision=0)
        self._index()
        return self.get(conversation.id)

    def write(self, conversation: Conversation, start: int, rows: Sequence[Row], revision: int) -> int:
        """Put ``rows`` in the place of all messages from position ``start`` on. Answers the new revision.

        ``revision`` is the one that the writer knows, 0 for a new conversation. Raises ``ConversationChanged`` where
        the stored one is another. One that was deleted meanwhile begins anew at ``start``. Given titles do not replace
        a stored one; working directory, profile and model do.
        """
        with self._database.writing() as connection:
            found = connection.execute(
                "SELECT number, revision FROM conversations WHERE id = ?", (conversation.id,)
            ).fetchone()
            stamped = evolve(conversation, title=_storable(conversation.title), updated_at=now())
            if found is None:
                number = _insert(connection, stamped, revision + 1)
            elif found[1] != revision:
                raise ConversationChanged(f"The conversation {conversation.id} was changed elsewhere.")
            else:
                number = found[0]
                _update(connection, number, stamped)
                self._cut(connection, number, start)
            connection.executemany(
                "INSERT INTO messages (conversation, position, begins_turn, complete, body) VALUES (?, ?, ?, ?, ?)",
                ((number, start + at, row.begins_turn, row.complete, _body(row)) for at, row in enumerate(rows)),
            )
            self._search.index(connection)
        return revision + 1

    def set_aside(self, conversation_id: str) -> str:
        """Let a stored conversation go on under another id, so that its own can begin anew. Answers that id.

        Raises ``UnknownConversation``.
        """
        kept = new_id("s")
        with self._database.writing() as connection:
            number = _number(connection, conversation_id)
            connection.execute("UPDATE conversations SET id = ? WHERE number = ?", (kept, number))
            connection.execute("UPDATE conversations SET parent = ? WHERE parent = ?", (kept, conversation_id))
        return kept

    def _prepare(self) -> None:
        self._database = Database(self.path)
        try:
            with self._database.writing() as connection:
                self._search = Search(connection, anew=self._database.suspected)
            self._index()
        except BaseException:
            self._database.close()
            raise

    def _index(self) -> None:
        """Take all that is stored into the index, in transactions that are short."""
        more = True
        while more:
            with self._database.writing() as connection:
                more = self._search.index(connection)

    # --- parts -------------------------------------------------------------------------------------------------

    def _cut(self, connection: sqlite3.Connection, number: int, start: int) -> int:
        self._search.forget(connection, number, start)
        return connection.execute(
            "DELETE FROM messages WHERE conversation = ? AND position >= ?", (number, start)
        ).rowcount

    def _titles(self, connection: sqlite3.Connection, words: list[str], limit: int) -> Iterator[tuple[int, Hit]]:
        condition, parameters = like(words, "title")
        rows = connection.execute(
            f"SELECT number, {_COLUMNS} FROM conversations WHERE {condition} ORDER BY updated_at DESC LIMIT ?",
            [*parameters, limit],
        )
        for number, *columns in rows:
            conversation = Conversation(*columns)
            yield number, Hit(conversation, *snippet(conversation.title, words), None)

    def _in_messages(self, connection: sqlite3.Connection, words: list[str], limit: int) -> Iterator[tuple[int, Hit]]:
        seen: set[int] = set()
        with contextlib.closing(self._search.find(connection, words)) as found:
            for message in found:
                if message.conversation in seen:
                    continue
                seen.add(message.conversation)
                (text,) = connection.execute("SELECT text FROM messages WHERE number = ?", (message.number,)).fetchone()
                conversation = _conversation(connection, message.conversation)
                yield message.conversation, Hit(conversation, *snippet(text, words), message.position)
                if len(seen) == limit:
                    return


def turn_starts(messages: Iterable[Message]) -> Iterator[int]:
    """Where turns begin in messages that do not say so: where the person speaks after somebody else has."""
    role = ""
    for at, message in enumerate(messages):
        if at == 0 or (message.role == "user" and message.parent is None and role != "user"):
            yield at
        role = message.role if message.parent is None else "computer"


def _number(connection: sqlite3.Connection, conversation_id: str) -> int:
    found = connection.execute("SELECT number FROM conversations WHERE id = ?", (conversation_id,)).fetchone()
    if found is None:
        raise UnknownConversation(f"There is no stored conversation {conversation_id!r}.", "It may have been deleted.")
    number: int = found[0]
    return number


def _conversation(connection: sqlite3.Connection, number: int) -> Conversation:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM conversations WHERE number = ?", (number,))
    return Conversation(*rows.fetchone())


def _insert(connection: sqlite3.Connection, new: Conversation, revision: int) -> int:
    number = connection.execute(
        "INSERT INTO conversations (id, title, cwd, profile, model, created_at, updated_at, parent, revision, "
        "under_way, prompt_tokens, completion_tokens, cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            new.id,
            new.title,
            _storable(new.cwd),
            new.profile,
            new.model,
            new.created_at or new.updated_at,
            new.updated_at,
            new.parent,
            revision,
            *_turn(new),
        ),
    ).lastrowid
    if number is None:
        raise AssertionError("An insert has a row.")
    return number


def _update(connection: sqlite3.Connection, number: int, known: Conversation) -> None:
    connection.execute(
        "UPDATE conversations SET title = CASE title WHEN '' THEN ? ELSE title END, cwd = ?, profile = ?, model = ?, "
        "updated_at = ?, revision = revision + 1, under_way = ?, prompt_tokens = ?, completion_tokens = ?, cost = ? "
        "WHERE number = ?",
        (
            known.title,
            _storable(known.cwd),
            known.profile,
            known.model,
            known.updated_at,
            *_turn(known),
            number,
        ),
    )


def _turn(known: Conversation) -> tuple[bool, int, int, float | None]:
    return known.under_way, known.prompt_tokens, known.completion_tokens, known.cost


def _touch(connection: sqlite3.Connection, number: int) -> None:
    connection.execute(
        "UPDATE conversations SET revision = revision + 1, updated_at = ?, under_way = 0 WHERE number = ?",
        (now(), number),
    )


def _body(row: Row) -> str:
    body = row.message.to_dict()
    if row.told:
        body["told"] = [chunk.to_dict() for chunk in row.told]
    return _storable(json.dumps(body, ensure_ascii=False, separators=(",", ":")))


def _told(body: dict[str, Any]) -> tuple[Chunk, ...]:
    return tuple(chunk_from_dict(chunk) for chunk in body["told"])


def _storable(text: str) -> str:
    """``text`` without halves of characters, which UTF-8 cannot say."""
    return _SURROGATE.sub("\ufffd", text)
