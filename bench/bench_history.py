"""The history: listing and searching many conversations, the end of a long one, and what recording costs the loop."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.rows import Row
from oi_engine.history.recorder import Recorder
from oi_engine.history.restore import restore
from oi_engine.history.search import like, words_of
from oi_engine.history.store import Conversation, Store
from oi_engine.messages import Chunk, Message, new_id, now
from oi_engine.stream import Stream

CONVERSATIONS = 5_000
EACH = 20
LONG = 30_000
_WORDS = [f"{first}{second}" for first in ("data", "plot", "file", "sum", "row") for second in range(200)]


def _message(at: int, extra: str = "") -> Message:
    words = " ".join(_WORDS[(at * 7 + step * 13) % len(_WORDS)] for step in range(40))
    kind = ("user", "message") if at % 4 == 0 else ("assistant", "code") if at % 4 == 1 else ("assistant", "message")
    return Message(kind[0], kind[1], f"the {words} {extra}", id=new_id("m"), created_at=now())  # type: ignore[arg-type]


def _median(call: Callable[[], object], rounds: int = 15) -> float:
    """Milliseconds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


async def many_conversations() -> list[Row]:
    """5,000 conversations of 20 messages: a page, and searches for rare, common and begun words."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "history.db") as store:
        for at in range(CONVERSATIONS):
            extra = "needle" if at % 1000 == 7 else ""
            messages = [_message(at * EACH + step, extra if step == 3 else "") for step in range(EACH)]
            store.save(Conversation(new_id("s"), f"Conversation {at} on {_WORDS[at % len(_WORDS)]}"), messages)
        first = store.page(50)
        assert len(store.search("needle", 20)) == 5
        scan = _median(lambda: _scan(store, "needle"), 3)
        return [
            Row("list: first page of 5,000 conversations", _median(lambda: store.page(50)), None, "ms", "≤ 50 ms"),
            Row("list: the next page", _median(lambda: store.page(50, first[-1])), None, "ms", "≤ 50 ms"),
            Row(
                "search: a rare word (baseline: no index)",
                _median(lambda: store.search("needle")),
                scan,
                "ms",
                "≤ 50 ms",
            ),
            Row("search: two words", _median(lambda: store.search("plot12 sum3")), None, "ms", "≤ 50 ms"),
            Row("search: a word that every message has", _median(lambda: store.search("the")), None, "ms", "≤ 50 ms"),
            Row("search: a begun word", _median(lambda: store.search("da")), None, "ms", "≤ 50 ms"),
        ]


def _scan(store: Store, query: str) -> None:
    condition, parameters = like(words_of(query), "text")
    with store._database.reading() as connection:
        connection.execute(f"SELECT number FROM messages WHERE {condition}", parameters).fetchall()


async def long_conversation() -> list[Row]:
    """A conversation of 30,000 messages: its end in a fresh process's store, the whole of it, and back in a stream."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        with Store(path) as store:
            conversation = store.save(Conversation(new_id("s"), "Long"), [_message(at) for at in range(LONG)])

        def end() -> None:
            with Store(path) as fresh:
                assert len(fresh.messages_tail(conversation.id, 100)) == 100

        shown = _median(end)
        with Store(path) as store:
            opened = store.open(conversation.id)
            whole = _median(lambda: store.open(conversation.id), 3)
            back = _median(lambda: restore(Stream(), opened), 3)
            copy = _median(lambda: store.branch(conversation.id, opened.messages[-1].id), 1)
            gone = _median(lambda: store.delete(conversation.id), 1)
        return [
            Row("open: the end of 30,000 messages", shown, None, "ms", "≤ 200 ms"),
            Row("open: all 30,000 messages", whole, None, "ms", ""),
            Row("restore: 30,000 messages into a stream", back, None, "ms", ""),
            Row("branch: 30,000 messages", copy, None, "ms", ""),
            Row("delete: 30,000 messages", gone, None, "ms", ""),
        ]


async def recording() -> list[Row]:
    """What recording costs whoever writes the stream: 20,000 chunks, with and without a recorder."""
    with tempfile.TemporaryDirectory() as folder:
        alone = _stream_out(Stream())
        stream = Stream()
        recorder = Recorder(Path(folder) / "history.db", Conversation(new_id("s")))
        stream.subscribe(recorder)
        recorded = _stream_out(stream)
        recorder.close()
        return [Row("record: a chunk, as the event loop sees it", recorded, alone, "µs", "")]


def _stream_out(stream: Stream, chunks: int = 20_000) -> float:
    """Microseconds a chunk."""
    began = time.perf_counter()
    for at in range(chunks):
        if at % 200 == 0:
            stream.put(Chunk("server", "status", content="complete"))
            stream.open("assistant", "message")
        stream.write("some words ")
    stream.close()
    return (time.perf_counter() - began) / chunks * 1e6


BENCHES = [many_conversations, long_conversation, recording]
