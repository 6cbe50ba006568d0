"""``messages`` and the settings as attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oi_engine import InvalidMessage, InvalidSetting, NotHere, OpenInterpreter, ProfileError
from oi_engine.paths import profiles_folder
from oi_engine.settings.system_message import SYSTEM_MESSAGE
from tests.unit.api.rig import Make, Tiny, block

# --- messages --------------------------------------------------------------------------------------------------


def test_messages_are_one_list_that_can_be_changed(make: Make) -> None:
    interpreter, model = make()
    messages = interpreter.chat("My name is Killian.", display=False)
    interpreter.messages = []
    assert interpreter.messages == []
    interpreter.messages = messages
    interpreter.messages.append({"role": "user", "type": "message", "content": "I live in Seattle."})
    interpreter.messages[1]["content"] = "Hello, Killian."
    interpreter.chat("Who am I?", display=False)
    sent = "\n".join(str(message["content"]) for message in model.requests[-1])
    assert "My name is Killian." in sent
    assert "Hello, Killian." in sent
    assert "Seattle" in sent
    assert interpreter.messages is interpreter.messages


def test_messages_of_the_first_releases(make: Make) -> None:
    interpreter, model = make()
    old = [
        {"role": "user", "message": "Hi! Can you print hello world?"},
        {"role": "assistant", "message": "Sure!"},
        {"role": "assistant", "language": "python", "code": "print('Hello')", "output": "Hello"},
    ]
    interpreter.load(old)
    assert [(m["role"], m["type"]) for m in interpreter.messages] == [
        ("user", "message"),
        ("assistant", "message"),
        ("assistant", "code"),
        ("computer", "console"),
    ]
    interpreter.chat("And now?", display=False)
    assert "print('Hello')" in str(model.requests[-1])


def test_messages_that_are_none(make: Make) -> None:
    interpreter, _ = make()
    with pytest.raises(InvalidMessage, match=r"messages\[0\]\.role"):
        interpreter.messages = [{"role": "nobody", "type": "message", "content": "x"}]
    assert interpreter.messages == []


def test_undo_and_reset(make: Make, tiny: type[Tiny]) -> None:
    interpreter, _ = make("One.", block("two"), auto_run=True)
    interpreter.chat("First", display=False)
    interpreter.chat("Second", display=False)
    interpreter.undo()
    assert [message["content"] for message in interpreter.messages] == ["First", "One."]
    interpreter.reset()
    assert interpreter.messages == []
    assert tiny.ran[-1] == "terminated"


# --- settings --------------------------------------------------------------------------------------------------


def test_settings_are_attributes_under_every_documented_name() -> None:
    interpreter = OpenInterpreter()
    assert interpreter.system_message == SYSTEM_MESSAGE
    interpreter.system_message += "\nRun all shell commands with -y."
    assert interpreter.system_message.endswith("with -y.")
    interpreter.model = "gpt-4o"
    interpreter.context_window = 5000
    assert (interpreter.llm.model, interpreter.llm.context_window) == ("gpt-4o", 5000)
    interpreter.loop_breakers.append("Enough.")
    assert interpreter.loop_breakers[-1] == "Enough."
    interpreter.loop_breakers = ["Stop."]
    assert interpreter.loop_breakers == ["Stop."]
    assert "auto_run" in dir(interpreter)
    assert "completions" in dir(interpreter.llm)


def test_settings_reach_the_model(make: Make) -> None:
    interpreter, model = make(custom_instructions="Be brief.", user_message_template="{content} Please.")
    interpreter.chat("Hi", display=False)
    interpreter.custom_instructions = "Be long."
    interpreter.chat("Hi", display=False)
    assert "Be brief." in model.requests[0][0]["content"]
    assert "Be long." in model.requests[1][0]["content"]
    assert model.requests[1][-1]["content"] == "Hi Please."


@pytest.mark.parametrize(
    ("attempt", "meant"),
    [
        (lambda i: i.atuo_run, "interpreter.auto_run"),
        (lambda i: setattr(i, "autorun", True), "interpreter.auto_run"),
        (lambda i: i.llm.temprature, "interpreter.llm.temperature"),
        (lambda i: setattr(i.llm, "modle", "x"), "interpreter.llm.model"),
        (lambda i: i.completions, "interpreter.llm.completions"),
        (lambda i: i.computer.langauges, "interpreter.computer.languages"),
        (lambda i: i.message, "interpreter.messages"),
        (lambda i: setattr(i, "llm", "x"), "group of settings"),
        (lambda i: i.nothing_like_it_at_all, "There is no interpreter.nothing_like_it_at_all"),
    ],
)
def test_a_wrong_name_says_what_was_meant(attempt: Callable[[Any], Any], meant: str) -> None:
    with pytest.raises(AttributeError, match=meant):
        attempt(OpenInterpreter())


def test_a_wrong_value_is_refused_and_a_guard_is_then_strict() -> None:
    interpreter = OpenInterpreter()
    interpreter.llm.temperature = 0.5
    with pytest.raises(InvalidSetting, match="number"):
        interpreter.llm.temperature = "hot"
    assert interpreter.llm.temperature == 0.5
    interpreter.auto_run = True
    with pytest.raises(InvalidSetting):
        interpreter.auto_run = "yes"
    assert interpreter.auto_run is False
    with pytest.raises(InvalidSetting) as told:
        interpreter.llm.api_key = 5
    assert "5" not in str(told.value)


def test_the_default_profile_is_inherited_and_another_can_be_chosen() -> None:
    folder = profiles_folder()
    folder.mkdir(parents=True)
    (folder / "default.yaml").write_text("llm:\n  temperature: 0.25\ncustom_instructions: Be kind.\n")
    (folder / "quick.yaml").write_text("custom_instructions: Be quick.\n")
    interpreter = OpenInterpreter()
    assert interpreter.llm.temperature == 0.25
    interpreter.profile("quick")
    assert interpreter.custom_instructions == "Be quick."
    interpreter.custom_instructions = "Be mine."
    assert interpreter.custom_instructions == "Be mine."
    with pytest.raises(ProfileError, match="quick"):
        interpreter.profile("quik")


def test_what_has_no_effect_is_said(caplog: pytest.LogCaptureFixture) -> None:
    interpreter = OpenInterpreter()
    interpreter.os = True
    assert interpreter.os is True
    assert "no OS mode" in caplog.text


@pytest.mark.parametrize("part", ["display", "keyboard", "mouse", "clipboard", "os", "mail", "sms", "calendar"])
def test_the_computer_api_is_not_here(part: str) -> None:
    with pytest.raises(NotHere, match=f"interpreter.computer.{part} is not here"):
        getattr(OpenInterpreter().computer, part)
