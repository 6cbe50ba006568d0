"""Keys that a client hands over while the server runs: they reach the provider, and nothing else; kernels go on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from oi_lsp.protocol import ErrorCode
from tests.e2e.attacked import PROGRAM
from tests.e2e.product import folders, refused, workspace
from tests.e2e.test_attacks_output import kept
from tests.fakes.lsp_client import server
from tests.fakes.openai_server import OpenAiServer, Reply

KEY = "no-form-that-anybody-knows-0123"
NAME = "WATSONX_TOKEN"
"""Of a provider, and of no form that a log knows by itself."""

LOOKS = f"""
from pathlib import Path
def environment(process):
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
key = ({KEY[:9]!r} + {KEY[9:]!r}).encode()
found = [process.name for process in Path("/proc").glob("[0-9]*") if key in environment(process)]
print(kept, found)
"""


def keys(value: str | None) -> list[dict[str, str]]:
    """What is handed over, beside another one that never changes."""
    given = {NAME: "another-0123456789", **({} if value is None else {"OPENAI_API_KEY": value})}
    return [{"name": name, "key": key} for name, key in given.items()]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no /proc to look at other processes by")
async def test_a_key_that_is_handed_over_reaches_the_provider_alone_and_kernels_go_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    replies = [
        Reply.held("One", " and two."),
        Reply.tool_call("python", LOOKS),
        Reply.text(f"You pay with {KEY}."),
        Reply.text("Nobody pays."),
    ]
    command = (PROGRAM, "--stdio", "--log-file", str(log), "--log-level", "debug")
    env = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", **folders(tmp_path)}
    async with OpenAiServer(replies) as provider, server(command, env=env, cwd=str(workspace(tmp_path))) as client:
        llm = {"model": "openai/gpt-4o", "api_base": provider.base_url}
        await client.initialize({"oi": {"protocolVersion": 1}, "settings": {"llm": llm}})
        session = await client.new_session(cwd=str(workspace(tmp_path)))
        run = await client.command("oi.code.run", sessionId=session, language="python", code="kept = 41")
        await client.ended(session, run["turnId"])
        # In mid-reply: that one goes on as it began, and the next request has the key.
        turn = await client.turn(session, "count")
        await client.until(lambda: "One" in client.of(session).text("message", None))
        await client.command("oi.keys.set", keys=keys(KEY))
        provider.release()
        assert "One and two." in (await client.ended(session, turn)).text("message", None)
        turn = await client.turn(session, "look")
        await client.approve(session)
        assert "41 []" in (await client.ended(session, turn)).text()
        await client.command("oi.keys.set", keys=keys(None))
        await client.ended(session, await client.turn(session, "and now?"))
        used = [request.headers["authorization"] for request in provider.requests]
        assert used == ["Bearer none", f"Bearer {KEY}", f"Bearer {KEY}", "Bearer none"]
        assert all(KEY.encode() not in request.body for request in provider.requests[:3])
        await client.command("oi.history.read", conversationId=session)  # waits for what is being written
    assert any("You pay with" in text for text in kept(tmp_path))
    assert not await asyncio.to_thread(lambda: [path for path in files(tmp_path) if KEY.encode() in path.read_bytes()])


async def test_what_is_no_key_of_a_provider_is_refused_and_not_repeated(tmp_path: Path) -> None:
    async with server((PROGRAM, "--stdio"), env=folders(tmp_path)) as client:
        await client.initialize({"oi": {"protocolVersion": 1}, "settings": {"llm": {"model": "tour"}}})
        for name, key, field in (
            ("PYTHONPATH", KEY, "name"),
            ("HTTPS_PROXY", KEY, "name"),
            ("openai_api_key", KEY, "name"),
            ("LD_PRELOAD=x\nA_KEY", KEY, "name"),
            ("OPENAI_API_KEY", "", "key"),
            ("OPENAI_API_KEY", f"{KEY}\0", "key"),
            ("OPENAI_API_KEY", f"{KEY}é", "key"),
        ):
            error = await refused(client, "oi.keys.set", keys=[{"name": name, "key": key}])
            assert (error.code, error.data["field"]) == (ErrorCode.INVALID_PARAMS, f"keys[0].{field}")
            assert KEY not in str(error)
