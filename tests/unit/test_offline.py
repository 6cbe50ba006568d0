"""``offline``: which models are local, and what is said of those that are not."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from oi_engine import factory
from oi_engine.messages import Message
from oi_engine.models.discovery import Candidate, Discovery, is_local
from oi_engine.models.model import ModelInfo
from oi_engine.settings import LlmSettings, Settings
from tests.unit.test_trim import Rig, Summarizer


@pytest.mark.parametrize(
    ("model", "base", "local"),
    [
        ("gpt-4o", None, False),
        ("openai/gpt-4o", None, False),
        ("anthropic/claude-sonnet-4-5", None, False),
        ("ollama_chat/llama3", None, True),
        ("ollama/llama3", "https://models.example.org", False),
        ("openai/local", "http://localhost:1234/v1", True),
        ("openai/local", "http://127.0.0.1:1234/v1", True),
        ("openai/local", "http://[::1]:1234/v1", True),
        ("openai/local", "localhost:1234", True),
        ("openai/local", "http://192.168.1.7/v1", True),
        ("openai/local", "http://workstation:8000/v1", True),
        ("openai/local", "http://workstation.local/v1", True),
        ("openai/local", "https://api.example.org/v1", False),
        ("openai/local", "https://8.8.8.8/v1", False),
        ("openai/local", "http://[broken", False),
        ("mistral/large", None, True),
    ],
)
def test_what_is_local(model: str, base: str | None, local: bool) -> None:
    assert is_local(model, base, {"MISTRAL_API_BASE": "http://localhost:1/v1"}) is local


@pytest.mark.parametrize(
    ("offline", "local", "said"), [(True, False, 1), (True, True, 0), (True, None, 0), (False, False, 0)]
)
async def test_a_model_that_is_elsewhere_is_said_once(offline: bool, local: bool | None, said: int) -> None:
    rig = Rig(offline=offline)
    rig.model = Summarizer(ModelInfo(local=local))
    rig.messages = [Message("user", "message", "Hi.", id="u1")]
    for _ in range(2):
        await rig.ask()
    assert len(rig.notices) == said
    rig.settings.llm = LlmSettings(model="another")
    await rig.ask()
    assert len(rig.notices) == 2 * said
    assert all("offline is on" in notice for notice in rig.notices)


async def test_each_session_chooses_by_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(variable)

    async def nothing_runs_here(keys: Mapping[str, str], environ: Mapping[str, str]) -> Discovery:
        return Discovery(hosted=(Candidate("openai/gpt-4o", "OPENAI_API_KEY", "A key."),))

    monkeypatch.setattr(factory, "discover", nothing_runs_here)
    engine = factory.Engine()
    try:
        online = engine.new_session(cwd="/")
        offline = engine.new_session(cwd="/", settings=Settings(offline=True))
        for session in (online, offline):
            await session.model.info("")
        assert engine.model_of(online) == "openai/gpt-4o"
        assert engine.model_of(offline) == "tour"
        # Gone offline, a session chooses anew.
        engine.set_in_session(online, {"offline": True})
        assert engine.model_of(online) == ""
        await online.model.info("")
        assert engine.model_of(online) == "tour"
    finally:
        await engine.close()
