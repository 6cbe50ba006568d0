"""Magic commands about what runs without asking, and about the sandbox."""

from __future__ import annotations

import asyncio

from oi_engine.computer.container import container_problem
from oi_engine.computer.sandbox import CONTAINER, look_for_sandbox
from oi_engine.errors import OiError
from oi_engine.magic.files import quoted
from oi_engine.safety.approvals import KeptApproval, KeptApprovals
from oi_engine.safety.policy import GUARDS, rule_problems
from oi_engine.session.session import Session
from oi_engine.settings.tree import get
from oi_engine.settings.values import shown


async def policy(session: Session, approvals: KeptApprovals, rest: str) -> str:
    """``%policy``: what runs without asking; ``%policy revoke ID``. Answers Markdown. Raises ``OiError``."""
    word, _, approval_id = rest.partition(" ")
    if word == "revoke" and approval_id:
        revoked = await asyncio.to_thread(approvals.revoke, approval_id.strip())
        return f"Revoked: {quoted(revoked.begins)} is asked about again."
    if word:
        raise OiError(f"%policy {word} is nothing.", "`%policy` shows the policy; `%policy revoke ID` takes one back.")
    lines = [_line(session, name) for name in GUARDS]
    lines += [f"- {problem}" for problem in rule_problems(session.settings)]
    kept = await asyncio.to_thread(approvals.all)
    return "\n".join([*lines, "", "Approved *always here*:", "", *(map(_kept_line, kept) if kept else ["- nothing"])])


async def sandbox(session: Session, rest: str) -> str:
    """``%sandbox``: whether there is one and what it allows; ``%sandbox allow PATH`` or ``network``."""
    word, _, what = rest.partition(" ")
    if word == "allow" and what.strip():
        network = what.strip() == "network"
        session.allow(None if network else what.strip(), network=network)
        return ""
    if word:
        raise OiError(f"%sandbox {word} is nothing.", "`%sandbox allow PATH`, or `%sandbox allow network`.")
    if session.settings.sandbox == CONTAINER:
        there = container_problem() or "All of this program runs in a container."
    else:
        there = (await look_for_sandbox(session.cwd)).problem or "There is a sandbox here."
    lines = [_line(session, name) for name in GUARDS if "sandbox" in name or name == "auto_run"]
    return "\n".join([f"- {there}", *lines, f"- allowed for this session: {quoted(str(session.allowed))}"])


def _line(session: Session, name: str) -> str:
    return f"- `{name}`: {quoted(shown(get(session.settings, name)))}"


def _kept_line(approval: KeptApproval) -> str:
    where = "" if approval.sandbox == "off" else f", sandbox {quoted(approval.sandbox)}"
    return (
        f"- `{approval.id}`: {quoted(approval.begins)} ({approval.language}, in {quoted(approval.folder)}{where}, "
        f"{approval.approved_at[:10]})"
    )
