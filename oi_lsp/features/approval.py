"""Commands of the gate: approve, with or without an edit, reject, and scan beforehand."""

from __future__ import annotations

from oi_lsp import protocol as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.host import SessionHost

HANDLERS = Handlers()


@HANDLERS.serves(wire.CodeApprove)
def approve(host: SessionHost, params: wire.CodeApprove) -> wire.OfTurn:
    """``oi.code.approve``."""
    session = host.live(params.session_id)
    return wire.OfTurn(session.approve(params.proposal_id, params.code, always=params.always))


@HANDLERS.serves(wire.CodeReject)
def reject(host: SessionHost, params: wire.CodeReject) -> wire.OfTurn:
    """``oi.code.reject``."""
    return wire.OfTurn(host.live(params.session_id).reject(params.proposal_id, params.reason))


@HANDLERS.serves(wire.CodeScan)
def scan(host: SessionHost, params: wire.CodeScan) -> wire.Nothing:
    """``oi.code.scan``."""
    host.spawn(host.live(params.session_id).scan(params.proposal_id))
    return wire.Nothing()
