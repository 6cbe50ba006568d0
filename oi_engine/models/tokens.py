"""How many tokens a text has: an estimate at once, the model's own count when it matters.

The estimate is a third of the text's bytes in UTF-8, which is about right for code and a little much for English prose.
It decides alone while a conversation is surely within the window; near the limit the worker is asked, in one batch, for
the texts that were never counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from attrs import define

from oi_engine.errors import ModelError
from oi_engine.models.model import ProviderMessage, Tokenizer

IMAGE_TOKENS = 1_600
"""What the largest image costs at most with the usual providers."""

MESSAGE_TOKENS = 4
"""What a message costs beside its text."""

TOOL_TOKENS = 120
"""About what the description of the one tool takes."""

SURELY = 1.5
"""No text has more tokens than this times its estimate, or it is a rare one; and none fewer than its inverse."""

_PATIENCE = 10.0
"""Seconds to wait for counts; the estimate does meanwhile."""


class Counted(Protocol):
    """What has a text whose tokens are counted once; ``estimate`` is there at once, ``tokens`` when asked for."""

    tokens: int | None

    @property
    def estimate(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def extra(self) -> int:
        """Tokens that are not the text's: those of images, and what a message costs."""
        ...


def estimate(text: str) -> int:
    """A cheap estimate of the tokens of a text."""
    return (len(text.encode("utf-8", "surrogatepass")) + 2) // 3


@define(eq=False)
class CountedText:
    """A text whose tokens are counted once."""

    text: str
    tokens: int | None = None
    extra: int = MESSAGE_TOKENS

    @property
    def estimate(self) -> int:
        """A cheap estimate of its tokens."""
        return estimate(self.text) + self.extra


def size(counted: Counted) -> int:
    """The tokens, as far as known."""
    return counted.estimate if counted.tokens is None else counted.tokens


def text_of(messages: Sequence[ProviderMessage]) -> str:
    """Everything in the messages that is text, tool calls included."""
    parts: list[str] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            parts.append(content)
        elif isinstance(content, list):
            parts += [part["text"] for part in content if part["type"] == "text"]
        for call in message.get("tool_calls") or ():
            function: Mapping[str, Any] = call["function"]
            parts += [function["name"], function["arguments"]]
    return "\n".join(parts)


def images_in(messages: Sequence[ProviderMessage]) -> int:
    """How many images the messages hold."""
    contents = (message.get("content") for message in messages)
    return sum(part["type"] == "image_url" for content in contents if isinstance(content, list) for part in content)


def doubtful(candidates: Iterable[Counted], room: float) -> list[Counted]:
    """Those whose tokens must be counted to tell how many of the first fit into ``room`` tokens; none where all do."""
    unknown: list[Counted] = []
    least = most = 0.0
    for counted in candidates:
        guess = counted.estimate
        if counted.tokens is None:
            unknown.append(counted)
        least += guess / SURELY if counted.tokens is None else counted.tokens
        most += guess * SURELY if counted.tokens is None else counted.tokens
        if least > room:
            break
    return unknown if most > room else []


async def count(tokenizer: Tokenizer | None, unknown: Sequence[Counted]) -> None:
    """Have texts counted, in one batch. Where that fails or takes too long, their estimates stay."""
    if tokenizer is None or not unknown:
        return
    try:
        async with asyncio.timeout(_PATIENCE):
            counts = await tokenizer.count([counted.text for counted in unknown])
    except (ModelError, TimeoutError):
        return
    for counted, tokens in zip(unknown, counts, strict=True):
        counted.tokens = tokens + counted.extra
