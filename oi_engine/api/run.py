"""One ``chat()`` on its way: what goes to the caller as it comes, and who decides about code.

A caller who reads the stream has the say on each block *between* its confirmation chunk and the chunk after it:
``approve``, ``reject``, or breaking off. Reading on without a word is no approval: then the settings decide
(``auto_run``), or the person at the terminal, and where there is neither the answer is no.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from attrs import define, field, frozen

from oi_engine.approval import Proposal
from oi_engine.errors import OiError
from oi_engine.messages import Message
from oi_engine.session.session import Session
from oi_engine.session.state import Snapshot
from oi_engine.stream import Entry

log = logging.getLogger(__name__)

READ_ON = (
    "Nobody approved it: the program that reads the stream went on without approving. Do not propose this code again."
)
NOBODY = "Nobody could be asked, because the program that started this shows nothing. Do not propose code again."
HOW = (
    "Code was not run, because nobody approved it. Call interpreter.approve() at the confirmation chunk, set "
    "interpreter.auto_run = True, or leave display on and run in a terminal."
)
NO_INPUT = "The program asks for input, and nobody can be asked here: it is interrupted."
REFUSALS = 3
"""Proposals that lapse in one run before it is stopped: a model that goes on proposing costs money."""

Chunk = dict[str, Any]


class Shown(Protocol):
    """What shows a turn to a person, and puts the questions."""

    session: Session
    on_question: Callable[[], None]
    """Called when code waits and the screen is at rest, before the caller is waited for."""

    async def turn(self, messages: Sequence[Message]) -> None:
        """Send the messages and see the turn through."""
        ...

    async def converse(self) -> None:
        """Ask for messages and serve them until the person leaves."""
        ...

    def let_ask(self) -> None:
        """The caller has come back for more: the question that waits may be put now."""
        ...

    def interrupt(self) -> None:
        """Ctrl-C came as a signal."""
        ...


@frozen
class Mode:
    """How ``chat`` was called. ``waits``: the caller waits for the end of it and cannot decide meanwhile."""

    stream: bool = False
    waits: bool = True


@define(eq=False)
class Run:
    """One turn of a session for one caller. Belongs to the hub's loop; ``sink`` is called there."""

    _session: Session
    mode: Mode
    _auto_run: Callable[[Proposal], bool]
    _shown: Shown | None = None
    _sink: Callable[[Chunk | None], None] = lambda chunk: None
    failure: str | None = field(default=None, init=False)
    stopped: bool = field(default=False, init=False)
    _refusals: int = field(default=0, init=False)
    _held: Chunk | None = field(default=None, init=False)
    _told: bool = field(default=False, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _errands: set[asyncio.Task[object]] = field(factory=set, init=False)

    @property
    def over(self) -> bool:
        """Whether the turn is at its end."""
        return self._task is not None and self._task.done()

    def start(self, messages: Sequence[Message]) -> None:
        """Send the messages."""
        self._task = asyncio.get_running_loop().create_task(self._drive(messages))

    async def end(self) -> None:
        """Wait for the end. Raises what kept the turn from starting."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def stop(self) -> None:
        """Stop the turn, whatever it is at, and wait until it is over; what is undecided means no."""
        self.stopped = True
        self._session.stop()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def lapse(self, proposal_id: str) -> None:
        """The caller reads on past this confirmation: what it left undecided is decided now, or the person is asked."""
        proposal = self._session.snapshot.proposal
        if proposal is None or proposal.id != proposal_id:
            return
        if self._auto_run(proposal):
            self._session.approve(proposal_id)
        elif self._shown is not None:
            self._shown.let_ask()
        else:
            self._refuse(proposal_id, READ_ON)

    async def _drive(self, messages: Sequence[Message]) -> None:
        unsubscribe = self._session.stream.subscribe(self._entry)
        unlisten = self._session.on_state(self._state)
        try:
            if self._shown is not None:
                self._shown.on_question = self._release
                await self._shown.turn(messages)
            else:
                self._session.send(messages)
            await self._session.idle()
        finally:
            unlisten()
            unsubscribe()
            self._release()
            self._sink(None)

    def _entry(self, entry: Entry) -> None:
        chunk = entry.chunk
        if chunk.type == "error":
            self.failure = str(chunk.content)
        if chunk.type == "confirmation" and self._shown is not None and self.mode.stream:
            # Not before the screen is at rest: the caller may want to ask there.
            self._held = documented(chunk.to_dict())
        # That a block runs the documented stream tells by `active_line`; the other words for programs come where it has
        # nothing to say the same with.
        elif chunk.role not in ("user", "server") and chunk.format != "run":
            self._release()
            self._sink(documented(chunk.to_dict()))

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._sink(held)

    def _state(self, snapshot: Snapshot) -> None:
        """Where nobody can be asked, nothing may wait for ever."""
        if self._shown is not None:
            return
        if snapshot.proposal is not None and not self.mode.stream and self.mode.waits:
            self._later(self._nobody(snapshot.proposal.id))
        if snapshot.input is not None and self.mode.waits:
            log.warning(NO_INPUT)
            self._later(self._session.interrupt())

    async def _nobody(self, proposal_id: str) -> None:
        proposal = self._session.snapshot.proposal
        if proposal is not None and proposal.id == proposal_id:
            self._refuse(proposal_id, NOBODY)

    def _refuse(self, proposal_id: str, reason: str) -> None:
        if not self._told:
            self._told = True
            log.warning(HOW)
        self._refusals += 1
        if self._refusals < REFUSALS:
            self._session.reject(proposal_id, reason)
        else:
            self._session.stop()

    def _later(self, errand: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(errand)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)


def documented(chunk: Chunk) -> Chunk:
    """A chunk as programs get it: a confirmation names language and code in both of the documented ways."""
    content = chunk.get("content")
    if chunk["type"] == "confirmation" and isinstance(content, dict):
        both = {**content, "language": content.get("format"), "code": content.get("content")}
        return {**chunk, "content": both}
    return chunk


def failure_of(run: Run, raised: OiError | None) -> OiError | None:
    """The error that ended a run, as it was raised where that is known."""
    if run.failure is None:
        return None
    return raised if raised is not None and str(raised) == run.failure else OiError(run.failure)
