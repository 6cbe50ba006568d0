"""Local models as the documentation has them, through the real LiteLLM: Ollama's own API, and servers that speak
OpenAI's, each with its ways."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from oi_engine.errors import ModelError
from oi_engine.messages import Message
from oi_engine.models import worker_client
from oi_engine.models.catalog import Catalog, matching
from oi_engine.models.discovery import Candidate, Discovery
from oi_engine.models.model import ModelEvent, ModelInfo, ModelRequest, ReasoningDelta, TextDelta, Usage
from oi_engine.models.worker_client import ModelWorker, WorkerModel
from oi_engine.session.session import Session
from oi_engine.settings import LlmSettings, Settings
from tests.fakes import anthropic_server, ollama_server, openai_server
from tests.fakes.http_server import HttpServer, Recorded, Response
from tests.fakes.ollama_server import LocalModel, OllamaServer
from tests.fakes.openai_server import OpenAiServer, Reply
from tests.fakes.scripted import TinyRuntime

DEADLINE = 100.0
HI = [{"role": "user", "content": "hi"}]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker() -> AsyncIterator[ModelWorker]:
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    closed = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    worker = ModelWorker(
        {"ANTHROPIC_API_KEY": "test-key-of-anthropic"}, environ={**environ, **closed, "NO_PROXY": "127.0.0.1,localhost"}
    )
    yield worker
    await worker.close()


@pytest.fixture
def model(worker: ModelWorker) -> WorkerModel:
    return WorkerModel(worker)


async def collect(model: WorkerModel, request: ModelRequest) -> list[ModelEvent]:
    async with asyncio.timeout(DEADLINE):
        return [event async for event in model.stream(request)]


def text(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def converse(model: WorkerModel, settings: Settings, words: str = "Add.") -> tuple[Session, list[str]]:
    """A whole turn in a session; answers it with what ran."""
    ran: list[str] = []
    session = Session(model, lambda language, cwd: TinyRuntime(ran), settings, cwd="/")
    session.send(words)
    async with asyncio.timeout(DEADLINE):
        await session.idle()
    await session.close()
    return session, ran


@pytest.mark.parametrize("prefix", ["ollama/", "ollama_chat/"])
async def test_ollama_by_both_of_its_names(model: WorkerModel, prefix: str) -> None:
    async with OllamaServer([ollama_server.Reply.text("Hello, wörld 😀", thinking="let me see")]) as server:
        asked = ModelRequest(f"{prefix}{ollama_server.MODEL}", HI, api_base=server.base_url, max_tokens=9)
        events = await collect(model, asked)
        assert text(events) == "Hello, wörld 😀"
        assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "let me see"
        assert [event for event in events if isinstance(event, Usage)] == [Usage(*openai_server.USAGE, cost=0.0)]
        (sent,) = server.chats
        assert (sent["model"], sent["stream"]) == (ollama_server.MODEL, True)
        assert [(message["role"], message["content"]) for message in sent["messages"]] == [("user", "hi")]
        assert sent["options"]["num_predict"] == 9
        assert "num_ctx" not in sent["options"]


async def test_ollama_is_asked_for_the_window_of_the_settings(model: WorkerModel) -> None:
    async with OllamaServer([ollama_server.Reply.text("Hello")]) as server:
        await collect(model, ModelRequest("ollama/llama3.2:3b", HI, api_base=server.base_url, context_window=16_000))
        assert server.chats[0]["options"]["num_ctx"] == 16_000


async def test_ollama_calls_the_tool(model: WorkerModel) -> None:
    script = [ollama_server.Reply.tool_call("python", "print 3", text="So:"), ollama_server.Reply.text("It is 3.")]
    async with OllamaServer(script, [LocalModel(tools=True)]) as server:
        settings = Settings(
            LlmSettings(model="ollama_chat/llama3.2:3b", api_base=server.base_url), auto_run=True, offline=True
        )
        session, ran = await converse(model, settings)
        assert ran == ["print 3"]
        assert [(m.type, m.text) for m in session.messages if m.role == "assistant"] == [
            ("message", "So:"),
            ("code", "print 3"),
            ("message", "It is 3."),
        ]
        first, second = server.chats
        assert first["tools"][0]["function"]["name"] == "execute"
        assert [m["role"] for m in second["messages"]] == ["system", "user", "assistant", "tool"]
        assert second["messages"][2]["tool_calls"][0]["function"]["arguments"] == {
            "language": "python",
            "code": "print 3",
        }
        assert second["messages"][3]["content"].startswith("3")


async def test_ollama_without_tools_writes_fences_and_its_thinking_is_reasoning(model: WorkerModel) -> None:
    script = [
        ollama_server.Reply.text("So:\n```python\nprint 3\n```\n", thinking="```python\nprint 4\n```"),
        ollama_server.Reply.text("<think>Is it? ```python\nprint 5\n```</think>It is 3."),
    ]
    async with OllamaServer(script) as server:
        settings = Settings(LlmSettings(model="ollama/llama3.2:3b", api_base=server.base_url), auto_run=True)
        session, ran = await converse(model, settings)
        assert ran == ["print 3"]
        assert [m.type for m in session.messages if m.role == "assistant"] == [
            "reasoning",
            "message",
            "code",
            "reasoning",
            "message",
        ]
        assert "tools" not in server.chats[0]
        assert "print 4" not in str(server.chats[1]), "what a model thought is not sent back"


async def test_what_ollama_says_of_its_models(model: WorkerModel) -> None:
    models = [
        LocalModel("plain"),
        LocalModel("able", tools=True, vision=True, num_ctx=32_768),
        LocalModel("old", tools=True, lists=False),
        LocalModel("small", context_length=2048),
    ]
    async with OllamaServer(models=models) as server:
        found = {one.name: await model.info(f"ollama_chat/{one.name}", server.base_url) for one in models}
    assert [(i.supports_functions, i.supports_vision, i.context_window) for i in found.values()] == [
        (False, False, 4096),
        (True, True, 32_768),
        (True, False, 4096),
        (False, False, 2048),
    ]
    assert {i.input_price for i in found.values()} == {0.0}


async def test_a_server_that_starts_later_is_asked_again(model: WorkerModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_client, "_ASK_AGAIN", 0.0)
    async with OllamaServer() as server:
        port = server.port
        silent = await model.info("ollama_chat/elsewhere", server.base_url)
        assert silent.supports_functions is None
        server._models["elsewhere"] = LocalModel("elsewhere", tools=True)
        assert (await model.info("ollama_chat/elsewhere", f"http://127.0.0.1:{port}")).supports_functions


async def test_a_model_that_ollama_does_not_have(model: WorkerModel) -> None:
    async with OllamaServer() as server:
        with pytest.raises(ModelError) as caught:
            await collect(model, ModelRequest("ollama/nonsense", HI, api_base=server.base_url))
    assert caught.value.kind == "unknown_model"
    assert "ollama/nonsense" in caught.value.message


async def test_an_image_for_ollama(model: WorkerModel) -> None:
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
    async with OllamaServer([ollama_server.Reply.text("A dot.")], [LocalModel(vision=True)]) as server:
        session = Session(
            model,
            lambda language, cwd: TinyRuntime([]),
            Settings(LlmSettings(model="ollama/llama3.2:3b", api_base=server.base_url)),
            cwd="/",
        )
        session.send([Message("user", "image", pixel, "base64.png"), Message("user", "message", "What is it?")])
        async with asyncio.timeout(DEADLINE):
            await session.idle()
        await session.close()
        assert server.chats[0]["messages"][1]["images"] == [pixel]
        assert server.chats[0]["messages"][1]["content"] == "What is it?"


DOCUMENTED: dict[str, tuple[str, str | None]] = {
    "LM Studio": ("openai/x", "fake_key"),
    "LM Studio without a key": ("openai/x", None),
    "Jan, as the documentation has it": ("mistral-ins-7b-q4", None),
    "llamafile": ("openai/LLaMA_CPP", None),
    "vLLM": ("hosted_vllm/facebook/opt-125m", None),
    "a model with a slash": ("TheBloke/Mistral-7B-Instruct", None),
}


@pytest.mark.parametrize("name", DOCUMENTED)
async def test_openai_compatible_servers(model: WorkerModel, name: str) -> None:
    """No key is needed, no tools are offered, blocks are read from the text, and no end has a usage chunk."""
    listed, key = DOCUMENTED[name]
    replies = [Reply.text("So:\n```python\nprint 3\n```\n"), Reply.text("It is 3.")]

    def script(request: Recorded) -> Response:
        if request.method == "GET":
            return Response.json({"object": "list", "data": [{"id": "other"}]})
        return replies.pop(0)

    async with OpenAiServer(script) as server:
        # The documentation has a space after the address.
        base = f"{server.base_url} " if name.startswith("Jan") else server.base_url
        settings = Settings(LlmSettings(model=listed, api_base=base, api_key=key), auto_run=True, offline=True)
        session, ran = await converse(model, settings)
        assert ran == ["print 3"], [m.text for m in session.messages]
        asked = [request for request in server.requests if request.method == "POST"]
        assert [request.path for request in asked] == ["/v1/chat/completions"] * 2
        assert asked[0].json["model"] == listed.removeprefix("openai/").removeprefix("hosted_vllm/")
        assert "tools" not in asked[0].json
        assert "Code output: 3" in asked[1].json["messages"][-1]["content"]


async def test_the_window_that_a_server_tells(model: WorkerModel) -> None:
    def script(request: Recorded) -> Response:
        entries = [{"id": "a", "max_model_len": 2048}, {"id": "b", "loaded_context_length": 4096}, {"id": "c"}]
        return Response.json({"object": "list", "data": entries})

    async with HttpServer(script) as server:
        windows = [(await model.info(f"openai/{name}", f"{server.url}/v1")).context_window for name in "abcd"]
    assert windows == [2048, 4096, None, None]


def thinking_of_anthropic(thought: str, said: str) -> Response:
    """https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking#streaming-thinking"""
    event = anthropic_server.event
    block = {"type": "thinking", "thinking": "", "signature": ""}
    thoughts = [
        event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": part})
        for part in openai_server.cut(thought, 4)
    ]
    signed = event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "c2ln"})
    stop = event("content_block_stop", index=0)
    begin = [anthropic_server.start(), event("content_block_start", index=0, content_block=block)]
    text = anthropic_server.text_block(1, said, 4)
    return Response.events([*begin, *thoughts, signed, stop, *text, *anthropic_server.ending("end_turn")])


REASONING: dict[str, tuple[type[HttpServer], Response]] = {
    "openai/gpt-4o": (OpenAiServer, Reply.reasoning("let me see", "yes")),
    "openai/other-name-of-it": (
        OpenAiServer,
        Reply.stream([openai_server.delta({"reasoning": "let me see"}), *Reply.text("yes").steps]),
    ),
    "openai/some-local-model": (OpenAiServer, Reply.text("<think>let me see</think>\n\nyes")),
    "anthropic/claude-sonnet-4-5": (anthropic_server.AnthropicServer, thinking_of_anthropic("let me see", "yes")),
}


@pytest.mark.parametrize("name", REASONING)
async def test_reasoning_becomes_messages_and_is_not_sent_back(model: WorkerModel, name: str) -> None:
    kind, reply = REASONING[name]

    def script(request: Recorded) -> Response:
        return reply if request.method == "POST" else Response.json({"data": []})

    async with kind(script) as server:
        settings = Settings(LlmSettings(model=name, api_base=server.base_url, api_key="sk-test"))
        session = Session(model, lambda language, cwd: TinyRuntime([]), settings, cwd="/")
        for words in ("one", "two"):
            session.send(words)
            async with asyncio.timeout(DEADLINE):
                await session.idle()
        await session.close()
        said = [(m.type, m.text) for m in session.messages if m.role == "assistant"]
        assert said == [("reasoning", "let me see"), ("message", "yes")] * 2
        last = [request for request in server.requests if request.method == "POST"][-1].json
        assert "let me see" not in str(last)
        assert "yes" in str(last)


async def test_the_catalog(worker: ModelWorker) -> None:
    async with OllamaServer(models=[LocalModel("able", tools=True, num_ctx=8192)]) as server:
        found = Discovery(local=(Candidate("ollama_chat/able", "Ollama", "It is there.", server.base_url),))
        catalog = Catalog(worker, {})
        offers = await catalog.offers(found=found)
        everything = await catalog.offers(everything=True, found=Discovery())
        local = await catalog.offers(local_only=True, found=found)
    first, *hosted = offers
    assert [first] == local
    assert (first.model, first.provider, first.tools, first.context_window) == (
        "ollama_chat/able",
        "Ollama",
        True,
        8192,
    )
    assert {offer.provider for offer in hosted} == {"anthropic"}
    assert all(offer.ready for offer in hosted)
    (sonnet,) = [offer for offer in hosted if offer.model == "claude-sonnet-4-5"]
    assert (sonnet.context_window, sonnet.tools, sonnet.vision, sonnet.reasoning) == (200_000, True, True, True)
    assert sonnet.input_price == pytest.approx(3e-06)
    assert len(everything) > 1000
    assert matching(everything, "GPT-4o openai")
    assert not any(offer.ready for offer in everything if offer.provider == "openai")


async def test_the_models_at_a_custom_endpoint(worker: ModelWorker) -> None:
    def script(request: Recorded) -> Response:
        return Response.json({"data": [{"id": "a/b", "max_model_len": 2048}]})

    catalog = Catalog(worker, {})
    async with OpenAiServer(script) as server:
        (offer,) = await catalog.at(server.base_url)
        assert (offer.model, offer.api_base, offer.context_window) == ("openai/a/b", server.base_url, 2048)
    async with OllamaServer() as ollama:
        (offer,) = await catalog.at(ollama.base_url)
        assert (offer.model, offer.context_window) == ("ollama_chat/llama3.2:3b", 4096)
    assert await catalog.at(ollama.base_url) == []


async def test_a_catalog_without_a_worker(tmp_path: Any) -> None:
    (tmp_path / "litellm.py").write_text("raise SystemExit('no litellm here')\n")
    broken = ModelWorker(environ={**os.environ, "PYTHONPATH": str(tmp_path)})
    try:
        found = Discovery(local=(Candidate("openai/x", "Jan", "It is there.", "http://127.0.0.1:9/v1"),))
        (only,) = await Catalog(broken, {}).offers(found=found)
        assert (only.model, only.context_window) == ("openai/x", ModelInfo().context_window)
    finally:
        await broken.close()
