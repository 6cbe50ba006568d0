"""Helix, with languages.toml alone."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import ClassVar

from attrs import define

from tests.e2e.editors.editor import Editor
from tests.e2e.editors.setups import snippet

LONGEST_LIST = 40
"""Entries that are gone through before a list is taken to have no such entry."""


def reversed_texts(styled: str) -> list[str]:
    """The pieces of a screen that are shown in reverse, without the spaces around them."""
    found, reverse = [], False
    for text, codes in re.findall(r"([^\x1b\n]*)(?:\x1b\[([\d;]*)m|\n|$)", styled):
        if reverse and text.strip():
            found.append(text.strip())
        for code in codes.split(";") if codes else []:
            reverse = code == "7" or (reverse and code not in ("0", "27"))
    return found


@define
class Helix(Editor):
    """Helix, by its keys."""

    program: ClassVar[str] = "hx"
    title: ClassVar[str] = "Helix"

    def set_up(self) -> None:
        self.home_file(".config/helix/languages.toml", snippet(self.title))

    def arguments(self, file: Path) -> list[str]:
        return [str(file)]

    def show_hints(self) -> None:
        """Have inlay hints shown, which they are not by themselves."""
        self._command("set lsp.display-inlay-hints true")

    def back_to(self, path: Path) -> None:
        """Be in the source file again after a run: Helix has shown the chat document in its place."""
        self._command(f"open {path}")

    def leave(self) -> None:
        self._command("quit-all!")

    def press_save(self) -> None:
        self._command("write")

    def goto(self, line: int, column: int = 1) -> None:
        self._normal()
        self.tmux.type(f"{line}gggh" + (f"{column - 1}l" if column > 1 else "") + ";")

    def goto_end(self) -> None:
        self._normal()
        self.tmux.type("ge")

    def select_lines(self, first: int, last: int) -> None:
        self.goto(first)
        self.tmux.type("x" * (last - first + 1))

    def type(self, text: str) -> None:
        if self._mode() != "INS":
            self._normal()
            self.tmux.type("i")
            self.until(lambda: self._mode() == "INS", "the insert mode")
        for number, line in enumerate(text.split("\n")):
            if number:
                self.tmux.keys("Enter")
            if line:
                self.tmux.type(line)

    def undo(self, times: int = 1) -> None:
        self._normal()
        self.tmux.type("u" * times)

    def code_actions(self) -> None:
        if self._mode() == "INS":
            self._normal()
        self.tmux.type(" a")

    def choose_none(self) -> None:
        self._normal()

    def choose(self, title: str) -> None:
        entry = re.compile(rf" {re.escape(title)}(?= *$|  )", re.MULTILINE)
        self.until(lambda: entry.search(self.screen()), f"{title!r} in the list")
        # The list can only be gone through; the entry that Enter takes is shown in reverse.
        for _ in range(LONGEST_LIST):
            before = self.tmux.styled()
            if any(entry.search(f" {text}") for text in reversed_texts(before)):
                self.tmux.keys("Enter")
                return
            self.tmux.keys("Down")
            self.until(partial(self._shows_other_than, before), "the next entry of the list")
        raise AssertionError(f"{title!r} could not be reached:\n{self.screen()}")

    def _shows_other_than(self, styled: str) -> bool:
        return self.tmux.styled() != styled

    def answer(self, title: str) -> None:
        self.choose(title)

    def _command(self, command: str) -> None:
        self._normal()
        self.tmux.type(f":{command}")
        self.tmux.keys("Enter")

    def _mode(self) -> str:
        """What the status line says: ``NOR``, ``INS`` or ``SEL``; empty where a popup hides it."""
        found = re.findall(r"^ (NOR|INS|SEL) ", self.screen(), re.MULTILINE)
        return found[-1] if found else ""

    def _normal(self) -> None:
        # Twice in one: one alone, read together with the next key, would be Alt.
        self.tmux.keys("Escape", "Escape")
        self.until(lambda: self._mode() == "NOR", "the normal mode")
