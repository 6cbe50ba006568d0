"""One conversation: the turn, and the only place that composes model, gate, computer and transcript.

The public face is ``Session``: ``send``, ``approve``, ``reject``, ``run``, ``answer``, ``stop`` answer at once; what
happens then is told by ``stream`` (the chunks) and ``on_state`` (the ``Snapshot`` around them). All of it belongs to
one event loop.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve, frozen

from oi_engine.approval import Gate, Proposal
from oi_engine.computer.computer import Computer, LanguageFinder, RuntimeMaker
from oi_engine.computer.languages import Naming
from oi_engine.errors import OiError, SessionBusy, UnknownInput, UnknownProposal
from oi_engine.messages import Chunk, Message, Recipient, new_id, now
from oi_engine.models.conversation import Conversation
from oi_engine.models.model import Model
from oi_engine.session.state import PendingInput, Queued, Snapshot, State, Stopped, Ticket, UsageTotals
from oi_engine.session.turn import Decision, OwnCode, Request, Turn
from oi_engine.settings import Settings
from oi_engine.stream import Entry, Stream
from oi_engine.transcript import Transcript

log = logging.getLogger(__name__)

StateListener = Callable[[Snapshot], None]


@frozen
class _Waiting:
    turn_id: str
    request: Request


class Session:
    """A conversation with a model that writes code, a gate, and a computer that runs it."""

    def __init__(
        self,
        model: Model,
        make_runtime: RuntimeMaker,
        settings: Settings | None = None,
        *,
        languages: tuple[str, ...] = ("python", "shell", "javascript"),
        naming: Naming | None = None,
        look_for_languages: LanguageFinder | None = None,
        session_id: str | None = None,
        cwd: str | None = None,
        title: str = "",
    ) -> None:
        self.id = session_id or new_id("s")
        self.title = title
        self.created_at = now()
        self.cwd = cwd or os.getcwd()
        self.settings = settings or Settings()
        self.model = model
        self.stream = Stream()
        self.transcript = Transcript()
        self.conversation = Conversation()
        self.stream.subscribe(self._fold)
        self.gate = Gate(auto_run=lambda: self.settings.auto_run)
        self.computer = Computer(self.gate, make_runtime, self.id, languages, naming, look_for_languages)
        self._snapshot = Snapshot()
        self._listeners: list[StateListener] = []
        self._queue: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None
        self._halting: asyncio.Task[None] | None = None
        self._turn: Turn | None = None
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._closed = False
        self.preface: Callable[[], Sequence[Message]] = tuple
        """Called once, before the next request: messages that the person and the model must have before it."""

    # --- what a front end asks for -----------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """The state now."""
        return self._snapshot

    @property
    def messages(self) -> list[Message]:
        """The conversation so far."""
        return self.transcript.messages

    def on_state(self, listener: StateListener) -> Callable[[], None]:
        """Have ``listener`` called with each new snapshot; the answer ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def send(self, content: str | Sequence[Message]) -> Ticket:
        """Ask the model. In mid-turn the message is queued, visibly."""
        messages = [Message("user", "message", content)] if isinstance(content, str) else list(content)
        if not any(message.text.strip() for message in messages):
            raise OiError("The message is empty.", "Write what you want done.")
        return self._request(Request(tuple(messages)))

    def run(self, language: str, code: str) -> Ticket:
        """Run the person's own code: sending it is the approval."""
        return self._request(Request(own_code=OwnCode(language, code)))

    def approve(self, proposal_id: str, code: str | None = None, *, always: bool = False) -> str:
        """Run the proposal, or ``code`` as the person edited it. Answers the turn's id. Raises ``UnknownProposal``.

        With ``always``, the same code in the same place is not asked about again in this session.
        """
        proposal = self._pending(proposal_id)
        cell = proposal.cell if code is None else evolve(proposal.cell, code=code)
        grant = self.gate.approve(proposal.id, cell, always=always)
        return self._decide(Decision(grant=grant, edited=cell.code != proposal.cell.code))

    def reject(self, proposal_id: str, reason: str = "") -> str:
        """Do not run the proposal; the model is told, with the reason. Answers the turn's id."""
        self.gate.withdraw(self._pending(proposal_id).id)
        return self._decide(Decision(reason=reason))

    def answer(self, input_id: str, text: str) -> None:
        """Give the waiting program its line. Raises ``UnknownInput``."""
        pending = self._snapshot.input
        if pending is None or pending.id != input_id:
            raise UnknownInput(f"No program waits for input {input_id!r}.")
        self.computer.answer(text)
        self._show(state="running", input=None)

    def stop(self) -> Stopped:
        """Stop whatever goes on, in any state, and keep the kernel's variables. Queued messages come back unsent."""
        unsent = tuple(waiting.request.text for waiting in self._queue)
        self._queue.clear()
        if self._turn is None or self._task is None:
            return Stopped(False, unsent)
        if self._snapshot.state != "stopping":
            program_runs = self.computer.running is not None and not self.computer.starting
            self._turn.stopping = True
            self._show(state="stopping", proposal=None, input=None, queue=())
            if program_runs:
                self._halting = asyncio.get_running_loop().create_task(self._halt(self._turn))
            else:
                self._task.cancel()
        return Stopped(True, unsent)

    async def interrupt(self, language: str | None = None) -> bool:
        """Interrupt the running program only; the turn goes on and the model sees what came of it."""
        return await self.computer.interrupt(language)

    async def restart(self, language: str | None = None) -> list[str]:
        """Restart a kernel, or all: their variables are gone, and the conversation says so."""
        ended = await self.computer.restart(language)
        if ended and self._turn is None:
            self._say(f"Restarted: {', '.join(ended)}. Variables are gone.")
        return ended

    def undo(self) -> None:
        """Take back the last request and all that came of it. Raises ``SessionBusy`` in mid-turn."""
        self._edit_history("undo")

    def reset(self) -> None:
        """Begin the conversation anew; kernels keep their state. Raises ``SessionBusy`` in mid-turn."""
        self._edit_history("reset")

    async def idle(self) -> None:
        """Wait until no turn is under way or queued."""
        await self._quiet.wait()

    async def close(self) -> None:
        """End the session: what is undecided means no, and every kernel goes."""
        self._closed = True
        self._queue.clear()
        self.gate.expire()
        for task in (self._halting, self._task):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait([task])
        await self.idle()
        await self.computer.close()

    # --- the turns, one after the other ------------------------------------------------------------------------

    def _request(self, request: Request) -> Ticket:
        if self._closed:
            raise SessionBusy("The session is closed.", "Open a new one.")
        waiting = _Waiting(new_id("t"), request)
        queued = self._turn is not None
        self._queue.append(waiting)
        self._quiet.clear()
        if queued:
            self._show_queue()
        else:
            self._next_turn()
        return Ticket(waiting.turn_id, queued)

    def _next_turn(self) -> None:
        if self._closed or not self._queue:
            self._turn = self._task = None
            self._show(state="idle", turn_id=None, proposal=None, input=None, queue=())
            self._quiet.set()
            return
        waiting = self._queue.popleft()
        self.stream.turn_id = waiting.turn_id
        preface, self.preface = self.preface(), tuple
        for message in preface:
            self._say(message.text, message.recipient)
        turn = self._turn = Turn(self, waiting.request)
        self._show(state="thinking", turn_id=waiting.turn_id, proposal=None, input=None)
        self._show_queue()
        turn.begin()
        self._task = asyncio.get_running_loop().create_task(turn.converse())
        self._task.add_done_callback(self._turn_over)

    def _turn_over(self, task: asyncio.Task[None]) -> None:
        self.gate.expire()
        if self._turn is not None:
            self._turn.end(task)
        self._next_turn()

    async def _halt(self, turn: Turn) -> None:
        """Interrupt the program; one that does not stop loses its kernel, and that is said."""
        language = self.computer.running
        if not await self.computer.interrupt() and self._turn is turn and self.computer.running == language:
            turn.stop_notes.append("It did not stop when interrupted, so its kernel was ended. Variables are gone.")
            await self.computer.restart(language)

    def _pending(self, proposal_id: str) -> Proposal:
        proposal = self._snapshot.proposal
        if proposal is None or proposal.id != proposal_id:
            raise UnknownProposal(
                f"No proposal {proposal_id!r} waits for a decision.", "It may have been decided already."
            )
        return proposal

    def _decide(self, decision: Decision) -> str:
        if self._turn is None or self._snapshot.turn_id is None:
            raise UnknownProposal("No proposal waits for a decision.")
        self._show(state="running" if decision.grant else "thinking", proposal=None)
        self._turn.decide(decision)
        return self._snapshot.turn_id

    def _edit_history(self, command: str) -> None:
        if self._turn is not None:
            raise SessionBusy(f"{command} is for a session at rest.", "Stop the turn first.")
        self.stream.put(Chunk("user", "command", content=command, id=new_id("m")))

    def _say(self, text: str, recipient: Recipient | None = None) -> None:
        self.stream.open("computer", "message", recipient=recipient)
        self.stream.write(text)
        self.stream.close()

    # --- what the turn tells -----------------------------------------------------------------------------------

    def show_state(self, state: State) -> None:
        """The turn has come to another state."""
        self._show(state=state)

    def show_proposal(self, proposal: Proposal) -> None:
        """The turn waits for a decision."""
        self._show(state="awaiting_approval", proposal=proposal)

    def show_input(self, pending: PendingInput | None) -> None:
        """The program waits for the person, or no longer does."""
        self._show(state="awaiting_input" if pending else "running", input=pending)

    def show_usage(self, usage: UsageTotals) -> None:
        """A reply was paid for."""
        self._show(usage=usage)

    def _show_queue(self) -> None:
        self._show(queue=tuple(Queued(waiting.turn_id, waiting.request.text) for waiting in self._queue))

    def _show(self, **changes: Any) -> None:
        self._snapshot = evolve(self._snapshot, **changes)
        for listener in tuple(self._listeners):
            listener(self._snapshot)

    def _fold(self, entry: Entry) -> None:
        self.transcript.apply(entry.chunk)
