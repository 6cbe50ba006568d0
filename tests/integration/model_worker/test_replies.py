"""Replies of the providers, one or many at a time, read to the end or cancelled."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from oi_engine.models.model import Notice, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from oi_engine.models.worker_client import WorkerModel
from oi_engine.safety.secrets import take_provider_keys
from tests.fakes import anthropic_server, openai_server
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.http_server import Response, Send
from tests.fakes.openai_server import OpenAiServer, Reply, delta, done, ending, role
from tests.integration.model_worker.asking import CLAUDE, DEADLINE, KEY, arguments, ask, collect, text

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_text_of_openai(model: WorkerModel) -> None:
    async with OpenAiServer([Reply.text("Hello, wörld 😀")]) as server:
        events = await collect(model, ask(server, temperature=0.5, max_tokens=99))
        assert text(events) == "Hello, wörld 😀"
        usage = next(event for event in events if isinstance(event, Usage))
        assert (usage.prompt_tokens, usage.completion_tokens) == openai_server.USAGE
        assert usage.cost == pytest.approx(11 * 2.5e-6 + 7 * 10e-6)
        sent = server.requests[0]
        assert sent.path == "/v1/chat/completions"
        assert sent.headers["authorization"] == f"Bearer {KEY}"
        assert sent.json == {
            "model": "gpt-4o",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0.5,
            "max_tokens": 99,
        }


async def test_a_tool_call_of_openai(model: WorkerModel) -> None:
    async with OpenAiServer([Reply.tool_call("python", "print('é')", text="I look.")]) as server:
        events = await collect(model, ask(server, tools=True, languages=("python", "shell")))
        assert text(events) == "I look."
        assert arguments(events) == '{"language": "python", "code": "print(\'\\u00e9\')"}'
        first = next(event for event in events if isinstance(event, ToolCallDelta))
        assert first.name == "execute"
        function = server.requests[0].json["tools"][0]["function"]
        assert function["parameters"]["properties"]["language"]["enum"] == ["python", "shell"]


async def test_text_and_a_tool_call_of_anthropic(model: WorkerModel) -> None:
    script = [anthropic_server.Reply.text("Hello"), anthropic_server.Reply.tool_call("r", "1 + 1", text="I look.")]
    async with AnthropicServer(script) as server:
        assert text(await collect(model, ask(server, CLAUDE))) == "Hello"
        events = await collect(model, ask(server, CLAUDE, tools=True, languages=("r",)))
        assert text(events) == "I look."
        assert arguments(events) == '{"language": "r", "code": "1 + 1"}'
        usage = next(event for event in events if isinstance(event, Usage))
        assert (usage.prompt_tokens, usage.completion_tokens) == openai_server.USAGE
        assert server.requests[0].path == "/v1/messages"
        assert server.requests[0].headers["x-api-key"] == KEY


async def test_reasoning(model: WorkerModel) -> None:
    async with OpenAiServer([Reply.reasoning("let me see", "yes")]) as server:
        events = await collect(model, ask(server))
        assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "let me see"
        assert text(events) == "yes"


async def test_a_model_that_nobody_knows_at_a_base_url(model: WorkerModel) -> None:
    steps = Reply.text("Hello").steps
    own = [Send(step.data.replace(b"gpt-4o", b"my-own-model")) for step in steps if isinstance(step, Send)]
    async with OpenAiServer([Reply.stream(own)]) as server:
        events = await collect(model, ask(server, "my-own-model", api_key=None))
        assert text(events) == "Hello"
        assert [event.cost for event in events if isinstance(event, Usage)] == [None]
        assert server.requests[0].json["model"] == "my-own-model"


async def test_keys_reach_the_worker_and_no_other(model: WorkerModel) -> None:
    environ = {"MISTRAL_API_KEY": "abc", "PATH": "/bin"}
    assert take_provider_keys(environ) == {"MISTRAL_API_KEY": "abc"}
    assert environ == {"PATH": "/bin"}
    async with OpenAiServer([Reply.text("Hello")]) as server:
        await collect(model, ask(server, "mistral/mistral-large-latest", api_key=None))
        assert server.requests[0].headers["authorization"] == "Bearer test-key-of-mistral"
    assert "MISTRAL_API_KEY" not in os.environ


@pytest.mark.parametrize("name", ["openai/gpt-4o", "mistral/mistral-large-latest"])
async def test_the_mark_of_the_end_within_the_text(model: WorkerModel, name: str) -> None:
    async with OpenAiServer([Reply.text('if line == "data: [DONE]": break  # more', size=40)]) as server:
        assert text(await collect(model, ask(server, name))) == 'if line == "data: [DONE]": break  # more'


async def test_hostile_text_comes_through(model: WorkerModel) -> None:
    hostile = "\ud800 \u2028 \x00 \x1b[31m 😀 " + "x" * 300_000
    async with OpenAiServer([Reply.text("a\u2028b\x00\n", size=1)]) as server:
        events = await collect(model, ask(server, messages=[{"role": "user", "content": hostile}]))
        assert text(events) == "a\u2028b\x00\n"
        assert server.requests[0].json["messages"][0]["content"] == hostile.replace("\ud800", "\ufffd")


async def test_a_reply_cut_at_the_limit_says_so(model: WorkerModel) -> None:
    async with OpenAiServer([Reply.text("partial", finish="length")]) as server:
        events = await collect(model, ask(server))
        assert text(events) == "partial"
        assert any(isinstance(event, Notice) and "max_tokens" in event.text for event in events)


async def test_cancelling_one_closes_its_connection_and_no_other(model: WorkerModel) -> None:
    async with OpenAiServer([Reply.held("one"), Reply.held("two", " three")]) as server, asyncio.timeout(DEADLINE):
        first, second = model.stream(ask(server)), model.stream(ask(server))
        assert await anext(first) == TextDelta("one")
        assert await anext(second) == TextDelta("two")
        await first.aclose()
        await server.wait_departures(1)
        server.release()
        assert "".join([e.text async for e in second if isinstance(e, TextDelta)]) == " three"
        assert server.departures == 1


async def test_cancelling_the_task_closes_the_connection(model: WorkerModel) -> None:
    async with OpenAiServer([Response.silence(), Reply.text("Hello")]) as server, asyncio.timeout(DEADLINE):
        task = asyncio.create_task(collect(model, ask(server)))
        await server.wait_requests(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.wait_departures(1)
        assert text(await collect(model, ask(server))) == "Hello"


async def test_many_at_a_time(model: WorkerModel) -> None:
    def script(request: Any) -> Response:
        return Reply.text(request.json["messages"][0]["content"] * 50)

    async with OpenAiServer(script) as server:
        asked = [ask(server, messages=[{"role": "user", "content": f"<{number}>"}]) for number in range(20)]
        replies = await asyncio.gather(*(collect(model, request) for request in asked))
        assert [text(events) for events in replies] == [f"<{number}>" * 50 for number in range(20)]


@pytest.mark.parametrize("steps", [ending("stop"), [delta({}, "stop"), done()], [done()]])
async def test_an_empty_reply_is_a_reply(model: WorkerModel, steps: list[Any]) -> None:
    async with OpenAiServer([Reply.stream([role(), *steps])]) as server:
        assert text(await collect(model, ask(server))) == ""
