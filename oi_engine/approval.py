"""The gate: nothing runs without a ``Grant``, and only this module makes one.

A proposal is code that was shown to a person. Approving it yields a grant, bound to the hash of what will run
(session, language, code, working directory, sandbox), good for one run, expiring with its proposal. The computer takes
a grant and has this gate redeem it; code as text goes nowhere. Every failure means no.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Literal, final

from attrs import field, frozen

from oi_engine.errors import GrantError, UnknownProposal
from oi_engine.messages import new_id

AutoRun = Literal[False, True]
Findings = tuple[str, ...]


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
class Proposal:
    """Code that waits for a person. ``findings`` are the scanner's words on it."""

    id: str
    cell: Cell
    findings: Findings = ()


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

    ``auto_run`` is asked at each proposal, so that a change of the setting holds from the next one on.
    """

    auto_run: Callable[[], bool] = lambda: False
    _pending: dict[str, Proposal] = field(factory=dict, init=False)
    _grants: dict[str, str] = field(factory=dict, init=False)
    _always: set[str] = field(factory=set, init=False)

    def propose(self, cell: Cell, findings: Findings = ()) -> Proposal:
        """Put code before the person."""
        proposal = Proposal(new_id("p"), cell, findings)
        self._pending[proposal.id] = proposal
        return proposal

    def allowed(self, proposal: Proposal) -> bool:
        """Whether the proposal may be approved without asking: auto-run, or approved *always* in these very words."""
        if proposal.id not in self._pending:
            return False
        return self.auto_run() is True or proposal.cell.digest in self._always

    def approve(self, proposal_id: str, cell: Cell, *, always: bool = False) -> Grant:
        """The person said yes to ``cell``, which is the proposal's own or the person's edit of it.

        Raises ``UnknownProposal`` where the proposal was decided already, has expired or never was, and
        ``GrantError`` where the cell is not of the proposal's session.
        """
        proposal = self._pending.get(proposal_id)
        if proposal is None:
            raise UnknownProposal(
                f"No proposal {proposal_id!r} waits for a decision.", "It may have been decided already."
            )
        if cell.session_id != proposal.cell.session_id:
            raise GrantError("The proposal belongs to another session.")
        del self._pending[proposal_id]
        if always:
            self._always.add(cell.digest)
        return self._grant(cell)

    def own(self, cell: Cell) -> Grant:
        """The person sent code of their own: sending it is the approval."""
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
        return grant.cell

    def _grant(self, cell: Cell) -> Grant:
        grant = Grant(cell, maker=_made_here)
        self._grants[grant.id] = cell.digest
        return grant
