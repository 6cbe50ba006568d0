"""Commands of the conversation: send, how a line may go on, stop, what it cost."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from oi_lsp import protocol as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.host import SessionHost
from oi_lsp.outbox import state_of
from oi_lsp.protocol_settings import Attachment, FileAttachment, TextAttachment
from oi_lsp.structure import InvalidField, check_text, from_wire, kind_of

if TYPE_CHECKING:
    from oi_engine.messages import Message
    from oi_engine.session.session import Session

    Attached = Message | Callable[[], Message]

HANDLERS = Handlers()

_SENDABLE = ("message", "image", "file")
_OFFERS = 500
"""The most ways to go on in one answer; a folder may have any number of files."""


@HANDLERS.serves(wire.ChatSend)
def send(host: SessionHost, params: wire.ChatSend) -> wire.ChatSendResult | Coroutine[Any, Any, wire.ChatSendResult]:
    """``oi.chat.send``: at once, but where files are to be read."""
    from oi_engine.magic import commands
    from oi_engine.messages import Message

    session = host.live(params.session_id)
    if isinstance(params.content, str):
        messages = [Message("user", "message", params.content)]
    else:
        messages = _messages(params.content, "content")
    attached = [_attachment(host, given, f"attachments[{at}]") for at, given in enumerate(params.attachments)]
    if isinstance(params.content, str):
        ticket = commands.perform(params.content, session, host.engine, partial(_opened, host))
        if ticket is not None:
            return wire.ChatSendResult(ticket.turn_id, ticket.queued)
    if any(callable(each) for each in attached):
        return _send_with_files(host, params.session_id, messages, attached)
    return _send(host, params.session_id, [*messages, *(each for each in attached if not callable(each))])


async def _send_with_files(
    host: SessionHost, session_id: str, messages: list[Message], attached: list[Attached]
) -> wire.ChatSendResult:
    read = [await asyncio.to_thread(each) if callable(each) else each for each in attached]
    return _send(host, session_id, [*messages, *read])


def _send(host: SessionHost, session_id: str, messages: list[Message]) -> wire.ChatSendResult:
    ticket = host.live(session_id).send(messages)
    return wire.ChatSendResult(ticket.turn_id, ticket.queued)


async def _opened(host: SessionHost, conversation_id: str) -> Session:
    """The session of a stored conversation, which the client is about to show."""
    return (await host.open(conversation_id)).session


@HANDLERS.serves(wire.ChatComplete)
async def complete(host: SessionHost, params: wire.ChatComplete) -> wire.ChatCompleteResult:
    """``oi.chat.complete``: paths start from where the session's commands find them."""
    from oi_engine.magic import commands

    folder = host.cwd or os.getcwd() if params.session_id is None else host.find(params.session_id).session.cwd
    offers = await asyncio.to_thread(commands.offers, params.text, folder)
    return wire.ChatCompleteResult(tuple(wire.ChatOffer(each.text, each.help) for each in offers[:_OFFERS]))


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


def _attachment(host: SessionHost, given: Attachment, where: str) -> Attached:
    """An attachment as a message, or what makes one of it in a thread."""
    from oi_lsp.attachments import from_file, from_text

    if "role" in given:
        return _message(given, where)
    if "uri" in given:
        return partial(from_file, from_wire(FileAttachment, given, where), where, host.encoding)
    return from_text(from_wire(TextAttachment, given, where), where)


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
