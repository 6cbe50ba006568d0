"""The tour: every step that it writes is well formed, and what it says depends on what came out."""

from __future__ import annotations

import json

import pytest

from oi_engine.models.model import ModelEvent, ModelRequest, ProviderMessage, TextDelta, ToolCallDelta
from oi_engine.models.tour import TourModel


async def reply(*messages: ProviderMessage) -> tuple[str, dict[str, str]]:
    """What the tour says and the call that it makes, if any."""
    request = ModelRequest("tour", [{"role": "system", "content": ""}, *messages], tools=True)
    events: list[ModelEvent] = [event async for event in TourModel().stream(request)]
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    arguments = "".join(event.arguments for event in events if isinstance(event, ToolCallDelta))
    return text, json.loads(arguments) if arguments else {}


def user(text: str) -> ProviderMessage:
    return {"role": "user", "content": text}


def output(text: str) -> ProviderMessage:
    return {"role": "tool", "tool_call_id": "c", "content": text}


@pytest.mark.parametrize(
    ("asked", "language"),
    [
        ("plot a sine wave", "python"),
        ("which files are here?", "shell"),
        ("ask me something", "python"),
        ("run something long", "python"),
        ("make a mistake", "python"),
        ("hello", "python"),
    ],
)
async def test_each_topic_begins_with_code_and_ends_without(asked: str, language: str) -> None:
    text, call = await reply(user(asked))
    assert text
    assert call["language"] == language
    if language == "python":
        compile(call["code"], asked, "exec")
    _, second = await reply(user(asked), output("KeyError"), output("x"))
    assert second == {}


async def test_it_says_that_it_is_no_model() -> None:
    text, _ = await reply(user("hi"))
    assert "not a language model" in text


async def test_the_next_step_depends_on_what_came_out() -> None:
    _, found = await reply(user("plot"), output("matplotlib is installed\n"))
    _, missing = await reply(user("plot"), output("matplotlib is missing\n"))
    assert "matplotlib" in found["code"]
    assert "matplotlib" not in missing["code"]
    compile(missing["code"], "plot", "exec")


async def test_a_refusal_is_taken_as_one() -> None:
    text, call = await reply(user("plot"), output("The person declined to run this code."))
    assert "did not run" in text
    assert call == {}
