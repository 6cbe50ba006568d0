"""``OpenInterpreter``: the engine for plain programs, scripts and notebooks."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from oi_engine.api.core import MakeShown
from oi_engine.api.face import Face, Given
from oi_engine.api.hub import hub
from oi_engine.api.parts import SyncComputer
from oi_engine.api.run import Mode, Run

if TYPE_CHECKING:
    from oi_engine.terminal.notebook import Caller

T = TypeVar("T")
Messages = list[dict[str, Any]]
Chunks = Iterator[dict[str, Any]]


class OpenInterpreter(Face):
    """An interpreter of its own: settings, a conversation, kernels. Instances share the model worker alone.

    It may be used from any thread, with or without an event loop there, by one thread at a time.
    """

    def __init__(self) -> None:
        super().__init__()
        self._computer = SyncComputer(self._core)
        self._waited: tuple[Run, int, Caller | None] | None = None

    @property
    def computer(self) -> SyncComputer:
        """What runs code."""
        return self._computer

    @overload
    def chat(
        self, message: Given | None = None, display: bool = True, stream: Literal[False] = False, blocking: bool = True
    ) -> Messages: ...
    @overload
    def chat(
        self, message: Given | None = None, display: bool = True, *, stream: Literal[True], blocking: bool = True
    ) -> Chunks: ...
    def chat(
        self, message: Given | None = None, display: bool = True, stream: bool = False, blocking: bool = True
    ) -> Messages | Chunks:
        """Send a message and see the turn through.

        ``message``: text; an LMC message; or a list, which is the whole conversation, its last message the one that is
        answered. Without one, a conversation in the terminal begins.

        Answers the messages that came of it, the person's own among them; for a list, the whole conversation. With
        ``stream``, a generator of LMC chunks, which sends nothing before its first ``next``; with ``blocking=False``,
        an empty list at once (see ``wait``).

        Code runs where ``auto_run`` is on, where the person at the terminal says so (``display``), or where the program
        calls ``approve`` after a confirmation chunk: reading on alone is no approval.

        Raises ``ModelError`` where the model fails, ``InvalidMessage``, and ``SessionBusy`` in mid-turn.
        """
        if message is None:
            return self._converse()
        if stream:
            return self._stream(message, display)
        show, caller = _shown() if display else (None, None)
        run, start = self._begin(message, Mode(waits=blocking), show)
        self._waited = (run, start, caller)
        return self.wait() if blocking else []

    def wait(self) -> Messages:
        """Wait for the end of the turn that ``blocking=False`` started; answers and raises what ``chat`` would.

        While code waits for ``approve`` or ``reject``, this waits with it.
        """
        if self._waited is None:
            return []
        run, start, caller = self._waited
        try:
            messages = _attended(hub().start(self._core.result(run, start)), caller)
        except KeyboardInterrupt:
            self.stop()
            raise
        self._waited = None
        return messages

    def stop(self) -> bool:
        """Stop the turn, in whatever state; variables are kept. Answers whether there was anything to stop."""
        return hub().call(self._core.stop())

    def reset(self) -> None:
        """Begin anew: the conversation is stopped and forgotten, and every kernel ends."""
        self.stop()
        self.messages = []
        self._computer.terminate()

    def undo(self) -> None:
        """Take back the last message and all that came of it."""
        self._adopt()
        hub().call(self._core.undo())

    def close(self) -> None:
        """End the kernels and store what is to be stored. What is called later begins anew, with the same settings."""
        hub().call(self._core.close())

    # --- the ways to chat --------------------------------------------------------------------------------------

    def _begin(self, message: Given, mode: Mode, show: MakeShown | None, sink: Any = None) -> tuple[Run, int]:
        messages, before = self._request(message)
        if before is not None:
            hub().call(self._core.conversation(before))
        start = 0 if before is not None else len(hub().call(self._core.messages()))
        run = hub().call(self._core.begin(messages, mode, sink or _nowhere, show))
        return run, start

    def _stream(self, message: Given, display: bool) -> Chunks:
        show, caller = _shown(streaming=True) if display else (None, None)
        items: queue.SimpleQueue[Any] = queue.SimpleQueue() if caller is None else caller.items
        run, start = self._begin(message, Mode(stream=True), show, items.put)
        over = False
        try:
            while (item := items.get()) is not None:
                if not isinstance(item, dict):
                    item.put()  # a question, which this thread alone can put
                    continue
                yield item
                if item["type"] == "confirmation":
                    hub().call(run.lapse(item["id"]))
            over = True
            hub().call(self._core.result(run, start))
        finally:
            if not over:
                self.stop()

    def _converse(self) -> Messages:
        self._adopt()
        show, caller = _shown()
        start = len(hub().call(self._core.messages()))
        talk = hub().start(self._core.converse(show))
        while not talk.done():
            try:
                _attended(talk, caller)
            except KeyboardInterrupt:
                hub().call(self._core.interrupt())
        talk.result()
        return hub().call(self._core.messages())[start:]


def _nowhere(chunk: dict[str, Any] | None) -> None:
    """Nobody reads the stream."""


def _shown(*, streaming: bool = False) -> tuple[MakeShown, Caller | None]:
    """What shows a turn, and how this thread is asked where it must put the questions."""
    from oi_engine.terminal.display import Display
    from oi_engine.terminal.notebook import Caller, in_notebook

    caller = Caller() if in_notebook() else None
    return partial(Display, caller=caller, streaming=streaming), caller


def _attended(work: Future[T], caller: Caller | None) -> T:
    """Wait for ``work``, putting the questions that come meanwhile."""
    return work.result() if caller is None else caller.attend(work)
