"""``AsyncInterpreter``."""

from __future__ import annotations

import asyncio

import pytest

from oi_engine import AsyncInterpreter, NotHere
from tests.unit.api.rig import Model, Tiny, block, said


@pytest.fixture
async def asynchronous(tiny: type[Tiny]) -> AsyncInterpreter:
    interpreter = AsyncInterpreter()
    interpreter.computer.languages = [tiny]
    return interpreter


async def test_chat_can_be_awaited(asynchronous: AsyncInterpreter) -> None:
    asynchronous.llm.completions = Model("Hello.")
    messages = await asynchronous.chat("Hi")
    assert said(messages) == [("user", "message", "Hi"), ("assistant", "message", "Hello.")]
    await asynchronous.reset()
    assert asynchronous.messages == []
    assert (await asynchronous.computer.run("python", "x"))[0]["content"] == "ran x\n"


async def test_an_asynchronous_stream_and_its_gate(asynchronous: AsyncInterpreter, tiny: type[Tiny]) -> None:
    asynchronous.llm.completions = Model(block("one"), block("two"))
    seen = []
    async for chunk in asynchronous.chat("Run it", stream=True):
        seen.append(chunk["type"])
        if chunk["type"] == "confirmation" and chunk["content"]["code"] == "one":
            asynchronous.approve()
    assert tiny.ran == ["one"]
    assert seen.count("confirmation") == 2
    stream = asynchronous.chat("Again", stream=True)
    asynchronous.llm.completions = Model(block("three"))
    async for chunk in stream:
        if chunk["type"] == "confirmation":
            break
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert not asynchronous.responding
    assert tiny.ran == ["one"]


async def test_cancelling_stops_the_turn(asynchronous: AsyncInterpreter, tiny: type[Tiny]) -> None:
    asynchronous.llm.completions = Model(block("wait"))
    asynchronous.auto_run = True
    turn = asyncio.create_task(asynchronous.chat("Wait"))
    async with asyncio.timeout(30):
        while not tiny.ran:
            await asyncio.sleep(0.01)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert tiny.stopped.is_set()
    assert not asynchronous.responding


async def test_the_server_is_not_here(asynchronous: AsyncInterpreter) -> None:
    with pytest.raises(NotHere, match="no HTTP server"):
        asynchronous.server.run()
