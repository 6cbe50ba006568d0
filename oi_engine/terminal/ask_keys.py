"""Questions on a real terminal: an input line with history and editing, and answers by a single key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style

from oi_engine.safety.sanitize import sanitize
from oi_engine.terminal.ask import HELP, QUESTION, REASON, VERDICTS, Interrupted, Left, Verdict, is_open_block
from oi_engine.terminal.tty_mode import TtyMode

_STYLE = Style.from_dict({"question": "bold", "help": "ansibrightblack", "chosen": "reverse"})


CHOOSE = "Which one? Arrow keys and Enter; Ctrl-C leaves."
_CHOICES = 15
"""Rows that a choice has at most."""


class _MagicCompleter(Completer):
    """Offers how a magic command goes on, at Tab."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """The lines that the text before the cursor may become."""
        from oi_engine.magic import commands

        text = document.text_before_cursor
        for line in commands.complete(text):
            yield Completion(line, -len(text), display=sanitize(line.rpartition(" ")[2]))


class _Unseen(Processor):
    """Shows nothing of what is typed, not even how much."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Nothing, with the cursor at its start."""
        return Transformation([], source_to_display=lambda _: 0, display_to_source=lambda _: 0)


class KeyAsker:
    """Asks with prompt_toolkit. Questions inside a turn are taken off the screen once they are answered."""

    def __init__(self, tty: TtyMode, history: Path | None, *, multi_line: bool = False) -> None:
        self._tty = tty
        self._input: Input = create_input()
        self._prompt = self._message_prompt(history, multi_line)
        self._asked = False

    @property
    def can_ask(self) -> bool:
        """Somebody is there."""
        return True

    async def message(self) -> str:
        """The person's next message: Enter sends it, Alt-Enter begins another line."""
        # Only what was typed before the very first question is kept: nothing else was on the screen then.
        if self._asked:
            self._forget_typed()
        self._asked = True
        return await self._prompt.prompt_async("> ", handle_sigint=False)

    async def approval(self) -> Verdict:
        """Whether the code that is shown may run: one key says it."""
        shown: StyleAndTextTuples = [("class:question", QUESTION)]
        keys = KeyBindings()

        @keys.add(Keys.Any)
        def _other(event: KeyPressEvent) -> None:
            verdict = VERDICTS.get(event.data.lower())
            if verdict is not None:
                event.app.exit(result=verdict)
            elif shown[0][0] != "class:help":
                shown.insert(0, ("class:help", f"{HELP}\n"))

        @keys.add("c-c")
        def _interrupt(event: KeyPressEvent) -> None:
            event.app.exit(exception=Interrupted)

        @keys.add("c-d")
        def _leave(event: KeyPressEvent) -> None:
            event.app.exit(exception=Left)

        window = Window(FormattedTextControl(shown), dont_extend_height=True, wrap_lines=True, always_hide_cursor=True)
        question: Application[Verdict] = Application(
            Layout(window), key_bindings=keys, style=_STYLE, erase_when_done=True, input=self._input
        )
        self._forget_typed()
        return await question.run_async(handle_sigint=False)

    async def choose(self, options: Sequence[str]) -> int:
        """Which of the options, one a line, by arrow keys. Answers its place, from 0."""
        at = 0
        keys = KeyBindings()

        def move(by: int) -> None:
            nonlocal at
            at = min(max(at + by, 0), len(options) - 1)

        @keys.add("up")
        def _up(event: KeyPressEvent) -> None:
            move(-1)

        @keys.add("down")
        def _down(event: KeyPressEvent) -> None:
            move(1)

        @keys.add("enter")
        def _take(event: KeyPressEvent) -> None:
            event.app.exit(result=at)

        @keys.add("c-c")
        @keys.add("c-d")
        @keys.add("escape", eager=True)
        def _leave(event: KeyPressEvent) -> None:
            event.app.exit(exception=Left)

        def rows() -> StyleAndTextTuples:
            first = max(0, min(at - _CHOICES // 2, len(options) - _CHOICES))
            shown = list(enumerate(options))[first : first + _CHOICES]
            marked = ((number == at, line) for number, line in shown)
            return [("class:chosen" if here else "", f"{'>' if here else ' '} {line}\n") for here, line in marked]

        def content() -> StyleAndTextTuples:
            return [("class:question", f"{CHOOSE}\n"), *rows()]

        window = Window(FormattedTextControl(content), dont_extend_height=True, always_hide_cursor=True)
        choice: Application[int] = Application(
            Layout(window), key_bindings=keys, style=_STYLE, erase_when_done=True, input=self._input
        )
        return await choice.run_async(handle_sigint=False)

    async def reason(self) -> str:
        """Why it may not."""
        return await self._line(REASON)

    async def program_input(self, prompt: str, *, password: bool) -> str:
        """A line for the program that runs."""
        return await self._line(prompt or "? ", [_Unseen()] if password else [])

    def interrupt(self) -> None:
        """Ctrl-C reaches the question as a key: there is nothing to do for a signal."""

    async def _line(self, question: str, processors: list[Processor] | None = None) -> str:
        line: PromptSession[str] = PromptSession(
            input_processors=processors,
            erase_when_done=True,
            reserve_space_for_menu=0,
            interrupt_exception=Interrupted,
            eof_exception=Left,
            input=self._input,
        )
        self._forget_typed()
        return await line.prompt_async(question, handle_sigint=False)

    def _message_prompt(self, history: Path | None, multi_line: bool) -> PromptSession[str]:
        keys = KeyBindings()

        @keys.add("escape", "enter")
        def _newline(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c", filter=Condition(lambda: bool(prompt.default_buffer.text)))
        def _clear(event: KeyPressEvent) -> None:
            event.current_buffer.reset()

        goes_on = Condition(lambda: multi_line and is_open_block(prompt.default_buffer.text))
        prompt: PromptSession[str] = PromptSession(
            multiline=goes_on,
            prompt_continuation="  ",
            history=FileHistory(str(history)) if history else None,
            key_bindings=keys,
            completer=_MagicCompleter(),
            complete_style=CompleteStyle.READLINE_LIKE,
            complete_while_typing=False,
            enable_suspend=True,
            reserve_space_for_menu=0,
            interrupt_exception=Interrupted,
            eof_exception=Left,
            input=self._input,
        )
        return prompt

    def _forget_typed(self) -> None:
        clear_typeahead(self._input)
        self._tty.forget_typed()
