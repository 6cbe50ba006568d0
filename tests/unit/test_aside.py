"""What is said beside a conversation: in the stream, whole and in its place, and in nothing that is made of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from oi_engine.errors import OiError, SessionBusy
from oi_engine.history.recorder import Recorder
from oi_engine.history.store import Conversation, Store
from oi_engine.messages import Chunk
from oi_engine.session.aside import Answer
from oi_engine.session.state import Ticket
from tests.fakes.scripted import code, say
from tests.unit.session_rig import Rig


def ask(rig: Rig, said: str = "%ask", answer: str = "Answered.", show: str | None = None) -> Ticket:
    async def work() -> Answer:
        return Answer(answer, show)

    return rig.session.aside(said, work)


async def until_shown(rig: Rig, times: int = 1) -> None:
    """Wait until as many asides are in the stream, whole."""
    seen = asyncio.Event()

    def look(_: object) -> None:
        if sum(chunk.type == "status" and chunk.parent is not None for chunk in rig.chunks) >= times:
            seen.set()

    end = rig.session.stream.subscribe(look)
    look(None)
    await asyncio.wait_for(seen.wait(), 10)
    end()


def aside_of(rig: Rig, turn_id: str) -> list[Chunk]:
    return [entry.chunk for entry in rig.session.stream.entries_after(0) if entry.turn_id == turn_id]


async def test_what_was_said_and_the_answer_are_chunks_of_a_turn_id_of_their_own() -> None:
    rig = Rig()
    ticket = ask(rig, show="s-other")
    assert not ticket.queued
    assert rig.chunks == []
    await rig.session.idle()
    mark, *rest = aside_of(rig, ticket.turn_id)
    assert rig.chunks == [mark, *rest]
    assert mark.to_dict() == {"role": "user", "type": "command", "content": "magic", "id": mark.id}
    assert [(c.role, c.type, c.format, c.content, c.recipient) for c in rest if not (c.start or c.end)] == [
        ("user", "message", None, "%ask", "user"),
        ("computer", "message", None, "Answered.", "user"),
        ("computer", "command", "show", "s-other", None),
        ("server", "status", None, "complete", None),
    ]
    assert {c.parent for c in rest if c.start or c.type in ("command", "status")} == {mark.id}
    assert rig.said() == []
    rig.checked()


async def test_no_model_gets_it_and_undo_does_not_count_it() -> None:
    rig = Rig(say("One."), say("Two."))
    for text in ("first", "second"):
        ask(rig)
        rig.session.send(text)
        await rig.session.idle()
        ask(rig)
    await rig.session.idle()
    assert "%ask" not in str(rig.model.requests)
    assert "Answered." not in str(rig.model.requests)
    rig.session.undo()
    assert rig.said() == [("user", "message", "first"), ("assistant", "message", "One.")]
    ask(rig)
    await rig.session.idle()
    rig.session.undo()
    assert rig.said() == []
    rig.checked()


async def test_requests_wait_for_it_in_their_order_and_stop_hands_them_back() -> None:
    rig = Rig(say("One."))
    go_on, done = asyncio.Event(), []

    async def work() -> Answer:
        await go_on.wait()
        done.append(rig.said())
        return Answer()

    rig.session.aside("%slow", work)
    assert rig.session.send("unsent").queued
    assert [waiting.text for waiting in rig.session.snapshot.queue] == ["unsent"]
    stopped = rig.session.stop()
    assert (stopped.stopped, stopped.unsent) == (False, ("unsent",))
    assert rig.session.snapshot.queue == ()
    assert rig.session.send("first").queued
    assert rig.session.snapshot.state == "idle"
    go_on.set()
    await rig.session.idle()
    assert done == [[]]
    assert rig.said() == [("user", "message", "first"), ("assistant", "message", "One.")]
    assert rig.session.snapshot.queue == ()
    rig.checked()


async def test_in_the_middle_of_a_reply_it_waits_for_the_message_to_end() -> None:
    go_on = asyncio.Event()
    rig = Rig([*say("Half a "), go_on, *say("sentence.")])
    rig.session.send("first")
    while rig.session.stream.open_message is None:
        await asyncio.sleep(0)
    asides = [ask(rig, said) for said in ("%one", "%two")]
    for _ in range(10):
        await asyncio.sleep(0)
    assert [aside_of(rig, aside.turn_id) for aside in asides] == [[], []]
    assert rig.session.snapshot.state == "thinking"
    go_on.set()
    await rig.session.idle()
    assert all(aside_of(rig, aside.turn_id)[-1].type == "status" for aside in asides)
    assert rig.said() == [("user", "message", "first"), ("assistant", "message", "Half a sentence.")]
    rig.session.undo()
    assert rig.said() == []
    rig.checked()


async def test_while_a_program_runs_its_output_goes_on_in_another_message() -> None:
    rig = Rig(code("print before\ninput\nprint after"), say("Done."), auto_run=True)
    rig.session.send("go")
    snapshot = await rig.until(lambda s: s.input is not None)
    assert snapshot.input is not None
    turn_id = snapshot.turn_id
    ask(rig)
    await until_shown(rig)
    rig.session.answer(snapshot.input.id, "me")
    await rig.session.idle()
    (source,) = [m for m in rig.session.messages if m.type == "code"]
    output = [m for m in rig.session.messages if m.type == "console"]
    assert [m.text for m in output] == ["before\n", "got me\nafter\n"]
    assert {m.parent for m in output} == {source.id}
    assert aside_of(rig, turn_id or "")[-1].type == "status"
    rig.session.undo()
    assert rig.said() == []
    rig.checked()


async def test_code_that_prints_nothing_is_answered_though_something_was_said_beside_it() -> None:
    rig = Rig(code(""), code("wait"), say("Done."), auto_run=True)
    rig.session.run("python", "")
    ask(rig)
    await rig.session.idle()
    assert [(m.role, m.type) for m in rig.session.messages] == [("user", "code"), ("computer", "console")]
    rig.checked()


@pytest.mark.parametrize(
    ("error", "told"),
    [(OiError("No.", "Do it otherwise."), "No. Do it otherwise."), (KeyError("k"), "Internal error: KeyError: 'k'")],
)
async def test_what_goes_wrong_is_told_as_the_answer(error: Exception, told: str) -> None:
    rig = Rig()

    async def work() -> Answer:
        raise error

    ticket = rig.session.aside("%fail", work)
    await rig.session.idle()
    assert [c.content for c in aside_of(rig, ticket.turn_id) if c.content] == ["magic", "%fail", told, "complete"]


async def test_a_session_that_is_closed_gives_it_up_and_takes_no_more() -> None:
    rig = Rig()
    ended = asyncio.Event()

    async def work() -> Answer:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Answer()

    rig.session.aside("%long", work)
    await asyncio.sleep(0)
    await rig.session.close()
    assert ended.is_set()
    assert rig.chunks == []
    with pytest.raises(SessionBusy):
        ask(rig)


async def test_nothing_of_it_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    rig = Rig(say("One."))
    recorder = Recorder(path, Conversation(rig.session.id))
    rig.session.stream.subscribe(recorder)
    ask(rig)
    await rig.session.idle()
    assert await asyncio.to_thread(recorder.flush) == ""
    with Store(path) as store:
        assert store.page(10) == []
        rig.session.send("first")
        ask(rig)
        await rig.session.idle()
        await asyncio.to_thread(recorder.flush)
        (before,) = store.page(10)
        ask(rig)
        await rig.session.idle()
        await asyncio.to_thread(recorder.close)
        assert store.page(10) == [before]
        assert list(store.open(rig.session.id).messages) == rig.session.messages
    assert before.title == "first"
