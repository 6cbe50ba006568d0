"""The Neovim plugin by its keys, in files: code is run, asked about and edited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.editors.conftest import name_of
from tests.e2e.editors.nvim_plugin import RECORDS, VERSIONS, NvimPlugin
from tests.e2e.editors.test_inline_edits import END, HEAD, OLD, REPLY
from tests.e2e.editors.test_session import settings
from tests.fakes.http_server import Response
from tests.fakes.openai_server import OpenAiServer, Reply

pytestmark = pytest.mark.parametrize("editor", VERSIONS, ids=name_of, indirect=True)


def buffer(editor: NvimPlugin) -> str:
    """The text of the buffer at the cursor."""
    return editor.eval("table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')") + "\n"


def test_one_hunk_is_accepted_and_one_rejected(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response]
) -> None:
    replies.append(Reply.text(REPLY, size=5, pause=0.02))
    file = workspace / "circle.py"
    file.write_text(OLD)
    editor.opening = "5,11Oi edit ask for the diameter, and use math.pi"
    editor.start(file, env=settings(scripted))
    editor.until_screen("● editing")
    editor.until_screen("def area(diameter, unit='m'):")
    screen = editor.until_screen("return math.pi * square")
    assert "def area(r):" in screen, "what is there stays, until it is decided"
    editor.look("two hunks")
    editor.until(lambda: "● editing" not in editor.screen(), "the end of the reply")
    assert "DiffAdd" in editor.eval("vim.inspect(vim.api.nvim_get_hl(0, { name = 'OiNew' }))")
    editor.goto(1)
    editor.press("]h", ",a")
    editor.until(lambda: "def area(diameter, unit='m'):" in editor.told(file), "the first hunk in the file")
    editor.press("]h", ",x")
    editor.until(lambda: "math.pi * square" not in editor.screen(), "the second hunk to be gone")
    assert buffer(editor) == OLD.replace("def area(r):", "def area(diameter, unit='m'):")
    assert editor.eval("vim.fn.maparg(']h', 'n')") == "", "its keys go with it"
    editor.press("u")
    editor.until(lambda: editor.told(file) == OLD, "one undo for the hunk")


def test_all_hunks_are_accepted_and_dismissed_and_a_new_file_is_written(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response]
) -> None:
    replies += [Reply.text(REPLY), Reply.text("```python\nnew = 1\nprint(new)\n```\n")]
    file, new = workspace / "circle.py", workspace / "new.py"
    file.write_text(OLD)
    editor.init = RECORDS
    editor.opening = "5,11Oi edit ask for the diameter, and use math.pi"
    editor.start(file, env=settings(scripted))
    editor.until(lambda: "OiEdit complete" in editor.eval("table.concat(recorded, ', ')"), "the event")
    editor.command("Oi accept all")
    editor.until(lambda: HEAD[1] in editor.told(file) and END[1] in editor.told(file), "both hunks in the file")
    editor.press("uu")
    editor.until(lambda: editor.told(file) == OLD, "two steps to undo")
    editor.until(lambda: all(line in editor.screen() for line in HEAD), "the hunks to be proposed again")
    editor.goto(5)
    editor.command("Oi dismiss")
    editor.until(lambda: HEAD[1] not in editor.screen(), "the first hunk to be gone")
    editor.until_screen("return math.pi * square")
    editor.command("Oi dismiss all")
    editor.until(lambda: "return math.pi * square" not in editor.screen(), "the second hunk to be gone")
    assert buffer(editor) == OLD
    editor.command("edit new.py")
    editor.command("Oi edit begin it")
    editor.until_screen("print(new)")
    assert not new.exists()
    editor.command("Oi accept all")
    editor.until(lambda: editor.told(new) == "new = 1\nprint(new)\n", "the new text")
    editor.command("write")
    editor.until_file(new, lambda text: text == "new = 1\nprint(new)\n")


def test_code_is_run_in_its_file(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response]
) -> None:
    replies.append(Reply.text("It is forty-two."))
    file = workspace / "script.py"
    file.write_text('total = 40 + 2\nprint("total", total)\nprint(total / 0)\n')
    editor.opening = "%Oi run"
    editor.start(file, env=settings(scripted))
    editor.until_screen('print("total", total)   → total 42')
    editor.until_screen("ZeroDivisionError")
    editor.until_chat("```output oi=c1\ntotal 42")
    editor.look("results in the file, the run in the chat")
    assert "│" not in editor.screen(), "no window is opened for it"
    editor.goto(1)
    editor.press("yyP")
    editor.goto(1)
    editor.tmux.type("V")
    editor.tmux.type(":Oi ask what is it?")
    editor.tmux.keys("Enter")
    editor.until_chat("It is forty-two.")
    asked = json.dumps(scripted.requests[-1].json["messages"])
    assert "what is it?" in asked
    assert "total = 40 + 2" in asked


def test_a_program_that_asks_unseen_says_so(editor: NvimPlugin, workspace: Path, scripted: OpenAiServer) -> None:
    file = workspace / "script.py"
    file.write_text("name = input('Who? ')\nprint('hello', name)\n")
    editor.opening = "%Oi run"
    editor.start(file, env=settings(scripted))
    editor.until_screen("A program asks: :Oi chat shows it.")
    editor.command("Oi chat")
    editor.until_screen("Answer: Who?")
    editor.say("Ada")
    editor.until_screen("→ hello Ada")


def test_a_chat_that_is_a_file(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response]
) -> None:
    replies.append(Reply.text("Hello."))
    file = workspace / "talk.oi.md"
    file.touch()
    editor.opening = "echo"
    editor.start(file, env=settings(scripted))
    editor.until(lambda: "## You" in editor.told(file), "the frame")
    editor.press("GoHi.")
    editor.normal()
    editor.tmux.keys("Enter")
    editor.until(lambda: "Hello." in editor.told(file), "the answer")
    editor.command("write")
    editor.until_file(file, lambda text: "Hi." in text and "Hello." in text)
    editor.close()
