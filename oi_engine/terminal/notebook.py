"""Questions in a notebook: only the thread that runs the cell can put them, with ``input``."""

from __future__ import annotations

import asyncio
import getpass
import queue
import sys
from concurrent.futures import Future
from typing import Any, TypeVar

from attrs import define, field, frozen

from oi_engine.terminal.ask import HELP, QUESTION, REASON, VERDICTS, Interrupted, Left, Verdict

T = TypeVar("T")


@frozen
class Question:
    """One question on its way to the thread that can put it."""

    text: str
    password: bool
    _loop: asyncio.AbstractEventLoop
    _answer: asyncio.Future[str]

    def put(self) -> None:
        """Put it to the person. To be called in the thread that runs the cell."""
        outcome: str | BaseException
        try:
            outcome = getpass.getpass(self.text) if self.password else input(self.text)
        except KeyboardInterrupt:
            outcome = Interrupted()
        except Exception:  # noqa: BLE001 -- whatever a front end without input raises: nobody can be asked
            outcome = Left()
        self._loop.call_soon_threadsafe(self._settle, outcome)

    def _settle(self, outcome: str | BaseException) -> None:
        if self._answer.done():
            return
        if isinstance(outcome, BaseException):
            self._answer.set_exception(outcome)
        else:
            self._answer.set_result(outcome)


@define(eq=False)
class Caller:
    """The way to the thread that called. ``items`` carries questions, and the chunks of a stream."""

    items: queue.SimpleQueue[Any] = field(factory=queue.SimpleQueue)

    async def ask(self, text: str, *, password: bool = False) -> str:
        """Ask there. Raises ``Interrupted`` and ``Left``."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str] = loop.create_future()
        self.items.put(Question(text, password, loop, answer))
        return await answer

    def attend(self, work: Future[T]) -> T:
        """Put questions until ``work`` is done. To be called in the thread that runs the cell."""
        work.add_done_callback(lambda _: self.items.put(None))
        while (item := self.items.get()) is not None or not work.done():
            if isinstance(item, Question):
                item.put()
        return work.result()


@define
class NotebookAsker:
    """Asks by whole lines, in the cell that called."""

    _caller: Caller

    @property
    def can_ask(self) -> bool:
        """Somebody is there."""
        return True

    async def message(self) -> str:
        """The person's next message; an empty one leaves."""
        text = await self._caller.ask("> ")
        if not text.strip():
            raise Left
        return text

    async def approval(self) -> Verdict:
        """Whether the code that is shown may run."""
        question = QUESTION
        while (verdict := VERDICTS.get((await self._caller.ask(question)).strip().lower())) is None:
            question = f"{HELP}\n{QUESTION}"
        return verdict

    async def reason(self) -> str:
        """Why it may not."""
        return await self._caller.ask(REASON)

    async def program_input(self, prompt: str, *, password: bool) -> str:
        """A line for the program that runs."""
        return await self._caller.ask(prompt or "? ", password=password)

    def interrupt(self) -> None:
        """Ctrl-C reaches the question itself."""


def in_notebook() -> bool:
    """Whether this process is a Jupyter kernel, whose cells are the only ones who can ask."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return getattr(running, "kernel", None) is not None
