"""Magic commands in a chat input of an editor: over real standard input and output, by the delivered server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from oi_engine.magic.commands import COMMANDS
from tests.e2e.product import product, refused, workspace
from tests.e2e.test_history_commands import ran, said
from tests.fakes.lsp_client import LspClient, server


async def does(client: LspClient, session: str, text: str) -> str:
    """Send a magic command. Answers what the person is told, once the client has it."""
    turn = await client.turn(session, text)
    follower = await client.ended(session, turn)
    chunks = [c for note in follower.notifications if note["turnId"] == turn for c in note["chunks"]]
    assert chunks[0] == {"role": "user", "type": "command", "content": "magic", "id": chunks[0]["id"]}
    assert [c["content"] for c in chunks if c["role"] == "user" and c["type"] == "message" and "content" in c] == [text]
    answers = [c for c in chunks if c["role"] == "computer" and c["type"] == "message"]
    assert {c["recipient"] for c in answers} <= {"user"}
    return "".join(c.get("content", "") for c in answers)


async def messages(client: LspClient, session: str) -> list[dict[str, Any]]:
    """The conversation, which is the same at both ends."""
    opened = await client.command("oi.session.open", sessionId=session)
    follower = client.of(session)
    await client.until(lambda: follower.next_seq == opened["nextSeq"])
    assert [message.to_dict() for message in follower.check()] == opened["messages"]
    found: list[dict[str, Any]] = opened["messages"]
    return found


async def test_commands_are_answered_beside_the_conversation(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        session = await said(client, "hello")
        before = await messages(client, session)
        told = await does(client, session, "%help")
        assert all(f"`{command.usage}`" in told for command in COMMANDS.values())
        assert "tokens" in await does(client, session, "%tokens")
        assert "Did you mean %undo?" in await does(client, session, "%unod")
        assert "`99`" in await does(client, session, "%settings llm.max_output 99")
        assert await messages(client, session) == before
        assert "is taken back" in await does(client, session, "%undo")
        assert await messages(client, session) == []
        assert "nothing to take back" in await does(client, session, "%undo")
        assert "begins anew" in await does(client, session, "%reset")
        assert client.of(session).state["state"] == "idle"


async def test_what_begins_with_two_signs_is_a_shell_command(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        session = await client.new_session()
        await client.ended(session, await client.turn(session, "%% echo $((6 * 7)) in $PWD"))
        code, output, *_ = await messages(client, session)
        assert (code["role"], code["type"], code["format"]) == ("user", "code", "shell")
        assert output["content"] == f"42 in {workspace(tmp_path)}\n"


async def test_files_are_those_of_the_session_s_folder(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    async with product(tmp_path) as client:
        session = await client.new_session(cwd=str(folder))
        await client.ended(session, await client.turn(session, "%% echo kept"))
        kept = await messages(client, session)
        assert str(folder / "messages.json") in await does(client, session, "%save_message")
        assert [each["type"] for each in json.loads((folder / "messages.json").read_text())] == ["code", "console"]
        await does(client, session, "%jupyter all.ipynb")
        await does(client, session, "%markdown all.md")
        assert "echo kept" in (folder / "all.md").read_text()
        assert "%help" not in (folder / "all.md").read_text()
        assert json.loads((folder / "all.ipynb").read_text())["nbformat"] == 4
        assert "there already" in await does(client, session, "%save_message")
        await does(client, session, "%reset")
        assert "2 messages" in await does(client, session, "%load_message messages.json")
        assert await messages(client, session) == kept
        offered = await client.command("oi.chat.complete", sessionId=session, text="%load_message me")
        assert [item["text"] for item in offered["items"]] == ["%load_message messages.json"]


async def test_the_session_of_a_conversation_that_is_opened_is_named(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        first = await ran(client, "echo larks")
    async with product(tmp_path) as client:
        session = await client.new_session()
        assert "echo larks" in await does(client, session, "%history")
        assert "Opened" in await does(client, session, "%open 1")
        (show,) = [c for c in client.of(session).chunks if c["type"] == "command" and c.get("format") == "show"]
        assert (show["role"], show["content"]) == ("computer", first)
        opened = await client.command("oi.session.open", sessionId=show["content"])
        assert opened["messages"][0]["content"] == "echo larks"
        assert "No conversation was listed as 7" in await does(client, session, "%open 7")
        # What was only looked at is as it was, and what was only asked beside a conversation makes none.
        (only,) = (await client.command("oi.history.list"))["conversations"]
        assert only["conversationId"] == first


async def test_a_chat_input_is_completed(tmp_path: Path) -> None:
    (workspace(tmp_path) / "notes.json").touch()
    async with product(tmp_path) as client:
        (item,) = (await client.command("oi.chat.complete", text="%he"))["items"]
        assert item == {"text": "%help", "help": COMMANDS["help"].help}
        offered = await client.command("oi.chat.complete", text="%load_message n")
        assert [each["text"] for each in offered["items"]] == ["%load_message notes.json"]
        assert (await client.command("oi.chat.complete", text="hello"))["items"] == []
        unknown = await refused(client, "oi.chat.complete", text="%", sessionId="s-none")
        assert unknown.data["field"] == "sessionId"


async def test_in_mid_turn_commands_are_answered_and_the_model_gets_none(tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    script = {"replies": [[{"code": "print hi"}], [{"say": "Done."}]]}
    async with server(env={"OI_SCRIPT": json.dumps(script), "OI_REQUESTS": str(requests)}) as client:
        await client.initialize()
        session = await client.new_session()
        await does(client, session, "%help")
        turn = await client.turn(session, "go")
        await client.proposal(session)
        assert "Stop the turn first" in await does(client, session, "%undo")
        assert "save_message" in await does(client, session, "%help")
        assert client.of(session).state["state"] == "awaiting_approval"
        await client.approve(session)
        await client.ended(session, turn)
        assert [m["type"] for m in await messages(client, session)] == ["message", "code", "console", "message"]
        assert "%" not in requests.read_text()
        await does(client, session, "%undo")
        assert await messages(client, session) == []
        closed = await client.command("oi.session.close", sessionId=session)
        assert closed == {}
        assert "closed" in (await refused(client, "oi.chat.send", sessionId=session, content="%help")).message
