"""One conversation: the turn, and the only place that composes model, gate, computer and transcript.

What only a turn needs is imported with the first, since whoever opens a session has not asked for one yet.

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
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from oi_engine.approval import Always, Cell, Gate, Kept, Proposal
from oi_engine.computer.computer import Computer, Confining, LanguageFinder, RuntimeMaker
from oi_engine.computer.languages import Naming
from oi_engine.computer.looks import Completions, Inspection
from oi_engine.computer.sandbox import CONTAINER, OFF, Allowed, Sandbox
from oi_engine.errors import OiError, SessionBusy, UnknownInput, UnknownProposal
from oi_engine.history.restore import said
from oi_engine.history.store import turn_starts
from oi_engine.messages import Chunk, Message, Recipient, new_id, now
from oi_engine.models.model import Model, Usage
from oi_engine.safety.policy import Policy, changes
from oi_engine.session.aside import Answer, Asides, Work
from oi_engine.session.review import Review, Reviewing, Reviews
from oi_engine.session.state import PendingInput, Queued, Snapshot, State, Stopped, Ticket, UsageTotals
from oi_engine.settings import Settings
from oi_engine.stream import Stream
from oi_engine.transcript import Transcript, alike

if TYPE_CHECKING:
    from oi_engine.changes.workspace import Workspace
    from oi_engine.models.conversation import Conversation
    from oi_engine.models.preview import Preview
    from oi_engine.safety.scan.report import Scans
    from oi_engine.session.effects import Effects
    from oi_engine.session.turn import Decision, Request, Turn

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
        workspace: Callable[[], Workspace] | None = None,
        make_scanner: Callable[[], Scans] | None = None,
        approvals: Kept | None = None,
        confiner: Confining | None = None,
    ) -> None:
        self.id = session_id or new_id("s")
        self.title = title
        self.created_at = now()
        self.cwd = cwd or os.getcwd()
        self._settings = settings or Settings()
        self.model = model
        self.stream = Stream()
        self.transcript = Transcript()
        self.stream.subscribe(lambda entry: self.transcript.apply(entry.chunk))
        self.allowed = Allowed()
        """What the person has allowed the sandbox beside the settings."""
        self._confiner = confiner
        self.policy = Policy(lambda: self.settings, self._no_sandbox)
        self.gate = Gate(self.policy, approvals)
        self.computer = Computer(
            self.gate,
            make_runtime,
            self.id,
            languages,
            naming,
            look_for_languages,
            confiner,
            lambda: self.settings.sandbox_limits.seconds,
        )
        self.reviews = Reviews(self, make_scanner)
        self._snapshot = Snapshot()
        self._listeners: list[StateListener] = []
        self._queue: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None
        self._halting: asyncio.Task[None] | None = None
        self._turn: Turn | None = None
        self._asides = Asides(self.stream, self._aside_over)
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._closed = False
        self.preface: Callable[[], Sequence[Message]] = tuple
        """Called once, before the next request: messages that the person and the model must have before it."""
        self._workspace = workspace

    @cached_property
    def conversation(self) -> Conversation:
        """What the requests to the model are made of."""
        from oi_engine.models.conversation import Conversation

        return Conversation()

    @cached_property
    def effects(self) -> Effects:
        """What runs change on disk."""
        from oi_engine.session.effects import Effects

        return Effects(self, self._workspace)

    # --- what a front end asks for -----------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The settings in force. A change of what runs without asking, or where, is told in the stream."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        told = changes(self._settings, settings)
        self._settings = settings
        if told and not self._closed:
            self._asides.tell(Answer(told))

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
        from oi_engine.session.turn import Request

        messages = [Message("user", "message", content)] if isinstance(content, str) else list(content)
        if not any(message.text.strip() for message in messages):
            raise OiError("The message is empty.", "Write what you want done.")
        return self._request(Request(tuple(messages)))

    def run(self, language: str, code: str) -> Ticket:
        """Run the person's own code: sending it is the approval. Raises ``GrantError`` where nothing may run."""
        from oi_engine.session.turn import OwnCode, Request

        self.gate.check()
        return self._request(Request(own_code=OwnCode(language, code)))

    def aside(self, said: str, work: Work) -> Ticket:
        """Do something for the person beside the conversation, and show what they said and the answer (``aside``).

        It is begun at once, in mid-turn too. Requests that come before it is done wait for it.
        """
        if self._closed:
            raise SessionBusy("The session is closed.", "Open a new one.")
        self._quiet.clear()
        return Ticket(self._asides.begin(said, work), queued=False)

    def approve(self, proposal_id: str, code: str | None = None, *, always: Always | bool | None = None) -> str:
        """Run the proposal, or ``code`` as edited. Answers the turn's id. Raises ``UnknownProposal``, ``GrantError``.

        With ``always``, the same code in the same place is not asked about again: in this session (``session``, or
        true), or until that is revoked (``here``).
        """
        from oi_engine.session.turn import Decision

        proposal = self._pending(proposal_id)
        cell = proposal.cell if code is None else evolve(proposal.cell, code=code)
        lasts: Always | None = "session" if always is True else always or None
        grant = self.gate.approve(proposal.id, cell)
        return self._decide(Decision(grant=grant, edited=cell.code != proposal.cell.code, always=lasts))

    async def cell(self, language: str, code: str) -> Cell:
        """What would run, and in which sandbox by the settings of the moment."""
        if self._confiner is not None and (self.settings.sandbox != OFF or self.settings.auto_run == "sandboxed"):
            await self._confiner.look()
        sandbox = Sandbox.of(self.settings, automatic=not self._no_sandbox(language))
        return Cell(self.id, language, code, self.cwd, str(self.allowed.added_to(sandbox)) if sandbox else OFF)

    def allow(self, path: str | None = None, *, network: bool = False) -> str:
        """Have the sandbox let code write to ``path``, or use the network, for this session. Answers what that means.

        Raises ``OiError`` where the path cannot be allowed, or the sandbox is a container.
        """
        if self.settings.sandbox == CONTAINER:
            raise OiError("What is in the container is said where it is started.", "Add it there: see docs/docker.md.")
        allowed = self.allowed if path is None else self.allowed.with_folder(path)
        self.allowed = evolve(allowed, network=allowed.network or network)
        said = (
            f"The sandbox of this session allows, beside its settings: {self.allowed}. What runs in a sandbox is "
            "started afresh at its next run, and its variables are gone then."
        )
        now = {"paths": list(self.allowed.folders), "network": self.allowed.network}
        self._asides.tell(Answer(said, allowed=now))
        return said

    def _no_sandbox(self, language: str) -> str:
        """Why there is no sandbox for a language; empty where there is one."""
        return "There is no sandbox here." if self._confiner is None else self._confiner.problem(language)

    def reject(self, proposal_id: str, reason: str = "") -> str:
        """Do not run the proposal; the model is told, with the reason. Answers the turn's id."""
        from oi_engine.session.turn import Decision

        self.gate.withdraw(self._pending(proposal_id).id)
        return self._decide(Decision(reason=reason))

    def scan(self, proposal_id: str, code: str | None = None) -> Reviewing:
        """Have the proposal reviewed, or ``code`` as the person is editing it, whatever ``safe_mode`` says.

        To be awaited, or run as a task: the review is the result and comes in the stream, that of the proposal itself
        in its remarks too. Raises ``UnknownProposal``, at once.
        """
        return self._review(self._pending(proposal_id), code)

    def answer(self, input_id: str, text: str) -> None:
        """Give the waiting program its line. Raises ``UnknownInput``."""
        pending = self._snapshot.input
        if pending is None or pending.id != input_id:
            raise UnknownInput(f"No program waits for input {input_id!r}.")
        self.computer.answer(text)
        self._show(state="running", input=None)

    def stop(self, why: str = "") -> Stopped:
        """Stop whatever goes on, in any state, and keep the kernel's variables. Queued messages come back unsent.

        ``why`` is said in the conversation, where the person did not ask for it in so many words.
        """
        unsent = tuple(waiting.request.text for waiting in self._queue)
        self._queue.clear()
        if self._turn is None or self._task is None:
            if unsent:
                self._show_queue()
            return Stopped(False, unsent)
        if self._snapshot.state != "stopping":
            program_runs = self.computer.running is not None and not self.computer.starting
            self._turn.stopping = True
            self._turn.stop_notes.extend([why] if why else [])
            self._show(state="stopping", proposal=None, input=None, queue=())
            if program_runs:
                self._halting = asyncio.get_running_loop().create_task(self._halt(self._turn))
            else:
                self._task.cancel()
        return Stopped(True, unsent)

    async def interrupt(self, language: str | None = None) -> bool:
        """Interrupt the running program only; the turn goes on and the model sees what came of it."""
        return await self.computer.interrupt(language)

    async def complete(self, language: str, code: str, cursor: int) -> Completions:
        """What could stand at ``cursor`` (characters) in code of a language; nothing unless its kernel is idle.

        Answers within half a second, starts nothing and runs nothing.
        """
        return await self.computer.complete(language, code, cursor)

    async def inspect(self, language: str, code: str, cursor: int) -> Inspection | None:
        """What the name at ``cursor`` stands for in the live kernel; otherwise as ``complete``."""
        return await self.computer.inspect(language, code, cursor)

    async def restart(self, language: str | None = None) -> list[str]:
        """Restart a kernel, or all: their variables are gone, and the conversation says so."""
        ended = await self.computer.restart(language)
        for name in ended:
            self.policy.fresh(name)
        if ended and self._turn is None:
            self._say(f"Restarted: {', '.join(ended)}. Variables are gone.")
        return ended

    @property
    def last_turn(self) -> list[Message]:
        """The messages that ``undo`` would take back."""
        turns = self.transcript.turns
        return self.messages[turns[-1] :] if turns else []

    def undo(self, message_id: str | None = None) -> None:
        """Take back the last request, or all from that with a message on. Raises ``SessionBusy``, ``OiError``."""
        for _ in range(1 if message_id is None else self.transcript.turns_from(message_id)):
            self._edit_history("undo")

    def reset(self) -> None:
        """Begin the conversation anew; kernels keep their state. Raises ``SessionBusy`` in mid-turn."""
        self._edit_history("reset")

    def rewrite(self, messages: Sequence[Message]) -> None:
        """Go on with these messages in the place of the conversation so far; kernels keep their state.

        What both begin with stays as it is; where the present ones are not the beginning of these, the conversation
        begins anew. What is added has no turn: it was said in none of this session's. Raises ``SessionBusy``.
        """
        if self._turn is not None:
            raise SessionBusy("The conversation is replaced in a session at rest.", "Stop the turn first.")
        kept = alike(self.messages, messages)
        if kept < len(self.messages):
            self.reset()
            kept = 0
        added = tuple(messages[kept:])
        self.stream.turn_id = ""
        for chunk in said(added, turn_starts(added)):
            self.stream.put(chunk)

    async def preview(self, said: Sequence[Message] = ()) -> Preview:
        """What the next request would tell the model, ``said`` with it. Nothing is sent, paid for or remembered."""
        from oi_engine.session.turn import ask_of

        await self.computer.look_for_languages()
        return await self.conversation.preview([*self.messages, *self.preface(), *said], ask_of(self))

    async def idle(self) -> None:
        """Wait until no turn is under way or queued, and nothing is done beside them."""
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
        await self._asides.close()
        await self.idle()
        await self.computer.close()
        if "effects" in self.__dict__:
            await self.effects.close()

    # --- the turns, one after the other ------------------------------------------------------------------------

    def _request(self, request: Request) -> Ticket:
        if self._closed:
            raise SessionBusy("The session is closed.", "Open a new one.")
        waiting = _Waiting(new_id("t"), request)
        queued = self._turn is not None or self._asides.under_way
        self._queue.append(waiting)
        self._quiet.clear()
        if queued:
            self._show_queue()
        else:
            self._next_turn()
        return Ticket(waiting.turn_id, queued)

    def _next_turn(self) -> None:
        from oi_engine.session.turn import Turn

        if self._closed or not self._queue or self._asides.under_way:
            self._turn = self._task = None
            self._show(state="idle", turn_id=None, proposal=None, input=None, queue=self._queued())
            if not self._asides.under_way:
                self._quiet.set()
            return
        waiting = self._queue.popleft()
        self.stream.turn_id = waiting.turn_id
        preface, self.preface = self.preface(), tuple
        for message in preface:
            self._say(message.text, message.recipient)
        turn = self._turn = Turn(self, waiting.request)
        self._show(state="thinking", turn_id=waiting.turn_id, proposal=None, input=None, turn_usage=UsageTotals())
        self._show_queue()
        turn.begin()
        self._task = asyncio.get_running_loop().create_task(turn.converse())
        self._task.add_done_callback(self._turn_over)

    def _turn_over(self, task: asyncio.Task[None]) -> None:
        self.gate.expire()
        if self._turn is not None:
            self._turn.end(task)
        self._next_turn()

    def _aside_over(self) -> None:
        if self._turn is None and not self._asides.under_way:
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

    async def _review(self, proposal: Proposal, code: str | None) -> Review:
        turn = self._turn

        def waits() -> bool:
            waiting = self._snapshot.proposal
            return waiting is not None and waiting.id == proposal.id

        if turn is None or not waits():
            return Review()

        cell = proposal.cell if code is None else evolve(proposal.cell, code=code)
        parent, known = turn.proposed
        review = await self.reviews.look(cell, parent, waits)
        if waits():
            turn.proposed = (parent, review if code is None else known.plus(review))
            if code is None:
                others = tuple(remark for remark in proposal.remarks if remark not in known.remarks)
                self._show(proposal=evolve(proposal, remarks=(*review.remarks, *others), reviewed=True))
        return review

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

    def spent(self, before: UsageTotals) -> None:
        """Go on from what the conversation cost before this session."""
        self._show(usage=before)

    def count(self, usage: Usage) -> None:
        """Add what was spent for this session beside its turns, by an inline edit say."""
        self._show(usage=self.snapshot.usage.plus(usage))

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

    def show_usage(self, usage: Usage) -> None:
        """A reply was paid for."""
        now = self._snapshot
        self._show(usage=now.usage.plus(usage), turn_usage=now.turn_usage.plus(usage))

    def show_model(self, model: str) -> None:
        """Another model answers from now on."""
        self._show(model=model)

    def _show_queue(self) -> None:
        self._show(queue=self._queued())

    def _queued(self) -> tuple[Queued, ...]:
        return tuple(Queued(waiting.turn_id, waiting.request.text) for waiting in self._queue)

    def _show(self, **changes: Any) -> None:
        self._snapshot = evolve(self._snapshot, **changes)
        for listener in tuple(self._listeners):
            listener(self._snapshot)
