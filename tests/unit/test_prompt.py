"""The prompt: a conversation as providers want it, with tools and with fences."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oi_engine.messages import Message
from oi_engine.models.model import ModelInfo
from oi_engine.models.units import fenced
from oi_engine.settings import LlmSettings, Settings
from tests.unit.prompting import build_request

TOOLS, FENCES = ModelInfo(supports_functions=True), ModelInfo(supports_functions=False)


def prompt(messages: list[Message], info: ModelInfo = TOOLS, **settings: Any) -> list[dict[str, Any]]:
    request = build_request(messages, Settings(**settings), info, cwd="/here", languages=("python", "shell"))
    return [dict(message) for message in request.messages[1:]]


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
ASK = Message("user", "message", "Add.", id="u1")
CODE = Message("assistant", "code", "1+1", "python", id="c1")
OUTPUT = Message("computer", "console", "2\n", "output", id="o1", parent="c1")


def test_tools() -> None:
    found = prompt([ASK, Message("assistant", "message", "So:", id="a1"), CODE, OUTPUT])
    assert found == [
        {"role": "user", "content": "Add."},
        {
            "role": "assistant",
            "content": "So:",
            "tool_calls": [
                {
                    "id": "call_c1",
                    "type": "function",
                    "function": {"name": "execute", "arguments": '{"language": "python", "code": "1+1"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_c1", "content": "2"},
    ]


def test_fences() -> None:
    found = prompt([ASK, Message("assistant", "message", "So:", id="a1"), CODE, OUTPUT], FENCES)
    assert found[1] == {"role": "assistant", "content": "So:\n\n```python\n1+1\n```"}
    assert found[2]["role"] == "user"
    assert found[2]["content"].startswith("Code output: 2\n\n")


def test_every_tool_call_is_answered_in_order_whatever_came_of_it() -> None:
    other = Message("assistant", "code", "ls", "shell", id="c2")
    third = Message("assistant", "code", "pwd", "shell", id="c3")
    declined = Message("computer", "message", "Declined.", id="n1", parent="c2")
    found = prompt([ASK, CODE, other, third, OUTPUT, declined])
    assert [(m["tool_call_id"], m["content"]) for m in found if m["role"] == "tool"] == [
        ("call_c1", "2"),
        ("call_c2", "Declined."),
        ("call_c3", "This code was not run."),
    ]


def test_an_edit_is_shown_as_it_ran() -> None:
    edit = Message("user", "code", "1+2", "python", id="e1", parent="c1")
    for info in (TOOLS, FENCES):
        found = prompt([ASK, CODE, edit, OUTPUT], info)
        assert "1+2" in json.dumps(found[1])
        assert "1+1" not in json.dumps(found)
        assert "edited" in found[2]["content"]


def test_messages_in_the_documented_form_have_no_parents() -> None:
    plain = Message("computer", "console", "2", "output", id="o1")
    assert prompt([ASK, CODE, plain])[-1] == {"role": "tool", "tool_call_id": "call_c1", "content": "2"}


def test_no_output_is_told_by_its_template() -> None:
    silent = Message("computer", "console", "", "output", id="o1", parent="c1")
    for info in (TOOLS, FENCES):
        assert prompt([ASK, CODE, silent], info)[-1]["content"] == Settings().empty_code_output_template


def test_long_output_is_cut_to_max_output() -> None:
    flood = Message("computer", "console", "x" * 100_000, "output", id="o1", parent="c1")
    told = prompt([ASK, CODE, flood], llm=LlmSettings(max_output=300))[-1]["content"]
    assert told.count("x") == 300
    assert "99,700" in told


def test_the_user_template_is_for_the_last_request_unless_always() -> None:
    talk = [ASK, Message("assistant", "message", "2", id="a1"), Message("user", "message", "Thanks.", id="u2")]
    assert [m["content"] for m in prompt(talk, user_message_template="<{content}>")] == ["Add.", "2", "<Thanks.>"]
    always = prompt(talk, user_message_template="<{content}>", always_apply_user_message_template=True)
    assert [m["content"] for m in always] == ["<Add.>", "2", "<Thanks.>"]


def test_braces_in_what_people_and_programs_write_are_left_alone() -> None:
    found = prompt([Message("user", "message", "{0} {content} {x!r}", id="u1")], user_message_template="{content}!")
    assert found == [{"role": "user", "content": "{0} {content} {x!r}!"}]


def test_own_code_and_its_output_are_one_message_of_the_person() -> None:
    own = Message("user", "code", "1+1", "python", id="c1")
    found = prompt([own, OUTPUT, ASK])
    assert found == [
        {"role": "user", "content": "I ran this code myself:\n\n```python\n1+1\n```\n\nOutput:\n2\n\nAdd."}
    ]


def test_words_for_the_person_alone_stay_out() -> None:
    aside = Message("computer", "message", "Retrying.", id="n1", recipient="user")
    assert prompt([ASK, aside]) == [{"role": "user", "content": "Add."}]
    held = Message("computer", "message", "Long output.", id="n2", recipient="user", parent="c1")
    assert prompt([ASK, CODE, held, OUTPUT])[-1]["content"] == "2"


@pytest.mark.parametrize("vision", [True, False])
def test_images(vision: bool) -> None:
    picture = Message("computer", "image", PIXEL, "base64.png", id="i1", parent="c1")
    info = ModelInfo(supports_functions=True, supports_vision=vision)
    found = prompt([ASK, CODE, OUTPUT, picture], info)
    assert found[2]["content"] == "2\n(An image was shown to the person.)"
    assert ("data:image/png;base64," + PIXEL in json.dumps(found)) == vision


def test_the_system_message() -> None:
    settings = Settings(custom_instructions="Be brief.")
    request = build_request([ASK], settings, FENCES, cwd="/here", languages=("python",))
    system = request.messages[0]["content"]
    for word in ("/here", "python", "Be brief.", str(settings.llm.execution_instructions)):
        assert word in system
    own = build_request([ASK], Settings(system_message="Mine."), TOOLS, cwd="/", languages=())
    assert own.messages[0]["content"].startswith("Mine.")
    assert str(settings.llm.execution_instructions) not in own.messages[0]["content"]


def test_settings_win_over_what_is_known_of_the_model() -> None:
    settings = Settings(llm=LlmSettings(supports_functions=False))
    assert not build_request([ASK], settings, TOOLS, cwd="/", languages=()).tools


def test_fences_are_longer_than_any_inside() -> None:
    assert fenced("md", "````\nx\n````\n") == "`````md\n````\nx\n````\n`````"
