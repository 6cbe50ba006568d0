"""What the client is told of sessions, as fast as it reads and no faster.

Each session has a ``Feed``: a place in the session's stream up to which the client has been sent everything. What
gathers within one tick of the event loop goes out together; while the client has not read what was sent before, the
place just stays behind. The stream itself is the only buffer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from oi_lsp.protocol import (
    Chunks,
    DocumentState,
    EditState,
    Input,
    LmcChunk,
    Proposal,
    Queued,
    SessionState,
    TurnUsage,
    Usage,
)

if TYPE_CHECKING:
    from oi_engine.approval import Proposal as Pending
    from oi_engine.session.session import Session
    from oi_engine.session.state import Snapshot
    from oi_engine.stream import Entry, Stream

State = SessionState | DocumentState | EditState
"""How something is now."""
Told = Chunks | State

FRAME = 256 * 1024
"""About the most characters of chunks in one go; a single longer chunk still passes."""

HELD = 4096
"""The most chunks of ended messages that are kept one by one for a client that is about to be sent them."""

_BESIDES_CONTENT = 150


class Source(Protocol):
    """What the client is told of one thing that changes."""

    @property
    def behind(self) -> bool:
        """Whether there is something to send."""

    def take(self) -> tuple[Sequence[Chunks], State | None]:
        """The next that the client is to be sent, and how things are now where that is new."""

    def close(self) -> None:
        """Follow it no longer."""


class Feed:
    """One session on its way to the client."""

    def __init__(self, session: Session, wake: Callable[[Feed], None]) -> None:
        self.session = session
        self._wake = wake
        self._next = session.stream.next_seq
        self._sent_up_to = self._next
        self._held: list[Entry] = []
        self._state_due = True
        self._sent: Snapshot | None = None
        self._ends = [session.stream.subscribe(self._on_entry), session.on_state(self._on_state)]
        wake(self)

    def close(self) -> None:
        """Follow the session no longer."""
        for end in self._ends:
            end()

    def replay(self, after_seq: int) -> int:
        """Go back to the message that holds the chunk after a number. Answers the number of that message's first."""
        self._held.clear()
        self._next = _beginning(self.session.stream, after_seq + 1)
        self._wake(self)
        return self._next

    @property
    def behind(self) -> bool:
        """Whether there is something to send."""
        return self._state_due or bool(self._held) or self._next < self.session.stream.next_seq

    def take(self, limit: int = FRAME) -> tuple[list[Chunks], SessionState | None]:
        """The next that the client is to be sent: chunks worth about ``limit`` characters, and the state if new."""
        entries = self._held + self.session.stream.entries_after(self._next - 1)
        count = _fitting(entries, limit)
        if count > len(self._held):
            self._next = entries[count - 1].next_seq
        self._held = self._held[count:]
        return self._notifications(entries[:count]), self._new_state()

    def _new_state(self) -> SessionState | None:
        due, self._state_due = self._state_due, False
        snapshot = self.session.snapshot
        if not due or snapshot == self._sent:
            return None
        self._sent = snapshot
        return state_of(self.session)

    def _notifications(self, entries: list[Entry]) -> list[Chunks]:
        """The entries in runs of one turn each, what is new apart from what was sent before."""
        runs = []
        for (turn_id, again), run in groupby(entries, key=lambda entry: (entry.turn_id, self._mark_sent(entry))):
            members = list(run)
            chunks = tuple(LmcChunk(entry.chunk.to_dict()) for entry in members)
            runs.append(
                Chunks(self.session.id, turn_id, members[0].seq, members[-1].next_seq, chunks, replay=again or None)
            )
        return runs

    def _mark_sent(self, entry: Entry) -> bool:
        """Remember that the entry is sent; whether it was sent before."""
        again = entry.seq < self._sent_up_to
        self._sent_up_to = max(self._sent_up_to, entry.next_seq)
        return again

    def _on_entry(self, entry: Entry) -> None:
        # The stream is about to fold the chunks of a message that ends. Those that the client would be sent in this
        # tick are kept as they are; else it would be sent the message anew. A client that is far behind is.
        stream = self.session.stream
        if entry.chunk.end and len(self._held) + stream.next_seq - self._next <= HELD:
            self._held += stream.entries_after(self._next - 1)
            self._next = stream.next_seq
        self._wake(self)

    def _on_state(self, _: Snapshot) -> None:
        self._state_due = True
        self._wake(self)


class Outbox:
    """Sends what the feeds have, one frame of each in flight. ``idle`` says whether the last have been written."""

    def __init__(self, send: Callable[[Told], None], idle: Callable[[], bool]) -> None:
        self._send = send
        self._idle = idle
        self._due: dict[Source, None] = {}
        self._scheduled = False

    def wake(self, feed: Source) -> None:
        """Something new is to be told of a session, or of an edit."""
        self._due[feed] = None
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self.flush)

    def forget(self, feed: Source) -> None:
        """Send nothing more of it."""
        feed.close()
        self._due.pop(feed, None)

    def flush(self) -> None:
        """Send what is due, if the client has read what was sent before; called again when it has."""
        self._scheduled = False
        if not self._idle():
            return
        due, self._due = self._due, {}
        for feed in due:
            chunks, state = feed.take()
            for notification in chunks:
                self._send(notification)
            if state is not None:
                self._send(state)
            if feed.behind:
                self._due[feed] = None


def state_of(session: Session) -> SessionState:
    """A session's snapshot as the wire has it."""
    now = session.snapshot
    asked, turn = now.input, now.turn_usage
    paid = turn.prompt_tokens or turn.completion_tokens or turn.cost
    return SessionState(
        session_id=session.id,
        state=now.state,
        turn_id=now.turn_id,
        proposal=_proposal(now.proposal),
        input=None if asked is None else Input(asked.id, asked.prompt, asked.password),
        queue=tuple(Queued(waiting.turn_id, waiting.text) for waiting in now.queue),
        usage=Usage(
            now.usage.prompt_tokens,
            now.usage.completion_tokens,
            now.usage.cost,
            TurnUsage(turn.prompt_tokens, turn.completion_tokens, turn.cost) if paid else None,
        ),
        model=now.model or None,
    )


def _proposal(proposal: Pending | None) -> Proposal | None:
    if proposal is None:
        return None
    from oi_engine.safety.reveal import reveal

    code = proposal.cell.code
    revealed = reveal(code)
    return Proposal(
        proposal.id,
        proposal.cell.language,
        code,
        proposal.findings or None,
        revealed.text if revealed.text != code else None,
        tuple(map(str, revealed.found)) or None,
    )


def _beginning(stream: Stream, seq: int) -> int:
    """The number of the chunk that begins the message which chunk ``seq`` belongs to."""
    from oi_engine.messages import STANDALONE

    entries = stream.entries_after(0)
    until = (entry for entry in reversed(entries) if entry.seq <= seq < stream.next_seq)
    return next((entry.seq for entry in until if entry.chunk.start or entry.chunk.type in STANDALONE), seq)


def _fitting(entries: Iterable[Entry], limit: int) -> int:
    """How many of the entries go into one frame: at least one, where there is one."""
    count = size = 0
    for entry in entries:
        content = entry.chunk.content
        size += _BESIDES_CONTENT + (len(content) if isinstance(content, str) else len(str(content or "")))
        if count and size > limit:
            break
        count += 1
    return count
