"""The Neovim plugin by its keys: chats, with the server as delivered, a real kernel, and a scripted provider."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.editors.conftest import name_of
from tests.e2e.editors.nvim_plugin import VERSIONS, NvimPlugin
from tests.e2e.editors.test_session import GREETED, GREETS, LOOPS, settings
from tests.fakes.http_server import Response
from tests.fakes.openai_server import OpenAiServer, Reply

pytestmark = pytest.mark.parametrize("editor", VERSIONS, ids=name_of, indirect=True)


@pytest.fixture
def replies() -> list[Response]:
    """What the model answers; the test fills it."""
    return []


@pytest.fixture
def provider(replies: list[Response]) -> Iterator[OpenAiServer]:
    with OpenAiServer(replies) as server:
        yield server


def begin(editor: NvimPlugin, workspace: Path, provider: OpenAiServer) -> None:
    """Neovim with a Python file, a chat beside it, and the cursor in the chat's input."""
    file = workspace / "main.py"
    file.write_text("value = 20 + 1\nprint(value)\n")
    (workspace / ".git").mkdir()
    editor.start(file, env=settings(provider))
    editor.until_chat("## You")


def test_a_block_is_edited_run_and_answered(
    editor: NvimPlugin, workspace: Path, provider: OpenAiServer, replies: list[Response]
) -> None:
    replies += [
        Reply.tool_call("python", GREETS, text="I ask who you are."),
        Reply.text(GREETED, size=5, pause=0.01),
    ]
    begin(editor, workspace, provider)
    editor.say("Greet me, wörld.")
    editor.until_screen("● proposed")
    assert "I ask who you are." in editor.screen()
    editor.command("wincmd k")
    editor.command("call search('hi')")
    editor.press("cwhiho")
    editor.normal()
    editor.until_screen("edited")
    editor.look("a block is edited")
    editor.press(",d")
    editor.until_screen("-print('hi')")
    editor.press("q")
    editor.press(",r")
    editor.until_screen("Answer: Who?")
    editor.look("the program asks")
    editor.press("G")
    editor.command("wincmd j")
    editor.say("Ada Ünal")
    editor.until_screen("You are greeted.")
    editor.until_chat("Line 24 of a long answer.")
    text = editor.chat()
    assert "print('hiho')" in text
    assert "hello Ada Ünal" in text
    screen = editor.until_screen("● done")
    assert "Line 24 of a long answer." in screen, "the end is followed"
    assert "print('hiho')" in json.dumps(provider.requests[-1].json["messages"])
