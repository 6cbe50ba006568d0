"""The gate, call by call; ``test_gate_properties`` drives it at random."""

from __future__ import annotations

import pytest

from oi_engine.approval import Cell, Gate, Grant, Proposal
from oi_engine.errors import GrantError, UnknownProposal

CELL = Cell("s-1", "python", "print(1)", "/tmp")


def test_a_grant_runs_once() -> None:
    gate = Gate()
    proposal = gate.propose(CELL)
    grant = gate.approve(proposal.id, CELL)
    assert gate.redeem(grant) == CELL
    with pytest.raises(GrantError):
        gate.redeem(grant)


def test_a_proposal_is_decided_once() -> None:
    gate = Gate()
    proposal = gate.propose(CELL)
    gate.withdraw(proposal.id)
    with pytest.raises(UnknownProposal):
        gate.approve(proposal.id, CELL)


def test_a_swapped_cell_is_refused() -> None:
    gate = Gate()
    grant = gate.approve(gate.propose(CELL).id, CELL)
    grant.cell = Cell("s-1", "python", "import shutil", "/tmp")
    with pytest.raises(GrantError):
        gate.redeem(grant)


def test_a_grant_cannot_be_made_elsewhere() -> None:
    with pytest.raises(GrantError):
        Grant(CELL, maker=object())


def test_another_gates_grant_is_refused() -> None:
    ours, theirs = Gate(), Gate()
    grant = theirs.approve(theirs.propose(CELL).id, CELL)
    with pytest.raises(GrantError):
        ours.redeem(grant)


def test_expiry_means_no() -> None:
    gate = Gate()
    proposal = gate.propose(CELL)
    grant = gate.own(CELL)
    gate.expire()
    with pytest.raises(GrantError):
        gate.redeem(grant)
    with pytest.raises(UnknownProposal):
        gate.approve(proposal.id, CELL)


async def test_always_holds_for_the_very_same_text_only() -> None:
    gate = Gate()
    grant = gate.approve(gate.propose(CELL).id, CELL)
    await gate.remember(grant, "session")
    assert gate.allowed(gate.propose(CELL))
    gate.redeem(grant)
    with pytest.raises(GrantError):
        await gate.remember(grant, "session")
    assert not gate.allowed(gate.propose(Cell("s-1", "python", "print(1) ", "/tmp")))
    assert not gate.allowed(gate.propose(Cell("s-1", "python", "print(1)", "/")))


async def test_a_proposal_that_the_gate_did_not_make_is_not_allowed() -> None:
    gate = Gate()
    await gate.remember(gate.approve(gate.propose(CELL).id, CELL), "session")
    waiting = gate.propose(Cell("s-1", "python", "other", "/tmp"))
    assert not gate.allowed(Proposal(waiting.id, CELL))
    assert not gate.allowed(Proposal("p-1", CELL))


def test_no_two_cells_share_a_digest() -> None:
    assert Cell("a", "b", "c", "d").digest != Cell("ab", "", "c", "d").digest
