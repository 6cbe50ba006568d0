"""The Neovim plugin: what loading it costs, and for how long keys wait while an answer streams in.

The baseline is a buffer that the same chunks are put into by a few lines of Lua.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import frozen

from bench.rows import Row, percentile
from tests.e2e.editors.editor import program_of
from tests.e2e.editors.nvim_plugin import PLUGIN, VERSIONS, NvimPlugin
from tests.e2e.editors.test_session import settings
from tests.fakes.openai_server import OpenAiServer, Reply

CHUNKS = 5_000
SIZE = 4
"""Characters of a chunk."""
PAUSE = 0.001
"""Seconds between two chunks."""
LOADS = 50

# Keys are taken between two turns of Neovim's event loop, as this timer is: how late it is, a key would have been. What
# other programs take of a busy machine is no doing of Neovim's, so its own time on the processor is measured as well.
METER = """
local uv, late, worked, timer = vim.uv, {}, {}, nil
local function spent()
  local used = uv.getrusage()
  return (used.utime.sec + used.stime.sec) * 1000 + (used.utime.usec + used.stime.usec) / 1000
end
function StartMeter()
  late, worked = {}, {}
  local at, work = uv.hrtime(), spent()
  timer = uv.new_timer()
  timer:start(1, 1, function()
    late[#late + 1], worked[#worked + 1] = (uv.hrtime() - at) / 1e6, spent() - work
    at, work = uv.hrtime(), spent()
  end)
end
function StopMeter()
  timer:stop()
  return vim.json.encode({ late, worked })
end
"""


# What Neovim itself takes: the same chunks, from a program, put at the end of a Markdown buffer that shows its end.
APPEND = f"""
function Append(program, file)
  vim.cmd("vnew | setlocal buftype=nofile filetype=markdown")
  local bufnr, window = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
  vim.fn.jobstart({{ program, "-c", [[
import sys, time
text = open(sys.argv[1]).read()
for at in range(0, len(text), {SIZE}):
    print(text[at:at + {SIZE}], end="", flush=True)
    time.sleep({PAUSE})
]], file }}, {{ on_stdout = function(_, pieces)
    vim.api.nvim_buf_set_text(bufnr, -1, -1, -1, -1, pieces)
    vim.api.nvim_win_set_cursor(window, {{ vim.api.nvim_buf_line_count(bufnr), 0 }})
  end }})
end
"""


@frozen
class Metered:
    """Milliseconds between two turns of Neovim's loop, and of its own work."""

    late: list[float]
    worked: list[float]


def _streamed(kind: type[NvimPlugin]) -> tuple[Metered, Metered]:
    """While 5,000 chunks come and are drawn: in a chat, and put into a buffer by three lines of Lua."""
    paragraph = "a word of the answer\n" * 4 + "and the `end` of **it**\n\n"
    text = paragraph * (CHUNKS * SIZE // len(paragraph)) + "The end."
    with TemporaryDirectory() as name, OpenAiServer([Reply.text(text, size=SIZE, pause=PAUSE)]) as provider:
        folder = Path(name)
        file, words = folder / "main.py", folder / "words"
        file.write_text("value = 1\n")
        words.write_text(text)
        editor = kind(folder, init=METER + APPEND)
        try:
            editor.start(file, env=settings(provider))
            editor.until_chat("## You")
            editor.command("lua StartMeter()")
            editor.command("Oi send Please.")
            editor.until_chat("The end.")
            chat = Metered(*json.loads(editor.eval("StopMeter()")))
            editor.command("tabnew")
            editor.command("lua StartMeter()")
            editor.command(f"lua Append('{sys.executable}', '{words}')")
            editor.until_screen("The end.")
            return chat, Metered(*json.loads(editor.eval("StopMeter()")))
        finally:
            editor.stop()


def _loaded() -> float:
    """Milliseconds to load the plugin at start, in the middle of many times."""
    script = f"""
    local times = {{}}
    for _ = 1, {LOADS} do
      vim.g.loaded_oi = nil
      local began = vim.uv.hrtime()
      vim.cmd.source("{PLUGIN}/plugin/oi.lua")
      times[#times + 1] = (vim.uv.hrtime() - began) / 1e6
    end
    table.sort(times)
    io.stdout:write(times[{LOADS // 2}])
    """
    with TemporaryDirectory() as name:
        path = Path(name) / "load.lua"
        path.write_text(script)
        words = [program_of("nvim"), "--clean", "--headless", "-l", str(path)]
        return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


async def nvim() -> list[Row]:
    """Loading, and streaming."""
    loaded = await asyncio.to_thread(_loaded)
    rows = [Row("the Neovim plugin is loaded at start", loaded, None, "ms", "below 2 ms")]
    for kind in VERSIONS:
        chat, plain = await asyncio.to_thread(_streamed, kind)
        name, most = f"{kind.program}, 5,000 chunks:", max(plain.worked)
        rows += [
            Row(f"{name} it works at most, before it takes a key", max(chat.worked), most, "ms", "below 16 ms"),
            Row(f"{name} a key waits at most", max(chat.late), max(plain.late), "ms"),
            Row(f"{name} a key waits, 99 of 100 times", percentile(chat.late, 99), percentile(plain.late, 99), "ms"),
        ]
    return rows


BENCHES = (nvim,)
