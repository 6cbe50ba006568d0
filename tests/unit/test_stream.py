"""The stream: flags, numbers, folding of ended messages, replay; and the checker that checks them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.errors import MalformedStream
from oi_engine.messages import Chunk
from oi_engine.stream import Entry, Stream, check_stream
from oi_engine.transcript import fold


def written() -> tuple[Stream, list[Entry]]:
    """A short stream, and its entries as they came."""
    stream, live = Stream(), list[Entry]()
    stream.subscribe(live.append)
    stream.open("assistant", "message")
    for word in ("one ", "two ", "three"):
        stream.write(word)
    stream.open("computer", "console")
    stream.write("1", "active_line")
    stream.write("10%\r", "output")
    stream.write("20%\n", "output")
    stream.put(Chunk("server", "status", content="complete"))
    return stream, live


def test_opening_or_putting_ends_the_message_before() -> None:
    _, live = written()
    check_stream(entry.chunk for entry in live)
    assert [entry.seq for entry in live] == list(range(1, 12))


def test_ended_messages_are_folded_and_numbers_stay() -> None:
    stream, live = written()
    kept = stream.entries_after(0)
    assert [entry.chunk.content for entry in kept if entry.chunk.has_content] == ["one two three", "20%\n", "complete"]
    assert len(kept) == 7
    at = 1
    for entry in kept:
        assert entry.seq == at
        at = entry.next_seq
    assert at == stream.next_seq == live[-1].next_seq
    assert fold(entry.chunk for entry in kept) == fold(entry.chunk for entry in live)


@given(st.integers(-1, 15))
def test_a_replay_begins_no_later_than_asked_and_at_a_whole_chunk(after: int) -> None:
    stream, live = written()
    replay = stream.entries_after(after)
    if after >= live[-1].seq:
        assert replay == []
        return
    assert replay[0].seq <= max(after, 0) + 1
    assert replay[-1].next_seq == stream.next_seq
    inside_message = replay[0].chunk.start or replay[0].seq == after + 1
    assert inside_message


def test_a_replay_of_an_open_message_has_its_pieces() -> None:
    stream = Stream()
    stream.open("assistant", "message")
    stream.write("a")
    stream.write("b")
    assert [entry.chunk.content for entry in stream.entries_after(1)] == ["a", "b"]
    assert [entry.chunk.content for entry in stream.entries_after(2)] == ["b"]


def test_content_outside_a_message_is_a_defect() -> None:
    with pytest.raises(MalformedStream):
        Stream().write("x")


def test_unsubscribing() -> None:
    stream, seen = Stream(), list[Entry]()
    done = stream.subscribe(seen.append)
    done()
    stream.open("assistant", "message")
    assert seen == []


START = Chunk("assistant", "message", start=True, id="m-1")
TEXT = Chunk("assistant", "message", content="x", id="m-1")
END = Chunk("assistant", "message", end=True, id="m-1")


@pytest.mark.parametrize(
    "chunks",
    [
        [TEXT],
        [END],
        [START],
        [START, START],
        [START, END, END],
        [START, Chunk("assistant", "code", "python", "x", id="m-1"), END],
        [START, Chunk("assistant", "message", content="x", id="m-2"), END],
        [START, Chunk("assistant", "message", "html", "x", id="m-1"), END],
        [START, Chunk("server", "status", content="complete"), END],
        [Chunk("server", "status", start=True)],
        [Chunk("assistant", "message", start=True)],
        [Chunk("assistant", "message", start=True, end=True, id="m-1")],
    ],
)
def test_the_checker_finds_what_is_out_of_order(chunks: list[Chunk]) -> None:
    with pytest.raises(MalformedStream):
        check_stream(chunks)


def test_the_checker_passes_what_is_in_order() -> None:
    check_stream([START, TEXT, TEXT, END, START, END])
