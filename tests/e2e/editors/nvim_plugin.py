"""Neovim with the plugin of editors/nvim, in the newest and the oldest version that can be had."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from attrs import define

from tests.e2e.editors.editor import PRODUCT
from tests.e2e.editors.neovim import Neovim
from tests.e2e.editors.setups import ROOT
from tests.e2e.editors.test_session import settings
from tests.fakes.openai_server import OpenAiServer

PLUGIN = ROOT / "editors" / "nvim"

INIT = f"""\
vim.o.swapfile = false
vim.g.maplocalleader = ","
vim.opt.runtimepath:prepend({str(PLUGIN)!r})
"""

RECORDS = """\
recorded = {}
vim.api.nvim_create_autocmd("User", {
  pattern = { "OiState", "OiBlock", "OiEdit" },
  callback = function(event) recorded[#recorded + 1] = event.match .. " " .. event.data.state end,
})
"""
"""Lua of a person's own that keeps the events of the plugin, in order, each with its state."""


@define
class NvimPlugin(Neovim):
    """Neovim with the plugin. The chat that is opened first is ``chat``; ``start`` opens it beside the file."""

    title: ClassVar[str] = "Neovim, the plugin"

    init: str = ""
    """Lua of the person's own."""

    opening: str = "Oi chat"
    """What starts the server."""

    def set_up(self) -> None:
        self.home_file(".config/nvim/init.lua", INIT + self.init)

    def opened(self, file: Path) -> None:
        # Before it has the terminal, keys are signals.
        self.until_screen(f"\n{file.name} ")
        self.command(self.opening)

    def command(self, command: str) -> None:
        """Run a command from normal mode."""
        self._command(command)

    def chat(self, number: int = 1) -> str:
        """The text of a chat, as the editor has told of it; the nonce is N, so that it is known."""
        text = self.told_of(f"oi-chat:///{number}.oi.md")
        nonce = re.search(r"oi: 1 (\w+)", text)
        return text.replace(nonce[1], "N") if nonce else text

    def until_chat(self, words: str, number: int = 1) -> None:
        """Wait until a chat has these words."""
        uri = f"oi-chat:///{number}.oi.md"
        self.until_said("client", lambda message: uri in str(message.get("params", {}).get("textDocument")))
        self.until(lambda: words in self.chat(number), f"{words!r} in chat {number}")

    def write(self, text: str) -> None:
        """Type into the window that the cursor is in, in insert mode, and stay there."""
        self.tmux.type("i" + text)

    def say(self, text: str) -> None:
        """Send a message from the input, where the cursor is."""
        self.write(text)
        self.tmux.keys("Enter")
        self.normal()

    def normal(self) -> None:
        """Be in normal mode."""
        self._normal()

    def kill_server(self) -> None:
        """Have the server end without a word."""
        commands = {process: process.cmdline() for process in self.tmux.processes()}
        (server,) = (
            one for one, words in commands.items() if PRODUCT[-1] in words and "tests.fakes.wiretap" not in words
        )
        server.kill()

    def press(self, *keys: str) -> None:
        """Press keys in normal mode."""
        self._normal()
        for key in keys:
            self.tmux.type(key)

    def eval(self, expression: str) -> str:
        """What Lua makes of an expression, by a file beside the home folder."""
        answer = self.folder / "answer"
        answer.unlink(missing_ok=True)
        # Written whole before it has its name.
        write = f"vim.fn.writefile(vim.split(tostring({expression}), '\\n'), '{answer}.part')"
        self._command(f"lua {write} vim.fn.rename('{answer}.part', '{answer}')")
        self.until(answer.exists, f"{expression} to be evaluated")
        return answer.read_text().rstrip("\n")


@define
class NvimOldest(NvimPlugin):
    """The oldest version that the plugin is for."""

    program: ClassVar[str] = "nvim-oldest"
    title: ClassVar[str] = "Neovim 0.10, the plugin"


VERSIONS: tuple[type[NvimPlugin], ...] = (NvimPlugin, NvimOldest)


def begin(editor: NvimPlugin, workspace: Path, provider: OpenAiServer, env: Mapping[str, str] | None = None) -> None:
    """Neovim with a Python file, a chat beside it, and the cursor in the chat's input."""
    file = workspace / "main.py"
    file.write_text("value = 20 + 1\nprint(value)\n")
    (workspace / ".git").mkdir()
    editor.start(file, env={**settings(provider), **(env or {})})
    editor.until_chat("## You")
