"""What is told of messages comes back with them, and a turn that was cut off is ended where it is opened again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from attrs import evolve

from oi_engine.errors import ModelError
from oi_engine.history.recorder import Recorder
from oi_engine.history.restore import chunks, cut_off
from oi_engine.history.store import Conversation, Opened, Store
from oi_engine.interruption import CUT_OFF, NOT_RUN
from oi_engine.messages import Chunk, Message
from oi_engine.stream import check_stream
from oi_engine.transcript import Transcript, fold
from tests.fakes.scripted import code, say
from tests.unit.session_rig import Rig

BROKEN = ModelError("unreachable", "Nobody answers.", "Look for them.")


async def test_what_was_told_comes_back_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    rig = Rig([*say("Look."), *code("print 1\nraise it")], [*say("Then"), BROKEN], auto_run=True)
    recorder = Recorder(path, Conversation(rig.session.id))
    rig.session.stream.subscribe(recorder)
    await rig.ask("Fail twice.")
    await rig.ask("And go on.")
    live = [entry.chunk for entry in rig.session.stream.entries_after(0) if entry.chunk.type != "confirmation"]
    assert {chunk.format for chunk in live if chunk.type == "command"} == {"run"}
    assert [chunk.content for chunk in live if chunk.type == "error"] == ["Nobody answers. Look for them."]
    assert any(chunk.failure for chunk in live)
    assert await asyncio.to_thread(recorder.close) == ""
    with Store(path) as store:
        opened = store.open(rig.session.id)
    assert not opened.conversation.under_way
    assert cut_off(opened) is opened
    assert [alike(chunk) for chunk in chunks(opened)] == [alike(chunk) for chunk in live]
    await rig.session.close()


def alike(chunk: Chunk) -> Chunk:
    """A chunk as far as it comes back: the end of a turn gets another id."""
    return evolve(chunk, id="") if chunk.type == "status" else chunk


async def test_wherever_a_turn_is_cut_off_it_says_so_and_all_code_is_answered() -> None:
    rig = Rig([*say("Two."), *code("print 1\nimage"), *code("print 2", index=1)], say("Done."))
    rig.session.send("Run two blocks.")
    rig.session.approve(await rig.proposal(), "print 3\nimage")
    rig.session.approve(await rig.proposal())
    await rig.session.idle()
    said: set[str] = set()
    for end in range(1, len(rig.chunks) + 1):
        opened = stored(rig.chunks[:end])
        again = list(chunks(cut_off(opened)))
        check_stream(again)
        messages = fold(again)
        assert messages[: len(opened.messages)] == list(opened.messages)
        answered = {message.parent for message in messages if message.role == "computer"}
        assert {m.id for m in messages if m.type == "code" and m.role == "assistant"} <= answered
        errors = [str(chunk.content) for chunk in again if chunk.type == "error"]
        assert len(errors) == opened.conversation.under_way == (end < len(rig.chunks))
        said.update(errors)
        begun = [chunk.parent for chunk in rig.chunks[:end] if chunk.content == {"state": "running"}]
        over = [chunk.parent for chunk in rig.chunks[:end] if chunk.content == {"state": "ok"}]
        assert [m.parent for m in messages if m.text == CUT_OFF] == [block for block in begun if block not in over]
    assert [words.partition(":")[0] for words in sorted(said)] == [
        "Interrupted before code was decided on",
        "Interrupted while code ran",
        "Interrupted while the model answered",
    ]
    await rig.session.close()


def stored(so_far: list[Chunk]) -> Opened:
    """What the store has of a session whose server was killed now."""
    transcript = Transcript()
    for chunk in so_far:
        transcript.apply(chunk)
    growing = transcript.open_message
    messages: list[Message] = [*transcript.messages, *([growing] if growing else [])]
    known = Conversation("s", under_way=transcript.under_way)
    return Opened(known, tuple(messages), transcript.turns, 1, transcript.told)


async def test_a_session_that_is_closed_in_mid_run_says_so() -> None:
    rig = Rig([*code("print 1\nwait"), *code("print 2", index=1)])
    rig.session.send("Go.")
    rig.session.approve(await rig.proposal())
    while not any(chunk.content == "1\n" for chunk in rig.chunks):
        await asyncio.sleep(0)
    await rig.session.close()
    notes = [message.text for message in rig.session.messages if message.type == "message" and message.parent]
    assert notes == [CUT_OFF, NOT_RUN]
    assert [str(chunk.content).partition(":")[0] for chunk in rig.chunks if chunk.type == "error"] == [
        "Interrupted while code ran"
    ]
    rig.checked()


async def test_what_a_conversation_cost_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    recorder = Recorder(path, Conversation("s1"))
    rig = Rig()
    rig.session.stream.subscribe(recorder)
    recorder.describe(prompt_tokens=12, completion_tokens=3, cost=0.5)
    await rig.ask("Cost something.")
    await asyncio.to_thread(recorder.close)
    with Store(path) as store:
        known = store.open("s1").conversation
    assert (known.prompt_tokens, known.completion_tokens, known.cost) == (12, 3, 0.5)
    await rig.session.close()
