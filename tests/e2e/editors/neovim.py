"""Neovim, with no plugin."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from attrs import define

from tests.e2e.editors.editor import Editor
from tests.e2e.editors.setups import snippet


@define
class Neovim(Editor):
    """Neovim, by its keys; the list of code actions is its own ``vim.ui.select``."""

    program: ClassVar[str] = "nvim"
    title: ClassVar[str] = "Neovim"

    _typing: bool = False

    def set_up(self) -> None:
        # A swap file of a test that was ended would be asked about, and the mouse is not there.
        self.home_file(".config/nvim/init.lua", f"vim.o.swapfile = false\n{snippet(self.title)}")

    def arguments(self, file: Path) -> list[str]:
        return [str(file)]

    def show_hints(self) -> None:
        """Have inlay hints shown, which they are not by themselves."""
        self._command("lua vim.lsp.inlay_hint.enable(true)")

    def back_to(self, path: Path) -> None:
        """Be in the source file again after a run: Neovim has shown the chat document in a window beside it."""

    def leave(self) -> None:
        self._command("qall!")

    def press_save(self) -> None:
        self._command("write")

    def goto(self, line: int, column: int = 1) -> None:
        self._command(f"call setcursorcharpos({line}, {column})")

    def goto_end(self) -> None:
        self._normal()
        self.tmux.type("G")

    def select_lines(self, first: int, last: int) -> None:
        self.goto(first)
        self.tmux.type(f"V{last}G")

    def type(self, text: str) -> None:
        if not self._typing:
            self.tmux.type("i")
            self._typing = True
        for number, line in enumerate(text.split("\n")):
            if number:
                self.tmux.keys("Enter")
            if line:
                self.tmux.type(line)

    def undo(self, times: int = 1) -> None:
        self._normal()
        self.tmux.type("u" * times)

    def code_actions(self) -> None:
        if self._typing:
            self._normal()
        self.tmux.type("gra")

    def choose_none(self) -> None:
        self.tmux.keys("Enter")
        self._normal()

    def choose(self, title: str) -> None:
        entry = re.compile(rf"^ *(\d+)[:)] {re.escape(title)}(?= |$)", re.MULTILINE)
        self.until(lambda: entry.search(self.screen()), f"{title!r} in the list")
        found = entry.search(self.screen())
        assert found is not None
        self.tmux.type(found[1])
        self.tmux.keys("Enter")

    def answer(self, title: str) -> None:
        self.choose(title)

    def _command(self, command: str) -> None:
        self._normal()
        self.tmux.type(f":{command}")
        self.tmux.keys("Enter")

    def _normal(self) -> None:
        # From every mode, and no Escape, which with the next key would be Alt.
        self.tmux.keys("C-\\", "C-n")
        self._typing = False
