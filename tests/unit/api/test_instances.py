"""``computer``, several instances, loops and threads, what is shown and kept, and the package itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import oi_engine
from oi_engine import InvalidSetting, OpenInterpreter
from oi_engine.settings.system_message import SYSTEM_MESSAGE
from tests.unit.api.rig import Chunk, Make, Model, Tiny, block, said

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
    interpreter.computer.languages.clear()
    assert interpreter.computer.languages == []
    with pytest.raises(oi_engine.OiError, match="ruby cannot be run here"):
        interpreter.computer.run("ruby", "1")
    with pytest.raises(InvalidSetting, match="has no `name` that is a text"):
        interpreter.computer.languages = [object]


def test_looking_at_the_languages_changes_nothing(make: Make) -> None:
    told = []
    for look in (False, True):
        interpreter, model = OpenInterpreter(), Model()
        interpreter.llm.completions = model
        if look:
            assert "python" in repr(interpreter.computer)
        interpreter.chat("Hi", display=False)
        told.append(model.requests[0][0]["content"])
        interpreter.close()
    assert "html" in told[0]
    assert told[0] == told[1]


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


def test_what_it_cost(make: Make) -> None:
    def priced(messages: list[Chunk], model: str, stream: bool, max_tokens: int | None) -> Iterator[Chunk]:
        yield {"choices": [{"delta": {"content": "Yes."}}]}
        yield {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}

    interpreter, _ = make()
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "cost": None}
    assert interpreter.usage == {**nothing, "turn": nothing}
    interpreter.llm.completions = priced
    for _ in range(2):
        interpreter.chat("Hi", display=False)
    once = {"prompt_tokens": 7, "completion_tokens": 2, "cost": None}
    assert interpreter.usage == {"prompt_tokens": 14, "completion_tokens": 4, "cost": None, "turn": once}


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
