"""The Neovim plugin: what loading it costs, and for how long keys wait while an answer streams in."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.rows import Row, percentile
from tests.e2e.editors.editor import program_of
from tests.e2e.editors.nvim_plugin import PLUGIN, VERSIONS, NvimPlugin
from tests.e2e.editors.test_session import settings
from tests.fakes.openai_server import OpenAiServer, Reply

CHUNKS = 5_000
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


def _streamed(kind: type[NvimPlugin]) -> tuple[list[float], list[float]]:
    """Milliseconds between two turns of Neovim's loop, and of its own work, while 5,000 chunks come and are drawn."""
    paragraph = "a word of the answer\n" * 4 + "and the `end` of **it**\n\n"
    text = paragraph * (CHUNKS * 4 // len(paragraph))
    with TemporaryDirectory() as name, OpenAiServer([Reply.text(text + "The end.", pause=0.001)]) as provider:
        folder = Path(name)
        file = folder / "main.py"
        file.write_text("value = 1\n")
        editor = kind(folder, init=METER)
        try:
            editor.start(file, env=settings(provider))
            editor.until_chat("## You")
            editor.command("lua StartMeter()")
            editor.command("Oi send Please.")
            editor.until_chat("The end.")
            late, worked = json.loads(editor.eval("StopMeter()"))
            return late, worked
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
        late, worked = await asyncio.to_thread(_streamed, kind)
        name = f"{kind.program}, 5,000 chunks:"
        rows += [
            Row(f"{name} it works at most, before it takes a key", max(worked), None, "ms", "below 16 ms"),
            Row(f"{name} a key waits at most", max(late), None, "ms"),
            Row(f"{name} a key waits, 99 of 100 times", percentile(late, 99), None, "ms"),
        ]
    return rows


BENCHES = (nvim,)
