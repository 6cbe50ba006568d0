"""The real worker with the real LiteLLM, against scripted servers on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio
from attrs import evolve

from oi_engine.errors import ModelError
from oi_engine.models.model import (
    ModelEvent,
    ModelInfo,
    ModelRequest,
    Notice,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from oi_engine.models.worker_client import ModelWorker, WorkerModel
from oi_engine.safety.secrets import take_provider_keys
from tests.fakes import anthropic_server, openai_server
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.http_server import Drop, HttpServer, Response, Send
from tests.fakes.openai_server import OpenAiServer, Reply, delta, done, ending, role, texts

DEADLINE = 100.0
KEY = "sk-test-0123456789abcdef"
CLAUDE = "anthropic/claude-sonnet-4-5"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker() -> AsyncIterator[ModelWorker]:
    worker = ModelWorker({"MISTRAL_API_KEY": "test-key-of-mistral"}, environ=_environ())
    yield worker
    await worker.close()


@pytest.fixture
def model(worker: ModelWorker) -> WorkerModel:
    return WorkerModel(worker)


def _environ() -> dict[str, str]:
    """An environment with no key in it, and no way to the network."""
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    closed = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    return {**environ, **closed, "NO_PROXY": "127.0.0.1,localhost"}


def ask(server: HttpServer, model: str = "openai/gpt-4o", **more: Any) -> ModelRequest:
    fields: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}], "api_key": KEY, **more}
    return ModelRequest(model=model, api_base=server.base_url, **fields)


async def collect(model: WorkerModel, request: ModelRequest) -> list[ModelEvent]:
    async with asyncio.timeout(DEADLINE):
        return [event async for event in model.stream(request)]


async def failure(model: WorkerModel, request: ModelRequest) -> tuple[str, ModelError]:
    """The text that came before the reply failed, and the failure."""
    received = io.StringIO()

    async def read() -> None:
        async for event in model.stream(request):
            received.write(event.text if isinstance(event, TextDelta) else "")

    with pytest.raises(ModelError) as caught:
        await asyncio.wait_for(read(), DEADLINE)
    assert KEY not in str(caught.value)
    assert request.model in caught.value.message
    return received.getvalue(), caught.value


def ended(process: psutil.Process) -> None:
    """Wait until the process has ended, whether or not somebody has collected its status yet."""
    deadline = time.monotonic() + DEADLINE
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, "the worker goes on"
            time.sleep(0.01)


def text(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def arguments(events: list[ModelEvent]) -> str:
    return "".join(event.arguments for event in events if isinstance(event, ToolCallDelta))


async def test_text_of_openai(model: WorkerModel) -> None:
    async with OpenAiServer([Reply.text("Hello, wörld 😀")]) as server:
        events = await collect(model, ask(server, temperature=0.5, max_tokens=99))
        assert text(events) == "Hello, wörld 😀"
        usage = next(event for event in events if isinstance(event, Usage))
        assert (usage.prompt_tokens, usage.completion_tokens) == openai_server.USAGE
        assert usage.cost is not None
        assert usage.cost > 0
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


FAILURES: dict[str, tuple[Response, str, str]] = {
    "bad key": (Reply.error(401, f"Incorrect API key provided: {KEY}", code="invalid_api_key"), "bad_key", "key"),
    "forbidden": (Reply.error(403, "Project has no access to gpt-4o"), "bad_key", "no access"),
    "no such model": (
        Reply.error(404, "The model `gpt-4o` does not exist", code="model_not_found"),
        "unknown_model",
        "llm.model",
    ),
    "quota": (
        Reply.error(429, "You exceeded your current plan.", type="insufficient_quota", code="insufficient_quota"),
        "quota",
        "billing",
    ),
    "rate limit": (
        Reply.error(429, "Rate limit reached for gpt-4o", type="requests", code="rate_limit_exceeded"),
        "rate_limit",
        "Wait",
    ),
    "context": (
        Reply.error(400, "Too much: this model's maximum context length is 8", code="context_length_exceeded"),
        "context_length",
        "too long",
    ),
    "context, by its code alone": (
        Reply.error(400, "Too much.", code="context_length_exceeded"),
        "context_length",
        "too long",
    ),
    "refused": (Reply.error(400, "Rejected.", code="content_policy_violation"), "refused", "Rejected."),
    "server error": (Reply.error(500, "boom", type="server_error"), "other", "boom"),
    "overloaded": (Reply.error(503, "overloaded", type="server_error"), "overloaded", "Wait"),
    "bad request": (Reply.error(400, "messages: must not be odd"), "other", "must not be odd"),
    "a page instead of a reply": (Response((Send(b"<html>hi"),), 200, "text/html"), "malformed_reply", "llm.api_base"),
    "an empty reply": (Response(), "malformed_reply", "llm.api_base"),
    "dropped at once": (Response.events([Drop()]), "dropped", "again"),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_failures_before_a_word(model: WorkerModel, name: str) -> None:
    response, kind, said = FAILURES[name]
    async with OpenAiServer([response, Reply.text("Hello")]) as server:
        received, error = await failure(model, ask(server))
        assert (received, error.kind) == ("", kind)
        assert said in str(error)
        assert error.remedy
        # One request, one failure: nothing is tried again behind the person's back, and the next one works.
        assert len(server.requests) == 1
        assert text(await collect(model, ask(server))) == "Hello"


MID_STREAM: dict[str, tuple[Response, str]] = {
    "dropped": (Reply.dropped("partial"), "dropped"),
    "ends without a word": (Reply.stream([role(), *texts("partial", 3)]), "dropped"),
    "an error in the stream": (
        Reply.stream([role(), *texts("partial", 3), Send(b'data: {"error": {"message": "boom"}}\n\n'), done()]),
        "other",
    ),
    "content filter": (Reply.stream([role(), *texts("partial", 3), delta({}, "content_filter"), done()]), "refused"),
}


@pytest.mark.parametrize("name", MID_STREAM)
async def test_failures_after_some_words(model: WorkerModel, name: str) -> None:
    response, kind = MID_STREAM[name]
    async with OpenAiServer([response, Reply.text("Hello")]) as server:
        received, error = await failure(model, ask(server))
        assert (received, error.kind) == ("partial", kind)
        assert text(await collect(model, ask(server))) == "Hello"


ANTHROPIC_FAILURES: dict[str, tuple[Response, str]] = {
    "bad key": (anthropic_server.Reply.error(401, "authentication_error", "invalid x-api-key"), "bad_key"),
    "no such model": (anthropic_server.Reply.error(404, "not_found_error", "model: claude-0"), "unknown_model"),
    "rate limit": (anthropic_server.Reply.error(429, "rate_limit_error", "slow down"), "rate_limit"),
    "overloaded": (anthropic_server.Reply.error(529, "overloaded_error", "Overloaded"), "overloaded"),
    "context": (
        anthropic_server.Reply.error(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
        "context_length",
    ),
    "credit": (
        anthropic_server.Reply.error(400, "invalid_request_error", "Your credit balance is too low."),
        "quota",
    ),
    "dropped": (anthropic_server.Reply.dropped("partial"), "dropped"),
}


@pytest.mark.parametrize("name", ANTHROPIC_FAILURES)
async def test_failures_of_anthropic(model: WorkerModel, name: str) -> None:
    response, kind = ANTHROPIC_FAILURES[name]
    async with AnthropicServer([response]) as server:
        _, error = await failure(model, ask(server, CLAUDE))
        assert error.kind == kind


async def test_no_key(model: WorkerModel) -> None:
    for name, variable in (
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        ("gpt-4o", "OPENAI_API_KEY"),
        (CLAUDE, "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-flash", "GEMINI_API_KEY"),
    ):
        _, error = await failure(model, ModelRequest(name, [{"role": "user", "content": "hi"}]))
        assert error.kind == "no_key"
        assert variable in error.remedy


async def test_unknown_provider(model: WorkerModel) -> None:
    _, error = await failure(model, ModelRequest("nonsense", [{"role": "user", "content": "hi"}]))
    assert error.kind == "unknown_model"


async def test_nobody_listens(model: WorkerModel) -> None:
    server = OpenAiServer()
    server.port = 9
    for name in ("openai/gpt-4o", "ollama_chat/llama3", CLAUDE):
        _, error = await failure(model, ask(server, name))
        assert error.kind == "unreachable"
        assert "llm.api_base" in error.remedy


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


async def test_info(model: WorkerModel) -> None:
    known = await model.info("gpt-4o")
    assert (known.supports_functions, known.supports_vision) == (True, True)
    assert known.context_window == 128_000
    assert known.max_output_tokens is not None
    assert known.input_price == pytest.approx(2.5e-06)
    assert evolve(await model.info("nonsense"), tokenizer=None) == ModelInfo()


async def test_tokens_are_counted_without_the_network(model: WorkerModel) -> None:
    tokenizer = (await model.info("gpt-4o")).tokenizer
    assert tokenizer is not None
    one, none, many = await tokenizer.count(["hello", "", "word " * 1000])
    assert (one, none) == (1, 0)
    assert 1000 <= many <= 1010  # of long text LiteLLM counts samples
    for name in ("meta-llama/llama-3-8b", "anthropic/claude-sonnet-4-5", "nonsense"):
        other = (await model.info(name)).tokenizer
        assert other is not None
        assert await other.count(["hello"]) == [1]


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_how_long_a_busy_provider_asks_to_wait(model: WorkerModel, status: int) -> None:
    openai = evolve(Reply.error(status, "slow"), headers={"Retry-After": "7"})
    anthropic = evolve(anthropic_server.Reply.error(status, "overloaded_error", "slow"), headers={"Retry-After": "7"})
    async with OpenAiServer([openai]) as server:
        _, error = await failure(model, ask(server))
        assert (error.kind, error.retry_after) == ("rate_limit" if status == 429 else "overloaded", 7.0)
    async with AnthropicServer([anthropic]) as server:
        _, error = await failure(model, ask(server, CLAUDE))
        assert error.retry_after == 7.0


async def test_death_in_mid_stream_reaches_everyone_after_what_they_received() -> None:
    worker = ModelWorker(environ=_environ())
    model = WorkerModel(worker)
    async with OpenAiServer([Reply.held("one"), Reply.held("two"), Reply.text("Hello")]) as server:
        try:
            async with asyncio.timeout(DEADLINE):
                first, second = model.stream(ask(server)), model.stream(ask(server))
                assert await anext(first) == TextDelta("one")
                assert await anext(second) == TextDelta("two")
                assert worker.pid is not None
                os.kill(worker.pid, signal.SIGKILL)
                for stream in (first, second):
                    with pytest.raises(ModelError) as caught:
                        await anext(stream)
                    assert caught.value.kind == "worker_died"
                    assert "signal 9" in caught.value.message
                # The next request starts a new worker.
                assert text(await collect(model, ask(server))) == "Hello"
        finally:
            await worker.close()
        assert worker.pid is None


async def test_an_idle_worker_ends_and_starts_again() -> None:
    worker = ModelWorker(environ=_environ(), idle_timeout=0.0)
    model = WorkerModel(worker)
    async with OpenAiServer([Reply.held("one", " two"), Reply.text("Hello")]) as server:
        try:
            async with asyncio.timeout(DEADLINE):
                stream = model.stream(ask(server))
                assert await anext(stream) == TextDelta("one")
                pid = worker.pid
                assert pid is not None
                process = psutil.Process(pid)
                server.release()
                assert text([event async for event in stream]) == " two"
                await asyncio.to_thread(ended, process)
                assert worker.pid is None
                assert text(await collect(model, ask(server))) == "Hello"
        finally:
            await worker.close()


async def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "litellm.py").write_text("raise SystemExit('no litellm here')\n")
    worker = ModelWorker({"X_API_KEY": "litellm here"}, environ={**_environ(), "PYTHONPATH": str(tmp_path)})
    try:
        with pytest.raises(ModelError) as caught:
            await collect(WorkerModel(worker), ModelRequest("gpt-4o", []))
        assert caught.value.kind == "worker_died"
        assert "no …" in caught.value.message
        assert "litellm here" not in caught.value.message
    finally:
        await worker.close()


async def test_a_file_of_the_workspace_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "litellm.py").write_text("raise SystemExit('imported from the workspace')\n")
    (tmp_path / ".env").write_text("OPENAI_API_BASE=http://127.0.0.1:9/elsewhere\n")
    monkeypatch.chdir(tmp_path)
    worker = ModelWorker(environ=_environ())
    try:
        async with OpenAiServer([Reply.text("Hello")]) as server:
            assert text(await collect(WorkerModel(worker), ask(server))) == "Hello"
    finally:
        await worker.close()


PARENT = """
import asyncio, sys
from oi_engine.models.worker_client import ModelWorker, WorkerModel
from oi_engine.models.model import ModelRequest

async def main():
    worker = ModelWorker()
    stream = WorkerModel(worker).stream(ModelRequest("openai/gpt-4o", [], api_base=sys.argv[1], api_key="k"))
    await anext(stream)
    sys.stdout.write(f"{worker.pid}\\n")
    sys.stdout.flush()
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_worker_ends_with_its_parent() -> None:
    async with OpenAiServer([Reply.held("one")]) as server, asyncio.timeout(DEADLINE):
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PARENT, server.base_url, stdout=asyncio.subprocess.PIPE, env=_environ()
        )
        try:
            assert parent.stdout is not None
            process = psutil.Process(int(await parent.stdout.readline()))
            parent.kill()
            # The provider's connection goes with the process.
            await server.wait_departures(1)
            await asyncio.to_thread(ended, process)
        finally:
            if parent.returncode is None:
                parent.kill()
            await parent.wait()


@pytest.mark.parametrize("steps", [ending("stop"), [delta({}, "stop"), done()], [done()]])
async def test_an_empty_reply_is_a_reply(model: WorkerModel, steps: list[Any]) -> None:
    async with OpenAiServer([Reply.stream([role(), *steps])]) as server:
        assert text(await collect(model, ask(server))) == ""
