"""Languages of a program's own with names of their own, from the scripted provider through LiteLLM to the class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oi_engine import OpenInterpreter
from oi_engine.api.hub import hub
from tests.fakes.openai_server import OpenAiServer, Reply


class Stack:
    """Adds and multiplies, operands first."""

    name = "Stacklang"
    aliases = ("stk",)
    system_message = "In stacklang, operands come first."

    def run(self, code: str) -> Iterator[dict[str, Any]]:
        stack: list[int] = []
        for word in code.split():
            stack.append(int(word) if word.isdigit() else stack.pop() + stack.pop())
        yield {"type": "console", "format": "output", "content": str(stack[-1])}

    def stop(self) -> None:
        """Nothing runs for long."""

    def terminate(self) -> None:
        """Nothing is kept."""


@pytest.fixture
def interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenInterpreter]:
    for kind in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    made = OpenInterpreter()
    made.computer.languages = [Stack]
    made.auto_run = True
    made.llm.model, made.llm.api_key = "openai/gpt-4o", "sk-test"
    yield made
    made.close()
    hub().close()


@pytest.mark.parametrize("name", ["stacklang", "Stk"])
@pytest.mark.parametrize("tools", [True, False])
def test_a_block_in_it_runs(interpreter: OpenInterpreter, tools: bool, name: str) -> None:
    block = Reply.tool_call(name, "20 22 +") if tools else Reply.text(f"So:\n\n```{name}\n20 22 +\n```\n")
    with OpenAiServer([block, Reply.text("It is 42.")]) as server:
        interpreter.llm.api_base, interpreter.llm.supports_functions = server.base_url, tools
        messages = interpreter.chat("Add them.", display=False)
        first, second = (request.json for request in server.requests)
    ran = [(message["type"], message.get("format"), message["content"]) for message in messages]
    assert ("code", "stacklang", "20 22 +") in ran
    assert ("console", "output", "42") in ran
    system = first["messages"][0]["content"]
    assert "Languages: stacklang." in system
    assert "In stacklang, operands come first." in system
    assert "42" in str(second["messages"][-1])
    if tools:
        language = first["tools"][0]["function"]["parameters"]["properties"]["language"]
        assert language["enum"] == ["stacklang"]


def test_only_what_is_in_the_list_is_code(interpreter: OpenInterpreter) -> None:
    replies = ["```python\n1 / 0\n```", "```stacklang\n1 1 +\n```", "It is 2."]
    with OpenAiServer([Reply.text(reply) for reply in replies]) as server:
        interpreter.llm.api_base, interpreter.llm.supports_functions = server.base_url, False
        messages = interpreter.chat("Go.", display=False)
        assert [message["type"] for message in messages] == ["message", "message"], "Python is prose here"
        assert "1 / 0" in messages[1]["content"]
        messages = interpreter.chat("On.", display=False)
    assert ("console", "2") in [(message["type"], message["content"]) for message in messages]


def test_the_program_s_own_code_in_it(interpreter: OpenInterpreter) -> None:
    (output,) = interpreter.computer.run("stk", "1 2 3 + +")
    assert output["content"] == "6"
