"""Asking again when the provider is busy."""

from __future__ import annotations

import asyncio
import random

import pytest

from oi_engine.errors import ModelError
from oi_engine.models.model import ModelEvent, ModelRequest, Notice, TextDelta
from oi_engine.models.retry import Patience, with_retries
from tests.fakes.scripted import ScriptedModel, Step, code, say
from tests.unit.session_rig import Rig

ASKED = ModelRequest("m", [])


def busy(wait: float | None = 0.0, kind: str = "rate_limit") -> ModelError:
    return ModelError(kind, "Busy.", "Wait.", wait)  # type: ignore[arg-type]


async def collect(*replies: list[Step], patience: Patience | None = None) -> tuple[list[ModelEvent], ModelError | None]:
    events = []
    try:
        async for event in with_retries(ScriptedModel(replies), ASKED, patience or Patience()):
            events.append(event)  # noqa: PERF401 -- what came before the failure counts
    except ModelError as error:
        return events, error
    return events, None


async def test_it_asks_again_and_says_so() -> None:
    events, error = await collect([busy()], [busy(kind="overloaded")], say("yes"))
    assert error is None
    assert events == [
        Notice("Busy. Asking again in 1 s (1 of 5)."),
        Notice("Busy. Asking again in 1 s (2 of 5)."),
        TextDelta("yes"),
    ]


async def test_it_gives_up() -> None:
    events, error = await collect([busy()], [busy()], [busy()], patience=Patience(retries=2))
    assert len(events) == 2
    assert error is not None
    assert error.kind == "rate_limit"


@pytest.mark.parametrize("kind", ["quota", "bad_key", "dropped", "unreachable", "context_length", "other"])
async def test_other_failures_are_not_tried_again(kind: str) -> None:
    events, error = await collect([busy(kind=kind)], say("yes"))
    assert events == []
    assert error is not None


async def test_nothing_is_tried_again_after_a_word() -> None:
    events, error = await collect([*say("so"), busy()], say("yes"))
    assert events == [TextDelta("so")]
    assert error is not None


async def test_a_wait_that_is_too_long_is_left_to_the_person() -> None:
    events, error = await collect([busy(3600.0)], say("yes"))
    assert events == []
    assert error is not None


def test_the_waits() -> None:
    patience = Patience(random=random.Random(1))
    waits = [patience.wait(attempt, busy(None)) for attempt in range(1, 7)]
    assert waits[-1] is None
    for wait, least in zip(waits, [1, 2, 4, 8, 16], strict=False):
        assert wait is not None
        assert least <= wait <= least * 1.25
    asked = patience.wait(1, busy(7.0))
    assert asked is not None
    assert 7.0 <= asked <= 8.75


async def test_in_a_session_the_wait_is_seen_and_the_reply_comes_after_it() -> None:
    rig = Rig([busy()], say("yes"))
    rig.session.send("go")
    await rig.session.idle()
    assert rig.said() == [
        ("user", "message", "go"),
        ("computer", "message", "Busy. Asking again in 1 s (1 of 5)."),
        ("assistant", "message", "yes"),
    ]
    assert "Asking again" not in str(rig.model.requests[1].messages)
    rig.checked()


async def test_a_wait_is_stopped_at_once() -> None:
    rig = Rig([busy(100.0)], code("print 1"))
    noted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def look(chunk: str | None) -> None:
        if chunk and "Asking again" in chunk and not noted.done():
            noted.set_result(None)

    rig.session.stream.subscribe(lambda entry: look(str(entry.chunk.content)))
    rig.session.send("go")
    await asyncio.wait_for(noted, 30)
    assert rig.session.stop().stopped
    await asyncio.wait_for(rig.session.idle(), 30)
    assert len(rig.model.requests) == 1
    rig.checked()
