"""``chat``: what it answers and raises, and who says yes."""

from __future__ import annotations

from typing import Any

import pytest

import oi_engine
from oi_engine import ModelError, SessionBusy, UnknownProposal
from tests.unit.api.rig import Make, Tiny, block, said, until

# --- chat ------------------------------------------------------------------------------------------------------


def test_chat_returns_what_came_of_the_message(make: Make) -> None:
    interpreter, model = make("Hello.", block("one"), "It ran.", auto_run=True)
    assert said(interpreter.chat("Hi", display=False)) == [
        ("user", "message", "Hi"),
        ("assistant", "message", "Hello."),
    ]
    assert said(interpreter.chat("Run one", display=False)) == [
        ("user", "message", "Run one"),
        ("assistant", "code", "one"),
        ("computer", "console", "ran one\n"),
        ("assistant", "message", "It ran."),
    ]
    assert len(interpreter.messages) == 6
    assert [message["content"] for message in model.requests[1][1:]] == ["Hi", "Hello.", "Run one"]


def test_a_message_may_be_a_dictionary(make: Make) -> None:
    interpreter, _ = make()
    messages = interpreter.chat({"content": "Hi"}, display=False)
    assert said(messages[:1]) == [("user", "message", "Hi")]
    messages = interpreter.chat({"role": "user", "type": "file", "content": "/tmp/a.txt"}, display=False)
    assert said(messages[:1]) == [("user", "file", "/tmp/a.txt")]


def test_a_list_is_the_whole_conversation(make: Make) -> None:
    interpreter, model = make("One.", "Two.", "Three.")
    whole = interpreter.chat([{"role": "user", "message": "Hello!"}], display=False)
    assert said(whole) == [("user", "message", "Hello!"), ("assistant", "message", "One.")]
    whole.append({"role": "user", "type": "message", "content": "Go on"})
    assert [m["content"] for m in interpreter.chat(whole, display=False)] == ["Hello!", "One.", "Go on", "Two."]
    ids = [message["id"] for message in interpreter.messages]
    assert [message["id"] for message in whole[:2]] == ids[:2], "what was there stays what it was"
    other = [{"role": "user", "type": "message", "content": "Something else"}]
    assert [m["content"] for m in interpreter.chat(other, display=False)] == ["Something else", "Three."]
    assert [message["content"] for message in model.requests[-1][1:]] == ["Something else"]


def test_an_application_may_be_the_computer(make: Make) -> None:
    interpreter, model = make(block("2 + 2"))
    for chunk in interpreter.chat("Add", stream=True, display=False):
        if chunk["type"] == "confirmation":
            break
    messages = [message for message in interpreter.messages if message["role"] != "computer"]
    messages.append({"role": "computer", "type": "console", "format": "output", "content": "4"})
    answered = interpreter.chat(messages, display=False)
    assert said(answered)[-2:] == [("computer", "console", "4"), ("assistant", "message", "Done.")]
    assert "4" in model.requests[-1][-1]["content"]


@pytest.mark.parametrize("message", ["", [], {"content": ""}])
def test_nothing_to_send_is_an_error(make: Make, message: Any) -> None:
    interpreter, _ = make()
    with pytest.raises(oi_engine.OiError):
        interpreter.chat(message, display=False)
    assert said(interpreter.chat("Hi", display=False))[-1][2] == "Done."


def test_a_model_that_fails_raises_and_the_conversation_goes_on(make: Make) -> None:
    interpreter, _ = make(ValueError("no such thing"), "Now.")
    with pytest.raises(ModelError, match="no such thing"):
        interpreter.chat("Hi", display=False)
    assert said(interpreter.chat("Again", display=False))[-1][2] == "Now."


def test_without_waiting(make: Make) -> None:
    interpreter, _ = make(block("one"))
    assert interpreter.chat("Run it", display=False, blocking=False) == []
    until(lambda: interpreter.proposal is not None)
    assert interpreter.responding
    assert interpreter.proposal is not None
    assert (interpreter.proposal["language"], interpreter.proposal["code"]) == ("python", "one")
    with pytest.raises(SessionBusy):
        interpreter.chat("Another", display=False)
    with pytest.raises(SessionBusy):
        interpreter.messages = []
    interpreter.approve()
    assert said(interpreter.wait())[-1] == ("assistant", "message", "Done.")
    assert interpreter.wait() == []


# --- the gate --------------------------------------------------------------------------------------------------


def test_without_anybody_to_ask_nothing_runs(make: Make, tiny: type[Tiny], caplog: pytest.LogCaptureFixture) -> None:
    interpreter, model = make(*[block("one")] * 5)
    messages = interpreter.chat("Run it", display=False)
    assert tiny.ran == []
    assert len(model.requests) == 3, "a model that goes on proposing is stopped"
    assert "Nobody could be asked" in said(messages)[2][2]
    assert "interpreter.auto_run = True" in caplog.text


def test_reading_on_is_no_approval(make: Make, tiny: type[Tiny]) -> None:
    interpreter, _ = make(block("one"))
    chunks = list(interpreter.chat("Run it", display=False, stream=True))
    assert tiny.ran == []
    text = "".join(c.get("content") or "" for c in chunks if c["role"] == "computer" and c["type"] == "message")
    assert "without approving" in text


def test_approving_between_two_chunks(make: Make, tiny: type[Tiny]) -> None:
    interpreter, _ = make(block("one"), block("two"), block("three"))
    for chunk in interpreter.chat("Run it", display=False, stream=True):
        if chunk["type"] != "confirmation":
            continue
        assert chunk["content"]["format"] == chunk["content"]["language"] == "python"
        match chunk["content"]["content"]:
            case "one":
                interpreter.approve()
            case "two":
                interpreter.approve("two, as edited")
            case "three":
                interpreter.reject("not three")
    assert tiny.ran == ["one", "two, as edited"]
    assert "They said: not three" in str(interpreter.messages)


@pytest.mark.parametrize("auto_run", [True, False])
def test_breaking_off_at_the_confirmation_runs_nothing(make: Make, tiny: type[Tiny], auto_run: bool) -> None:
    interpreter, _ = make(block("one"), auto_run=auto_run)
    for chunk in interpreter.chat("Run it", display=False, stream=True):
        if chunk["type"] == "confirmation":
            break
    assert not interpreter.responding
    assert tiny.ran == []
    assert said(interpreter.chat("Go on", display=False))[-1][2] == "Done."


@pytest.mark.parametrize("stream", [True, False])
def test_sandboxed_runs_nothing_that_is_in_no_sandbox(make: Make, tiny: type[Tiny], stream: bool) -> None:
    interpreter, _ = make(block("one"), auto_run="sandboxed")
    if stream:
        assert list(interpreter.chat("Run it", display=False, stream=True))
    else:
        assert interpreter.chat("Run it", display=False)
    assert tiny.ran == []


def test_with_auto_run_a_stream_runs_what_is_read_past(make: Make, tiny: type[Tiny]) -> None:
    interpreter, _ = make(block("one"), auto_run=True)
    chunks = [
        {key: value for key, value in chunk.items() if key not in ("id", "created_at", "parent")}
        for chunk in interpreter.chat("Run it", display=False, stream=True)
    ]
    assert tiny.ran == ["one"]
    assert chunks[0] == {"role": "assistant", "type": "code", "format": "python", "start": True}
    at = [chunk["type"] for chunk in chunks].index("confirmation")
    assert chunks[at - 1] == {"role": "assistant", "type": "code", "format": "python", "end": True}
    assert chunks[at + 1 : at + 6] == [
        {"role": "computer", "type": "console", "start": True},
        {"role": "computer", "type": "console", "format": "active_line", "content": "1"},
        {"role": "computer", "type": "console", "format": "output", "content": "ran one\n"},
        {"role": "computer", "type": "console", "end": True},
        {"role": "assistant", "type": "message", "start": True},
    ]
    assert {chunk["role"] for chunk in chunks} == {"assistant", "computer"}


def test_a_decision_without_a_proposal(make: Make) -> None:
    interpreter, _ = make()
    for decide in (interpreter.approve, interpreter.reject):
        with pytest.raises(UnknownProposal):
            decide()
    assert interpreter.proposal is None
    assert not interpreter.stop()


def test_a_generator_that_is_never_begun_sends_nothing(make: Make) -> None:
    interpreter, model = make()
    interpreter.chat("Hi", display=False, stream=True)
    assert model.requests == []
    assert interpreter.messages == []


def test_stopping_what_runs(make: Make, tiny: type[Tiny]) -> None:
    interpreter, _ = make(block("wait"), auto_run=True)
    for chunk in interpreter.chat("Wait", display=False, stream=True):
        if chunk.get("content") == "waiting\n":
            assert interpreter.stop()
            break
    assert tiny.stopped.is_set()
    assert ("computer", "message", "Stopped; variables are kept.") in said(interpreter.messages)


def test_safe_mode_turns_auto_run_off(make: Make, tiny: type[Tiny]) -> None:
    interpreter, _ = make(block("one"), auto_run=True, safe_mode="ask")
    assert interpreter.auto_run is False
    interpreter.chat("Run it", display=False)
    assert tiny.ran == []
