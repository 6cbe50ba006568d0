"""Approvals that were not given: swapped, replayed, expired, or of another session, at the delivered server's gate."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from oi_lsp.protocol import ErrorCode
from tests.e2e.attacked import asked, attacked, in_workspace, shell
from tests.e2e.product import refused, workspace
from tests.fakes.lsp_client import LspClient
from tests.fakes.openai_server import Reply


async def no(client: LspClient, session: str, proposal: str) -> None:
    error = await refused(client, "oi.code.approve", sessionId=session, proposalId=proposal)
    assert error.code in (ErrorCode.REFUSED, ErrorCode.UNKNOWN_PROPOSAL)


async def test_an_approval_counts_once_in_its_session_while_it_waits(tmp_path: Path) -> None:
    here = workspace(tmp_path)
    add, ok = shell("echo x >> ran; cat ran"), Reply.text("ok")
    async with attacked(tmp_path, add, ok, add, add, ok, add, ok) as (client, _):
        session = await in_workspace(client, tmp_path)
        other = await in_workspace(client, tmp_path)
        # Replayed, by itself and by two at once; and once its turn is over.
        turn = await client.turn(session, "go")
        used = (await client.proposal(session))["id"]
        tries = [client.command("oi.code.approve", sessionId=session, proposalId=used) for _ in range(3)]
        answers = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(answer, dict) for answer in answers) == 1
        await client.ended(session, turn)
        await no(client, session, used)
        # Stopped: what was asked about then is not approved later.
        turn = await client.turn(session, "go")
        stopped = (await client.proposal(session))["id"]
        await client.command("oi.chat.stop", sessionId=session)
        await client.ended(session, turn)
        await no(client, session, stopped)
        # An old approval, and another session's, for the very same code.
        turn = await client.turn(session, "go")
        waiting = (await client.proposal(session))["id"]
        for old in (used, stopped, "", "p-none"):
            await no(client, session, old)
        await no(client, other, waiting)
        await client.command("oi.code.reject", sessionId=session, proposalId=waiting)
        await client.ended(session, turn)
        await no(client, session, waiting)
        # Always in one session is not always in another.
        turn = await client.turn(session, "go")
        await client.approve(session, always="session")
        await client.ended(session, turn)
        assert (here / "ran").read_text() == "x\nx\n"


async def test_always_is_for_one_session_one_folder_and_one_text(tmp_path: Path) -> None:
    here = workspace(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ok = Reply.text("ok")
    replies = [
        shell("echo one"),
        ok,
        shell("echo one"),
        shell("echo one "),
        ok,
        shell("echo one"),
        ok,
        shell("echo one"),
        ok,
    ]
    async with attacked(tmp_path, *replies) as (client, _):
        link = tmp_path / "link"
        link.symlink_to(here)
        session = await client.new_session(cwd=str(link))
        turn = await client.turn(session, "go")
        await client.approve(session, always="here")
        await client.ended(session, turn)
        turn = await client.turn(session, "go")
        assert await asked(client, session) == "echo one ", "not the same text; the one before ran unasked"
        await client.ended(session, turn)
        link.unlink()
        link.symlink_to(elsewhere)  # the folder of that name is another one now
        turn = await client.turn(session, "go")
        assert await asked(client, session) == "echo one"
        await client.ended(session, turn)
        (kept,) = (await client.command("oi.policy.list"))["approvals"]
        async with attacked(tmp_path) as (second, _):  # another server of the same person's takes it back
            await second.command("oi.policy.revoke", approvalId=kept["id"])
        third = await in_workspace(client, tmp_path)
        turn = await client.turn(third, "go")
        assert await asked(client, third) == "echo one"
        await client.ended(third, turn)


async def test_what_was_approved_is_what_runs_whatever_comes_meanwhile(tmp_path: Path) -> None:
    """An edit that comes with the approval runs as it came; the settings' change to loose comes too late for others."""
    async with attacked(tmp_path, shell("echo proposed"), shell("echo second"), Reply.text("ok")) as (client, _):
        session = await in_workspace(client, tmp_path)
        turn = await client.turn(session, "go")
        await client.approve(session, code="echo edited")
        assert await asked(client, session) == "echo second"
        await client.ended(session, turn)
        follower = client.of(session)
        assert follower.text() == "edited\n"
        ran = [message for message in follower.check() if message.type == "code" and message.role == "user"]
        assert [message.content for message in ran] == ["echo edited"]
        assert "echo edited" in json.dumps(follower.chunks)
