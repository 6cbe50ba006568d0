"""Streaming chunks in OpenAI's form, read as model events.

Shared by the worker's client (whose wire carries the ``delta`` objects) and by custom callables (which yield whole
chunks). The form is https://platform.openai.com/docs/api-reference/chat-streaming; ``reasoning_content`` is what
DeepSeek, and LiteLLM for everyone else, add to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oi_engine.errors import ModelError
from oi_engine.models.model import ModelEvent, ReasoningDelta, TextDelta, ToolCallDelta, Usage


def chunk_events(chunk: Mapping[str, Any]) -> list[ModelEvent]:
    """The events of one whole chunk: ``{"choices": [{"delta": {…}}], "usage": {…}}``.

    Raises ``ModelError`` (``malformed_reply``) for what is no such chunk.
    """
    try:
        events: list[ModelEvent] = []
        for choice in chunk.get("choices") or ():
            events += delta_events(choice.get("delta") or {})
        usage = chunk.get("usage")
        if usage:
            events.append(usage_event(usage))
    except (AttributeError, TypeError, ValueError) as error:
        raise ModelError(
            "malformed_reply",
            f"The model sent a chunk that is not of OpenAI's form ({error}).",
            'A chunk looks like {"choices": [{"delta": {"content": "text"}}]}.',
        ) from error
    return events


def delta_events(delta: Mapping[str, Any]) -> list[ModelEvent]:
    """The events of one ``delta``: what it thinks, then text, then calls of tools."""
    events: list[ModelEvent] = []
    if reasoning := delta.get("reasoning_content"):
        events.append(ReasoningDelta(_text(reasoning)))
    if content := delta.get("content"):
        events.append(TextDelta(_text(content)))
    for call in delta.get("tool_calls") or ():
        function = call.get("function") or {}
        events.append(
            ToolCallDelta(
                call.get("index") or 0,
                _text(function.get("arguments") or ""),
                call.get("id") or None,
                function.get("name") or None,
            )
        )
    return events


def usage_event(usage: Mapping[str, Any]) -> Usage:
    """Tokens (and the cost, where it is there) of one reply."""
    cost = usage.get("cost")
    return Usage(
        int(usage.get("prompt_tokens") or 0),
        int(usage.get("completion_tokens") or 0),
        None if cost is None else float(cost),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text expected, not {type(value).__name__}")
    return value
