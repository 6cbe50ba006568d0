"""Which variables are provider keys, and that they are kept apart."""

from __future__ import annotations

import pytest

from oi_engine.safety.secrets import is_provider_key, scrubbed, take_provider_keys


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "openai_api_key", "NEW_PROVIDER_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WATSONX_APIKEY"],
)
def test_keys(name: str) -> None:
    assert is_provider_key(name)


@pytest.mark.parametrize(
    "name",
    ["PATH", "GITHUB_TOKEN", "GH_TOKEN", "AWS_PROFILE", "AWS_REGION", "GOOGLE_APPLICATION_CREDENTIALS", "API_KEYS_DIR"],
)
def test_not_keys(name: str) -> None:
    assert not is_provider_key(name)


def test_taking_leaves_no_key_behind() -> None:
    environ = {"PATH": "/bin", "OPENAI_API_KEY": "a", "HF_TOKEN": "b", "GROQ_API_KEY": "", "GITHUB_TOKEN": "c"}
    assert take_provider_keys(environ) == {"OPENAI_API_KEY": "a", "HF_TOKEN": "b"}
    assert environ == {"PATH": "/bin", "GITHUB_TOKEN": "c"}


def test_scrubbing_lets_through_what_is_allowed_by_name() -> None:
    environ = {"PATH": "/bin", "OPENAI_API_KEY": "a", "HF_TOKEN": "b"}
    assert scrubbed(environ) == {"PATH": "/bin"}
    assert scrubbed(environ, ("HF_TOKEN",)) == {"PATH": "/bin", "HF_TOKEN": "b"}
    assert "OPENAI_API_KEY" in environ
