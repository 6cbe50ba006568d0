"""A stored conversation put back into a stream.

For a session that goes on with it::

    restore(session.stream, opened)              # before anybody else subscribes; the session's transcript follows
    recorder = Recorder(store.path, opened.conversation, opened)
    session.stream.subscribe(recorder)

The kernels of such a session are new ones: ``REOPENED`` is the word for the model and the person, which the session
says before the first request that comes (and not before, so that looking at a conversation does not change it).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve

from oi_engine.errors import MalformedStream
from oi_engine.history.store import Opened
from oi_engine.interruption import CUT_OFF, NOT_RUN, interrupted
from oi_engine.messages import Chunk, Message, new_id, now
from oi_engine.stream import Stream

REOPENED = "This conversation was opened again, with new kernels: the variables of the runs above are gone."


def restore(stream: Stream, opened: Opened) -> None:
    """Fill a fresh stream with a stored conversation. Raises ``MalformedStream`` where it is not fresh.

    Messages keep their ids and times. They are whole: a start, one chunk of content, an end; turns end as they do. A
    third of a second for 30,000 messages: in a thread, while nobody else has the stream yet.
    """
    if stream.next_seq != 1:
        raise MalformedStream("A conversation is restored into a fresh stream.")
    for chunk in chunks(opened):
        stream.put(chunk)


def chunks(opened: Opened) -> Iterator[Chunk]:
    """A stored conversation as a stream has it; the fold of it has the same messages and turns."""
    yield from said(opened.messages, opened.turns, opened.told)


def said(
    messages: Sequence[Message], turns: Iterable[int], told: Mapping[int, Sequence[Chunk]] | None = None
) -> Iterator[Chunk]:
    """Messages as the chunks of a stream, with the end of a turn before each of the positions and at the end.

    ``told`` is what comes after the message at a position (``Transcript.told``).
    """
    starts = set(turns)
    for at, message in enumerate(messages):
        if at and at in starts:
            yield _turn_end()
        yield from _whole(message)
        yield from (told or {}).get(at, ())
    if messages:
        yield _turn_end()


def cut_off(opened: Opened) -> Opened:
    """The conversation with what ends a turn that did not end, as its server was killed, say; any other as it is.

    Every code message is answered (it did not run, or was cut off in mid-run), and the turn says that it failed.
    """
    if not (opened.conversation.under_way and opened.turns):
        return opened
    messages, told = list(opened.messages), dict(opened.told)
    states = {chunk.parent: chunk.content for at in told for chunk in told[at] if chunk.format == "run"}
    answered = {message.parent for message in messages if message.role == "computer"}
    when = "while the model answered"
    for block in messages[opened.turns[-1] :]:
        if block.type != "code" or block.role == "computer" or block.parent is not None:
            continue
        state = states.get(block.id)
        if state == {"state": "running"}:
            when, words = "while code ran", CUT_OFF
        elif state is None and block.id not in answered:
            when, words = "before code was decided on", NOT_RUN
        else:
            continue
        messages.append(Message("computer", "message", words, id=new_id("m"), created_at=now(), parent=block.id))
    error = Chunk("server", "error", content=interrupted(when), id=new_id("m"))
    told[len(messages) - 1] = (*told.get(len(messages) - 1, ()), error)
    return evolve(opened, messages=tuple(messages), told=told)


def needs_word(opened: Opened) -> bool:
    """Whether code has run in the conversation, so that the model may count on variables (see ``REOPENED``)."""
    return any(message.type == "console" for message in opened.messages)


def _whole(message: Message) -> Iterator[Chunk]:
    head = Chunk(
        message.role,
        message.type,
        None if message.type == "console" else message.format,
        start=True,
        recipient=message.recipient,
        id=message.id,
        created_at=message.created_at,
        parent=message.parent,
    )
    yield head
    if message.content or message.failure:
        yield evolve(
            head,
            start=False,
            content=message.content,
            format=message.format,
            created_at="",
            parent=None,
            failure=message.failure,
        )
    yield evolve(head, start=False, end=True, created_at="", parent=None)


def _turn_end() -> Chunk:
    return Chunk("server", "status", content="complete", id=new_id("m"))
