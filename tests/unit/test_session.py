"""The session and its turns, with a scripted model and a tiny runtime."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator

import pytest
from attrs import evolve

from oi_engine.computer.runtime import Failure, Finished, Rich, RunEvent, Text
from oi_engine.errors import ModelError, OiError, SessionBusy, UnknownInput, UnknownProposal
from oi_engine.messages import Chunk, Message
from oi_engine.models.model import Usage
from oi_engine.session.session import Session
from oi_engine.session.state import UsageTotals
from oi_engine.settings import Settings
from oi_engine.stream import check_stream
from oi_engine.transcript import fold
from tests.fakes.scripted import ScriptedModel, TinyRuntime, code, say
from tests.unit.session_rig import Rig


async def test_ask_write_approve_run() -> None:
    rig = Rig([*say("I add them."), *code("print 3")], say("It is 3."))
    ticket = rig.session.send("What is 1 + 2?")
    assert not ticket.queued
    turn = rig.session.approve(await rig.proposal())
    assert turn == ticket.turn_id
    await rig.session.idle()
    assert rig.ran == ["print 3"]
    assert rig.said() == [
        ("user", "message", "What is 1 + 2?"),
        ("assistant", "message", "I add them."),
        ("assistant", "code", "print 3"),
        ("computer", "console", "3\n"),
        ("assistant", "message", "It is 3."),
    ]
    rig.checked()


async def test_the_chunks_are_the_documented_ones() -> None:
    rig = Rig(code("print 3"), say("ok"), auto_run=True)
    rig.session.send("go")
    await rig.session.idle()
    plain = []
    for chunk in rig.chunks:
        if chunk.type == "command":
            continue  # ours: that it runs, and how that ended
        found = chunk.to_dict()
        for added in ("id", "created_at", "parent"):
            found.pop(added, None)
        plain.append(found)
    code_chunks = [c for c in plain if c["role"] == "assistant" and c["type"] == "code"]
    assert code_chunks[0] == {"role": "assistant", "type": "code", "format": "python", "start": True}
    assert code_chunks[-1] == {"role": "assistant", "type": "code", "format": "python", "end": True}
    assert "".join(c["content"] for c in code_chunks[1:-1]) == "print 3"
    at = plain.index({"role": "computer", "type": "console", "start": True})
    assert plain[at - 1 : at + 5] == [
        {
            "role": "computer",
            "type": "confirmation",
            "format": "execution",
            "content": {"type": "code", "format": "python", "content": "print 3"},
        },
        {"role": "computer", "type": "console", "start": True},
        {"role": "computer", "type": "console", "format": "active_line", "content": "1"},
        {"role": "computer", "type": "console", "format": "output", "content": "3\n"},
        {"role": "computer", "type": "console", "end": True},
        {"role": "assistant", "type": "message", "start": True},
    ]
    assert plain[-1] == {"role": "server", "type": "status", "content": "complete"}


async def test_what_was_edited_is_what_runs_and_the_model_is_told() -> None:
    rig = Rig(code("print 3"))
    rig.session.send("go")
    rig.session.approve(await rig.proposal(), "print é\n\n")
    await rig.session.idle()
    assert rig.ran == ["print é\n\n"]
    generated, edited = [m for m in rig.session.messages if m.type == "code"]
    assert (generated.role, generated.text) == ("assistant", "print 3")
    assert (edited.role, edited.text, edited.parent) == ("user", "print é\n\n", generated.id)
    prompt = rig.model.requests[1].messages
    assert json.loads(prompt[2]["tool_calls"][0]["function"]["arguments"])["code"] == "print é\n\n"
    assert "edited the code before it ran" in prompt[3]["content"]
    assert prompt[3]["content"].endswith("é")
    rig.checked()


async def test_a_rejection_reaches_the_model_with_its_reason() -> None:
    rig = Rig([*code("print 1"), *code("print 2", index=1)])
    rig.session.send("go")
    rig.session.reject(await rig.proposal(), "not on a Friday")
    await rig.session.idle()
    assert rig.ran == []
    tools = [m["content"] for m in rig.model.requests[1].messages if m["role"] == "tool"]
    assert tools == [
        "The person declined to run this code. They said: not on a Friday",
        "Not run, because the block before it was declined.",
    ]
    rig.checked()


async def test_a_decision_counts_once_and_only_for_its_proposal() -> None:
    rig = Rig(code("print 1"))
    rig.session.send("go")
    proposal = await rig.proposal()
    with pytest.raises(UnknownProposal):
        rig.session.approve("p-other")
    rig.session.approve(proposal)
    with pytest.raises(UnknownProposal):
        rig.session.reject(proposal)
    await rig.session.idle()
    assert rig.ran == ["print 1"]


async def test_always_is_for_this_exact_code() -> None:
    rig = Rig(code("print 1"), code("print 1"), code("print 2"))
    rig.session.send("go")
    rig.session.approve(await rig.proposal(), always=True)
    snapshot = await rig.until(lambda s: s.proposal is not None and s.proposal.cell.code == "print 2")
    assert snapshot.state == "awaiting_approval"
    assert rig.ran == ["print 1", "print 1"]
    rig.session.stop()
    await rig.session.idle()
    assert rig.ran == ["print 1", "print 1"]


async def test_a_change_of_the_policy_is_in_the_stream_and_not_in_the_conversation() -> None:
    rig = Rig(say("one"), say("two"))
    await rig.ask("go")
    before = rig.said()
    rig.session.settings = evolve(rig.session.settings, auto_run=True)
    told = [chunk.content for chunk in rig.chunks if "`auto_run`: true, before false" in str(chunk.content)]
    assert len(told) == 1
    assert rig.said() == before
    rig.session.settings = evolve(rig.session.settings, verbose=True)
    assert sum("before" in str(chunk.content) for chunk in rig.chunks) == 1
    await rig.ask("go on")
    assert "auto_run" not in json.dumps(rig.model.requests, default=str)
    rig.checked()


async def test_in_the_midst_of_prose_it_waits_for_its_end() -> None:
    never = asyncio.Event()
    rig = Rig([*say("half a"), never])
    rig.session.send("go")
    await rig.until(lambda s: s.state == "thinking")
    while "half a" not in "".join(str(chunk.content) for chunk in rig.chunks):
        await asyncio.sleep(0)
    rig.session.settings = evolve(rig.session.settings, auto_run=True)
    rig.session.stop()
    await rig.session.idle()
    assert any("`auto_run`: true" in str(chunk.content) for chunk in rig.chunks)
    rig.checked()


async def test_sandboxed_without_a_sandbox_asks_and_says_why() -> None:
    rig = Rig(code("print 1"), auto_run="sandboxed")
    rig.session.send("go")
    snapshot = await rig.until(lambda s: s.proposal is not None)
    assert snapshot.proposal is not None
    assert "There is no sandbox here." in snapshot.proposal.findings[0]
    rig.session.stop()
    await rig.session.idle()
    assert rig.ran == []


async def test_what_must_be_in_a_sandbox_does_not_run_without_one() -> None:
    rig = Rig(code("print 1"), say("ok"), auto_run=True, sandbox="strict")
    await rig.ask("go")
    assert rig.ran == []
    assert any("must run in a sandbox" in text for _, _, text in rig.said())
    rig.session.run("python", "print 2")
    await rig.session.idle()
    assert rig.ran == []


async def test_stop_while_thinking_keeps_what_was_said() -> None:
    never = asyncio.Event()
    rig = Rig([*say("half a"), never])
    rig.session.send("go")
    while not any(chunk.content == "a" for chunk in rig.chunks):
        await asyncio.sleep(0)
    assert rig.session.stop().stopped
    await rig.session.idle()
    assert ("assistant", "message", "half a") in rig.said()
    rig.session.send("and now?")
    await rig.session.idle()
    assert "The person stopped this turn." in rig.model.requests[1].messages[-1]["content"]
    rig.checked()


async def test_stop_before_the_turn_has_even_begun() -> None:
    rig = Rig(say("never heard"))
    rig.session.send("go")
    rig.session.stop()
    await rig.session.idle()
    assert rig.session.snapshot.state == "idle"
    rig.checked()


async def test_stop_while_running_interrupts_and_keeps_the_kernel() -> None:
    rig = Rig(code("print 1\nwait\nprint 2"))
    rig.session.send("go")
    rig.session.approve(await rig.proposal())
    while not any(chunk.content == "2" and chunk.format == "active_line" for chunk in rig.chunks):
        await asyncio.sleep(0)
    rig.session.stop()
    await rig.session.idle()
    assert len(rig.runtimes) == 1
    assert not rig.runtimes[0].closed
    assert len(rig.model.requests) == 1
    assert any("variables are kept" in text for _, _, text in rig.said())
    rig.checked()


async def test_a_program_that_does_not_stop_loses_its_kernel_and_that_is_said() -> None:
    rig = Rig(code("wait"), auto_run=True)
    rig.session.send("go")
    await rig.until(lambda s: s.state == "running")
    while not rig.runtimes or not rig.runtimes[0].ran:
        await asyncio.sleep(0)

    async def stubborn() -> bool:
        return False

    rig.runtimes[0].interrupt = stubborn  # type: ignore[method-assign]
    rig.session.stop()
    await rig.session.idle()
    assert rig.runtimes[0].closed
    assert any("Variables are gone" in text for _, _, text in rig.said())
    rig.checked()


async def test_messages_in_mid_turn_are_queued_visibly() -> None:
    rig = Rig(code("print 1"), say("first"), say("second"))
    rig.session.send("one")
    proposal = await rig.proposal()
    assert rig.session.send("two").queued
    assert [waiting.text for waiting in rig.session.snapshot.queue] == ["two"]
    rig.session.approve(proposal)
    await rig.session.idle()
    assert [text for role, _, text in rig.said() if role == "user"] == ["one", "two"]
    assert rig.said()[-1] == ("assistant", "message", "second")
    rig.checked()


async def test_stop_hands_queued_messages_back() -> None:
    rig = Rig(code("print 1"))
    rig.session.send("one")
    await rig.proposal()
    rig.session.send("two")
    stopped = rig.session.stop()
    assert stopped.unsent == ("two",)
    await rig.session.idle()
    assert [text for role, _, text in rig.said() if role == "user"] == ["one"]


async def test_input_is_answered_by_the_person() -> None:
    rig = Rig(code("input"), auto_run=True)
    rig.session.send("go")
    snapshot = await rig.until(lambda s: s.input is not None)
    assert snapshot.state == "awaiting_input"
    assert snapshot.input is not None
    with pytest.raises(UnknownInput):
        rig.session.answer("i-other", "x")
    rig.session.answer(snapshot.input.id, "Ada")
    with pytest.raises(UnknownInput):
        rig.session.answer(snapshot.input.id, "again")
    await rig.session.idle()
    assert ("computer", "console", "got Ada\n") in rig.said()


async def test_a_failed_reply_ends_the_turn_and_the_next_one_works() -> None:
    rig = Rig([*say("I was"), ModelError("quota", "The account is empty.", "Top it up.")], say("fine"))
    rig.session.send("go")
    await rig.session.idle()
    assert [c.to_dict()["content"] for c in rig.chunks if c.type == "error"] == ["The account is empty. Top it up."]
    rig.session.send("again")
    await rig.session.idle()
    assert rig.said()[-1] == ("assistant", "message", "fine")
    rig.checked()


async def test_code_of_a_reply_that_broke_off_does_not_run() -> None:
    rig = Rig([*code("print 1")[:3], ModelError("dropped", "The connection broke.")], auto_run=True)
    rig.session.send("go")
    await rig.session.idle()
    assert rig.ran == []
    assert any("broke off" in text for _, _, text in rig.said())
    rig.checked()


async def test_an_empty_reply_is_said() -> None:
    rig = Rig([])
    rig.session.send("go")
    await rig.session.idle()
    assert any("replied with nothing" in str(c.content) for c in rig.chunks if c.type == "error")


async def test_the_persons_own_code_runs_and_the_model_hears_of_it() -> None:
    rig = Rig(say("I see."))
    rig.session.run("py", "print 7")
    await rig.session.idle()
    assert rig.ran == ["print 7"]
    assert rig.model.requests == []
    rig.session.send("what was that?")
    await rig.session.idle()
    told = rig.model.requests[0].messages[1]["content"]
    assert "print 7" in told
    assert "Output:\n7" in told
    rig.checked()


async def test_a_dead_kernel_is_said_and_the_next_run_is_fresh() -> None:
    rig = Rig(code("die"), code("print 1"), auto_run=True)
    rig.session.send("go")
    await rig.session.idle()
    assert rig.ran == ["die", "print 1"]
    assert any("The kernel died (die)" in text for _, _, text in rig.said())
    rig.checked()


async def test_rewrite_keeps_what_is_alike_and_else_begins_anew() -> None:
    rig = Rig(say("One."), say("Two."), say("Three."))
    rig.session.send("first")
    await rig.session.idle()
    before = list(rig.session.messages)
    added = [Message("user", "message", "second", id="a"), Message("assistant", "message", "Second.", id="b")]
    rig.session.rewrite([Message("user", "message", "first"), Message("assistant", "message", "One."), *added])
    assert rig.session.messages[:2] == before
    assert rig.said()[2:] == [("user", "message", "second"), ("assistant", "message", "Second.")]
    rig.session.undo()
    assert len(rig.session.messages) == 2
    rig.session.rewrite(added)
    assert rig.said() == [("user", "message", "second"), ("assistant", "message", "Second.")]
    assert [chunk.content for chunk in rig.chunks if chunk.type == "command"] == ["undo", "reset"]
    rig.checked()
    rig.session.send("third")
    with pytest.raises(SessionBusy):
        rig.session.rewrite([])
    await rig.session.idle()
    assert rig.model.requests[-1].messages[-3:] == [
        {"role": "user", "content": "second"},
        {"role": "assistant", "content": "Second."},
        {"role": "user", "content": "third"},
    ]


async def test_what_a_turn_costs_is_told_apart_from_the_session() -> None:
    first = [*code("print 1"), Usage(100, 10, 0.02)]
    second = [*say("One."), Usage(120, 5, 0.01)]
    rig = Rig(first, second, [*say("Two."), Usage(200, 1)], auto_run=True)
    rig.session.send("one")
    await rig.session.idle()
    assert rig.session.snapshot.turn_usage == rig.session.snapshot.usage == UsageTotals(220, 15, 0.03)
    rig.session.send("two")
    assert rig.session.snapshot.turn_usage == UsageTotals(), "it begins with nothing"
    await rig.session.idle()
    assert rig.session.snapshot.turn_usage == UsageTotals(200, 1), "what is not known is not nothing"
    assert rig.session.snapshot.usage == UsageTotals(420, 16, 0.03)


async def test_undo_takes_back_one_turn_and_reset_all() -> None:
    rig = Rig(say("one"), say("two"))
    rig.session.send("first")
    await rig.session.idle()
    rig.session.send("second")
    with pytest.raises(SessionBusy):
        rig.session.undo()
    await rig.session.idle()
    rig.session.undo()
    assert [text for _, _, text in rig.said()] == ["first", "one"]
    rig.checked()
    rig.session.reset()
    assert rig.said() == []
    rig.checked()


async def test_undo_takes_back_to_a_message_of_an_earlier_turn() -> None:
    rig = Rig(say("one"), say("two"), say("three"))
    for text in ("first", "second", "third"):
        rig.session.send(text)
        await rig.session.idle()
    _, _, second, *_ = rig.session.messages
    with pytest.raises(OiError, match="nobody"):
        rig.session.undo("nobody")
    assert len(rig.session.messages) == 6
    rig.session.undo(second.id)
    assert [text for _, _, text in rig.said()] == ["first", "one"]
    with pytest.raises(OiError):
        rig.session.undo(second.id)
    rig.checked()


async def test_the_loop_goes_on_until_a_breaker() -> None:
    rig = Rig([*say("working")], say("The task is done."), loop=True)
    rig.session.send("go")
    await rig.session.idle()
    assert len(rig.model.requests) == 2
    assert rig.model.requests[1].messages[-1]["content"].startswith("Go on.")


async def test_without_tools_fences_are_code_and_text_after_them_is_kept() -> None:
    reply = say("First.\n```py\nprint 1\n```\nThen more.\n```json\n{}\n```")
    rig = Rig(reply, tools=False, auto_run=True)
    rig.session.send("go")
    await rig.session.idle()
    assert rig.ran == ["print 1"]
    kinds = [(role, kind) for role, kind, _ in rig.said()]
    assert kinds[:5] == [
        ("user", "message"),
        ("assistant", "message"),
        ("assistant", "code"),
        ("assistant", "message"),
        ("computer", "console"),
    ]
    assert "```json" in rig.said()[3][2]
    assert rig.model.requests[1].messages[-1]["content"].startswith("Code output: 1\n")
    rig.checked()


@pytest.mark.parametrize("nothing", ["", " \n"])
async def test_an_empty_message_is_refused(nothing: str) -> None:
    with pytest.raises(OiError):
        Rig().session.send(nothing)


async def test_after_close_nothing_runs() -> None:
    rig = Rig(code("print 1"))
    rig.session.send("go")
    proposal = await rig.proposal()
    await rig.session.close()
    with pytest.raises(OiError):
        rig.session.approve(proposal)
    with pytest.raises(SessionBusy):
        rig.session.send("more")
    assert rig.ran == []
    rig.checked()


class FailingRuntime(TinyRuntime):
    """Prints in line 2 and fails in line 3."""

    async def run(self, code: str) -> AsyncGenerator[RunEvent, None]:
        yield Text("two\n", line=2)
        yield Rich("image", "base64.png", "aW1hZ2U=", line=2)
        yield Text("Traceback\n", "traceback")
        yield Failure(3, "ZeroDivisionError", "division by zero", 0, 3, 3)
        yield Finished("error", "ZeroDivisionError")


async def test_lines_are_in_the_stream_alone_and_the_place_of_a_failure_is_kept_with_its_message() -> None:
    session = Session(ScriptedModel(), lambda language, cwd: FailingRuntime([]))
    chunks: list[Chunk] = []
    session.stream.subscribe(lambda entry: chunks.append(entry.chunk))
    session.run("python", "1\nprint('two')\n1/0")
    await session.idle()
    await session.close()
    at_lines = [(c.type, c.content, c.line) for c in chunks if c.line is not None]
    assert at_lines == [("console", "two\n", 2), ("image", "aW1hZ2U=", 2)]
    (failed,) = [chunk.to_dict() for chunk in chunks if chunk.failure is not None]
    place = {"line": 3, "column": 0, "end_line": 3, "end_column": 3}
    assert failed["failure"] == {**place, "name": "ZeroDivisionError", "message": "division by zero"}
    assert (failed["format"], failed["content"]) == ("active_line", None)
    assert [chunk.content for chunk in chunks if chunk.format == "run"] == [{"state": "running"}, {"state": "error"}]
    check_stream(chunks)
    assert fold(chunks) == session.messages
    assert [m.text for m in session.messages if m.type == "console"] == ["two\n", "Traceback\n"]
    assert [m.failure for m in session.messages if m.failure is not None] == [failed["failure"]]
    assert fold([entry.chunk for entry in session.stream.entries_after(0)]) == session.messages


class TableRuntime(TinyRuntime):
    """Shows a table, between two lines that it prints."""

    async def run(self, code: str) -> AsyncGenerator[RunEvent, None]:
        for event in (Text("one\n"), Text("a b\n", "twin"), Rich("code", "html", "<table>"), Text("two\n")):
            yield event
        yield Finished()


async def test_of_markup_the_model_gets_the_words_and_the_person_the_markup() -> None:
    model = ScriptedModel([code("show"), say("ok")])
    session = Session(model, lambda language, cwd: TableRuntime([]), Settings(auto_run=True))
    session.send("go")
    await session.idle()
    shown = [(m.type, m.text, m.recipient) for m in session.messages if m.role == "computer" and m.parent]
    assert shown == [
        ("console", "one\n", None),
        ("console", "a b\n", "assistant"),
        ("code", "<table>", None),
        ("console", "two\n", None),
    ]
    told = model.requests[-1].messages[-1]["content"]
    assert told == "one\na b\ntwo\n(Output as html was shown to the person.)"
    await session.close()
