"""Whole replies: events of every kind, in and out of order."""

from __future__ import annotations

import pytest

from oi_engine.errors import ModelError
from oi_engine.models.deltas import chunk_events, delta_events
from oi_engine.models.model import ModelEvent, Notice, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from oi_engine.models.pieces import CodeClose, CodeOpen, CodeText, Piece, Prose, Reasoning
from oi_engine.models.reply import ReplyParser
from tests.unit.parsing import LANGUAGES, merged


def parse(events: list[ModelEvent], *, tools: bool, broken: bool = False) -> tuple[list[Piece], ModelError | None]:
    parser = ReplyParser(tools, LANGUAGES)
    pieces = [piece for event in events for piece in parser.feed(event)]
    return merged(pieces + parser.finish(broken)), parser.error


CALL = ToolCallDelta(0, '{"language": "r", "code": "1"}', "a", "execute")
BLOCK: list[Piece] = [CodeOpen("r"), CodeText("1"), CodeClose()]


def test_fences_count_where_there_are_no_tools() -> None:
    events: list[ModelEvent] = [ReasoningDelta("hm"), TextDelta("a\n```r\n"), TextDelta("1\n```"), Usage(1, 1)]
    assert parse(events, tools=False) == ([Reasoning("hm"), Prose("a\n"), *BLOCK], None)


def test_fences_are_prose_where_there_are_tools() -> None:
    events: list[ModelEvent] = [TextDelta("a\n```r\n1\n```"), CALL, Notice("slow")]
    assert parse(events, tools=True) == ([Prose("a\n```r\n1\n```"), *BLOCK], None)


def test_a_call_that_was_not_offered_is_read() -> None:
    assert parse([TextDelta("a\n  "), CALL, TextDelta("b")], tools=False) == (
        [Prose("a\n  "), *BLOCK, Prose("b")],
        None,
    )


def test_text_beside_an_open_call_comes_after_it() -> None:
    first, second = ToolCallDelta(0, CALL.arguments[:-3], "a", "execute"), ToolCallDelta(0, CALL.arguments[-3:])
    events: list[ModelEvent] = [first, TextDelta("\n"), ReasoningDelta("x"), second, TextDelta("b")]
    assert parse(events, tools=True) == ([*BLOCK, Prose("\n"), Reasoning("x"), Prose("b")], None)


def test_text_ends_bare_code() -> None:
    events: list[ModelEvent] = [ToolCallDelta(0, "1", "a", "r"), TextDelta("b"), TextDelta("c")]
    assert parse(events, tools=True) == ([*BLOCK, Prose("bc")], None)


def test_reasoning_beside_an_open_fence_comes_after_it() -> None:
    events: list[ModelEvent] = [TextDelta("```r\n"), ReasoningDelta("x"), TextDelta("1\n```\n")]
    assert parse(events, tools=False) == ([*BLOCK, Reasoning("x")], None)


def test_a_broken_reply() -> None:
    pieces, error = parse([TextDelta("```r\n1")], tools=False, broken=True)
    assert (pieces, error) == ([CodeOpen("r"), CodeText("1"), CodeClose(complete=False)], None)


def test_malformed_arguments_are_said_once_the_reply_is_over() -> None:
    pieces, error = parse([ToolCallDelta(0, '{"language": "r", "code": "1', "a", "execute")], tools=True)
    assert pieces == [CodeOpen("r"), CodeText("1"), CodeClose(complete=False)]
    assert error is not None
    assert error.kind == "malformed_reply"


def test_deltas() -> None:
    call = {"index": 1, "id": "a", "type": "function", "function": {"name": "execute", "arguments": "{"}}
    assert delta_events({"content": "a", "reasoning_content": "b", "tool_calls": [call]}) == [
        ReasoningDelta("b"),
        TextDelta("a"),
        ToolCallDelta(1, "{", "a", "execute"),
    ]
    assert delta_events({"role": "assistant", "content": None, "tool_calls": None}) == []
    assert delta_events({"tool_calls": [{"function": {}}]}) == [ToolCallDelta(0)]


def test_chunks() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    assert chunk_events({"choices": [{"delta": {"content": "a"}}]}) == [TextDelta("a")]
    assert chunk_events({"choices": [], "usage": usage}) == [Usage(3, 4)]
    assert chunk_events({"choices": [{"delta": None, "finish_reason": "stop"}], "usage": None}) == []


@pytest.mark.parametrize(
    "chunk",
    [{"choices": "text"}, {"choices": [{"delta": {"content": 1}}]}, {"choices": [{"delta": {"tool_calls": [1]}}]}],
)
def test_chunks_of_another_form(chunk: dict[str, object]) -> None:
    with pytest.raises(ModelError) as caught:
        chunk_events(chunk)
    assert caught.value.kind == "malformed_reply"
