"""What fails at the provider or on the way there, and what the person is told."""

from __future__ import annotations

import pytest
from attrs import evolve

from oi_engine.models.model import ModelRequest
from oi_engine.models.worker_client import WorkerModel
from tests.fakes import anthropic_server
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.http_server import Drop, Response, Send
from tests.fakes.openai_server import OpenAiServer, Reply, delta, done, role, texts
from tests.integration.model_worker.asking import CLAUDE, KEY, ask, collect, failure, text

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
