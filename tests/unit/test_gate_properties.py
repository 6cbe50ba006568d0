"""The gate under random interleavings: what is redeemed was approved, in these very words, and once."""

from __future__ import annotations

from collections import Counter

from attrs import evolve
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from oi_engine.approval import Cell, Gate, Grant, Proposal
from oi_engine.errors import GrantError, UnknownProposal

CELLS = st.builds(
    Cell,
    session_id=st.sampled_from(["s-1", "s-2"]),
    language=st.sampled_from(["python", "shell"]),
    code=st.sampled_from(["a", "b", "a\n", ""]),
    cwd=st.sampled_from(["/", "/tmp"]),
)


class GateMachine(RuleBasedStateMachine):
    """Approvals on one side, redemptions on the other: the second never outnumber the first."""

    proposals: Bundle[Proposal] = Bundle("proposals")
    grants: Bundle[Grant] = Bundle("grants")

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        self.proposed: set[str] = set()
        self.decided: set[str] = set()
        self.approved: Counter[Cell] = Counter()
        self.ran: Counter[Cell] = Counter()

    @rule(target=proposals, cell=CELLS)
    def propose(self, cell: Cell) -> Proposal:
        proposal = self.gate.propose(cell)
        self.proposed.add(proposal.id)
        return proposal

    @rule(target=grants, proposal=proposals, code=st.sampled_from(["a", "b", "c"]), edit=st.booleans())
    def approve(self, proposal: Proposal, code: str, edit: bool) -> Grant:
        cell = evolve(proposal.cell, code=code) if edit else proposal.cell
        try:
            grant = self.gate.approve(proposal.id, cell)
        except UnknownProposal:
            assert proposal.id in self.decided
            return self.gate.own(Cell("s-0", "none", "", "/"))
        assert proposal.id not in self.decided
        self.decided.add(proposal.id)
        self.approved[cell] += 1
        return grant

    @rule(proposal=proposals, cell=CELLS)
    def approve_for_another_session(self, proposal: Proposal, cell: Cell) -> None:
        if cell.session_id == proposal.cell.session_id or proposal.id in self.decided:
            return
        try:
            self.gate.approve(proposal.id, cell)
        except GrantError:
            return
        raise AssertionError("approved for another session")

    @rule(proposal=consumes(proposals))
    def withdraw(self, proposal: Proposal) -> None:
        try:
            self.gate.withdraw(proposal.id)
        except UnknownProposal:
            assert proposal.id in self.decided
        self.decided.add(proposal.id)

    @rule(grant=grants)
    def redeem(self, grant: Grant) -> None:
        try:
            cell = self.gate.redeem(grant)
        except GrantError:
            return
        self.ran[cell] += 1

    @rule(grant=grants, cell=CELLS)
    def swap_and_redeem(self, grant: Grant, cell: Cell) -> None:
        grant.cell = cell
        self.redeem(grant)

    @rule()
    def expire(self) -> None:
        self.gate.expire()
        self.decided |= self.proposed

    @invariant()
    def nothing_ran_unapproved(self) -> None:
        for cell, count in self.ran.items():
            assert cell.session_id == "s-0" or count <= self.approved[cell]


TestGate = GateMachine.TestCase
TestGate.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
