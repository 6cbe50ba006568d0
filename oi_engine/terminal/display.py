"""A session shown in the terminal for a program that called ``interpreter.chat`` (``display=True``)."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence

from attrs import define, field
from platformdirs import user_state_path

from oi_engine.factory import Engine
from oi_engine.messages import Message
from oi_engine.session.session import Session
from oi_engine.terminal.ask import Asker, Left, Verdict
from oi_engine.terminal.ask_lines import LineAsker, LineReader, PipeAsker
from oi_engine.terminal.chat import NOBODY_REASON, REFUSALS, Chat
from oi_engine.terminal.gallery import Gallery
from oi_engine.terminal.main import Surroundings, tty_modes
from oi_engine.terminal.notebook import Caller, NotebookAsker
from oi_engine.terminal.plain import PlainRenderer
from oi_engine.terminal.renderer import Renderer
from oi_engine.terminal.tty_mode import TtyMode

NOBODY = (
    "Not run: nobody can be asked here. Set interpreter.auto_run = True to run code without asking, or call "
    "interpreter.approve() at the confirmation chunk of stream=True."
)


class Display:
    """Shows a session, and asks where a person is there; a magic command may have put another in its place.

    ``caller`` is how the thread that called is asked, where questions can be put there alone (in a notebook).
    ``streaming``: the program reads along, and may decide before the person is asked.
    """

    def __init__(
        self, session: Session, engine: Engine, *, caller: Caller | None = None, streaming: bool = False
    ) -> None:
        self.session = session
        self._engine = engine
        self._caller = caller
        self._streaming = streaming
        self._may_ask = asyncio.Event()
        self.on_question: Callable[[], None] = lambda: None
        self._chat: Chat | None = None

    async def turn(self, messages: Sequence[Message]) -> None:
        """Send the messages and see the turn through."""
        with self._shown(0) as chat:
            await chat.turn(messages)

    async def converse(self) -> None:
        """Ask for messages and serve them until the person leaves."""
        with self._shown(None) as chat:
            await chat.converse()
            self.session = chat.session

    def let_ask(self) -> None:
        """The program has come back for more: the question that waits may be put now."""
        self._may_ask.set()

    async def _yours(self) -> None:
        """Code waits, the screen is at rest: let the program see it, and wait until it comes back for more."""
        self._may_ask.clear()
        self.on_question()
        await self._may_ask.wait()

    def interrupt(self) -> None:
        """Ctrl-C came as a signal."""
        if self._chat is not None:
            self._chat.interrupt()

    @contextlib.contextmanager
    def _shown(self, fd: int | None) -> Iterator[Chat]:
        """A conversation on the screen. ``fd``: where lines are read; ``None``: standard input."""
        around = Surroundings.now()
        with contextlib.ExitStack() as stack:
            tty = tty_modes(around, stack)
            asker = self._asker(around, tty, fd)
            lend = tty.lent if tty else contextlib.nullcontext
            patient = _Patient(asker, self._yours, lend) if self._streaming else None
            chat = self._chat = Chat(
                self.session,
                _renderer(around, self.session, self._leave),
                patient or asker,
                engine=self._engine,
                lend_terminal=lend,
                echo=fd is None and not around.stdin_tty and self._caller is None,
                nobody=NOBODY,
            )
            if patient is not None:
                patient.say = chat.say
            stack.callback(chat.close)
            yield chat

    def _asker(self, around: Surroundings, tty: TtyMode | None, fd: int | None) -> Asker:
        multi_line = self.session.settings.multi_line
        if self._caller is not None:
            return NotebookAsker(self._caller)
        if tty is None:
            # In a turn nothing is read: standard input belongs to the program.
            return PipeAsker(LineReader(sys.stdin.fileno() if fd is None else fd), multi_line)
        if around.dumb:
            return LineAsker(LineReader(sys.stdin.fileno()), sys.stdout, tty, multi_line)
        from oi_engine.terminal.ask_keys import KeyAsker

        return KeyAsker(tty, None, multi_line=multi_line)

    def _leave(self) -> None:
        """Nobody reads the output any more."""
        self.session.stop()


def _renderer(around: Surroundings, session: Session, reader_gone: Callable[[], object]) -> Renderer:
    gallery = Gallery(user_state_path("oi-lsp") / "sessions" / session.id)
    if not around.rich:
        return PlainRenderer(sys.stdout, gallery, reader_gone)
    from oi_engine.terminal.look import Look, make_console
    from oi_engine.terminal.render import RichRenderer
    from oi_engine.terminal.screen import LiveScreen

    look = Look(make_console(sys.stdout))
    return RichRenderer(look, LiveScreen(sys.stdout, lambda: look.width), gallery)


@define
class _Patient:
    """Asks about code only once the program that reads the stream has come back for more: it may have decided.

    Where nobody can be asked, the answer is no from then on, and after some of those the turn is stopped.
    """

    _asker: Asker
    _back: Callable[[], Awaitable[None]]
    _lend: Callable[[], contextlib.AbstractContextManager[None]]
    say: Callable[[str], None] = lambda text: None
    _refusals: int = field(default=0, init=False)

    @property
    def can_ask(self) -> bool:
        """The program can, if nobody else."""
        return True

    async def message(self) -> str:
        """The person's next message."""
        return await self._asker.message()

    async def approval(self) -> Verdict:
        """Whether the code that is shown may run."""
        with self._lend():
            await self._back()
        if self._asker.can_ask:
            return await self._asker.approval()
        self.say(NOBODY)
        self._refusals += 1
        if self._refusals >= REFUSALS:
            raise Left
        return "no"

    async def reason(self) -> str:
        """Why it may not."""
        return await self._asker.reason() if self._asker.can_ask else NOBODY_REASON

    async def program_input(self, prompt: str, *, password: bool) -> str:
        """A line for the program that runs."""
        if not self._asker.can_ask:
            raise Left
        return await self._asker.program_input(prompt, password=password)

    def interrupt(self) -> None:
        """Ctrl-C came as a signal."""
        self._asker.interrupt()
