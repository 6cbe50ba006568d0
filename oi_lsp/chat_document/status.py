"""What goes on in a chat document beside its text: which block waits, runs or has run, and what a program asks.

For clients that show chat documents themselves (``oi/document``). It is a fold over the session's stream and state.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from attrs import define

from oi_lsp import protocol_documents as wire
from oi_lsp.paced import Paced

if TYPE_CHECKING:
    from oi_engine.approval import Proposal
    from oi_engine.messages import Chunk
    from oi_engine.session.state import Snapshot

PACE = 0.05
"""Seconds between two notifications of a document at least."""
RUNNING = ("running", "awaiting_input")


@define(eq=False)
class Block:
    """A block of code and what became of it."""

    id: str
    state: wire.BlockWord | None = None
    proposal: str | None = None
    code: str | None = None
    findings: tuple[str, ...] = ()
    line: int | None = None
    unended: str | None = None
    change: str | None = None
    seconds: float | None = None
    began: float = 0.0
    failed: bool = False

    def begin(self) -> None:
        """It runs from now on."""
        self.state, self.began = "running", monotonic()
        self.line = self.unended = self.change = self.seconds = None
        self.failed = False

    def propose(self, proposal: Proposal) -> None:
        """It waits for the person."""
        self.state, self.proposal = "proposed", proposal.id
        self.code = proposal.cell.code if self.code is None else self.code
        self.findings = proposal.findings

    def end(self, *, stopped: bool) -> None:
        """It runs no longer, or waits no longer and has not run."""
        if self.state == "running":
            self.seconds = monotonic() - self.began
            self.state = "stopped" if stopped else "failed" if self.failed else "done"
        elif self.state == "proposed":
            self.state = "rejected"
        self.line = self.unended = None

    def on_wire(self) -> wire.BlockState:
        """As the client is told."""
        assert self.state is not None
        seconds = None if self.seconds is None else round(self.seconds, 2)
        waits = self.state == "proposed"
        return wire.BlockState(
            self.id,
            self.state,
            line=self.line,
            seconds=seconds,
            proposal_id=self.proposal if waits else None,
            code=self.code if waits else None,
            findings=self.findings if waits else (),
            unended=self.unended,
            change_id=self.change,
        )


class Status:
    """One document on its way to the client, as ``outbox.Source`` has it.

    ``unended`` tells what output of the program waits for the end of its line.
    """

    def __init__(self, uri: str, wake: Callable[[Status], None], unended: Callable[[], str]) -> None:
        self._uri = uri
        self._unended = unended
        self._wake = wake
        self._due = False
        self._paced = Paced(PACE, self._ring)
        self._session: str | None = None
        self._snapshot: Snapshot | None = None
        self._blocks: dict[str, Block] = {}
        self._changed: dict[str, Block] = {}
        self._current: Block | None = None
        self._question: wire.DocumentQuestion | None = None
        self._stopping = False

    # --- what happens --------------------------------------------------------------------------------------------

    def follow(self, chunk: Chunk, block: str | None) -> None:
        """The next chunk of the stream; ``block``: the one that it is of."""
        own = chunk.type == "code" and chunk.start and chunk.role == "user" and chunk.parent is None
        if chunk.type == "status":
            self._settle()
            self._stopping = False
        elif block and (own or chunk.type == "confirmation"):
            self._enter(block)
        elif block and chunk.type == "command" and chunk.format == "changes" and isinstance(chunk.content, dict):
            changed = self._blocks.setdefault(block, Block(block))
            changed.change = chunk.content.get("id")
            self._touch(changed)
        elif block and chunk.type == "command" and chunk.format == "run":
            ended = isinstance(chunk.content, dict) and chunk.content.get("state")
            self._blocks.setdefault(block, Block(block)).failed = ended not in ("running", "ok")
        elif self._current is not None:
            self._printed(chunk, self._current)

    def show(self, session: str, snapshot: Snapshot, proposed: str | None, asked: str | None) -> None:
        """The session's state; ``proposed`` and ``asked``: the blocks of its proposal and question, once they are in
        the document."""
        self._session, self._snapshot = session, snapshot
        self._stopping = self._stopping or snapshot.state == "stopping"
        current, question, proposal = self._current, snapshot.input, snapshot.proposal
        if snapshot.state in RUNNING and current is not None and current.state in (None, "proposed"):
            current.begin()
            self._touch(current)
        elif snapshot.state in ("idle", "thinking") and current is not None and current.state is not None:
            self._settle()  # one that has no state yet is about to run
        if proposal is not None and proposed is not None and current is not None and current.id == proposed:
            current.propose(proposal)
            self._touch(current)
        self._question = None
        if question is not None and asked is not None:
            self._question = wire.DocumentQuestion(question.id, asked, question.prompt, question.password)
        self._paced.ask()

    def _enter(self, block: str) -> None:
        """A block is about to be proposed, or to run."""
        self._settle()
        self._current = self._blocks[block] = Block(block)

    def _settle(self) -> None:
        """The block that was at it is at it no longer."""
        current, self._current = self._current, None
        if current is not None and current.state is not None:
            current.end(stopped=self._stopping)
            self._touch(current)

    def _printed(self, chunk: Chunk, block: Block) -> None:
        if chunk.type != "console":
            return
        if chunk.format == "active_line" and isinstance(chunk.content, str) and chunk.content.isdigit():
            block.line = int(chunk.content)
        self._touch(block)

    # --- telling (outbox.Source) ---------------------------------------------------------------------------------

    def _touch(self, block: Block) -> None:
        self._changed[block.id] = block
        self._paced.ask()

    @property
    def behind(self) -> bool:
        """Whether there is something to send."""
        return self._due

    def take(self) -> tuple[tuple[()], wire.DocumentState | None]:
        """What is new to the client."""
        self._due = False
        changed, self._changed = self._changed, {}
        if self._current is not None and self._current.state == "running":
            self._current.unended = self._unended()[-wire.UNENDED_LIMIT :] or None
        now = self._snapshot
        if now is None:
            return (), None
        told = tuple(block.on_wire() for block in changed.values() if block.state is not None)
        return (), wire.DocumentState(
            self._uri,
            self._session or "",
            now.state,
            told,
            question=self._question,
            waiting=len(now.queue),
            prompt_tokens=now.usage.prompt_tokens,
            completion_tokens=now.usage.completion_tokens,
            cost=now.usage.cost,
        )

    def close(self) -> None:
        """Follow it no longer."""
        self._paced.cancel()

    def _ring(self) -> None:
        self._due = True
        self._wake(self)
