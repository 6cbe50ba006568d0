"""Vim, with the plugin ALE."""

from __future__ import annotations

from typing import ClassVar

from attrs import define

from tests.e2e.editors.neovim import Neovim
from tests.e2e.editors.setups import snippet


@define
class VimAle(Neovim):
    """Vim, by its keys, which are those of Neovim but for the code actions."""

    program: ClassVar[str] = "vim"
    title: ClassVar[str] = "Vim, ALE"
    answers: ClassVar[bool] = False
    counts_utf16: ClassVar[bool] = False

    def set_up(self) -> None:
        self.home_file(".vimrc", "set nocompatible noswapfile\nfiletype plugin on\n")
        self.home_file(".vim/after/plugin/oi.vim", snippet(self.title))

    def code_actions(self) -> None:
        self.tmux.type(":ALECodeAction")
        self.tmux.keys("Enter")
