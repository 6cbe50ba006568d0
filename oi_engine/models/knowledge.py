"""What LiteLLM's table and local servers know of models; runs in the model worker.

LiteLLM comes as an argument: only ``worker`` imports it. Everything here answers plain data for the wire.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

OLLAMA = ("ollama", "ollama_chat")
_OPENAI = ("openai", "azure")
OLLAMA_BASE = "http://localhost:11434"
OLLAMA_WINDOW = 4096
"""Tokens that Ollama reads unless told otherwise (https://docs.ollama.com/context-length): it drops what is more,
without a word, though the model could read it."""

_TIMEOUT = 3.0
"""Seconds that a server of one's own gets to say what its model can do."""

_WINDOWS = ("max_model_len", "loaded_context_length", "context_length", "max_context_length")
"""Where OpenAI-compatible servers say the window in ``/models``: vLLM, LM Studio, others."""

_AWS = ("AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE")
_KEYS: Mapping[str, tuple[str, ...]] = {
    "bedrock": _AWS,
    "bedrock_converse": _AWS,
    "bedrock_mantle": _AWS,
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "fireworks_ai": ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "huggingface": ("HUGGINGFACE_API_KEY", "HF_TOKEN", "HUGGINGFACE_TOKEN"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "replicate": ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_TOKEN"),
    "vertex_ai": ("VERTEXAI_CREDENTIALS", "VERTEX_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS"),
    "watsonx": ("WATSONX_APIKEY", "WATSONX_API_KEY", "WATSONX_TOKEN"),
}
"""The variables that pay for a provider (https://docs.litellm.ai/docs/providers), where they are not its own name with
``_API_KEY``."""


async def info(litellm: Any, model: str, provider: str, base: str | None) -> dict[str, Any]:
    """The fields of ``ModelInfo``, save the tokenizer. ``model`` is named without its provider.

    ``certain`` is false where a server of one's own was asked and gave no answer: it may be asked again.
    """
    if provider in OLLAMA:
        return await _ollama(model, base)
    found = _table(litellm, model, provider)
    if not found and base:
        told = await _asked("GET", f"{base.rstrip('/')}/models")
        return _fields(certain=told is not None, context_window=_window_in(told or {}, model))
    return _fields(
        supports_functions=found.get("supports_function_calling"),
        supports_vision=found.get("supports_vision"),
        own_vocabulary=own_vocabulary(litellm, model, provider),
        context_window=found.get("max_input_tokens") or found.get("max_tokens"),
        max_output_tokens=found.get("max_output_tokens"),
        # LiteLLM says 0 for what it has no price of; where one of the two is there, the other is meant.
        input_price=found.get("input_cost_per_token") if _priced(found) else None,
        output_price=found.get("output_cost_per_token") if _priced(found) else None,
    )


async def names_at(base: str) -> list[str]:
    """The models that a server lists, as LiteLLM names them; none where it does not answer, or lists none."""
    root = base.rstrip("/")
    told = await _asked("GET", f"{root}/models") or {}
    names = [f"openai/{entry.get('id')}" for entry in _entries(told.get("data"))]
    if not names:
        told = await _asked("GET", f"{root}/api/tags") or {}
        names = [f"ollama_chat/{entry.get('name')}" for entry in _entries(told.get("models"))]
    return names


def own_vocabulary(litellm: Any, model: str, provider: str) -> bool:
    """Whether tokens are counted by the model's own vocabulary: LiteLLM brings those of OpenAI's models."""
    return provider in _OPENAI and model in litellm.open_ai_chat_completion_models


def counts(litellm: Any, model: str, texts: Sequence[str]) -> list[int]:
    """The tokens of each text, by the model's own vocabulary where LiteLLM has it, else by a usual one.

    ``model`` is named without its provider.
    """
    return [litellm.token_counter(model=model, text=text) if text else 0 for text in texts]


def models(litellm: Any, *, everything: bool) -> Iterator[dict[str, Any]]:
    """The chat models of LiteLLM's table: those whose provider has its key in this environment, or all."""
    ready: dict[str, bool] = {}
    for name, about in litellm.model_cost.items():
        provider = about.get("litellm_provider")
        if about.get("mode") not in ("chat", "responses") or not provider or provider in OLLAMA:
            continue
        if provider not in ready:
            ready[provider] = _has_key(provider)
        if everything or ready[provider]:
            yield {
                "model": name,
                "provider": provider,
                "ready": ready[provider],
                "context_window": _whole(about.get("max_input_tokens") or about.get("max_tokens")),
                "max_output_tokens": _whole(about.get("max_output_tokens")),
                "input_price": about.get("input_cost_per_token"),
                "output_price": about.get("output_cost_per_token"),
                "tools": about.get("supports_function_calling") is True,
                "vision": about.get("supports_vision") is True,
                "reasoning": about.get("supports_reasoning") is True,
            }


def cost(litellm: Any, usage: Any, model: str, provider: str | None) -> float | None:
    """What a reply cost in US dollars: as the provider says, else by LiteLLM's table; ``None`` where neither knows."""
    said = getattr(usage, "cost", None)
    if isinstance(said, int | float):
        return float(said)
    if provider in OLLAMA:
        return 0.0
    with contextlib.suppress(Exception):  # LiteLLM raises a bare Exception for what is not in its table
        prices: tuple[float, float] = litellm.cost_per_token(
            model=model, custom_llm_provider=provider, usage_object=usage
        )
        return sum(prices)
    return None


def _fields(**known: Any) -> dict[str, Any]:
    names = ("supports_functions", "supports_vision", "context_window", "max_output_tokens")
    unknown = dict.fromkeys((*names, "input_price", "output_price"))
    return {**unknown, "own_vocabulary": False, "certain": True, **known}


def _table(litellm: Any, model: str, provider: str) -> Mapping[str, Any]:
    with contextlib.suppress(Exception):  # LiteLLM raises a bare Exception for what is not in its table
        found: Mapping[str, Any] = litellm.get_model_info(model=model, custom_llm_provider=provider or None)
        return found
    return {}


def _priced(found: Mapping[str, Any]) -> bool:
    return bool(found.get("input_cost_per_token") or found.get("output_cost_per_token"))


def _has_key(provider: str) -> bool:
    """Whether a variable that pays for the provider is set here."""
    family = provider.partition("-")[0]  # vertex_ai-anthropic_models and the like
    names = _KEYS.get(family, (f"{family.upper()}_API_KEY",))
    return any(os.environ.get(name) for name in names)


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float | str) and str(value).isdigit() else None


async def _ollama(model: str, base: str | None) -> dict[str, Any]:
    """What Ollama says of a model (https://docs.ollama.com/api/show); nothing where it does not answer."""
    server = (base or os.environ.get("OLLAMA_API_BASE") or OLLAMA_BASE).rstrip("/")
    told = await _asked("POST", f"{server}/api/show", {"model": model})
    if told is None:
        return _fields(certain=False, input_price=0.0, output_price=0.0)
    template = str(told.get("template") or "")
    abilities = told.get("capabilities")
    if not isinstance(abilities, list):
        # Servers before 0.6.4 do not list them.
        abilities = [*(["tools"] if ".Tools" in template else []), *(["vision"] if told.get("projector_info") else [])]
    limits = told.get("model_info") or {}
    longest = next((value for key, value in limits.items() if key.endswith(".context_length")), None)
    asked = re.search(r"^num_ctx\s+(\d+)", str(told.get("parameters") or ""), re.MULTILINE)
    window = int(asked[1]) if asked else min(longest or OLLAMA_WINDOW, OLLAMA_WINDOW)
    return _fields(
        supports_functions="tools" in abilities,
        supports_vision="vision" in abilities,
        context_window=window,
        input_price=0.0,
        output_price=0.0,
    )


def _window_in(told: Mapping[str, Any], model: str) -> int | None:
    """The window of a model, where an OpenAI-compatible server's list of models tells it."""
    for entry in _entries(told.get("data")):
        if entry.get("id") == model:
            return next((entry[key] for key in _WINDOWS if isinstance(entry.get(key), int)), None)
    return None


def _entries(listed: Any) -> list[dict[str, Any]]:
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


async def _asked(method: str, url: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    import httpx

    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT) as client:
            answer = await client.request(method, url, json=body)
            told = answer.json() if answer.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    return told if isinstance(told, dict) else None
