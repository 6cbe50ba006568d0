"""How the Neovim plugin behaves: what it costs to have it, what it says of mistakes, and what can be looked up."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.editors.conftest import name_of
from tests.e2e.editors.editor import program_of
from tests.e2e.editors.graphics import COMMAND, commands_in, image_of, noise
from tests.e2e.editors.nvim_plugin import PLUGIN, VERSIONS, NvimPlugin
from tests.e2e.editors.test_session import settings
from tests.fakes.http_server import Response
from tests.fakes.openai_server import OpenAiServer, Reply


@pytest.fixture
def provider() -> Iterator[OpenAiServer]:
    replies: list[Response] = [Reply.text("I am here."), Reply.text("You are there.")]
    with OpenAiServer(replies) as server:
        yield server


@pytest.fixture(params=[kind.program for kind in VERSIONS])
def nvim(request: pytest.FixtureRequest) -> str:
    """The path of each Neovim."""
    return program_of(request.param)


def lua(nvim: str, folder: Path, body: str) -> str:
    """What a Neovim without a screen prints; the plugin is loaded as its users have it."""
    script = folder / "test.lua"
    script.write_text(
        f"local ok, problem = xpcall(function()\n{body}\nend, debug.traceback)\n"
        "io.stdout:write('\\n', ok and 'whole' or tostring(problem), '\\n') os.exit(ok and 0 or 1)"
    )
    words = [nvim, "--clean", "--headless", "--cmd", f"set noswapfile runtimepath^={PLUGIN}", "-c", f"luafile {script}"]
    env = {**os.environ, "XDG_STATE_HOME": str(folder)}
    ran = subprocess.run(
        words, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL, env=env
    )
    assert ran.stdout.rstrip().endswith("whole"), ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def test_it_loads_nothing_and_starts_nothing_until_asked(nvim: str, tmp_path: Path) -> None:
    lua(
        nvim,
        tmp_path,
        """
        assert(vim.g.loaded_oi)
        for name in pairs(package.loaded) do assert(not name:match('^oi'), name .. ' is loaded') end
        vim.cmd.edit('some.py')
        assert(#vim.lsp.get_clients() == 0)
        assert(require('oi').statusline() == '')
        for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
          assert(map.lhs:match('^<Plug>') or not (map.desc or ''):match('hunk'), map.lhs)
        end
        """,
    )


def test_options_that_do_not_exist_are_reported(nvim: str, tmp_path: Path) -> None:
    said = lua(
        nvim,
        tmp_path,
        """
        vim.g.oi = { layout = 'left', widht = 3 }
        local given = { run = false, jump = 'x' }
        require('oi').setup({ keys = given, width = 'wide', images = 'sixel', settings = { anything = 1 } })
        local config = require('oi.config').get()
        assert(config.layout == 'left' and config.keys.run == false and config.width == 0.45)
        assert(config.settings.anything == 1)
        """,
    )
    for name in ("there is no option widht", "there is no option keys.jump", "width must be a number, not a string"):
        assert name in said
    assert 'images must be one of "auto", "kitty", "off"' in said


def test_words_are_completed(nvim: str, tmp_path: Path) -> None:
    lua(
        nvim,
        tmp_path,
        """
        local function completed(line) return table.concat(vim.fn.getcompletion(line, 'cmdline'), ' ') end
        assert(completed('Oi ch') == 'changes chat', completed('Oi ch'))
        assert(completed('Oi kernel ') == 'interrupt restart', completed('Oi kernel '))
        assert(completed('%Oi export m') == 'markdown', completed('%Oi export m'))
        assert(completed('Oi undo ') == 'files' and completed('Oi accept a') == 'all')
        assert(completed('Oi chat ') == '' and completed('Oi undo files ') == '')
        local words = 'send stop allow new history model attach undo export settings log doctor run ask edit'
        for _, name in ipairs(vim.split(words, ' ')) do
          assert(vim.tbl_contains(vim.fn.getcompletion('Oi ', 'cmdline'), name), name)
        end
        """,
    )


def test_what_cannot_be_done_is_said(nvim: str, tmp_path: Path) -> None:
    lua(
        nvim,
        tmp_path,
        """
        local function said(command)
          vim.cmd.messages('clear')
          vim.cmd(command)
          vim.wait(1000, function() return vim.fn.execute('messages') ~= '' end, 5)
          return vim.fn.execute('messages')
        end
        for command, words in pairs({
          ['Oi bogus'] = 'There is no :Oi bogus',
          ['Oi undo file'] = ':Oi undo takes files, not file.',
          ['Oi export word'] = ':Oi export takes json or notebook or markdown',
          ['Oi chat now'] = ':Oi chat takes no words.',
          ['Oi run'] = 'This buffer has no name',
          ['Oi ask why'] = 'This buffer has no name',
          ['Oi edit better'] = 'This buffer has no name',
          ['Oi dismiss all'] = 'There is no edit in this buffer.',
          ['Oi stop'] = 'There is no chat here',
        }) do
          local found = said(command)
          assert(found:find(words, 1, true), command .. found)
        end
        assert(not pcall(vim.cmd, 'Oi! chat'))
        """,
    )


def test_a_long_message_does_not_ask_for_enter(nvim: str, tmp_path: Path) -> None:
    lua(
        nvim,
        tmp_path,
        """
        local long = ('word '):rep(60) .. "it's\\nthe end"
        require('oi.client').say(long)
        local function shown() return vim.fn.execute('messages'):gsub('^\\n', '') end
        vim.wait(1000, function() return shown() ~= '' end, 5)
        assert(shown():match('^oi: word') and shown():match(' … :Oi log$'), shown())
        assert(vim.fn.strdisplaywidth(shown()) <= vim.v.echospace)
        vim.cmd('Oi log')
        assert(vim.fn.search("word it's") > 0)
        local notified
        vim.notify = function(text) notified = text end
        require('oi.client').say(long)
        vim.wait(1000, function() return notified end, 5)
        assert(notified == 'oi: ' .. long)
        """,
    )


def test_a_chat_among_windows_buffers_and_sessions(nvim: str, tmp_path: Path) -> None:
    lua(
        nvim,
        tmp_path,
        """
        vim.g.oi = { cmd = { 'sh', '-c', 'cat > /dev/null' } }
        local kept = vim.fn.tempname()
        vim.cmd.edit('some.py')
        local function names()
          return table.concat(vim.tbl_map(function(window)
            return vim.fn.bufname(vim.api.nvim_win_get_buf(window))
          end, vim.api.nvim_tabpage_list_wins(0)), ' ')
        end
        vim.cmd('Oi chat')
        assert(names():match('^some.py oi%-chat:///1.oi.md oi%-input:///%d+$'), names())
        vim.cmd.mksession(kept)
        vim.cmd('Oi chat')
        vim.wait(1000, function() return names() == 'some.py' end)
        assert(names() == 'some.py', names())
        for _, command in ipairs({"Oi chat", "wincmd h", "close", "wincmd k", "Oi chat"}) do
          vim.cmd(command)
        end
        assert(names():match('^oi%-chat:///1.oi.md oi%-input'), 'there is nothing else to show: ' .. names())
        vim.cmd('tabnew | tabprevious | wincmd k | quit')
        assert(#vim.api.nvim_list_tabpages() == 1, 'the input goes with the chat')
        vim.cmd('bdelete oi-chat:///1.oi.md')
        vim.cmd('buffer oi-chat:///1.oi.md')
        assert(vim.bo.buftype == 'nofile' and require('oi.chat').get(vim.api.nvim_get_current_buf()))
        vim.cmd('%bwipeout!')
        vim.cmd.source(kept)
        assert(names() == 'some.py', names())
        for _, client in ipairs(vim.lsp.get_clients()) do client.rpc.terminate() end
        vim.wait(1000, function() return #vim.lsp.get_clients() == 0 end, 5)
        """,
    )


def test_words_that_differ_are_found(nvim: str, tmp_path: Path) -> None:
    lua(
        nvim,
        tmp_path,
        """
        local function marked(old, new)
          return vim.inspect({ require('oi.edits').words(old, new) }, { newline = '' })
        end
        assert(marked('return a + b', 'return a - b') == '{ { { 9, 10 } }, { { 9, 10 } } }')
        assert(marked('', 'new') == '{ {}, { { 0, 3 } } }', marked('', 'new'))
        assert(marked('same', 'same') == '{ {}, {} }')
        """,
    )


def test_lines_that_would_go_above_the_first_are_seen(nvim: str, tmp_path: Path) -> None:
    lua(
        nvim,
        tmp_path,
        """
        vim.api.nvim_buf_set_name(0, 'some.py')
        vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'first', 'second' })
        local start = { line = 0, character = 0 }
        local hunk = { id = 'h1', state = 'proposed', old = '', new = 'import os\\nimport re\\n' }
        hunk.range = { start = start, ['end'] = start }
        local state = { editId = 'e1', uri = vim.uri_from_bufnr(0), state = 'complete', hunks = { hunk } }
        require('oi.edits').on_state(state)
        vim.cmd.redraw()
        local shown = ''
        for row = 1, 3 do
          for column = 1, 12 do shown = shown .. vim.fn.screenstring(row, column) end
        end
        assert(shown:match('import os *import re *first'), shown)
        """,
    )


@pytest.mark.parametrize("writes", ["nvim_ui_send", "nvim_chan_send"])
def test_a_terminal_is_sent_whole_images_and_nothing_of_their_names(nvim: str, tmp_path: Path, writes: str) -> None:
    image = noise(64, 48)
    wide = image[:16] + struct.pack(">II", 2**16, 2**16) + image[24:]
    files = {"torn.png": image[:-1], "large.png": image + bytes(2**22) + image[-12:], "text.png": b"IEND" * 9}
    files |= {"wide.png": wide, "photo.jpg": image, "\x1b]0;x\x07\x1b\\.png": image}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe.png")
    link = "![image]({}) <!-- oi:7f3a.image of=c1 -->"
    lines = ["```", link.format("in-a-block.png"), "```", "![image](not-of-the-conversation.png)"]
    lines += [link.format(quote(name)) for name in ("pipe.png", "none.png", *files)]
    (tmp_path / "talk.md").write_text("\n".join(lines))
    said = lua(
        nvim,
        tmp_path,
        f"""
        local placed = false
        local function write(data)
          io.stderr:write(data)
          placed = placed or data:match('a=p') ~= nil
        end
        vim.api.nvim_list_uis = function() return {{ {{ stdout_tty = true }} }} end
        vim.api.nvim_ui_send, vim.api.nvim_chan_send = nil, function(_, data) write(data) end
        vim.api.{writes} = function(...) write(select(select('#', ...), ...)) end
        vim.g.oi = {{ images = 'kitty' }}
        vim.cmd.edit('{tmp_path}/talk.md')
        require('oi.pictures').look({{ bufnr = vim.api.nvim_get_current_buf(), uri = vim.uri_from_bufnr(0) }})
        assert(vim.wait(20000, function() return placed end))
        """,
    )
    sent, number = image_of(commands_in(said.encode()))
    assert (sent, number % 2**24) == (image, 16)
    kinds = [keys.split(",")[0] for keys, _ in commands_in(said.encode())]
    assert [kind for kind in kinds if not kind.startswith("m=")] == ["a=t", "a=p"]
    assert not re.search(r"[\x1b\x07]", COMMAND.sub(b"", said.encode()).decode())


def test_cells_of_images_are_counted_as_the_protocol_says(nvim: str, tmp_path: Path) -> None:
    body = "print('=' .. vim.json.encode(vim.fn.str2list(require('oi.graphics').cells(16, 256, 1)[1][1][1])))"
    found = re.search(r"=(\[.*\])", lua(nvim, tmp_path, body))
    assert found is not None
    codes = json.loads(found[1])
    assert set(codes[::4]) == {0x10EEEE}
    assert set(codes[1::4]) == {0x0305}
    columns = codes[2::4]
    assert (len(columns), columns[:3], columns[-1]) == (256, [0x0305, 0x030D, 0x030E], 0xA8E5)
    assert columns == sorted(set(columns))
    assert all(unicodedata.combining(chr(code)) == 230 and not unicodedata.decomposition(chr(code)) for code in columns)


def test_the_help_has_a_tag_for_every_word(nvim: str, tmp_path: Path) -> None:
    page = (PLUGIN / "doc" / "oi.txt").read_text()
    assert all(len(line) <= 80 for line in page.splitlines())
    said = lua(nvim, tmp_path, "for name in vim.spairs(require('oi.command').subcommands) do print(':Oi-' .. name) end")
    for name in re.findall(r":Oi-\w+", said):
        assert f"*{name}*" in page
    defaults = lua(nvim, tmp_path, "for name in vim.spairs(require('oi.config').defaults) do print('=' .. name) end")
    for name in re.findall(r"=(\w+)", defaults):
        assert f"*oi-option-{name}*" in page


@pytest.mark.parametrize("editor", VERSIONS, ids=name_of, indirect=True)
def test_health_and_history(editor: NvimPlugin, workspace: Path, provider: OpenAiServer) -> None:
    file = workspace / "main.py"
    file.write_text("")
    editor.start(file, env=settings(provider))
    editor.until_chat("## You")
    editor.write("%hel")
    editor.tmux.keys("C-x", "C-u")
    editor.until_screen("%help")
    editor.tmux.keys("C-e")
    editor.normal()
    editor.press("cc")
    editor.normal()
    editor.say("Are you there?")
    editor.until_chat("I am here.")
    editor.command("Oi new")
    editor.until_chat("## You", 2)
    editor.command("Oi history")
    editor.until_screen("Are you there? (2)")
    editor.tmux.type("1")
    editor.tmux.keys("Enter")
    editor.until(lambda: editor.eval("vim.t.oi_chat == vim.fn.bufnr('oi-chat:///1.oi.md')") == "true", "the first chat")
    editor.command("bwipeout! oi-chat:///1.oi.md")
    editor.command("Oi history there")
    editor.until_screen("Are you there? (2)")
    editor.tmux.type("1")
    editor.tmux.keys("Enter")
    editor.until_chat("I am here.", 3)
    editor.look("opened from the history")
    editor.command("Oi send Once more.")
    editor.until_chat("You are there.", 3)
    editor.command("Oi export json")
    editor.until_screen('"content": "You are there."')
    editor.command("checkhealth oi")
    editor.until_screen("Images are links, which the system opens: the terminal is tmux")
    editor.until_screen("oi: server")
    assert "ERROR" not in editor.screen()


def test_neovim_enables_the_server_by_its_name(workspace: Path, tmp_path: Path, provider: OpenAiServer) -> None:
    program_of("nvim")
    editor = NvimPlugin(tmp_path, init="vim.lsp.enable('oi')\n", opening="Oi stop")
    file = workspace / "main.py"
    file.write_text("value = 1\n")
    try:
        editor.start(file, env=settings(provider))
        assert editor.told(file) == "value = 1\n"
        editor.command("Oi run")
        editor.until_chat("value = 1")
        assert editor.eval("#vim.lsp.get_clients()") == "1", "the chat has the same server"
        editor.close()
    finally:
        editor.stop()
