"""Commands of the computer: run, answer, interrupt, restart."""

from __future__ import annotations

from oi_lsp import protocol as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.host import SessionHost

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
    host.spawn(host.live(params.session_id).interrupt(_canonical(params.language)))
    return wire.Nothing()


@HANDLERS.serves(wire.KernelRestart)
def restart(host: SessionHost, params: wire.KernelRestart) -> wire.Nothing:
    """``oi.kernel.restart``."""
    host.spawn(host.live(params.session_id).restart(_canonical(params.language)))
    return wire.Nothing()


def _canonical(language: str | None) -> str | None:
    """The language under the name that its kernel has."""
    from oi_engine.computer.languages import canonical

    return None if language is None else canonical(language) or language
