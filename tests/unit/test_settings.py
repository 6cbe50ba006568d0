"""Settings from the shape of a profile: names old and new, bad values, safety."""

from __future__ import annotations

from typing import Any

import pytest

from oi_engine.settings import Settings, names, read


def test_nested_dotted_and_old_flat_names() -> None:
    for data in ({"llm": {"model": "m"}}, {"llm.model": "m"}, {"model": "m"}):
        settings, problems = read(data)
        assert settings.llm.model == "m"
        assert problems == []
    assert read({"llm_supports_functions": False})[0].llm.supports_functions is False


def test_what_lies_under_is_kept_and_not_changed() -> None:
    base = Settings(custom_instructions="mine")
    settings, _ = read({"llm": {"temperature": 1}}, base)
    assert settings.custom_instructions == "mine"
    assert settings.llm.temperature == 1.0
    assert base.llm.temperature == 0.0


def test_an_unknown_name_is_said_with_the_one_that_was_meant() -> None:
    _, problems = read({"auto_rnu": True, "llm": {"modle": "x"}})
    assert "'auto_run'" in problems[0]
    assert "'llm.model'" in problems[1]


@pytest.mark.parametrize(
    "data",
    [
        {"llm": {"max_output": "many"}},
        {"llm": {"max_output": True}},
        {"llm": {"model": 3}},
        {"loop": "yes"},
        {"loop_breakers": "x"},
        {"code_output_sender": "moon"},
        {"llm": 3},
    ],
)
def test_a_bad_value_keeps_the_default_and_is_said(data: dict[str, object]) -> None:
    settings, problems = read(data)
    assert settings == Settings()
    assert len(problems) == 1


@pytest.mark.parametrize("value", ["true", "yes", 1, None, [], {}])
def test_a_bad_safety_value_falls_to_the_strictest(value: object) -> None:
    settings, problems = read({"auto_run": value, "safe_mode": value}, Settings(auto_run=True, safe_mode="off"))
    assert settings.auto_run is False
    assert settings.safe_mode == "auto"
    assert len(problems) == 2


def test_secrets_do_not_show() -> None:
    settings, _ = read({"api_key": "sk-very-secret"})
    assert settings.llm.api_key == "sk-very-secret"
    assert "sk-very" not in repr(settings)
    _, problems = read({"api_key": ["sk-very-secret"]})
    assert "sk-very" not in " ".join(problems)


def test_every_name_of_the_tree_can_be_read() -> None:
    for name in names():
        value: Any = Settings()
        for part in name.split("."):
            value = getattr(value, part)
        _, problems = read({name: list(value) if isinstance(value, tuple) else value})
        assert problems == [], name
