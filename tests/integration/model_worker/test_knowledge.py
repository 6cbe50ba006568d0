"""What the worker knows of models, and what it does to a prompt."""

from __future__ import annotations

import base64
import io

import pytest
from attrs import evolve

from oi_engine.models.model import ModelInfo, Notice
from oi_engine.models.worker_client import WorkerModel
from tests.fakes.openai_server import OpenAiServer, Reply
from tests.integration.model_worker.asking import CLAUDE, ask, collect

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_info(model: WorkerModel) -> None:
    known = await model.info("gpt-4o")
    assert (known.supports_functions, known.supports_vision) == (True, True)
    assert known.context_window == 128_000
    assert known.max_output_tokens is not None
    assert known.input_price == pytest.approx(2.5e-06)
    assert evolve(await model.info("nonsense"), tokenizer=None, images=None, local=None) == ModelInfo()


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


async def test_with_a_model_s_own_vocabulary_however_it_is_named(model: WorkerModel) -> None:
    text = "Привет, как дела у тебя сегодня? " * 20
    infos = [await model.info(name) for name in ("gpt-4o", "openai/gpt-4o", CLAUDE, "nonsense")]
    assert [info.own_vocabulary for info in infos] == [True, True, False, False]
    counts = [await info.tokenizer.count([text]) for info in infos if info.tokenizer is not None]
    assert counts[0] == counts[1] < counts[2] == counts[3]


async def test_a_conversation_that_grows_reaches_the_provider_whole(model: WorkerModel) -> None:
    said = [{"role": "user", "content": f"word {number}"} for number in range(50)]
    prompts = [said[:20], said[:30], [*said[:10], {"role": "user", "content": "instead"}], said]
    async with OpenAiServer([Reply.text("Yes.") for _ in prompts]) as server:
        for prompt in prompts:
            await collect(model, ask(server, messages=prompt))
        assert [request.json["messages"] for request in server.requests] == prompts


async def test_images_are_made_to_fit(model: WorkerModel) -> None:
    pillow = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    pillow.new("RGB", (4000, 40), "red").save(out, "PNG")
    broken = b"\x89PNG\r\n\x1a\n" + b"\0" * 4_000_000
    urls = [f"data:image/png;base64,{base64.b64encode(raw).decode()}" for raw in (out.getvalue(), broken)]
    content = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    async with OpenAiServer([Reply.text("Red.")]) as server:
        events = await collect(model, ask(server, messages=[{"role": "user", "content": content}]))
        images = (await model.info("openai/gpt-4o")).images
        assert images is not None
        assert await images.fit([{"role": "user", "content": content}]) == (server.requests[0].json["messages"], 1)
        first, second = server.requests[0].json["messages"][0]["content"]
        with pillow.open(io.BytesIO(base64.b64decode(first["image_url"]["url"].partition("base64,")[2]))) as sent:
            assert sent.size == (2000, 20)
        assert "left out" in second["text"]
        assert [event.text for event in events if isinstance(event, Notice)] == [
            "An image is too large for the provider and was not sent."
        ]
