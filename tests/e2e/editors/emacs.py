"""Emacs, with eglot or lsp-mode."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from attrs import define

from tests.e2e.editors.editor import Editor
from tests.e2e.editors.setups import snippet

STREAMS = " :initializationOptions (:settings (:chatDocument (:stream t)))"
"""What the set-up of eglot says for answers to stream in."""

IDLE = "(setq eglot-send-changes-idle-time 0)\n"
"""Without which that is not safe."""


@define
class Emacs(Editor):
    """Emacs, by its keys."""

    program: ClassVar[str] = "emacs"
    undoes_each: ClassVar[bool] = False
    ends_with_a_line: ClassVar[bool] = False
    saved_notice: ClassVar[str] = "Wrote "
    actions: ClassVar[str]
    """The command that lists the code actions."""

    prompt: ClassVar[str]
    """What it asks."""

    question: ClassVar[str]
    """What stands before the answers of a message."""

    def set_up(self) -> None:
        # Questions on leaving, and files beside those of the test, are of no interest.
        own = "(setq make-backup-files nil auto-save-default nil inhibit-startup-screen t)\n"
        self.home_file(".emacs.d/init.el", own + snippet(self.title))

    def arguments(self, file: Path) -> list[str]:
        return ["-nw", str(file)]

    def leave(self) -> None:
        self._lisp("(kill-emacs)")

    def press_save(self) -> None:
        self.tmux.keys("C-x", "C-s")

    def nothing_to_save(self) -> bool:
        return "(No changes need to be saved)" in self.screen()

    def goto(self, line: int, column: int = 1) -> None:
        self._lisp(
            f"(progn (deactivate-mark) (goto-char (point-min)) (forward-line {line - 1}) (forward-char {column - 1}))"
        )

    def goto_end(self) -> None:
        self.tmux.keys("M->")

    def select_lines(self, first: int, last: int) -> None:
        self.goto(first)
        self.tmux.keys("C-Space")
        self.tmux.keys(*["C-n"] * (last - first + 1))

    def type(self, text: str) -> None:
        for number, line in enumerate(text.split("\n")):
            if number:
                self.tmux.keys("Enter")
            if line:
                self.tmux.type(line)

    def undo(self, times: int = 1) -> None:
        for _ in range(times):
            self.tmux.keys("C-_")

    def read_note(self) -> None:
        self._extended("eldoc")

    def put_note_away(self) -> None:
        self.tmux.keys("C-x", "1")

    def code_actions(self) -> None:
        self._extended(self.actions)

    def choose_none(self) -> None:
        # No C-g, see _lisp.
        self.tmux.keys("C-]")

    def choose(self, title: str) -> None:
        self.until_screen(self.prompt)
        self._complete(title)

    def answer(self, title: str) -> None:
        self.until_screen(self.question)
        # The first answer is filled in.
        self.tmux.keys("C-a", "C-k")
        self._complete(title)

    def _complete(self, title: str) -> None:
        for number, word in enumerate(title.split(" ")):
            if number:
                # A space alone would complete.
                self.tmux.keys("C-q", "Space")
            self.tmux.type(word)
        self.tmux.keys("Enter")

    def _extended(self, command: str) -> None:
        self.tmux.keys("M-x")
        self.tmux.type(command)
        self.tmux.keys("Enter")

    def _lisp(self, form: str) -> None:
        # No C-g before it: Emacs throws away what was typed after one.
        self.tmux.keys("M-:")
        self.until_screen("Eval:")
        self.tmux.type(form)
        self.tmux.keys("Enter")


@define
class Eglot(Emacs):
    """The client that comes with Emacs."""

    title: ClassVar[str] = "Emacs, eglot"
    actions: ClassVar[str] = "eglot-code-actions"
    prompt: ClassVar[str] = "Pick an action"
    question: ClassVar[str] = "Choose an option:"

    def opened(self, file: Path) -> None:
        if not file.name.endswith(".oi.md"):
            self.until_screen(file.name)
            self._extended("eglot")


@define
class EglotBuffered(Eglot):
    """Eglot with its own idle time, which the set-up says to have in place of two of its lines."""

    def set_up(self) -> None:
        Emacs.set_up(self)
        init = self.folder / "home" / ".emacs.d" / "init.el"
        text = init.read_text()
        for part in (STREAMS, IDLE):
            assert part in text
            text = text.replace(part, "")
        init.write_text(text)


@define
class LspMode(Emacs):
    """lsp-mode."""

    title: ClassVar[str] = "Emacs, lsp-mode"
    actions: ClassVar[str] = "lsp-execute-code-action"
    prompt: ClassVar[str] = "Select code action"
    question: ClassVar[str] = "Really?"
    drops_messages: ClassVar[bool] = True

    def opened(self, file: Path) -> None:
        if not file.name.endswith(".oi.md"):
            self.until_screen(file.name)
            self._extended("lsp")
        self.until_screen("Import project root")
        self.tmux.type("i")
