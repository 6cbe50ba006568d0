"""The gate: nothing runs without a ``Grant``, and only this module makes one.

A proposal is code that was shown to a person. Approving it yields a grant, bound to the hash of what will run
(session, language, code, working directory, sandbox), good for one run, expiring with its proposal. The computer takes
a grant and has this gate redeem it; code as text goes nowhere. Every failure means no.

Before a person is asked, the gate asks the policy (``safety.policy``) and what was approved *always*.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Literal, Protocol, final

from attrs import field, frozen

from oi_engine.errors import GrantError, UnknownProposal
from oi_engine.messages import new_id

Findings = tuple[str, ...]
Severity = Literal["error", "warning", "note"]
Always = Literal["session", "here"]
"""How long an approval of a very text holds: until the session ends, or in this workspace until it is revoked."""


@frozen
class Cell:
    """What would run, whole: the hash of a grant covers every field."""

    session_id: str
    language: str
    code: str
    cwd: str
    sandbox: str = "off"

    @property
    def digest(self) -> str:
        """SHA-256 over all fields, each preceded by its length, so that no two cells share one."""
        hashed = hashlib.sha256()
        for part in (self.session_id, self.language, self.code, self.cwd, self.sandbox):
            data = part.encode("utf-8", "surrogatepass")
            hashed.update(len(data).to_bytes(8, "big"))
            hashed.update(data)
        return hashed.hexdigest()


@frozen
class Remark:
    """Something that a person should know of a cell before they decide, in a sentence.

    ``line``: where in the code it is, from 1; ``None``: it is of the whole. ``rule``: the id of the scanner's rule that
    found it, where one did.
    """

    message: str
    severity: Severity = "note"
    line: int | None = None
    rule: str = ""

    @property
    def words(self) -> str:
        """The remark in one line, with its place."""
        return self.message if self.line is None else f"Line {self.line}: {self.message}"


@frozen
class Judgement:
    """What a policy says of a cell: ``run`` it unasked, ``ask``, or ``deny`` that anything lets it run unasked.

    ``why``: what lets it run, in a sentence, unless everything may; or a sentence for the person who is asked, which
    may be empty.
    """

    verdict: Literal["run", "ask", "deny"]
    why: str = ""


ASK = Judgement("ask")


class Judge(Protocol):
    """A policy, as the gate sees it."""

    def judge(self, cell: Cell) -> Judgement:
        """Whether a cell may run unasked."""
        ...

    def forbids(self) -> str:
        """Why nothing may run at all, whoever approves it; empty where code may run."""
        ...

    def ran(self, cell: Cell) -> None:
        """A cell is about to run."""
        ...


class Kept(Protocol):
    """Approvals that outlive the session."""

    def holds(self, cell: Cell) -> bool:
        """Whether this very cell was approved for this very place."""
        ...

    def keep(self, cell: Cell) -> object:
        """Approve a cell for its place, from now on. Waits for the disk, and may be called in any thread."""
        ...


@final
class AskAlways:
    """The policy of a gate that is given none."""

    def judge(self, cell: Cell) -> Judgement:
        """Nothing runs unasked."""
        return ASK

    def forbids(self) -> str:
        """What a person approves may run."""
        return ""

    def ran(self, cell: Cell) -> None:
        """Nothing is remembered."""


@frozen
class Proposal:
    """Code that waits for a person, with the scanner's and the policy's ``remarks`` on it.

    ``reviewed``: whether the scanner has looked at it.
    """

    id: str
    cell: Cell
    remarks: tuple[Remark, ...] = ()
    reviewed: bool = False

    @property
    def findings(self) -> Findings:
        """The remarks, a line each."""
        return tuple(remark.words for remark in self.remarks)


_made_here = object()


@final
class Grant:
    """Leave to run one cell once. Made by ``Gate`` alone; holding one is not enough: the gate must know it too."""

    __slots__ = ("cell", "id")

    def __init__(self, cell: Cell, *, maker: object) -> None:
        if maker is not _made_here:
            raise GrantError("A grant can only be made by approving a proposal.")
        self.id = new_id("g")
        self.cell = cell


@frozen
class Gate:
    """The proposals and grants of one session.

    ``policy`` is asked at each proposal, so that a change of the settings holds from the next one on. ``kept`` are the
    approvals *always here*; without it there are none.
    """

    policy: Judge = field(factory=AskAlways)
    kept: Kept | None = None
    _pending: dict[str, Proposal] = field(factory=dict, init=False)
    _grants: dict[str, str] = field(factory=dict, init=False)
    _always: set[str] = field(factory=set, init=False)

    def propose(self, cell: Cell, remarks: tuple[Remark, ...] = (), *, reviewed: bool = False) -> Proposal:
        """Put code before the person, with the policy's word on it beside the ``remarks``."""
        judged = self.policy.judge(cell)
        said = (Remark(judged.why),) if judged.verdict != "run" and judged.why else ()
        proposal = Proposal(new_id("p"), cell, (*remarks, *said), reviewed)
        self._pending[proposal.id] = proposal
        return proposal

    def judge(self, proposal: Proposal) -> Judgement:
        """Whether the proposal may be approved without asking, and why: the policy lets it run, or it was approved
        *always* in these very words and no rule denies it."""
        if self._pending.get(proposal.id) != proposal or self.policy.forbids():
            return ASK
        judged = self.policy.judge(proposal.cell)
        if judged.verdict != "ask":
            return judged
        if proposal.cell.digest in self._always:
            return Judgement("run", "You approved it always, in this session.")
        if self.kept is not None and self.kept.holds(proposal.cell) is True:
            return Judgement("run", "You approved it always here.")
        return judged

    def allowed(self, proposal: Proposal) -> bool:
        """Whether the proposal may be approved without asking."""
        return self.judge(proposal).verdict == "run"

    def approve(self, proposal_id: str, cell: Cell) -> Grant:
        """The person said yes to ``cell``, which is the proposal's own or the person's edit of it.

        Raises ``UnknownProposal`` where the proposal was decided already, has expired or never was, and ``GrantError``
        where the cell is not of the proposal's session, or the policy lets nothing run.
        """
        proposal = self._pending.get(proposal_id)
        if proposal is None:
            raise UnknownProposal(
                f"No proposal {proposal_id!r} waits for a decision.", "It may have been decided already."
            )
        if cell.session_id != proposal.cell.session_id:
            raise GrantError("The proposal belongs to another session.")
        grant = self._grant(cell)
        del self._pending[proposal_id]
        return grant

    async def remember(self, grant: Grant, always: Always) -> None:
        """What a grant allows is not asked about again, in this session or here; for one that is about to be used.

        What is kept is on disk by the time that this returns; the loop does not wait for that. Raises ``GrantError``
        for one that is unknown, used or changed, or where nothing is kept here, and ``OiError`` where it cannot be
        kept.
        """
        if self._grants.get(grant.id) != grant.cell.digest:
            raise GrantError("This approval was used already, has expired, or was never given.")
        if always == "session":
            self._always.add(grant.cell.digest)
        elif self.kept is None:
            raise GrantError("Nothing is kept here.", "Approve it for this session.")
        else:
            await asyncio.to_thread(self.kept.keep, grant.cell)

    def own(self, cell: Cell) -> Grant:
        """The person sent code of their own: sending it is the approval. Raises ``GrantError`` as ``approve`` does."""
        return self._grant(cell)

    def withdraw(self, proposal_id: str) -> Proposal:
        """The person said no, or the proposal lapsed. Raises ``UnknownProposal``."""
        proposal = self._pending.pop(proposal_id, None)
        if proposal is None:
            raise UnknownProposal(
                f"No proposal {proposal_id!r} waits for a decision.", "It may have been decided already."
            )
        return proposal

    def expire(self) -> None:
        """Forget every pending proposal and unused grant: all of them mean no from here on."""
        self._pending.clear()
        self._grants.clear()

    def redeem(self, grant: Grant) -> Cell:
        """Use a grant up and say what it allows. Raises ``GrantError`` for one that is unknown, used or changed."""
        digest = self._grants.pop(grant.id, None)
        if digest is None:
            raise GrantError("This approval was used already, has expired, or was never given.")
        if digest != grant.cell.digest:
            raise GrantError("The code is not the code that was approved.")
        self.policy.ran(grant.cell)
        return grant.cell

    def check(self) -> None:
        """Raise ``GrantError`` where the policy lets nothing run."""
        if why := self.policy.forbids():
            raise GrantError(why, "Decline it, or let code run first.")

    def _grant(self, cell: Cell) -> Grant:
        self.check()
        grant = Grant(cell, maker=_made_here)
        self._grants[grant.id] = cell.digest
        return grant
