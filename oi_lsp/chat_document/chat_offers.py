"""What can be done in a chat document, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from oi_lsp import protocol_documents as wire
from oi_lsp.chat_document.conversation import unsent
from oi_lsp.chat_document.document import ChatDocument, Part
from oi_lsp.offers import QUICK, Offer
from oi_lsp.protocol import SandboxAllow

if TYPE_CHECKING:
    from oi_engine.session.session import Session


@frozen
class Now:
    """What the session is at, as far as it matters for what can be done."""

    uri: str
    busy: bool = False
    """Whether a turn is under way."""
    proposed: str | None = None
    """The id of the block that waits for a decision."""
    may_scan: Callable[[str], bool] = lambda code: False
    """Whether a scan of that block, with this text, would say more than is known."""
    asked: str | None = None
    """The id of the block that a program's question waits in."""
    waiting: bool = False
    """Whether a message waits for its turn."""
    denied: Mapping[str, tuple[SandboxAllow, ...]] = field(factory=dict)
    """What the sandbox seems to have kept a block's run from, and may allow."""
    runs: Callable[[str], bool] = bool
    """Whether a language can be run here."""


def offers_of(document: ChatDocument, now: Now) -> Iterator[Offer]:
    """Everything that can be done, in the order of the document."""
    section = unsent(document)
    if section is not None and not now.waiting:
        send = wire.DocumentSend(now.uri)
        yield Offer("Send", "oi.document.send", send, section.start, section.end, QUICK, preferred=True)
    for part in document.parts():
        yield from _of_part(document, part, now)
    for block, allowable in now.denied.items():
        yield from _of_sandbox(document, block, allowable)
    if now.busy:
        at = document.answer.start if document.answer else 0
        yield Offer("Stop", "oi.document.stop", wire.DocumentStop(now.uri), 0, len(document.text), QUICK, lens_at=at)
    for answer in document.sections:
        if answer.kind == "assistant" and answer.number is not None and not now.busy:
            remove = wire.DocumentRemove(now.uri, answer.number)
            yield Offer("Remove this answer", "oi.document.remove", remove, answer.start, answer.end, lens=False)


def _of_part(document: ChatDocument, part: Part, now: Now) -> Iterator[Offer]:
    place = (part.start, part.end)
    if part.kind == "input" and part.id is not None and part.id == now.asked:
        answer = wire.DocumentAnswer(now.uri, part.id)
        yield Offer("Answer", "oi.document.answer", answer, *place, QUICK, preferred=True)
    elif part.kind == "code" and part.id is not None and part.id == now.proposed:
        # The safe choice first, as Enter takes it in some clients; Run is of the same kind and not preferred, as others
        # put what is preferred first, or suggest that.
        yield Offer("Reject", "oi.document.reject", wire.DocumentReject(now.uri, part.id), *place, QUICK)
        if now.may_scan(document.unix(part.content)):
            yield Offer("Scan", "oi.document.scan", wire.DocumentScan(now.uri, part.id), *place)
        if part.complete:
            yield Offer("Run", "oi.document.run", wire.DocumentRun(now.uri, part.id), *place, QUICK)
    elif part.kind == "code" and part.complete and now.runs(part.language or "") and not now.busy:
        block = part.id or str(document.text.count("\n", 0, part.start) + 1)
        yield Offer("Run again", "oi.document.run", wire.DocumentRun(now.uri, block), *place)


def _of_sandbox(document: ChatDocument, block: str, commands: tuple[SandboxAllow, ...]) -> Iterator[Offer]:
    """To allow what a run was kept from, on the block and all that came of it."""
    parts = [part for part in document.parts() if block in (part.id, part.written_id)]
    for allow in commands if parts else ():
        what = f"writing to {allow.path}" if allow.path is not None else "the network"
        title = f"Allow {what} in this session's sandbox (variables go)"
        place = (parts[0].start, parts[-1].end)
        yield Offer(title, "oi.sandbox.allow", allow, *place, lens_at=parts[-1].start)


def allowable(session: Session, denied: dict[str, Any]) -> tuple[SandboxAllow, ...]:
    """What a run was kept from and is not allowed by now."""
    paths = [path for path in denied["paths"] if path not in session.allowed.folders]
    network = denied["network"] and not session.allowed.network
    found = [SandboxAllow(session.id, path=path) for path in paths]
    return (*found, *([SandboxAllow(session.id, network=True)] if network else []))
