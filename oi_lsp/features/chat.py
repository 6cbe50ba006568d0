"""Commands of the conversation: send, stop, what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from oi_lsp import protocol as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.host import SessionHost
from oi_lsp.outbox import state_of
from oi_lsp.structure import InvalidField, check_text, kind_of

if TYPE_CHECKING:
    from oi_engine.messages import Message

HANDLERS = Handlers()

_SENDABLE = ("message", "image", "file")


@HANDLERS.serves(wire.ChatSend)
def send(host: SessionHost, params: wire.ChatSend) -> wire.ChatSendResult:
    """``oi.chat.send``."""
    from oi_engine.messages import Message

    session = host.live(params.session_id)
    if isinstance(params.content, str):
        messages = [Message("user", "message", params.content)]
    else:
        messages = _messages(params.content, "content")
    ticket = session.send([*messages, *_messages(params.attachments, "attachments")])
    return wire.ChatSendResult(ticket.turn_id, ticket.queued)


@HANDLERS.serves(wire.ChatStop)
def stop(host: SessionHost, params: wire.ChatStop) -> wire.ChatStopResult:
    """``oi.chat.stop``."""
    stopped = host.find(params.session_id).session.stop()
    return wire.ChatStopResult(stopped.stopped, stopped.unsent)


@HANDLERS.serves(wire.UsageGet)
def usage(host: SessionHost, params: wire.UsageGet) -> wire.Usage:
    """``oi.usage.get``."""
    return state_of(host.find(params.session_id).session).usage


def _messages(given: tuple[wire.LmcMessage, ...], where: str) -> list[Message]:
    return [_message(message, f"{where}[{index}]") for index, message in enumerate(given)]


def _message(given: Mapping[str, object], where: str) -> Message:
    """One message of the person's. Keys besides those of the format are others' own and are left aside."""
    from oi_engine.messages import Message

    if given.get("role") != "user":
        raise InvalidField(f"{where}.role", "must be 'user'.")
    kind = given.get("type", "message")
    if kind not in _SENDABLE:
        raise InvalidField(f"{where}.type", f"must be one of {', '.join(_SENDABLE)}.")
    content, form = given.get("content"), given.get("format")
    if not isinstance(content, str):
        raise InvalidField(f"{where}.content", f"must be text, not {kind_of(content)}.")
    if not (form is None or isinstance(form, str)):
        raise InvalidField(f"{where}.format", f"must be text, not {kind_of(form)}.")
    check_text(content, f"{where}.content")
    check_text(form or "", f"{where}.format", wire.ID_LIMIT)
    return Message("user", kind, content, form)  # type: ignore[arg-type]  # one of _SENDABLE
