"""A session over real standard input and output: every command, with a scripted model and a runtime of a test's own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from oi_lsp.protocol import ErrorCode
from tests.fakes.lsp_client import LspClient, Refused, server

Scripted = Callable[..., AbstractAsyncContextManager[LspClient]]


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    return tmp_path / "requests"


@pytest.fixture
def scripted(requests: Path) -> Scripted:
    """A server with a script, initialized."""

    @asynccontextmanager
    async def start(*replies: list[dict[str, Any]], options: object = None) -> AsyncIterator[LspClient]:
        env = {"OI_SCRIPT": json.dumps({"replies": replies}), "OI_REQUESTS": str(requests)}
        async with server(env=env) as client:
            await client.initialize(options)
            yield client

    return start


def code(source: str) -> list[dict[str, Any]]:
    return [{"code": source}]


def say(text: str) -> list[dict[str, Any]]:
    return [{"say": text}]


async def whole(client: LspClient, session: str) -> list[dict[str, Any]]:
    """The messages that the client has, which must be those that the server has."""
    opened = await client.command("oi.session.open", sessionId=session)
    follower = client.of(session)
    await client.until(lambda: follower.next_seq == opened["nextSeq"])
    messages = [message.to_dict() for message in follower.check()]
    assert messages == opened["messages"]
    assert follower.gaps == []
    return messages


async def refused(client: LspClient, name: str, **argument: object) -> Refused:
    with pytest.raises(Refused) as caught:
        await client.command(name, **argument)
    return caught.value


async def test_send_propose_approve_output_complete(scripted: Scripted, tmp_path: Path) -> None:
    async with scripted([*say("Look: "), *code("print hi")], say("That was it.")) as client:
        session = await client.new_session(cwd=str(tmp_path), title="first")
        turn = await client.turn(session, "do it")
        proposal = await client.proposal(session)
        assert (proposal["language"], proposal["code"]) == ("python", "print hi")
        assert client.of(session).chunks[-1]["type"] == "confirmation"
        assert await client.command("oi.code.approve", sessionId=session, proposalId=proposal["id"]) == {"turnId": turn}
        follower = await client.ended(session, turn)
        assert follower.text() == "hi\n"
        assert [(m["role"], m["type"]) for m in await whole(client, session)] == [
            ("user", "message"),
            ("assistant", "message"),
            ("assistant", "code"),
            ("computer", "console"),
            ("assistant", "message"),
        ]
        assert follower.replayed == 0
        assert "awaiting_approval" in [state["state"] for state in follower.states]
        assert (await client.state(session, "idle"))["usage"] == {"promptTokens": 0, "completionTokens": 0}
        listed = (await client.command("oi.session.list"))["sessions"]
        assert [(s["sessionId"], s["title"], s["cwd"]) for s in listed] == [(session, "first", str(tmp_path))]


async def test_edited_code_runs_to_the_byte(scripted: Scripted) -> None:
    edited = "print 🦆 \u202e'quoted' \\n\nprint  two  spaces  "
    async with scripted(code("print generated"), say("ok")) as client:
        session = await client.new_session()
        turn = await client.turn(session, "do it")
        await client.approve(session, code=edited)
        await client.ended(session, turn)
        messages = await whole(client, session)
        codes = [(m["role"], m["content"]) for m in messages if m["type"] == "code"]
        assert codes == [("assistant", "print generated"), ("user", edited)]
        assert "two  spaces" in client.of(session).text()
        assert "generated" not in client.of(session).text()


async def test_a_rejection_reaches_the_models_next_request(scripted: Scripted, requests: Path) -> None:
    async with scripted(code("print hi"), say("I see.")) as client:
        session = await client.new_session()
        turn = await client.turn(session, "do it")
        proposal = await client.proposal(session)
        reason = "use the other file"
        await client.command("oi.code.reject", sessionId=session, proposalId=proposal["id"], reason=reason)
        follower = await client.ended(session, turn)
        assert follower.text() == ""
        again = await refused(client, "oi.code.approve", sessionId=session, proposalId=proposal["id"])
        assert (again.code, again.data["field"]) == (ErrorCode.UNKNOWN_PROPOSAL, "proposalId")
        assert "remedy" in again.data
    asked = requests.read_text().splitlines()  # noqa: ASYNC240 -- the server is gone
    assert len(asked) == 2
    assert reason in asked[1]


async def test_always_does_not_ask_again(scripted: Scripted) -> None:
    async with scripted(code("print hi"), code("print hi"), say("ok")) as client:
        session = await client.new_session()
        turn = await client.turn(session, "do it")
        await client.approve(session, always=True)
        follower = await client.ended(session, turn)
        assert follower.text() == "hi\nhi\n"


async def test_auto_run_from_the_editors_settings_and_a_bad_setting_is_said(scripted: Scripted) -> None:
    options = {"oi": {"protocolVersion": 1}, "settings": {"auto_run": True, "autorun": True}, "theme": "dark"}
    async with scripted(code("print hi"), say("ok"), options=options) as client:
        session = await client.new_session()
        follower = await client.ended(session, await client.turn(session, "go"))
        assert follower.text() == "hi\n"
        shown = [params["message"] for method, params in client.notifications if method == "window/showMessage"]
        assert len(shown) == 1
        assert "'autorun'" in shown[0]
        settings = (await client.command("oi.settings.get", sessionId=session))["settings"]
        assert settings["auto_run"] is True
        assert "api_key" not in settings["llm"]


async def test_stop_while_the_model_thinks_gives_queued_messages_back(scripted: Scripted) -> None:
    async with scripted([*say("Well "), {"wait": True}]) as client:
        session = await client.new_session()
        turn = await client.turn(session, "one")
        assert (await client.command("oi.chat.send", sessionId=session, content="two"))["queued"] is True
        await client.until(lambda: client.of(session).text("message", None).endswith("Well "))
        await client.until(lambda: client.of(session).state["queue"])
        queue = client.of(session).state["queue"]
        assert [waiting["text"] for waiting in queue] == ["two"]
        assert await client.command("oi.chat.stop", sessionId=session) == {"stopped": True, "unsent": ["two"]}
        await client.ended(session, turn)
        await client.state(session, "idle")
        assert await client.command("oi.chat.stop", sessionId=session) == {"stopped": False, "unsent": []}
        await client.ended(session, await client.turn(session, "again"))
        await whole(client, session)


async def test_stop_while_code_waits_for_approval(scripted: Scripted) -> None:
    async with scripted(code("print never")) as client:
        session = await client.new_session()
        turn = await client.turn(session, "one")
        proposal = await client.proposal(session)
        assert (await client.command("oi.chat.stop", sessionId=session))["stopped"] is True
        await client.ended(session, turn)
        late = await refused(client, "oi.code.approve", sessionId=session, proposalId=proposal["id"])
        assert late.code == ErrorCode.UNKNOWN_PROPOSAL
        assert client.of(session).text() == ""
        await whole(client, session)


async def test_stop_while_code_runs(scripted: Scripted) -> None:
    async with scripted(code("print before\nwait\nprint after")) as client:
        session = await client.new_session()
        turn = await client.turn(session, "one")
        await client.approve(session)
        await client.until(lambda: client.of(session).text() == "before\n")
        assert (await client.command("oi.chat.stop", sessionId=session))["stopped"] is True
        follower = await client.ended(session, turn)
        assert follower.text() == "before\n"
        assert ("user", "command", "stop") in [(c["role"], c["type"], c.get("content")) for c in follower.chunks]
        await whole(client, session)


async def test_a_program_is_answered(scripted: Scripted) -> None:
    async with scripted(code("input"), say("ok")) as client:
        session = await client.new_session()
        turn = await client.turn(session, "one")
        await client.approve(session)
        asked = (await client.state(session, "awaiting_input"))["input"]
        assert (asked["prompt"], asked["password"]) == ("? ", False)
        wrong = await refused(client, "oi.input.answer", sessionId=session, inputId="i-0", text="x")
        assert (wrong.code, wrong.data["field"]) == (ErrorCode.UNKNOWN_INPUT, "inputId")
        assert await client.command("oi.input.answer", sessionId=session, inputId=asked["id"], text="Ada") == {}
        follower = await client.ended(session, turn)
        assert "got Ada" in follower.text()


async def test_stop_while_a_program_waits_for_input(scripted: Scripted) -> None:
    async with scripted(code("input")) as client:
        session = await client.new_session()
        turn = await client.turn(session, "one")
        await client.approve(session)
        await client.state(session, "awaiting_input")
        await client.command("oi.chat.stop", sessionId=session)
        await client.ended(session, turn)
        await whole(client, session)


async def test_interrupt_ends_the_program_and_not_the_turn(scripted: Scripted) -> None:
    async with scripted(code("print before\nwait"), say("It was interrupted.")) as client:
        session = await client.new_session()
        turn = await client.turn(session, "one")
        await client.approve(session)
        await client.until(lambda: client.of(session).text() == "before\n")
        assert await client.command("oi.kernel.interrupt", sessionId=session) == {}
        follower = await client.ended(session, turn)
        assert "It was interrupted." in follower.text("message", None)


async def test_restart_is_said_in_the_stream(scripted: Scripted) -> None:
    async with scripted() as client:
        run = await client.command("oi.code.run", language="python", code="print hi")
        session = run["sessionId"]
        await client.ended(session, run["turnId"])
        assert await client.command("oi.kernel.restart", sessionId=session, language="py") == {}
        await client.until(lambda: "Restarted: python" in client.of(session).text("message", None))


async def test_own_code_runs_unasked_in_one_session(scripted: Scripted) -> None:
    async with scripted() as client:
        first = await client.command("oi.code.run", language="python", code="print one")
        await client.ended(first["sessionId"], first["turnId"])
        second = await client.command("oi.code.run", language="python", code="print two")
        assert second["sessionId"] == first["sessionId"]
        follower = await client.ended(second["sessionId"], second["turnId"])
        assert follower.text() == "one\ntwo\n"
        roles = [(m["role"], m["type"]) for m in await whole(client, first["sessionId"])]
        assert roles == [("user", "code"), ("computer", "console")] * 2


async def test_a_gap_is_filled_by_a_replay(scripted: Scripted) -> None:
    async with scripted([*say("a b c d "), *code("print hi")], say("one two three")) as client:
        session = await client.new_session()
        turn = await client.turn(session, "go")
        proposal = await client.proposal(session)
        follower = client.of(session)
        follower.losing = True
        await client.command("oi.code.approve", sessionId=session, proposalId=proposal["id"])
        await client.state(session, "idle")
        follower.losing = False
        missed = follower.next_seq
        again = await client.command("oi.session.replay", sessionId=session, afterSeq=missed - 1)
        assert again["seq"] <= missed
        await client.ended(session, turn)
        assert await whole(client, session)
        everything = await client.command("oi.session.replay", sessionId=session, afterSeq=0)
        assert everything == {"seq": 1}
        await client.until(lambda: follower.replayed)
        await client.until(lambda: follower.chunks and follower.chunks[-1]["type"] == "status")
        await whole(client, session)
        past = await refused(client, "oi.session.replay", sessionId=session, afterSeq=follower.next_seq)
        assert (past.code, past.data["field"]) == (ErrorCode.INVALID_PARAMS, "afterSeq")


async def test_two_sessions_at_once_do_not_mix(scripted: Scripted) -> None:
    async with scripted([*say("thinking "), *code("print hi")], say("done")) as client:
        sessions = [await client.new_session(title=str(number)) for number in range(2)]
        turns = [await client.turn(session, f"to {session}") for session in sessions]
        for session in reversed(sessions):
            await client.approve(session)
        for session, turn in zip(sessions, turns, strict=True):
            follower = await client.ended(session, turn)
            assert {note["sessionId"] for note in follower.notifications} == {session}
            messages = await whole(client, session)
            assert messages[0]["content"] == f"to {session}"
        listed = (await client.command("oi.session.list"))["sessions"]
        assert [each["sessionId"] for each in listed] == sessions[::-1]


async def test_undo_reset_rename_export(scripted: Scripted) -> None:
    async with scripted(say("first"), say("second")) as client:
        session = await client.new_session()
        for text in ("one", "two"):
            await client.ended(session, await client.turn(session, text))
        assert len((await client.command("oi.session.export", sessionId=session))["messages"]) == 4
        assert await client.command("oi.session.undo", sessionId=session) == {}
        assert [m["content"] for m in await whole(client, session)] == ["one", "first"]
        assert await client.command("oi.session.rename", sessionId=session, title="new") == {}
        assert await client.command("oi.session.reset", sessionId=session) == {}
        assert await whole(client, session) == []
        assert (await client.command("oi.session.list"))["sessions"][0]["title"] == "new"
        assert await client.command("oi.usage.get", sessionId=session) == {"promptTokens": 0, "completionTokens": 0}


async def test_history_is_not_edited_in_mid_turn(scripted: Scripted) -> None:
    async with scripted([{"wait": True}]) as client:
        session = await client.new_session()
        await client.turn(session, "one")
        busy = await refused(client, "oi.session.undo", sessionId=session)
        assert busy.code == ErrorCode.SESSION_BUSY


async def test_a_closed_session_can_be_read_and_deleted(scripted: Scripted) -> None:
    async with scripted(code("print never")) as client:
        session = await client.new_session()
        turn = await client.turn(session, "one")
        await client.proposal(session)
        assert await client.command("oi.session.close", sessionId=session) == {}
        await client.ended(session, turn)
        assert client.of(session).text() == ""
        closed = await refused(client, "oi.chat.send", sessionId=session, content="more")
        assert closed.code == ErrorCode.SESSION_BUSY
        opened = await client.command("oi.session.open", sessionId=session)
        assert opened["info"]["closed"] is True
        assert await client.command("oi.session.delete", sessionId=session) == {}
        gone = await refused(client, "oi.session.open", sessionId=session)
        assert (gone.code, gone.data["field"]) == (ErrorCode.UNKNOWN_SESSION, "sessionId")


async def test_opening_in_mid_turn_tells_where_to_go_on(scripted: Scripted) -> None:
    async with scripted([*say("Well "), {"wait": True}]) as client:
        session = await client.new_session()
        await client.turn(session, "one")
        await client.until(lambda: "Well " in client.of(session).text("message", None))
        opened = await client.command("oi.session.open", sessionId=session)
        assert [m["content"] for m in opened["messages"]] == ["one"]
        assert opened["nextSeq"] == 4
        assert opened["state"]["state"] == "thinking"
        again = await client.command("oi.session.replay", sessionId=session, afterSeq=opened["nextSeq"] - 1)
        assert again == {"seq": 4}


async def test_messages_and_attachments_are_sent_as_lmc(scripted: Scripted) -> None:
    image = {"role": "user", "type": "image", "format": "base64.png", "content": "aW1hZ2U="}
    async with scripted() as client:
        session = await client.new_session()
        text = {"role": "user", "type": "message", "content": "look"}
        turn = await client.turn(session, [text, image])
        await client.ended(session, turn)
        await client.command("oi.chat.send", sessionId=session, content="and", attachments=[image])
        await client.until(lambda: sum(c["type"] == "status" for c in client.of(session).chunks) == 2)
        kinds = [(m["type"], m.get("format")) for m in await whole(client, session) if m["role"] == "user"]
        assert kinds == [("message", None), ("image", "base64.png")] * 2


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"role": "computer", "type": "message", "content": "x"}, "content[0].role"),
        ({"role": "user", "type": "confirmation", "content": "x"}, "content[0].type"),
        ({"role": "user", "type": ["message"], "content": "x"}, "content[0].type"),
        ({"role": "user", "content": {"type": "code"}}, "content[0].content"),
        ({"role": "user", "content": "\ud800"}, "content[0].content"),
        ({"role": "user", "content": "x", "format": 5}, "content[0].format"),
    ],
)
async def test_messages_of_another_kind_are_refused(scripted: Scripted, message: object, field: str) -> None:
    async with scripted() as client:
        session = await client.new_session()
        error = await refused(client, "oi.chat.send", sessionId=session, content=[message])
        assert (error.code, error.data["field"]) == (ErrorCode.INVALID_PARAMS, field)
        empty = await refused(client, "oi.chat.send", sessionId=session, content="")
        assert empty.code == ErrorCode.REFUSED
        assert empty.data["remedy"]


async def test_a_client_that_says_nothing_is_sent_no_notification_of_ours(scripted: Scripted) -> None:
    async with scripted(say("hello"), options={}) as client:
        session = await client.new_session()
        await client.turn(session, "one")
        replay = await refused(client, "oi.session.replay", sessionId=session, afterSeq=0)
        assert replay.code == ErrorCode.INVALID_PARAMS
        await client.command("oi.session.close", sessionId=session)
        assert client.notifications == []


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"oi": {"protocolVersion": 99}}, "initializationOptions.oi.protocolVersion"),
        ({"oi": {"protocolVersion": "1"}}, "initializationOptions.oi.protocolVersion"),
        ({"oi": {}}, "initializationOptions.oi.protocolVersion"),
        ({"oi": 1}, "initializationOptions.oi"),
        ({"settings": []}, "initializationOptions.settings"),
        ([], "initializationOptions"),
    ],
)
async def test_bad_options_are_refused_and_initialize_can_be_tried_again(options: object, field: str) -> None:
    async with server() as client:
        with pytest.raises(Refused) as caught:
            await client.initialize(options)
        assert (caught.value.code, caught.value.data["field"]) == (ErrorCode.INVALID_PARAMS, field)
        if "99" in json.dumps(options):
            assert "99" in caught.value.message
            assert "version 1" in caught.value.message
        result = await client.initialize()
        assert result["serverInfo"]["name"] == "oi-lsp"
        assert "oi.chat.send" in result["capabilities"]["executeCommandProvider"]["commands"]


async def test_the_workspace_folder_is_where_sessions_work(tmp_path: Path) -> None:
    folder = tmp_path / "with space & ü"
    folder.mkdir()
    async with server() as client:
        await client.initialize(workspaceFolders=[{"uri": folder.as_uri(), "name": "it"}])
        session = await client.new_session()
        opened = await client.command("oi.session.open", sessionId=session)
        assert opened["info"]["cwd"] == str(folder)
        bad = await refused(client, "oi.session.new", cwd="relative")
        assert bad.data["field"] == "cwd"
