"""Whose model is chosen anew when other keys are handed over."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from oi_engine import factory
from oi_engine.models.chosen import Choice, ChosenModel
from oi_engine.models.discovery import Candidate, Discovery
from oi_engine.session.session import Session
from oi_engine.settings import LlmSettings, Settings


async def _by_keys(keys: Mapping[str, str], environ: Mapping[str, str]) -> Discovery:
    return Discovery(hosted=tuple(Candidate(f"model/{name}", name, "A key.") for name in sorted(keys)))


async def model_of(session: Session) -> str:
    assert isinstance(session.model, ChosenModel)
    return (await session.model.chosen()).model


async def test_who_found_none_or_lost_the_key_chooses_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "discover", _by_keys)
    engine = factory.Engine(keys={"Z_API_KEY": "own"})

    try:
        found = engine.new_session(cwd="/")
        named = engine.new_session(cwd="/", settings=Settings(llm=LlmSettings(model="tour")))
        chosen = engine.new_session(cwd="/", model=Choice("tour", "It was chosen."))
        assert [await model_of(each) for each in (found, named, chosen)] == ["model/Z_API_KEY", "tour", "tour"]
        engine.change_keys({"A_API_KEY": "handed over"})
        assert [await model_of(each) for each in (found, named, chosen)] == ["model/Z_API_KEY", "tour", "tour"]
        later = engine.new_session(cwd="/")
        assert await model_of(later) == "model/A_API_KEY"
        engine.change_keys({})
        assert await model_of(later) == "model/Z_API_KEY", "those of the environment stay"
    finally:
        await engine.close()


async def test_who_found_none_takes_the_first_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "discover", _by_keys)
    engine = factory.Engine()
    try:
        session = engine.new_session(cwd="/")
        assert await model_of(session) == "tour"
        engine.change_keys({"A_API_KEY": "handed over"})
        assert await model_of(session) == "model/A_API_KEY"
    finally:
        await engine.close()
