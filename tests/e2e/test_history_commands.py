"""Stored conversations over the wire: listed, found, read, opened again, branched, exported, imported, deleted."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oi_lsp.protocol import ErrorCode
from tests.e2e.product import product, refused, workspace
from tests.fakes.lsp_client import LspClient, Refused


async def said(client: LspClient, text: str, **more: object) -> str:
    """A session in which the person said something, and stopped where the tour wanted to run code."""
    session = await client.new_session(**more)
    await say(client, session, text)
    return session


async def say(client: LspClient, session: str, text: str) -> None:
    turn = await client.turn(session, text)
    await client.proposal(session)
    await client.command("oi.chat.stop", sessionId=session)
    await client.ended(session, turn)
    await client.state(session, "idle")


async def ran(client: LspClient, code: str) -> str:
    """A session in which the person's own shell code ran."""
    run = await client.command("oi.code.run", language="shell", code=code)
    await client.ended(run["sessionId"], run["turnId"])
    found: str = run["sessionId"]
    return found


async def stored(client: LspClient, *ids: str) -> dict[str, dict[str, Any]]:
    """The list of what is stored, once these have been written (which happens in a thread)."""
    await asyncio.wait_for(_listed(client, ids), 60)
    return {each["conversationId"]: each for each in (await client.command("oi.history.list"))["conversations"]}


async def _listed(client: LspClient, ids: tuple[str, ...]) -> None:
    for conversation in ids:
        await client.command("oi.history.read", conversationId=conversation)  # waits for what is being written


async def test_conversations_are_listed_in_pages_and_found(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        sessions = [await said(client, f"hello number {word} 🦆 duck", title=word) for word in ("one", "two", "three")]
        found = await stored(client, *sessions)
        assert set(found) == set(sessions)
        assert {each["title"] for each in found.values()} == {"one", "two", "three"}
        assert all(each["open"] and each["length"] >= 2 for each in found.values())
        pages: list[list[str]] = []
        after: dict[str, str] = {}
        while True:
            page = await client.command("oi.history.list", limit=2, **after)
            pages.append([each["conversationId"] for each in page["conversations"]])
            if "next" not in page:
                break
            after = {"after": page["next"]}
        assert [len(page) for page in pages] == [2, 1]
        assert {each for page in pages for each in page} == set(sessions)
        hit = (await client.command("oi.history.search", query="two duck"))["hits"][0]
        assert hit["conversation"]["conversationId"] == sessions[1]
        units = hit["snippet"].encode("utf-16-le")
        words = [units[2 * span["start"] : 2 * span["end"]].decode("utf-16-le") for span in hit["spans"]]
        assert words == ["two", "duck"]
        assert hit["position"] == 0
        assert (await client.command("oi.history.search", query="nothing like that"))["hits"] == []
        for name in ("oi.history.list", "oi.history.search"):
            more = {"query": "x"} if name.endswith("search") else {}
            assert (await refused(client, name, limit=0, **more)).data["field"] == "limit"


async def test_a_conversation_is_opened_again_by_another_server_and_goes_on(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        session = await said(client, "the first thing")
        before = (await client.command("oi.session.open", sessionId=session))["messages"]
    async with product(tmp_path) as client:
        assert (await client.command("oi.session.list"))["sessions"] == []
        # Asked for twice at once, it is still one session.
        opened, again = await asyncio.gather(*(client.command("oi.session.open", sessionId=session) for _ in range(2)))
        assert opened["messages"] == again["messages"] == before
        assert opened["info"]["sessionId"] == session
        assert len((await client.command("oi.session.list"))["sessions"]) == 1
        client.of(session).next_seq = opened["nextSeq"]
        await say(client, session, "the second thing")
        after = (await client.command("oi.session.open", sessionId=session))["messages"]
        assert after[: len(before)] == before
        assert "the second thing" in [message["content"] for message in after[len(before) :]]
        assert client.of(session).gaps == []
        assert (await stored(client, session))[session]["length"] == len(after)


async def test_a_closed_session_is_opened_again_once_it_is_off_the_list(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        session = await said(client, "remember me")
        await client.command("oi.session.delete", sessionId=session)
        opened = await client.command("oi.session.open", sessionId=session)
        assert opened["messages"][0]["content"] == "remember me"
        assert opened["info"]["closed"] is False
        unknown = await refused(client, "oi.session.open", sessionId="s-none")
        assert (unknown.code, unknown.data["field"]) == (ErrorCode.UNKNOWN_SESSION, "sessionId")


async def test_rename_read_branch_and_delete(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        session = await said(client, "alpha")
        await say(client, session, "beta")
        messages = (await client.command("oi.session.open", sessionId=session))["messages"]
        assert (await client.command("oi.history.read", conversationId=session))["messages"] == messages
        tail = await client.command("oi.history.read", conversationId=session, limit=1, skip=1)
        assert tail["messages"] == messages[-2:-1]
        await client.command("oi.history.rename", conversationId=session, title="Greek")
        assert (await stored(client, session))[session]["title"] == "Greek"
        assert (await client.command("oi.session.list"))["sessions"][0]["title"] == "Greek"
        await client.command("oi.session.rename", sessionId=session, title="Letters")
        async with asyncio.timeout(60):  # its answer does not wait for the database
            while (await stored(client, session))[session]["title"] != "Letters":
                pass
        branch = await client.command("oi.history.branch", conversationId=session, messageId=messages[1]["id"])
        made = branch["conversation"]
        assert (made["parent"], made["length"], made["open"], made["title"]) == (session, 2, False, "Letters")
        opened = await client.command("oi.session.open", sessionId=made["conversationId"])
        assert [m["content"] for m in opened["messages"]] == [m["content"] for m in messages[:2]]
        await client.command("oi.history.delete", conversationId=session)
        assert session not in await stored(client)
        assert session not in [each["sessionId"] for each in (await client.command("oi.session.list"))["sessions"]]
        gone = await refused(client, "oi.history.delete", conversationId=session)
        assert (gone.code, gone.data["field"]) == (ErrorCode.UNKNOWN_CONVERSATION, "conversationId")
        no_message = await refused(
            client, "oi.history.branch", conversationId=made["conversationId"], messageId="m-none"
        )
        assert no_message.code == ErrorCode.UNKNOWN_CONVERSATION


async def test_exports_as_text_and_into_files_of_the_workspace(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        session = await ran(client, "echo out-of-it")
        texts = {}
        for form in ("json", "notebook", "markdown", "script"):
            answer = await client.command("oi.history.export", conversationId=session, format=form)
            (file,) = answer["files"]
            texts[form] = file["text"]
            assert answer == await client.command("oi.history.export", sessionId=session, format=form)
        assert [m["type"] for m in json.loads(texts["json"])][:2] == ["code", "console"]
        assert json.loads(texts["notebook"])["nbformat"] == 4
        assert "echo out-of-it" in texts["markdown"]
        assert texts["script"].startswith("#!/usr/bin/env bash")
        target = workspace(tmp_path) / "kept.md"
        export = {"conversationId": session, "format": "markdown", "path": str(target)}
        answer = await client.command("oi.history.export", **export)
        assert answer == {"files": [{"name": "kept.md", "path": str(target)}]}
        assert target.read_text() == texts["markdown"]
        target.write_text("mine")
        there = await refused(client, "oi.history.export", **export)
        assert there.code == ErrorCode.REFUSED
        assert target.read_text() == "mine"
        await client.command("oi.history.export", **export, overwrite=True)
        assert target.read_text() == texts["markdown"]
        script = await client.command(
            "oi.history.export", sessionId=session, format="script", path=str(target.parent / "all.py")
        )
        assert [file["path"] for file in script["files"]] == [str(target.parent / "all.sh")]
        assert sorted(os.listdir(target.parent)) == ["all.sh", "kept.md"]


async def test_an_export_stays_inside_the_workspace(tmp_path: Path) -> None:
    inside = workspace(tmp_path)
    (inside / "way-out").symlink_to(tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (inside / "link.md").symlink_to(victim)
    async with product(tmp_path) as client:
        session = await ran(client, "echo x")
        paths = (tmp_path / "x.md", inside / "way-out" / "x.md", inside / ".." / "x.md", inside / "none" / "x.md")
        for path in (*map(str, paths), "x.md", ""):
            error = await refused(client, "oi.history.export", sessionId=session, format="markdown", path=path)
            assert (error.code, error.data["field"]) == (ErrorCode.INVALID_PARAMS, "path"), path
        link = {"sessionId": session, "format": "markdown", "path": str(inside / "link.md")}
        await refused(client, "oi.history.export", **link)
        await client.command("oi.history.export", **link, overwrite=True)
        assert victim.read_text() == "untouched"
        neither = await refused(client, "oi.history.export", format="json")
        assert neither.data["field"] == "conversationId"


async def test_imports_of_text_and_files_without_their_keys(tmp_path: Path) -> None:
    key = "sk-proj-" + "a1B2" * 12
    messages = [
        {"role": "user", "type": "message", "content": f"my key is {key}"},
        {"role": "assistant", "type": "message", "content": "Keep it to yourself."},
    ]
    file = tmp_path / "elsewhere.json"
    file.write_text(json.dumps(messages))
    async with product(tmp_path) as client:
        by_text = (await client.command("oi.history.import", content=json.dumps(messages), title="T"))["conversation"]
        by_path = (await client.command("oi.history.import", path=str(file)))["conversation"]
        assert (by_text["title"], by_text["length"], by_text["open"]) == ("T", 2, False)
        opened = await client.command("oi.session.open", sessionId=by_path["conversationId"])
        assert opened["messages"][1]["content"] == "Keep it to yourself."
        assert key not in json.dumps(opened)
        assert key not in by_path["title"]
        bad = await refused(client, "oi.history.import", content="{")
        assert bad.code == ErrorCode.REFUSED
        assert (await refused(client, "oi.history.import", content="[]")).code == ErrorCode.REFUSED
        for path in (str(tmp_path), str(tmp_path / "none"), "elsewhere.json", "/dev/zero"):
            error = await refused(client, "oi.history.import", path=path)
            assert (error.code, error.data["field"]) == (ErrorCode.INVALID_PARAMS, "path"), path


async def test_without_history_it_is_said_and_sessions_work(tmp_path: Path) -> None:
    async with product(tmp_path, {"llm": {"model": "tour"}, "conversation_history": False}) as client:
        session = await said(client, "hello")
        assert "conversation_history" in (await refused(client, "oi.history.list")).data["remedy"]
        exported = await client.command("oi.history.export", sessionId=session, format="json")
        assert "hello" in exported["files"][0]["text"]
        assert (await refused(client, "oi.session.open", sessionId="s-none")).code == ErrorCode.UNKNOWN_SESSION


async def test_others_are_served_while_the_database_is_locked_and_a_cancelled_request_is_answered_once(
    tmp_path: Path,
) -> None:
    async with product(tmp_path) as client:
        session = await said(client, "hello")
        await stored(client, session)
        (database,) = (tmp_path / "home").rglob("history.db")
        with closing(sqlite3.connect(database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.ensure_future(client.command("oi.history.rename", conversationId=session, title="late"))
            answer = client.expect("cancelled")
            rename = {"command": "oi.history.rename", "arguments": [{"conversationId": session, "title": "later"}]}
            client.post({"jsonrpc": "2.0", "id": "cancelled", "method": "workspace/executeCommand", "params": rename})
            client.notify("$/cancelRequest", {"id": "cancelled"})
            # Answered while those before it wait for the database.
            assert (await client.command("oi.usage.get", sessionId=session))["promptTokens"] == 0
            assert not waiting.done()
            other.execute("ROLLBACK")
        assert await waiting == {}
        with pytest.raises(Refused) as caught:
            await asyncio.wait_for(answer, 60)
        assert caught.value.code == -32800
        listed = (await client.command("oi.history.list"))["conversations"]
        assert listed[0]["title"] in ("late", "later")
        assert client.unasked == []
