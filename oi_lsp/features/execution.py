"""Commands of the computer: run, answer, interrupt, restart, and what its sandbox allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oi_lsp import protocol as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.host import SessionHost

if TYPE_CHECKING:
    from oi_engine.session.session import Session

HANDLERS = Handlers()


@HANDLERS.serves(wire.CodeRun)
def run(host: SessionHost, params: wire.CodeRun) -> wire.CodeRunResult:
    """``oi.code.run``."""
    session = host.live(params.session_id) if params.session_id is not None else host.for_runs()
    ticket = session.run(params.language, params.code)
    host.last_run = session.id
    return wire.CodeRunResult(session.id, ticket.turn_id, ticket.queued)


@HANDLERS.serves(wire.InputAnswer)
def answer(host: SessionHost, params: wire.InputAnswer) -> wire.Nothing:
    """``oi.input.answer``."""
    host.live(params.session_id).answer(params.input_id, params.text)
    return wire.Nothing()


@HANDLERS.serves(wire.KernelInterrupt)
def interrupt(host: SessionHost, params: wire.KernelInterrupt) -> wire.Nothing:
    """``oi.kernel.interrupt``."""
    session = host.live(params.session_id)
    host.spawn(session.interrupt(_canonical(session, params.language)))
    return wire.Nothing()


@HANDLERS.serves(wire.KernelRestart)
def restart(host: SessionHost, params: wire.KernelRestart) -> wire.Nothing:
    """``oi.kernel.restart``."""
    session = host.live(params.session_id)
    host.spawn(session.restart(_canonical(session, params.language)))
    return wire.Nothing()


@HANDLERS.serves(wire.SandboxAllow)
def allow(host: SessionHost, params: wire.SandboxAllow) -> wire.Nothing:
    """``oi.sandbox.allow``."""
    host.live(params.session_id).allow(params.path, network=params.network)
    return wire.Nothing()


def _canonical(session: Session, language: str | None) -> str | None:
    """The language under the name that its kernel has."""
    return None if language is None else session.computer.naming.canonical(language) or language
