"""The Python API: settings, messages, streams and the gate, with functions as models and classes as languages."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import oi_engine
from oi_engine import (
    AsyncInterpreter,
    InvalidMessage,
    InvalidSetting,
    ModelError,
    NotHere,
    OpenInterpreter,
    ProfileError,
    SessionBusy,
    UnknownProposal,
)
from oi_engine.api.hub import hub
from oi_engine.paths import profiles_folder
from oi_engine.settings.tree import SYSTEM_MESSAGE

Chunk = dict[str, Any]


class Tiny:
    """A language that says what it was given; ``python`` by name, so that it is known."""

    name = "python"
    ran: list[str]
    stopped: threading.Event

    def run(self, code: str) -> Iterator[Chunk]:
        type(self).ran.append(code)
        if code == "wait":
            yield {"type": "console", "format": "output", "content": "waiting\n"}
            self.stopped.wait(30)
            return
        if code == "fail":
            raise ValueError("it failed")
        yield {"type": "console", "format": "active_line", "content": "1"}
        yield {"type": "console", "format": "output", "content": f"ran {code}\n"}

    def stop(self) -> None:
        self.stopped.set()

    def terminate(self) -> None:
        type(self).ran.append("terminated")


class Model:
    """A function that replies as scripted, then says ``Done.``, and keeps what it was asked."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.requests: list[list[Chunk]] = []

    def __call__(self, messages: list[Chunk], model: str, stream: bool, max_tokens: int | None) -> Iterator[Chunk]:
        self.requests.append(messages)
        reply = self.replies.pop(0) if self.replies else "Done."
        if isinstance(reply, Exception):
            raise reply
        for at in range(0, len(reply), 5):
            yield {"choices": [{"delta": {"content": reply[at : at + 5]}}]}


def block(code: str) -> str:
    return f"```python\n{code}\n```"


@pytest.fixture(autouse=True)
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test starts ends with it, and its profiles and conversations are its own."""
    for kind in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    yield
    hub().close()


@pytest.fixture
def tiny() -> type[Tiny]:
    class Fresh(Tiny):
        ran: list[str] = []  # noqa: RUF012 -- the class is made anew for each test
        stopped = threading.Event()

    return Fresh


Make = Callable[..., tuple[OpenInterpreter, Model]]


@pytest.fixture
def make(tiny: type[Tiny]) -> Iterator[Make]:
    made: list[OpenInterpreter] = []

    def make(*replies: str | Exception, **settings: Any) -> tuple[OpenInterpreter, Model]:
        interpreter, model = OpenInterpreter(), Model(*replies)
        interpreter.llm.completions = model
        interpreter.computer.languages = [tiny]
        for name, value in settings.items():
            setattr(interpreter, name, value)
        made.append(interpreter)
        return interpreter, model

    yield make
    for interpreter in made:
        interpreter.close()


def said(messages: list[Chunk]) -> list[tuple[str, str, str]]:
    return [(message["role"], message["type"], message["content"]) for message in messages]


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


# --- the computer ----------------------------------------------------------------------------------------------


def test_own_code_is_beside_the_conversation(make: Make, tiny: type[Tiny]) -> None:
    interpreter, _ = make()
    (output,) = interpreter.computer.run("python", "key = '...'")
    assert (output["role"], output["type"], output["content"]) == ("computer", "console", "ran key = '...'\n")
    assert interpreter.messages == []
    assert "ValueError: it failed" in interpreter.computer.run("python", "fail")[0]["content"]
    interpreter.computer.terminate()
    assert tiny.ran[-1] == "terminated"


def test_languages_are_a_list_of_classes(make: Make, tiny: type[Tiny]) -> None:
    interpreter = OpenInterpreter()
    names = [language.name for language in interpreter.computer.languages]
    assert names[:3] == ["python", "shell", "javascript"]
    interpreter, model = make()
    interpreter.computer.languages.append("shell")
    tiny.system_message = "Print, always."  # type: ignore[attr-defined]
    interpreter.chat("Hi", display=False)
    assert "Languages: python, shell." in model.requests[0][0]["content"]
    assert "Print, always." in model.requests[0][0]["content"]
    with pytest.raises(oi_engine.OiError, match="ruby is not among the languages"):
        interpreter.computer.run("ruby", "1")
    with pytest.raises(InvalidSetting, match="has no `name` that is a text"):
        interpreter.computer.languages = [object]


# --- instances, loops and threads ------------------------------------------------------------------------------


def test_instances_share_nothing(make: Make) -> None:
    one, first = make("I am one.")
    two, second = make("I am two.")
    one.system_message = "You are one."
    one.chat("Hi", display=False)
    two.chat("Hello", display=False)
    assert one.messages[0]["content"] == "Hi"
    assert two.messages[0]["content"] == "Hello"
    assert first.requests[0][0]["content"].startswith("You are one.")
    assert second.requests[0][0]["content"].startswith(SYSTEM_MESSAGE)


async def test_inside_a_running_loop(make: Make) -> None:
    interpreter, _ = make("Hello.")
    assert said(interpreter.chat("Hi", display=False))[-1][2] == "Hello."


def test_a_closed_interpreter_begins_anew(make: Make) -> None:
    interpreter, _ = make("One.", "Two.", custom_instructions="Be brief.")
    interpreter.chat("Hi", display=False)
    interpreter.close()
    assert interpreter.messages == []
    assert said(interpreter.chat("Hi", display=False))[-1][2] == "Two."
    assert interpreter.custom_instructions == "Be brief."


def test_display_shows_the_turn(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    interpreter, _ = make(block("one"), "It ran.", auto_run=True)
    interpreter.chat("Run it")
    shown = capsys.readouterr().out
    assert "```python\none\n```" in shown
    assert "ran one" in shown
    assert shown.rstrip().endswith("It ran.")


def test_display_without_a_terminal_runs_nothing(
    make: Make, tiny: type[Tiny], capsys: pytest.CaptureFixture[str]
) -> None:
    interpreter, _ = make(*[block("one")] * 9)
    interpreter.chat("Run it")
    assert tiny.ran == []
    list(interpreter.chat("Run it", stream=True))
    assert tiny.ran == []
    assert "interpreter.auto_run = True" in capsys.readouterr().out
    for chunk in interpreter.chat("Run it", stream=True):
        if chunk["type"] == "confirmation":
            interpreter.approve()
    assert tiny.ran == ["one"] * 3


def test_a_conversation_in_the_terminal(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interpreter, _ = make("Hello.", "Bye.")
    read, write = os.pipe()
    os.write(write, b"Hi\n%help\nSee you\n")
    os.close(write)
    with os.fdopen(read) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        messages = interpreter.chat()
    assert [message["content"] for message in messages] == ["Hi", "Hello.", "See you", "Bye."]
    assert "%undo" in capsys.readouterr().out


def test_conversations_are_kept_unless_told_not_to(make: Make, tmp_path: Path) -> None:
    interpreter, _ = make(conversation_history_path=str(tmp_path / "kept"))
    interpreter.chat("Hi", display=False)
    interpreter.close()
    assert (tmp_path / "kept" / "history.db").is_file()
    interpreter, _ = make(conversation_history_path=str(tmp_path / "not"), conversation_history=False)
    interpreter.chat("Hi", display=False)
    interpreter.close()
    assert not (tmp_path / "not").exists()


# --- the asynchronous face -------------------------------------------------------------------------------------


@pytest.fixture
async def asynchronous(tiny: type[Tiny]) -> AsyncInterpreter:
    interpreter = AsyncInterpreter()
    interpreter.computer.languages = [tiny]
    return interpreter


async def test_chat_can_be_awaited(asynchronous: AsyncInterpreter) -> None:
    asynchronous.llm.completions = Model("Hello.")
    messages = await asynchronous.chat("Hi")
    assert said(messages) == [("user", "message", "Hi"), ("assistant", "message", "Hello.")]
    await asynchronous.reset()
    assert asynchronous.messages == []
    assert (await asynchronous.computer.run("python", "x"))[0]["content"] == "ran x\n"


async def test_an_asynchronous_stream_and_its_gate(asynchronous: AsyncInterpreter, tiny: type[Tiny]) -> None:
    asynchronous.llm.completions = Model(block("one"), block("two"))
    seen = []
    async for chunk in asynchronous.chat("Run it", stream=True):
        seen.append(chunk["type"])
        if chunk["type"] == "confirmation" and chunk["content"]["code"] == "one":
            asynchronous.approve()
    assert tiny.ran == ["one"]
    assert seen.count("confirmation") == 2
    stream = asynchronous.chat("Again", stream=True)
    asynchronous.llm.completions = Model(block("three"))
    async for chunk in stream:
        if chunk["type"] == "confirmation":
            break
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert not asynchronous.responding
    assert tiny.ran == ["one"]


async def test_cancelling_stops_the_turn(asynchronous: AsyncInterpreter, tiny: type[Tiny]) -> None:
    asynchronous.llm.completions = Model(block("wait"))
    asynchronous.auto_run = True
    turn = asyncio.create_task(asynchronous.chat("Wait"))
    async with asyncio.timeout(30):
        while not tiny.ran:
            await asyncio.sleep(0.01)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert tiny.stopped.is_set()
    assert not asynchronous.responding


async def test_the_server_is_not_here(asynchronous: AsyncInterpreter) -> None:
    with pytest.raises(NotHere, match="no HTTP server"):
        asynchronous.server.run()


# --- the package -----------------------------------------------------------------------------------------------


def test_importing_the_package_imports_nothing_else() -> None:
    code = (
        "import sys, oi_engine; print([m for m in sys.modules if m.startswith('oi_engine.')], 'asyncio' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["[]", "False"]


def test_every_public_name_is_there() -> None:
    assert {name: getattr(oi_engine, name) for name in oi_engine.__all__}
    assert set(oi_engine.__all__) <= set(dir(oi_engine))
    with pytest.raises(AttributeError):
        getattr(oi_engine, "no" + "thing")


def test_a_script_that_only_uses_it_ends_quietly(tmp_path: Path) -> None:
    code = (
        "from oi_engine import interpreter\n"
        "def echo(messages, model, stream, max_tokens):\n"
        "    yield {'choices': [{'delta': {'content': messages[-1]['content']}}]}\n"
        "interpreter.llm.completions = echo\n"
        "print(interpreter.chat('Hi!', display=False)[-1]['content'])\n"
        "print(interpreter.computer.run('python', '6 * 7')[0]['content'])\n"
    )
    found = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "Hi!\n42\n\n", "")


def until(true: Callable[[], bool]) -> None:
    """Wait until something on the engine's loop has come about."""
    deadline = threading.Event()
    for _ in range(3000):
        if true():
            return
        deadline.wait(0.01)
    raise AssertionError("it never came about")
