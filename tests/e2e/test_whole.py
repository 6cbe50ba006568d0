"""The whole, as it is delivered: real kernels and shells, the tour, and the real LiteLLM before a scripted provider."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.lsp_client import PRODUCT, LspClient, server
from tests.fakes.openai_server import OpenAiServer, Reply

LITELLM = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


@asynccontextmanager
async def product(tmp_path: Path, **llm: object) -> AsyncIterator[tuple[LspClient, str]]:
    """The server with these settings of the model, and a session in an empty folder."""
    options = {"oi": {"protocolVersion": 1}, "settings": {"llm": llm, "computer": {"python": sys.executable}}}
    async with server(PRODUCT, env=LITELLM) as client:
        await client.initialize(options)
        yield client, await client.new_session(cwd=str(tmp_path))


async def folded(client: LspClient, session: str) -> list[dict[str, Any]]:
    """The client's messages, which must be the server's."""
    opened = await client.command("oi.session.open", sessionId=session)
    follower = client.of(session)
    await client.until(lambda: follower.next_seq == opened["nextSeq"])
    messages = [message.to_dict() for message in follower.check()]
    assert messages == opened["messages"]
    assert follower.gaps == []
    return messages


async def test_the_tour_plots_in_a_real_kernel(tmp_path: Path) -> None:
    async with product(tmp_path, model="tour") as (client, session):
        turn = await client.turn(session, "plot a sine wave")
        for _ in range(2):
            await client.approve(session)
        await client.ended(session, turn)
        images = [message for message in await folded(client, session) if message["type"] == "image"]
        assert [image["format"] for image in images] == ["base64.png"]
        assert images[0]["content"].startswith("iVBORw0KGgo")


async def test_a_provider_behind_litellm_writes_code_that_a_real_kernel_runs(tmp_path: Path) -> None:
    replies = [
        Reply.tool_call("python", "x = 20 + 1\nprint(x)", text="First I count."),
        Reply.tool_call("shell", "cd / && pwd && exit_status=3"),
        Reply.text("It is 42."),
    ]
    async with OpenAiServer(replies) as provider:
        llm = {"model": "openai/gpt-4o", "api_base": provider.base_url, "api_key": "sk-test"}
        async with product(tmp_path, **llm) as (client, session):
            turn = await client.turn(session, "count")
            proposal = await client.approve(session, code="x = 2 * 21\nprint(x)")
            assert proposal["code"] == "x = 20 + 1\nprint(x)"
            await client.approve(session)
            follower = await client.ended(session, turn)
            assert follower.text() == "42\n/\n"
            state = await client.state(session, "idle")
            used = state["usage"]
            assert used["promptTokens"] > 0
            assert {name: used[name] for name in ("promptTokens", "completionTokens", "cost")} == used["turn"]
            messages = await folded(client, session)
            assert [m["content"] for m in messages if m["type"] == "code" and m["role"] == "user"] == [
                "x = 2 * 21\nprint(x)"
            ]
            assert messages[-1]["content"] == "It is 42."
            run = await client.command("oi.code.run", sessionId=session, language="python", code="x + 1")
            await client.ended(session, run["turnId"])
            del used["turn"]  # the person's own code costs nothing
            assert await client.command("oi.usage.get", sessionId=session) == used
            assert "43" in client.of(session).text()


async def test_a_provider_that_refuses_the_key_ends_the_turn_with_a_remedy(tmp_path: Path) -> None:
    async with OpenAiServer([Reply.error(401, "Incorrect API key"), Reply.text("Now it works.")]) as provider:
        llm = {"model": "openai/gpt-4o", "api_base": provider.base_url, "api_key": "sk-wrong"}
        async with product(tmp_path, **llm) as (client, session):
            first = await client.ended(session, await client.turn(session, "hello"))
            errors = [chunk["content"] for chunk in first.chunks if chunk["type"] == "error"]
            assert len(errors) == 1
            assert "key" in errors[0]
            second = await client.ended(session, await client.turn(session, "again"))
            assert second.check()[-1].content == "Now it works."


async def test_a_rejection_is_told_to_the_provider(tmp_path: Path) -> None:
    async with OpenAiServer([Reply.tool_call("python", "1/0"), Reply.text("Sorry.")]) as provider:
        llm = {"model": "openai/gpt-4o", "api_base": provider.base_url, "api_key": "sk-test"}
        async with product(tmp_path, **llm) as (client, session):
            turn = await client.turn(session, "divide")
            proposal = await client.proposal(session)
            await client.command("oi.code.reject", sessionId=session, proposalId=proposal["id"], reason="by zero?")
            await client.ended(session, turn)
            assert "by zero?" in str(provider.requests[-1])


async def test_stop_keeps_the_kernels_variables(tmp_path: Path) -> None:
    async with product(tmp_path, model="tour") as (client, session):
        code = "kept = 'still here'\nprint('looping')\nwhile True: pass"
        run = await client.command("oi.code.run", sessionId=session, language="python", code=code)
        await client.until(lambda: "looping" in client.of(session).text())
        assert (await client.command("oi.chat.stop", sessionId=session))["stopped"] is True
        await client.ended(session, run["turnId"])
        run = await client.command("oi.code.run", sessionId=session, language="python", code="print(kept)")
        follower = await client.ended(session, run["turnId"])
        assert "still here" in follower.text()
        await folded(client, session)


async def test_input_and_password_are_answered_in_a_real_kernel(tmp_path: Path) -> None:
    code = "import getpass\nprint('hello', input('name? '), len(getpass.getpass('secret? ')))"
    async with product(tmp_path, model="tour") as (client, session):
        run = await client.command("oi.code.run", sessionId=session, language="python", code=code)
        for text, hidden in (("Ada", False), ("12345", True)):
            asked = await client.input(session, password=hidden)
            await client.command("oi.input.answer", sessionId=session, inputId=asked["id"], text=text)
        follower = await client.ended(session, run["turnId"])
        assert "hello Ada 5" in follower.text()
        assert "12345" not in str(follower.chunks)


async def test_interrupt_and_restart_of_a_real_shell(tmp_path: Path) -> None:
    async with product(tmp_path, model="tour") as (client, session):
        code = "kept=1; echo looping; while :; do :; done"
        run = await client.command("oi.code.run", sessionId=session, language="shell", code=code)
        await client.until(lambda: "looping" in client.of(session).text())
        assert await client.command("oi.kernel.interrupt", sessionId=session, language="bash") == {}
        await client.ended(session, run["turnId"])
        await client.command("oi.kernel.restart", sessionId=session)
        await client.until(lambda: "Restarted: shell" in client.of(session).text("message", None))
        run = await client.command("oi.code.run", sessionId=session, language="shell", code="echo kept=$kept.")
        follower = await client.ended(session, run["turnId"])
        assert "kept=." in follower.text()


async def test_keys_of_providers_are_not_seen_by_kernels(tmp_path: Path) -> None:
    options = {"oi": {"protocolVersion": 1}, "settings": {"llm": {"model": "tour"}}}
    async with server(PRODUCT, env={"OPENAI_API_KEY": "sk-secret"}) as client:
        await client.initialize(options)
        run = await client.command("oi.code.run", language="shell", code="env; echo done")
        follower = await client.ended(run["sessionId"], run["turnId"])
        assert "done" in follower.text()
        assert "sk-secret" not in follower.text()
