"""What a session needs of a language model, and what a model says while it replies.

Three implementations: the worker (LiteLLM in a process of its own), the embedded tour model, a custom callable.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from attrs import frozen

ProviderMessage = Mapping[str, Any]
"""One message as OpenAI's chat completions have it: ``role``, ``content``, perhaps ``tool_calls``, ``tool_call_id``."""


@frozen
class ModelRequest:
    """One request for a reply.

    ``messages`` are in OpenAI's format, system message first. With ``tools`` the model is offered the one tool
    ``execute(language, code)``; ``languages`` are the values that its ``language`` may take. ``context_window`` is the
    person's own word on it, in tokens: a local server is asked for as much. The rest is as LiteLLM names it; ``None``
    means the provider's default.
    """

    model: str
    messages: Sequence[ProviderMessage]
    tools: bool = False
    languages: tuple[str, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    api_base: str | None = None
    api_key: str | None = None
    api_version: str | None = None
    context_window: int | None = None


@frozen
class TextDelta:
    """More prose of the reply."""

    text: str


@frozen
class ReasoningDelta:
    """More of what the model thinks before it replies, where the provider sends it."""

    text: str


@frozen
class ToolCallDelta:
    """More of one tool call. ``index`` tells parallel calls apart; ``id`` and ``name`` come with the first piece."""

    index: int
    arguments: str = ""
    id: str | None = None
    name: str | None = None


@frozen
class Usage:
    """Tokens and cost of one reply, where the provider or LiteLLM's table tells; ``cost`` in US dollars."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None


@frozen
class Notice:
    """Something that the person should see while waiting (a retry after a rate limit, say)."""

    text: str


class Tokenizer(Protocol):
    """Counts tokens as a model does, or nearly so."""

    async def count(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text. Raises ``ModelError`` where they cannot be had."""
        ...


class Images(Protocol):
    """Makes images fit what providers take, as it is done for what is sent."""

    async def fit(self, messages: Sequence[ProviderMessage]) -> tuple[list[ProviderMessage], int]:
        """The messages with images that fit, and how many were left out. Raises ``ModelError``."""
        ...


@frozen
class ModelInfo:
    """What is known of a model; ``None`` where it is not known.

    Windows in tokens; prices in US dollars a token (0 for what costs nothing). ``own_vocabulary``: whether the
    ``tokenizer`` goes by the model's own; else by a usual one, and what it counts is an estimate. ``local``: whether it
    is answered on this machine, or in its own network.
    """

    supports_functions: bool | None = None
    supports_vision: bool | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    tokenizer: Tokenizer | None = None
    own_vocabulary: bool = False
    local: bool | None = None
    images: Images | None = None


ModelEvent = TextDelta | ReasoningDelta | ToolCallDelta | Usage | Notice


class Model(Protocol):
    """A language model.

    ``stream`` yields the reply as it arrives and ends with it. It raises ``ModelError``, with a message for the
    person, when the reply cannot be had or breaks off. Closing the generator (or cancelling the task that iterates)
    cancels the request at the provider.
    """

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask for a reply."""
        ...

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        """What is known of ``model``, at ``api_base`` where that matters.

        An empty ``ModelInfo`` where nothing is known. Never raises.
        """
        ...

    async def warm_up(self) -> None:
        """Get ready, so that the first reply starts sooner; never raises."""
        ...

    async def close(self) -> None:
        """Let go of processes and connections."""
        ...
