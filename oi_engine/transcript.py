"""The transcript: the messages of a conversation, as a pure fold over the chunks of its stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import define, evolve, field

from oi_engine.errors import OiError
from oi_engine.messages import MARK, STANDALONE, Chunk, Message
from oi_engine.safety.sanitize import render_carriage_returns


def joined_content(chunks: Iterable[Chunk]) -> Chunk:
    """The content chunks of one message as one chunk: text joined, active lines dropped, progress bars settled."""
    last: Chunk | None = None
    failure: dict[str, Any] | None = None
    parts: list[str] = []
    for chunk in chunks:
        failure = chunk.failure or failure
        if last is None or chunk.format != "active_line":
            last = chunk
        if isinstance(chunk.content, str) and chunk.format != "active_line":
            parts.append(chunk.content)
    if last is None:
        raise ValueError("There is no message without a chunk.")
    text = "".join(parts)
    if last.type == "console":
        return evolve(last, format="output", content=render_carriage_returns(text), line=None, failure=failure)
    return evolve(last, content=text, line=None)


def is_told(chunk: Chunk) -> bool:
    """Whether a chunk of a conversation is no message, and is kept with those: see ``Transcript.told``."""
    return chunk.type == "error" or (chunk.type == "command" and chunk.role == "computer")


@define
class Transcript:
    """Messages so far. ``apply`` takes the next chunk; reading is free at any time.

    ``undo`` and ``reset`` are command chunks in the stream like all else, so that the fold knows of them. A turn ends
    with a status chunk: undo takes back the last turn that is left. What is said beside the conversation
    (``session.aside``) is left out.

    ``told`` is what is told of the messages and is none: why a turn failed, and the computer's command chunks. The keys
    are the positions of the messages that it came after.
    """

    messages: list[Message] = field(factory=list)
    told: dict[int, list[Chunk]] = field(factory=dict)
    _head: Chunk | None = field(default=None, init=False)
    _parts: list[Chunk] = field(factory=list, init=False)
    _turns: list[int] = field(factory=list, init=False)
    _between_turns: bool = field(default=True, init=False)
    _beside: set[str] = field(factory=set, init=False)

    @property
    def turns(self) -> tuple[int, ...]:
        """Where the turns begin that undo knows of: positions in ``messages``, the last perhaps ``open_message``'s."""
        return tuple(self._turns)

    def turns_from(self, message_id: str) -> int:
        """How many turns there are from the one with that message on. Raises ``OiError`` where none has it."""
        at = next((at for at, message in enumerate(self.messages) if message.id == message_id), -1)
        if not self._turns or at < self._turns[0]:
            raise OiError(f"No request has a message {message_id!r}.", "It may have been taken back already.")
        return 1 + sum(1 for begin in self._turns if begin > at)

    @property
    def under_way(self) -> bool:
        """Whether the last turn has not ended."""
        return not self._between_turns

    @property
    def open_message(self) -> Message | None:
        """The message that is being written, as it would be if it ended now."""
        return None if self._head is None else self._finished(self._head)

    def apply(self, chunk: Chunk) -> bool:
        """Take the next chunk of the stream. Answers whether it is of the conversation."""
        if self._is_beside(chunk):
            return False
        self._take(chunk)
        return True

    def _is_beside(self, chunk: Chunk) -> bool:
        if chunk.type == "command" and chunk.content == MARK:
            self._beside = {chunk.id}
        elif chunk.parent in self._beside:
            self._beside.add(chunk.id)
        return chunk.id in self._beside

    def _take(self, chunk: Chunk) -> None:
        if is_told(chunk):
            self.told.setdefault(len(self.messages) - 1, []).append(chunk)
        elif chunk.type == "command":
            self._command(chunk)
        elif chunk.type == "status":
            self._between_turns = True
        elif chunk.type in STANDALONE:
            return
        elif chunk.start:
            self._start(chunk)
        elif self._head is not None and chunk.end:
            self.messages.append(self._finished(self._head))
            self._head, self._parts = None, []
        elif self._head is not None:
            self._parts.append(chunk)

    def _start(self, head: Chunk) -> None:
        if self._between_turns:
            self._turns.append(len(self.messages))
            self._between_turns = False
        self._head, self._parts = head, []

    def _finished(self, head: Chunk) -> Message:
        whole = joined_content(self._parts) if self._parts else None
        return Message(
            role=head.role,
            type=head.type,
            content=whole.content if whole is not None else "",
            format="output" if head.type == "console" else head.format,
            recipient=head.recipient,
            id=head.id,
            created_at=head.created_at,
            parent=head.parent,
            failure=whole.failure if whole is not None else None,
        )

    def _command(self, chunk: Chunk) -> None:
        if chunk.content not in ("reset", "undo"):
            return
        # What comes next is not part of what was taken back (a note between turns has no status after it).
        self._between_turns = True
        if chunk.content == "reset":
            self.messages.clear()
            self._turns.clear()
        elif self._turns:
            del self.messages[self._turns.pop() :]
        self.told = {at: told for at, told in self.told.items() if at < len(self.messages)}


def fold(chunks: Iterable[Chunk]) -> list[Message]:
    """The messages that a stream of chunks amounts to."""
    transcript = Transcript()
    for chunk in chunks:
        transcript.apply(chunk)
    return transcript.messages


def alike(present: Sequence[Message], wanted: Sequence[Message]) -> int:
    """How many messages both begin with; ids and times do not count."""
    same = 0
    for one, other in zip(present, wanted, strict=False):
        if (one.role, one.type, one.format, one.content) != (other.role, other.type, other.format, other.content):
            break
        same += 1
    return same
