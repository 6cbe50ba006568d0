"""Callables as models."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from oi_engine.errors import ModelError
from oi_engine.models.custom import CallableModel
from oi_engine.models.model import ModelEvent, ModelRequest, TextDelta, Usage

REQUEST = ModelRequest("mine", [{"role": "user", "content": "Hi!"}], max_tokens=7, temperature=0.5)
DEADLINE = 60.0


def chunk(text: str) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}}]}


async def collect(function: Any) -> list[ModelEvent]:
    async with asyncio.timeout(DEADLINE):
        return [event async for event in CallableModel(function).stream(REQUEST)]


async def test_the_references_example() -> None:
    def custom_language_model(messages: Any, model: Any, stream: Any, max_tokens: Any) -> Iterator[dict[str, Any]]:
        assert (model, stream, max_tokens) == ("mine", True, 7)
        for character in messages[-1].get("content"):
            yield chunk(character)

    assert await collect(custom_language_model) == [TextDelta("H"), TextDelta("i"), TextDelta("!")]


async def test_everything_for_who_takes_everything() -> None:
    def function(**given: Any) -> Iterator[dict[str, Any]]:
        yield chunk(",".join(sorted(given)))

    expected = "api_base,api_key,api_version,max_tokens,messages,model,stream,temperature"
    assert await collect(function) == [TextDelta(expected)]


async def test_an_asynchronous_generator() -> None:
    async def function(messages: Any) -> AsyncIterator[dict[str, Any]]:
        yield chunk("a")
        yield {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}

    assert await collect(function) == [TextDelta("a"), Usage(1, 2)]


async def test_a_coroutine_that_returns_an_iterator() -> None:
    async def function(messages: Any) -> Iterator[dict[str, Any]]:
        return iter([chunk("a")])

    assert await collect(function) == [TextDelta("a")]


async def test_chunks_that_are_objects() -> None:
    class Chunk:
        def model_dump(self) -> dict[str, Any]:
            return chunk("a")

    assert await collect(lambda messages: iter([Chunk()])) == [TextDelta("a")]


async def test_more_chunks_than_the_pump_runs_ahead() -> None:
    assert len(await collect(lambda messages: (chunk("a") for _ in range(1000)))) == 1000


@pytest.mark.parametrize("when", ["at once", "later", "asynchronously"])
async def test_what_it_raises_is_said(when: str) -> None:
    def at_once(messages: Any) -> Iterator[dict[str, Any]]:
        raise ValueError("no such thing")

    def later(messages: Any) -> Iterator[dict[str, Any]]:
        yield chunk("a")
        raise ValueError("no such thing")

    async def asynchronously(messages: Any) -> AsyncIterator[dict[str, Any]]:
        yield chunk("a")
        raise ValueError("no such thing")

    functions = {"at once": at_once, "later": later, "asynchronously": asynchronously}
    with pytest.raises(ModelError) as caught:
        await collect(functions[when])
    assert caught.value.kind == "other"
    assert "ValueError: no such thing" in caught.value.message


@pytest.mark.parametrize("value", ["text", 1, None])
async def test_chunks_of_another_form(value: object) -> None:
    with pytest.raises(ModelError) as caught:
        await collect(lambda messages: iter([value]))
    assert caught.value.kind == "other"


async def test_a_blocking_generator_does_not_block_the_loop_and_is_closed() -> None:
    release, closed = threading.Event(), threading.Event()

    def function(messages: Any) -> Iterator[dict[str, Any]]:
        try:
            yield chunk("a")
            release.wait(DEADLINE)
            yield chunk("b")
        finally:
            closed.set()

    stream = CallableModel(function).stream(REQUEST)
    assert await anext(stream) == TextDelta("a")
    waiting = asyncio.ensure_future(anext(stream))
    # The loop goes on while the generator waits.
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await stream.aclose()
    release.set()
    assert await asyncio.to_thread(closed.wait, DEADLINE)
