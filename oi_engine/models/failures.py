"""What went wrong with a model's reply, said for a person.

The worker hands every exception of LiteLLM to ``explain``. This module imports neither LiteLLM nor a provider's
package: it goes by status, by the names of the classes in the chain of exceptions and by the provider's words, which
is all that LiteLLM promises (https://docs.litellm.ai/docs/exception_mapping) and more than it keeps: the same cause
comes in different classes from different providers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from attrs import evolve, field, frozen

from oi_engine.errors import ModelErrorKind

_PROVIDERS = {
    "openai": "OpenAI",
    "anthropic": "Anthropic",
    "gemini": "Google Gemini",
    "vertex_ai": "Google Vertex AI",
    "openrouter": "OpenRouter",
    "groq": "Groq",
    "mistral": "Mistral",
    "deepseek": "DeepSeek",
    "xai": "xAI",
    "azure": "Azure OpenAI",
    "bedrock": "AWS Bedrock",
    "ollama": "Ollama",
    "ollama_chat": "Ollama",
    "lm_studio": "LM Studio",
    "huggingface": "Hugging Face",
}

_MAX_DETAIL = 300


@frozen
class Failure:
    """Why there is no reply, or no more of it; the fields are those of ``ModelError``."""

    kind: ModelErrorKind
    message: str
    remedy: str = ""
    retry_after: float | None = None


@frozen
class Asked:
    """What was asked of whom.

    ``key_names`` are the environment variables that may hold the provider's key; ``received`` tells whether part of
    the reply had arrived; ``secrets`` are the values that no message may contain.
    """

    model: str
    provider: str = ""
    api_base: str | None = None
    key_names: tuple[str, ...] = ()
    received: bool = False
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def who(self) -> str:
        """The provider by the name that people know, with its address where it is not the usual one."""
        name = _PROVIDERS.get(self.provider, self.provider or "the provider")
        return f"{name} at {self.api_base}" if self.api_base else name

    @property
    def key_hint(self) -> str:
        """What to set to give a key."""
        names = " or ".join(self.key_names)
        return f"Set {names} in the environment, or llm.api_key." if names else "Set llm.api_key."


@frozen
class _Evidence:
    """What an exception and those behind it say."""

    names: frozenset[str]
    statuses: tuple[int, ...]
    text: str
    detail: str
    retry_after: float | None = None

    def named(self, *names: str) -> bool:
        return not self.names.isdisjoint(names)

    def says(self, pattern: str) -> bool:
        return re.search(pattern, self.text, re.IGNORECASE) is not None

    def status(self, *statuses: int) -> bool:
        return any(status in statuses for status in self.statuses)


def explain(error: BaseException, asked: Asked) -> Failure:
    """Say what an exception of LiteLLM means."""
    evidence = _evidence(error, asked.secrets)
    for applies, made in _RULES:
        if applies(evidence, asked):
            return evolve(made(evidence, asked), retry_after=evidence.retry_after)
    return Failure(
        "other", f"{_capital(asked.who)} gave no reply of {asked.model}: {evidence.detail}", "Send your message again."
    )


def no_key(asked: Asked) -> Failure:
    """No key for a provider that needs one."""
    return Failure(
        "no_key",
        f"There is no key for {asked.who}, which {asked.model} needs.",
        f"{asked.key_hint} Or choose a local model.",
    )


def cut_off(asked: Asked) -> Failure:
    """The stream ended without saying that the reply is whole."""
    if not asked.received:
        return Failure(
            "malformed_reply",
            f"{_capital(asked.who)} answered with nothing that is a reply of {asked.model}.",
            "Check llm.api_base and llm.model, or send your message again.",
        )
    return Failure("dropped", f"The reply of {asked.model} broke off before its end.", "Send your message again.")


def content_filtered(asked: Asked) -> Failure:
    """The provider stopped the reply because of what is in it."""
    return Failure(
        "refused", f"{_capital(asked.who)} stopped the reply of {asked.model} for its content.", "Ask in another way."
    )


def redacted(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, and without what looks like a provider's key."""
    for secret in secrets:
        if len(secret) >= 6:
            text = text.replace(secret, "…")
    return re.sub(r"\b(sk|gsk|xai|key|hf|r8|pplx)[-_][\w*-]{8,}|\bAIza[\w-]{10,}|(?<=Bearer )\S+", "…", text)


def _evidence(error: BaseException, secrets: tuple[str, ...]) -> _Evidence:
    names: set[str] = set()
    statuses: list[int] = []
    texts: list[str] = []
    details: list[str] = []
    waits: list[float] = []
    for one in _chain(error):
        names.update(kind.__name__ for kind in type(one).__mro__)
        status = getattr(one, "status_code", None)
        if isinstance(status, int):
            statuses.append(status)
        text = str(one)
        texts += [text, str(getattr(one, "body", None) or "")]
        if said := _said_by_provider(text):
            details.append(said)
        waits += _waits(one)
    detail = details[0] if details else _plain(texts[0]) or type(error).__name__
    if len(detail) > _MAX_DETAIL:
        detail = f"{detail[:_MAX_DETAIL]}…"
    return _Evidence(
        frozenset(names), tuple(statuses), "\n".join(texts), redacted(detail, secrets), next(iter(waits), None)
    )


def _waits(error: BaseException) -> Iterator[float]:
    """The seconds of a ``Retry-After`` header (https://www.rfc-editor.org/rfc/rfc9110#field.retry-after)."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("headers", "litellm_response_headers"):
            headers = getattr(holder, name, None)
            if not isinstance(headers, Mapping):
                continue
            said = {str(key).lower(): str(value) for key, value in headers.items()}
            if milliseconds := _number(said.get("retry-after-ms")):
                yield milliseconds / 1000
            elif (text := said.get("retry-after")) is not None:
                seconds = _number(text)
                yield _until(text) if seconds is None else seconds


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _until(date: str) -> float:
    """Seconds until a date of HTTP's; 0 where it is past, or is no date."""
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return 0.0
    return max(0.0, (moment - datetime.now(moment.tzinfo or UTC)).total_seconds())


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        original = getattr(one, "original_exception", None)
        one = original if isinstance(original, BaseException) else one.__cause__ or one.__context__


def _said_by_provider(text: str) -> str:
    """The message in a provider's JSON body, where the text holds one: ``{"error": {"message": …}}`` and the like."""
    start = text.find("{")
    if start < 0:
        return ""
    try:
        body, _ = json.JSONDecoder().raw_decode(text[start:])
    except ValueError:
        return ""
    error: Any = body.get("error", body) if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else ""


def _plain(text: str) -> str:
    """The text without the names of classes that LiteLLM puts before it, on one line."""
    text = re.sub(r"^(?:[\w.]*(?:Error|Exception)(?:: | - ))+", "", text)
    return " ".join(text.split())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_CONNECTING = ("ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionRefusedError", "gaierror")
_BREAKING = (
    "ReadError",
    "ReadTimeout",
    "RemoteProtocolError",
    "ClientPayloadError",
    "ServerDisconnectedError",
    "ConnectionResetError",
    "IncompleteRead",
)
_QUOTA = (
    r"insufficient[_ ]quota|exceeded your current quota|credit balance|insufficient (balance|credits|funds)"
    r"|billing|spend(ing)? limit|budget (has been )?exceeded|exceeded [^\n]{0,40}budget"
)
_CONTEXT = (
    r"context_length_exceeded|maximum context length|context (window|length|size)|prompt is too long"
    r"|input (is|was) too long|too many (input )?tokens|exceeds? the (available )?context"
)
_NO_KEY = r"missing [\w ]*(api.?key|credentials)|no api.?key|api.?key (is |was )?(not (set|found|provided)|missing)"
_BAD_KEY = r"api.?key not valid|invalid[_ ](x-)?api.?key|incorrect api key"
_NO_MODEL = (
    r"model_not_found|LLM Provider NOT provided|model[^\n]{0,80}(does not exist|not found|not available)"
    r"|not a valid model|unknown model|invalid model"
)


def _no_key(_: _Evidence, asked: Asked) -> Failure:
    return no_key(asked)


def _bad_key(_: _Evidence, asked: Asked) -> Failure:
    return Failure(
        "bad_key",
        f"{_capital(asked.who)} did not accept the key for {asked.model}.",
        f"Check that the key is whole and still valid. {asked.key_hint}",
    )


def _forbidden(evidence: _Evidence, asked: Asked) -> Failure:
    return Failure(
        "bad_key",
        f"The key may not use {asked.model} at {asked.who}: {evidence.detail}",
        f"Choose another model, or another key. {asked.key_hint}",
    )


def _no_model(_: _Evidence, asked: Asked) -> Failure:
    return Failure(
        "unknown_model",
        f"There is no model {asked.model} at {asked.who}, or your key may not use it.",
        "Check llm.model: it is named as LiteLLM names it, such as gpt-4o or anthropic/claude-sonnet-5.",
    )


def _quota(evidence: _Evidence, asked: Asked) -> Failure:
    return Failure(
        "quota",
        f"Your account at {asked.who} has no quota or credit left for {asked.model}: {evidence.detail}",
        "Look at the plan and billing page of the provider, or choose another model.",
    )


def _rate_limit(evidence: _Evidence, asked: Asked) -> Failure:
    return Failure(
        "rate_limit",
        f"{_capital(asked.who)} takes no more requests for {asked.model} just now: {evidence.detail}",
        "Wait a little, then send your message again.",
    )


def _overloaded(evidence: _Evidence, asked: Asked) -> Failure:
    return Failure(
        "overloaded" if evidence.status(503, 529) else "other",
        f"{_capital(asked.who)} has trouble of its own with {asked.model}: {evidence.detail}",
        "Wait a little, then send your message again.",
    )


def _context(_: _Evidence, asked: Asked) -> Failure:
    return Failure(
        "context_length",
        f"The conversation is too long for {asked.model}.",
        "Start a new session, undo the longest messages, set llm.context_window, or choose a model that reads more.",
    )


def _refused(evidence: _Evidence, asked: Asked) -> Failure:
    return Failure(
        "refused",
        f"{_capital(asked.who)} refused the request to {asked.model} for its content: {evidence.detail}",
        "Ask in another way.",
    )


def _unreachable(_: _Evidence, asked: Asked) -> Failure:
    remedy = "Check that the server runs, and llm.api_base." if asked.api_base else "Check your network connection."
    return Failure("unreachable", f"{_capital(asked.who)} could not be reached for {asked.model}.", remedy)


def _timeout(_: _Evidence, asked: Asked) -> Failure:
    kind: ModelErrorKind = "dropped" if asked.received else "unreachable"
    return Failure(
        kind, f"{_capital(asked.who)} fell silent while {asked.model} was to answer.", "Send your message again."
    )


def _dropped(_: _Evidence, asked: Asked) -> Failure:
    return Failure(
        "dropped", f"The connection to {asked.who} broke while {asked.model} answered.", "Send your message again."
    )


def _malformed(_: _Evidence, asked: Asked) -> Failure:
    return Failure(
        "malformed_reply",
        f"{_capital(asked.who)} sent something that is no reply of {asked.model}.",
        "Check llm.api_base and llm.model, or send your message again.",
    )


_RULES: tuple[tuple[Callable[[_Evidence, Asked], bool], Callable[[_Evidence, Asked], Failure]], ...] = (
    # The order matters: from what is said in so many words to what a status or a class alone tells.
    (lambda e, _: e.named("ContextWindowExceededError") or (e.status(400, 413) and e.says(_CONTEXT)), _context),
    (lambda e, _: e.named("ContentPolicyViolationError") or e.says("content_policy|content_filter"), _refused),
    (lambda e, _: e.status(400, 402, 403, 429) and (e.status(402) or e.says(_QUOTA)), _quota),
    (lambda e, _: e.named("RateLimitError") or e.status(429), _rate_limit),
    (lambda e, _: e.named(*_CONNECTING), _unreachable),
    (lambda e, _: e.named(*_BREAKING), _dropped),
    (lambda e, _: e.named("Timeout", "TimeoutError"), _timeout),
    (lambda e, _: e.says(_NO_KEY), _no_key),
    (lambda e, _: e.named("AuthenticationError") or e.status(401) or e.says(_BAD_KEY), _bad_key),
    (lambda e, _: e.named("NotFoundError") or e.status(404) or e.says(_NO_MODEL), _no_model),
    (lambda e, _: e.named("PermissionDeniedError") or e.status(403), _forbidden),
    (lambda e, _: e.named("JSONDecodeError", "APIResponseValidationError"), _malformed),
    (lambda e, _: any(status >= 500 for status in e.statuses), _overloaded),
)
