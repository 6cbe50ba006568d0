"""The Neovim plugin by its keys: what is less usual in a chat."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_engine.computer.sandbox import look_for_sandbox
from tests.e2e.editors.conftest import name_of
from tests.e2e.editors.graphics import GraphicsTerminal, cells, image_of, noise
from tests.e2e.editors.nvim_plugin import RECORDS, VERSIONS, NvimPlugin, begin
from tests.e2e.editors.test_session import LOOPS
from tests.fakes import ollama_server
from tests.fakes.http_server import Response
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.openai_server import OpenAiServer, Reply
from tests.fakes.places import outside_scratch

pytestmark = pytest.mark.parametrize("editor", VERSIONS, ids=name_of, indirect=True)

EIGHT_BY_THREE = [[(row, column) for column in range(8)] for row in range(3)]

SHOWS = "from IPython.display import Image, display\ndisplay(Image('plot.png'))"


@pytest.fixture
def local_models() -> Iterator[OllamaServer]:
    """A server of models on this machine."""
    with OllamaServer([ollama_server.Reply.text("I am local.")]) as server:
        yield server


def test_a_password_is_not_in_the_chat(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response]
) -> None:
    source = "from getpass import getpass\nprint(len(getpass('Secret: ')), 'letters')"
    replies += [Reply.tool_call("python", source), Reply.text("Well.")]
    begin(editor, workspace, scripted)
    editor.say("Ask.")
    editor.until_screen("● proposed")
    editor.command("Oi run")
    editor.until_screen("asks for it, unseen")
    editor.command("Oi answer")
    editor.until_screen("Secret:")
    editor.tmux.type("swordfish")
    editor.tmux.keys("Enter")
    editor.until_chat("9 letters")
    editor.until_chat("Well.")
    assert "swordfish" not in editor.chat() + editor.screen()


def test_findings_are_diagnostics_of_the_block(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response]
) -> None:
    replies += [Reply.tool_call("shell", "rm -r build")]
    begin(editor, workspace, scripted, {"OI_POLICY_DENY": '["rm"]', "OI_AUTO_RUN": "true"})
    editor.say("Clean up.")
    editor.until_screen("● proposed")
    editor.until(lambda: editor.eval(f"#vim.diagnostic.get({buffer_of(1)})") == "1", "one diagnostic")
    assert "rm" in editor.eval(f"vim.diagnostic.get({buffer_of(1)})[1].message")
    editor.command("Oi reject")
    editor.until_screen("● rejected")
    editor.until(lambda: editor.eval(f"#vim.diagnostic.get({buffer_of(1)})") == "0", "the diagnostic to be gone")


def buffer_of(chat: int) -> str:
    """The buffer of a chat, in Lua."""
    return f"vim.fn.bufnr('oi-chat:///{chat}.oi.md')"


@pytest.mark.parametrize("layout", ["left", "float", "tab"])
def test_layouts(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response], layout: str
) -> None:
    replies += [Reply.text("Hello.")]
    editor.init = f"vim.g.oi = {{ layout = '{layout}', input_height = {0 if layout == 'tab' else 3} }}\n"
    begin(editor, workspace, scripted)
    editor.look(layout)
    if layout == "tab":
        editor.press("GoHi.")
        editor.normal()
        editor.tmux.keys("Enter")
    else:
        editor.say("Hi.")
    editor.until_screen("Hello.")
    if layout == "left":
        first = editor.screen().splitlines()[0]
        assert first.index("chat") < first.index("value")


def test_a_draft_is_written_while_it_streams(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response]
) -> None:
    replies += [Reply.text("".join(f"Line {n}.\n" for n in range(200)) + "The end.", pause=0.003), Reply.text("Good.")]
    begin(editor, workspace, scripted)
    editor.say("Talk.")
    editor.until_chat("Line 5.")
    editor.command("wincmd k")
    editor.press("ggi")
    editor.tmux.keys("C-o")
    editor.tmux.type("G")
    for word in ("And ", "now ", "this ", "as ", "well."):
        editor.tmux.type(word)
    editor.until_chat("The end.")
    editor.until_chat("And now this as well.")
    editor.normal()
    assert editor.eval("vim.api.nvim_get_current_line()") == "And now this as well."
    editor.tmux.keys("Enter")
    editor.until_chat("Good.")
    assert "And now this as well." in json.dumps(scripted.requests[-1].json["messages"])


def test_the_view_stays_where_it_is_read(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response]
) -> None:
    lines = "".join(f"Line {n}.\n" for n in range(100))
    replies += [Reply.text(lines), Reply.text("".join(f"More {n}.\n" for n in range(100)) + "The end.", pause=0.002)]
    begin(editor, workspace, scripted)
    editor.say("Talk.")
    editor.until_chat("Line 99.")
    editor.command("wincmd k")
    editor.command("call search('Line 40[.]', 'bw')")
    editor.until_screen("Line 40.")
    before = editor.eval("vim.fn.line('w0') .. ' ' .. vim.fn.line('.')")
    editor.command("Oi send More.")
    editor.until_chat("The end.")
    assert editor.eval("vim.fn.line('w0') .. ' ' .. vim.fn.line('.')") == before


def test_a_file_is_attached_and_an_image_drawn_and_opened(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response]
) -> None:
    image = noise(64, 48)
    (workspace / "plot.png").write_bytes(image)
    replies += [Reply.tool_call("python", SHOWS), Reply.text("Well.")]
    editor.init = "vim.ui.open = function(path) opened = path end\n"
    terminal = GraphicsTerminal(editor)
    terminal.name("kitty(0.27.1)")
    begin(editor, workspace, scripted)
    editor.command("wincmd h")
    editor.command("2Oi attach")
    editor.until_chat("print(value)")
    editor.command("wincmd l")
    editor.command("Oi send")
    editor.until_screen("● proposed")
    editor.command("Oi run")
    editor.until_chat("![image]")
    editor.until_chat("Well.")
    assert "print(value)" in json.dumps(scripted.requests[0].json["messages"])
    editor.command("wincmd k")
    editor.command("call search('!.image')")
    editor.press(",i")
    editor.until(lambda: editor.eval("opened").endswith(".png"), "the image to be opened")
    assert Path(editor.eval("opened")).read_bytes() == image

    editor.until(lambda: editor.eval("require('oi.graphics').terminal") == "kitty(0.27.1)", "the terminal to be known")
    assert (editor.eval("require('oi.graphics').can()"), terminal.commands()) == ("false", [])
    terminal.name("kitty(0.48.2)")
    editor.command("doautocmd VimResume")
    editor.until(lambda: cells(editor.screen()) == EIGHT_BY_THREE, "the cells of the image")
    editor.look("an image in cells")
    assert "38;5;16m\U0010eeee" in editor.tmux.styled()
    editor.until(lambda: "a=p" in str(terminal.commands()), "the image to be placed")
    sent, number = image_of(terminal.commands())
    assert (sent, number % 2**24) == (image, 16)
    placed, deleted = f"a=p,U=1,i={number},p=1,c=8,r=3,q=2", f"a=d,d=I,i={number},q=2"
    assert placed in terminal.since_deletion()

    editor.press("dd")
    editor.until(lambda: (deleted, "") in terminal.commands() and not cells(editor.screen()), "the image to be gone")
    editor.press("u")
    editor.until(lambda: placed in terminal.since_deletion(), "the image to be placed again")
    assert image_of(terminal.commands()) == (image, number)
    editor.until(lambda: cells(editor.screen()) == EIGHT_BY_THREE, "the cells of the image")
    editor.close()
    assert terminal.commands()[-1] == (deleted, "")


def test_the_words_about_a_whole_chat(
    editor: NvimPlugin,
    workspace: Path,
    scripted: OpenAiServer,
    replies: list[Response],
    local_models: OllamaServer,
) -> None:
    replies += [
        Reply.tool_call("python", "import os\nos.remove('a')"),
        Reply.text("Well."),
        Reply.tool_call("python", LOOPS),
        Reply.text("It was interrupted."),
        Reply.text("Somebody else."),
    ]
    editor.init = RECORDS
    begin(editor, workspace, scripted, {"OI_SAFE_MODE": "ask", "OLLAMA_HOST": local_models.base_url})
    editor.say("Clean up.")
    editor.until_screen("● proposed")
    editor.command("Oi scan")
    editor.until_chat("```review")
    editor.command("Oi reject")
    editor.until_chat("Well.")
    editor.say("Wait for ever.")
    editor.until_screen("● proposed")
    editor.command("Oi run")
    editor.until((workspace / "begun").exists, "the program to run")
    editor.command("Oi kernel interrupt")
    editor.until_chat("It was interrupted.")
    assert "KeyboardInterrupt" in editor.chat()
    editor.until(lambda: editor.eval("recorded[#recorded]") == "OiState idle", "the end of the turn")
    recorded = editor.eval("table.concat(recorded, ', ')")
    for state in ("thinking", "awaiting_approval", "running"):
        assert f"OiState {state}" in recorded
    for state in ("proposed", "rejected", "running", "failed"):
        assert f"OiBlock {state}" in recorded
    editor.command("Oi kernel restart")
    editor.until_chat("Restarted: ")
    editor.command("Oi undo")
    editor.until_chat("were taken back.")
    editor.command("Oi model openai/gpt-4o-mini")
    editor.until_screen("openai/gpt-4o-mini answers.")
    editor.say("Who are you?")
    editor.until_chat("Somebody else.")
    asked = scripted.requests[-1].json
    assert asked["model"] == "gpt-4o-mini"
    assert "Wait for ever." not in json.dumps(asked["messages"])
    editor.command("Oi model")
    editor.until_screen("1: ollama_chat/llama3.2:3b · local")
    editor.tmux.type("1")
    editor.tmux.keys("Enter")
    editor.until_screen("ollama_chat/llama3.2:3b answers.")
    editor.say("And you?")
    editor.until_chat("I am local.")
    editor.command("Oi settings llm.max_output 1234")
    editor.until_screen("max_output is 1234")
    editor.command("Oi settings llm.max_output")
    editor.until_screen("max_output: 1234")
    editor.press("q")
    editor.command("Oi log")
    editor.until_screen("lsp.log")


def test_what_the_sandbox_stopped_is_allowed(
    editor: NvimPlugin, workspace: Path, scripted: OpenAiServer, replies: list[Response]
) -> None:
    if problem := asyncio.run(look_for_sandbox()).problem:
        pytest.skip(problem)
    editor.init = "vim.keymap.set('n', ',p', '<Plug>(oi-allow)')\n"
    with outside_scratch() as outside:
        file = outside.resolve() / "x"
        replies += [Reply.tool_call("shell", f"touch {file}"), Reply.text("Well.")]
        begin(editor, workspace, scripted, {"OI_SANDBOX": "workspace"})
        editor.say("Write.")
        editor.until_screen("● proposed")
        editor.command("Oi run")
        editor.until_chat("The sandbox seems to have kept it")
        editor.until_chat("Well.")
        editor.command("wincmd k")
        editor.press("[[")
        editor.press(",p")
        editor.until_screen(f"Allow writing to {file.parent}")
        editor.look("what may be allowed")
        editor.tmux.keys("Enter")
        editor.normal()
        editor.tmux.type(":Oi allow ")
        editor.tmux.keys("Tab")
        editor.until_screen(f":Oi allow {file.parent}")
        editor.tmux.keys("Enter")
        editor.until_chat("its variables are gone then")
        editor.command("Oi run")
        editor.until(file.exists, "the file to be written")
        editor.command("Oi allow")
        editor.until_screen("There is nothing here that the sandbox stopped")
