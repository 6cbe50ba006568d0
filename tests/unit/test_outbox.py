"""What the client is sent: in order, without a gap, no faster than it reads, and nothing kept for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.messages import Chunk
from oi_engine.session.session import Session
from oi_engine.stream import Stream
from oi_engine.transcript import fold
from oi_lsp import outbox
from oi_lsp.outbox import Feed, Outbox, Told
from oi_lsp.protocol import Chunks
from oi_lsp.structure import to_wire
from tests.fakes.lsp_client import Follower
from tests.fakes.scripted import ScriptedModel, TinyRuntime, say


def session(*replies: list[Any]) -> Session:
    return Session(ScriptedModel(replies), lambda language, cwd: TinyRuntime([]), cwd="/")


class Client:
    """Takes what the outbox sends; reads when it is told to."""

    def __init__(self, hosted: Session) -> None:
        self.follower = Follower()
        self.order: list[str] = []
        self.reads = True
        self.outbox = Outbox(self._send, lambda: self.reads)
        self.feed = Feed(hosted, self.outbox.wake)

    def _send(self, notification: Told) -> None:
        self.order.append(type(notification).__name__)
        params = to_wire(notification)
        if isinstance(notification, Chunks):
            self.follower.take(params)
        else:
            self.follower.states.append(params)

    def catch_up(self) -> None:
        self.reads = True
        while self.feed.behind:
            self.outbox.flush()


def entries(stream: Stream) -> list[Chunk]:
    return [entry.chunk for entry in stream.entries_after(0)]


async def test_a_turn_arrives_whole_in_order_and_once() -> None:
    hosted = session(say("one two three"))
    client = Client(hosted)
    hosted.send("hello")
    await asyncio.wait_for(hosted.idle(), 30)
    client.catch_up()
    assert client.follower.gaps == []
    assert client.follower.replayed == 0
    assert client.follower.check() == hosted.messages
    assert client.follower.state["state"] == "idle"


async def test_what_gathers_in_one_tick_is_one_notification() -> None:
    hosted = session()
    client = Client(hosted)
    hosted.stream.open("assistant", "message")
    for number in range(100):
        hosted.stream.write(f"{number} ")
    hosted.stream.close()
    assert client.order == []
    await asyncio.sleep(0)
    assert client.order == ["Chunks", "SessionState"]
    assert len(client.follower.chunks) == 102


async def test_a_client_that_does_not_read_is_sent_one_frame_and_later_the_rest() -> None:
    hosted = session()
    client = Client(hosted)
    client.reads = False
    for number in range(50):
        hosted.stream.open("assistant", "message")
        for _ in range(200):
            hosted.stream.write(f"word {number} ")
        hosted.stream.close()
        await asyncio.sleep(0)
    assert client.order == []
    assert len(client.feed._held) <= outbox.HELD
    client.catch_up()
    assert client.follower.gaps == []
    assert client.follower.check() == hosted.messages == fold(entries(hosted.stream))


async def test_a_message_that_ended_while_the_client_did_not_read_is_sent_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "HELD", 5)
    hosted = session()
    client = Client(hosted)
    hosted.stream.open("assistant", "message")
    hosted.stream.write("seen ")
    await asyncio.sleep(0)
    client.reads = False
    for number in range(20):
        hosted.stream.write(f"{number} ")
    hosted.stream.close()
    await asyncio.sleep(0)
    client.catch_up()
    assert client.follower.replayed == 1
    assert client.follower.check() == hosted.messages


async def test_a_frame_is_capped_and_a_longer_chunk_still_passes() -> None:
    hosted = session()
    client = Client(hosted)
    hosted.stream.open("assistant", "message")
    hosted.stream.write("x" * (3 * outbox.FRAME))
    for _ in range(30):
        hosted.stream.write("y" * (outbox.FRAME // 10))
    client.outbox.flush()
    while client.feed.behind:
        client.outbox.flush()
    frames = [notification["chunks"] for notification in client.follower.notifications]
    sizes = [sum(len(chunk.get("content") or "") for chunk in chunks) for chunks in frames]
    assert max(sizes) == 3 * outbox.FRAME
    assert sorted(sizes)[-2] <= outbox.FRAME
    assert len(sizes) >= 4


async def test_a_state_that_is_as_before_is_not_sent_again() -> None:
    hosted = session()
    client = Client(hosted)
    client.outbox.flush()
    hosted.show_state("idle")
    client.outbox.flush()
    assert len(client.follower.states) == 1


async def test_a_replay_begins_where_a_message_begins() -> None:
    hosted = session(say("a b c d"), say("e f"))
    client = Client(hosted)
    for text in ("one", "two"):
        hosted.send(text)
    await asyncio.wait_for(hosted.idle(), 30)
    client.catch_up()
    last = hosted.stream.next_seq - 1
    for after in range(last + 1):
        first = client.feed.replay(after)
        assert first <= after + 1
        client.catch_up()
        assert client.follower.next_seq == last + 1
        assert client.follower.check() == hosted.messages


async def test_a_replay_in_an_open_message_begins_at_its_start() -> None:
    hosted = session()
    client = Client(hosted)
    head = hosted.stream.open("assistant", "message")
    hosted.stream.write("a")
    hosted.stream.write("b")
    client.catch_up()
    assert client.feed.replay(2) == 1
    client.catch_up()
    assert [chunk["id"] for chunk in client.follower.chunks] == [head] * 3


async def test_a_forgotten_session_sends_nothing_more() -> None:
    hosted = session()
    client = Client(hosted)
    client.outbox.forget(client.feed)
    hosted.stream.open("assistant", "message")
    hosted.show_state("thinking")
    client.outbox.flush()
    assert client.order == []


Step = Callable[[Client, Session], None]


def _write(client: Client, hosted: Session) -> None:
    if hosted.stream.open_message is None:
        hosted.stream.open("assistant", "message")
    hosted.stream.write("word ")


def _close(client: Client, hosted: Session) -> None:
    hosted.stream.close()


def _whole(client: Client, hosted: Session) -> None:
    hosted.stream.put(Chunk("server", "status", content="complete", id=f"w{hosted.stream.next_seq}"))
    hosted.stream.turn_id += "t"


def _stall(client: Client, hosted: Session) -> None:
    client.reads = False


def _read(client: Client, hosted: Session) -> None:
    client.reads = True
    client.outbox.flush()


def _replay(client: Client, hosted: Session) -> None:
    client.feed.replay(client.follower.next_seq // 2)


@given(st.lists(st.sampled_from([_write, _write, _write, _close, _whole, _stall, _read, _replay]), max_size=60))
def test_whatever_happens_the_client_ends_up_with_the_stream(steps: list[Step]) -> None:
    async def play() -> None:
        hosted = session()
        client = Client(hosted)
        for step in steps:
            step(client, hosted)
            if step in (_write, _read):
                await asyncio.sleep(0)
        hosted.stream.close()
        client.catch_up()
        assert client.follower.gaps == []
        assert client.follower.next_seq == hosted.stream.next_seq
        assert client.follower.check() == hosted.messages

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outbox, "HELD", 6)
        patch.setattr(outbox, "FRAME", 1000)
        asyncio.run(play())
