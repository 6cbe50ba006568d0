"""What is said of failures; the integration tests have LiteLLM's own exceptions."""

from __future__ import annotations

import pytest

from oi_engine.models.failures import Asked, cut_off, explain, redacted

ASKED = Asked("openai/gpt-4o", "openai", key_names=("OPENAI_API_KEY",), secrets=("a-secret-value",))


class ProviderError(Exception):
    def __init__(self, message: str, status_code: int | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code


class ConnectTimeout(Exception):
    pass


class ReadTimeout(Exception):
    pass


class Timeout(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderError("No API key found", 400), "no_key"),
        (ProviderError("API key not valid. Please pass a valid API key.", 400), "bad_key"),
        (ProviderError("Payment required", 402), "quota"),
        (ProviderError('{"error": {"message": "Budget has been exceeded"}}', 400), "quota"),
        (ProviderError("max_tokens must be greater than thinking.budget_tokens", 400), "other"),
        (ProviderError("Input is too long for requested model", 400), "context_length"),
        (ProviderError("pull the model: model 'llama9' not found", 500), "unknown_model"),
        (ProviderError("not allowed", 403), "bad_key"),
        (ConnectTimeout(), "unreachable"),
        (ReadTimeout(), "dropped"),
        (Timeout(), "unreachable"),
        (ValueError("odd"), "other"),
    ],
)
def test_kinds(error: Exception, kind: str) -> None:
    failure = explain(error, ASKED)
    assert failure.kind == kind
    assert "openai/gpt-4o" in failure.message
    assert failure.remedy


def test_a_timeout_after_some_words_is_a_dropped_reply() -> None:
    assert explain(Timeout(), Asked("m", received=True)).kind == "dropped"
    assert cut_off(Asked("m", received=True)).kind == "dropped"
    assert cut_off(Asked("m")).kind == "malformed_reply"


def test_the_cause_behind_an_exception_counts() -> None:
    outer = ProviderError("something went wrong", 500)
    outer.__cause__ = ConnectionRefusedError()
    assert explain(outer, ASKED).kind == "unreachable"


def test_the_providers_own_words_are_shown_without_wrapping() -> None:
    error = ProviderError('litellm.BadRequestError: XException - {"error": {"message": "no odd tools"}}', 400)
    assert explain(error, ASKED).message.endswith("no odd tools")
    error = ProviderError("litellm.BadRequestError: XException - no odd\n tools", 400)
    assert explain(error, ASKED).message.endswith(": no odd tools")
    assert len(explain(ProviderError("x" * 10_000), ASKED).message) < 500


def test_no_key_is_ever_said() -> None:
    told = explain(ProviderError("the key a-secret-value or sk-proj-abcdefghijklm is odd", 400), ASKED)
    assert "a-secret-value" not in told.message
    assert "abcdefghijklm" not in told.message
    assert redacted("Bearer abc.def.ghi", ()) == "Bearer …"
    assert "a-secret-value" not in repr(ASKED)
