"""The one ordered stream of a session: every chunk, numbered, for any number of subscribers.

This module puts in all ``start`` and ``end`` flags (``Stream``) and checks them (``StreamChecker``). Messages follow
one another and never nest: opening one closes the one before.

Chunks are numbered from 1. When a message ends, its content chunks are replaced by one chunk that holds them all, so
that a long conversation costs its text and not its tokens; the numbers stay, hence ``Entry.span``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, evolve, field, frozen

from oi_engine.errors import MalformedStream
from oi_engine.messages import STANDALONE, Chunk, Content, MessageType, Recipient, Role, new_id, now
from oi_engine.transcript import joined_content


@frozen
class Entry:
    """A chunk in its place. ``seq`` is the number of the first chunk that it stands for, ``span`` of how many."""

    seq: int
    turn_id: str
    chunk: Chunk
    span: int = 1

    @property
    def next_seq(self) -> int:
        """The number of the chunk after this entry."""
        return self.seq + self.span


Subscriber = Callable[[Entry], object]


@define
class Stream:
    """The stream of one session. Not thread-safe: it belongs to its session's event loop."""

    turn_id: str = ""
    next_seq: int = 1
    _entries: list[Entry] = field(factory=list, init=False)
    _open: Chunk | None = field(default=None, init=False)
    _opened_at: int = field(default=0, init=False)
    _subscribers: list[Subscriber] = field(factory=list, init=False)
    _waiting: list[Callable[[], None]] = field(factory=list, init=False)

    @property
    def open_message(self) -> Chunk | None:
        """The ``start`` chunk of the message that is being written, if one is."""
        return self._open

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Have ``subscriber`` called with each entry from now on; the answer ends that."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber)

    def entries_after(self, seq: int) -> list[Entry]:
        """All entries whose last chunk is past ``seq``.

        Where ``seq`` falls inside a message that was folded into one chunk, the answer begins at that message's
        ``start``, so that a client can write the message anew.
        """
        at = bisect_right(self._entries, seq, key=lambda entry: entry.next_seq - 1)
        if at < len(self._entries) and self._entries[at].seq <= seq:
            at -= 1
        return self._entries[at:]

    def open(
        self,
        role: Role,
        type: MessageType,  # noqa: A002 -- the documented name
        format: str | None = None,  # noqa: A002 -- the documented name
        *,
        recipient: Recipient | None = None,
        parent: str | None = None,
    ) -> str:
        """Begin a message, ending the one before. Answers the message's id."""
        self.close()
        head = Chunk(
            role,
            type,
            format,
            start=True,
            recipient=recipient,
            id=new_id("m"),
            created_at=now(),
            parent=parent,
        )
        self._opened_at = len(self._entries)
        self._open = head
        self._append(head)
        return head.id

    def write(
        self,
        content: Content,
        format: str | None = None,  # noqa: A002 -- the documented name
        *,
        line: int | None = None,
        failure: dict[str, Any] | None = None,
    ) -> None:
        """Add content to the open message; ``format`` where it differs from the message's own (console chunks).

        ``line`` and ``failure``: see ``messages``.
        """
        head = self._open
        if head is None:
            raise MalformedStream("Content outside a message.")
        form, to, name = format or head.format, head.recipient, head.id
        self._append(Chunk(head.role, head.type, form, content, recipient=to, id=name, line=line, failure=failure))

    def close(self) -> None:
        """End the open message, if there is one."""
        head = self._open
        if head is None:
            return
        self._open = None
        self._append(evolve(head, start=False, end=True, created_at="", parent=None))
        self._fold_last()
        waiting, self._waiting = self._waiting, []
        for write in waiting:
            write()

    def between(self, write: Callable[[], None]) -> None:
        """Have messages written that do not belong to what goes on: now, or once the open message has ended.

        Output is ended for it, since it may go on in another message; prose and code are not.
        """
        if self._open is not None and self._open.type != "console":
            self._waiting.append(write)
            return
        self.close()
        write()

    def put(self, chunk: Chunk) -> None:
        """Add a chunk that is whole by itself (confirmation, command, status, error), ending the open message."""
        self.close()
        self._append(chunk)

    def _append(self, chunk: Chunk) -> None:
        entry = Entry(self.next_seq, self.turn_id, chunk)
        self.next_seq += 1
        self._entries.append(entry)
        for subscriber in tuple(self._subscribers):
            subscriber(entry)

    def _fold_last(self) -> None:
        """Replace the content chunks of the message that has just ended by one."""
        start, *middle, end = self._entries[self._opened_at :]
        if len(middle) < 2:
            return
        whole = joined_content(entry.chunk for entry in middle)
        folded = Entry(middle[0].seq, start.turn_id, whole, span=end.seq - middle[0].seq)
        self._entries[self._opened_at :] = [start, folded, end]


@define
class StreamChecker:
    """Checks that chunks come in order. ``feed`` raises ``MalformedStream`` at the first that does not."""

    _open: Chunk | None = field(default=None, init=False)

    def feed(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        if chunk.start and chunk.end:
            raise MalformedStream("A chunk that both starts and ends.")
        if chunk.type in STANDALONE:
            self._standalone(chunk)
        elif chunk.start:
            self._start(chunk)
        else:
            self._inside(chunk)

    def finish(self) -> None:
        """The stream ends here: no message may be open."""
        if self._open is not None:
            raise MalformedStream(f"Message {self._open.id} never ended.")

    def _standalone(self, chunk: Chunk) -> None:
        if chunk.start or chunk.end:
            raise MalformedStream(f"A {chunk.type} chunk has neither start nor end.")
        if self._open is not None:
            raise MalformedStream(f"A {chunk.type} chunk inside message {self._open.id}.")

    def _start(self, chunk: Chunk) -> None:
        if self._open is not None:
            raise MalformedStream(f"Message {chunk.id} starts before {self._open.id} ends.")
        if not chunk.id:
            raise MalformedStream("A message without an id.")
        self._open = chunk

    def _inside(self, chunk: Chunk) -> None:
        head = self._open
        if head is None:
            raise MalformedStream(f"A {chunk.role} {chunk.type} chunk outside a message.")
        if (chunk.role, chunk.type, chunk.id) != (head.role, head.type, head.id):
            raise MalformedStream(f"A {chunk.role} {chunk.type} chunk inside a {head.role} {head.type} message.")
        if chunk.type != "console" and chunk.format != head.format:
            raise MalformedStream(f"The format changes from {head.format} to {chunk.format} inside a message.")
        if chunk.end:
            self._open = None


def check_stream(chunks: Iterable[Chunk]) -> None:
    """Check a whole stream. Raises ``MalformedStream``."""
    checker = StreamChecker()
    for chunk in chunks:
        checker.feed(chunk)
    checker.finish()
