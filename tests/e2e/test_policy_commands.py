"""The policy over the wire: approvals that are kept, what a change of it looks like, and who cannot make one."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path

import pytest

from oi_engine.computer.sandbox import look_for_sandbox
from oi_lsp.protocol import ErrorCode
from tests.e2e.product import product, refused, workspace


async def test_an_approval_here_is_kept_listed_and_revoked(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        session = await client.new_session(cwd=str(workspace(tmp_path)))
        await client.turn(session, "begin")
        proposal = await client.proposal(session)
        bad = await refused(client, "oi.code.approve", sessionId=session, proposalId=proposal["id"], always="forever")
        assert (bad.code, bad.data["field"]) == (ErrorCode.INVALID_PARAMS, "always")
        await client.command("oi.code.approve", sessionId=session, proposalId=proposal["id"], always="here")
        await client.until(lambda: client.of(session).text())  # it runs once the approval is on disk
        (kept,) = (await client.command("oi.policy.list"))["approvals"]
        assert (kept["language"], kept["folder"]) == (proposal["language"], str(workspace(tmp_path).resolve()))
        await client.command("oi.chat.stop", sessionId=session)
    async with product(tmp_path) as client:
        assert (await client.command("oi.policy.list"))["approvals"] == [kept]
        assert await client.command("oi.policy.revoke", approvalId=kept["id"]) == {}
        assert (await client.command("oi.policy.list"))["approvals"] == []
        gone = await refused(client, "oi.policy.revoke", approvalId=kept["id"])
        assert gone.code == ErrorCode.REFUSED


async def test_a_change_of_the_policy_is_seen_in_the_stream(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        session = await client.new_session()
        await client.command("oi.settings.set", name="auto_run", value="sandboxed", sessionId=session)
        await client.until(lambda: "`auto_run`: 'sandboxed', before false" in json.dumps(client.of(session).chunks))
        await client.command("oi.sandbox.allow", sessionId=session, network=True)
        await client.until(lambda: "variables are gone then" in json.dumps(client.of(session).chunks))
        nowhere = await refused(client, "oi.sandbox.allow", sessionId=session, path="/nothing/here")
        assert nowhere.code == ErrorCode.REFUSED


async def test_what_the_sandbox_stopped_is_offered_and_allowed(tmp_path: Path) -> None:
    if problem := (await look_for_sandbox()).problem:
        pytest.skip(problem)
    with socket.create_server(("127.0.0.1", 0)) as near:
        connect = f"import socket; socket.create_connection({near.getsockname()!r}); print('reached')"
        settings = {"llm": {"model": "tour"}, "sandbox": "strict", "computer": {"python": sys.executable}}
        async with product(tmp_path, settings) as client:
            session = await client.new_session()
            code = "import socket; socket.create_connection(('192.0.2.1', 80))"  # an address of nobody
            run = await client.command("oi.code.run", sessionId=session, language="python", code=code)
            follower = await client.ended(session, run["turnId"])
            offered = [chunk for chunk in follower.chunks if chunk.get("format") == "denied"]
            assert [chunk["content"] for chunk in offered] == [{"paths": [], "network": True}]
            assert any("`%sandbox allow network`" in message.text for message in follower.check())
            await client.command("oi.sandbox.allow", sessionId=session, network=True)
            run = await client.command("oi.code.run", sessionId=session, language="python", code=connect)
            assert "reached" in (await client.ended(session, run["turnId"])).text()


async def test_a_workspace_that_comes_to_ask_for_more_gets_nothing(tmp_path: Path) -> None:
    own = workspace(tmp_path) / ".oi"
    own.mkdir()
    async with product(tmp_path, {"llm": {"model": "tour"}, "sandbox": "workspace"}) as client:
        session = await client.new_session(cwd=str(workspace(tmp_path)))
        loose = "auto_run: true\nsandbox: off\npolicy:\n  allow: ['ls *']\nsandbox_limits:\n  memory: null\n"
        (own / "settings.yaml").write_text(loose)
        await client.until(
            lambda: any(method == "textDocument/publishDiagnostics" for method, _ in client.notifications)
        )
        got = (await client.command("oi.settings.get", sessionId=session))["settings"]
        assert (got["auto_run"], got["sandbox"], got["policy"]["allow"]) == (False, "workspace", [])
        assert got["sandbox_limits"]["memory"] == 8192
        assert "What runs without asking" not in json.dumps(client.of(session).chunks)
        (own / "settings.yaml").write_text("sandbox: strict\n")
        async with asyncio.timeout(60):
            await client.until(lambda: "`sandbox`: 'strict'" in json.dumps(client.of(session).chunks))


async def test_where_no_code_may_run_none_does_until_the_editor_lets_it(tmp_path: Path) -> None:
    loose = {"llm": {"model": "tour"}, "auto_run": True}
    async with product(tmp_path, {**loose, "run_code": False}) as client:
        session = await client.new_session()
        turn = await client.turn(session, "begin")
        proposal = await client.proposal(session)
        this = {"sessionId": session, "proposalId": proposal["id"]}
        held = await refused(client, "oi.code.approve", **this)
        assert (held.code, "run_code" in str(held)) == (ErrorCode.REFUSED, True)
        own = await refused(client, "oi.code.run", language="python", code="1")
        assert own.code == ErrorCode.REFUSED
        client.notify("workspace/didChangeConfiguration", {"settings": {"oi": loose}})
        await client.until(lambda: "`run_code`: true, before false" in json.dumps(client.of(session).chunks))
        await client.command("oi.code.approve", **this)
        follower = await client.ended(session, turn)
        assert "Hello from" in follower.text()


async def test_a_workspace_can_have_no_code_run(tmp_path: Path) -> None:
    own = workspace(tmp_path) / ".oi"
    own.mkdir()
    (own / "settings.yaml").write_text("run_code: false\n")
    async with product(tmp_path, {"llm": {"model": "tour"}, "run_code": True}) as client:
        assert (await refused(client, "oi.code.run", language="python", code="1")).code == ErrorCode.REFUSED
