"""Commands about sessions: open, list, read, replay, close."""

from __future__ import annotations

import contextlib
import os.path
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from oi_lsp import protocol as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.host import Hosted, SessionHost
from oi_lsp.outbox import state_of
from oi_lsp.protocol_changes import LeftPath
from oi_lsp.structure import InvalidField

if TYPE_CHECKING:
    from oi_engine.session.session import Session

HANDLERS = Handlers()


@HANDLERS.serves(wire.SessionNew)
def new(
    host: SessionHost, params: wire.SessionNew
) -> wire.SessionNewResult | Coroutine[Any, Any, wire.SessionNewResult]:
    """``oi.session.new``: at once where no file is to be read for it."""
    if params.cwd is not None and not (os.path.isabs(params.cwd) and os.path.isdir(params.cwd)):
        raise InvalidField("cwd", "must be the absolute path of a directory that exists.")
    if params.profile is not None:
        return _new_with_profile(host, params, params.profile)
    return _new(host, params)


async def _new_with_profile(host: SessionHost, params: wire.SessionNew, name: str) -> wire.SessionNewResult:
    await host.engine.follow_profile(name)
    return _new(host, params)


def _new(host: SessionHost, params: wire.SessionNew) -> wire.SessionNewResult:
    hosted = host.new(cwd=params.cwd, model=params.model, title=params.title, profile=params.profile)
    return wire.SessionNewResult(hosted.session.id)


@HANDLERS.serves(wire.SessionList)
def list_sessions(host: SessionHost, _: wire.SessionList) -> wire.SessionListResult:
    """``oi.session.list``."""
    return wire.SessionListResult(tuple(_info(hosted) for hosted in host.sessions))


@HANDLERS.serves(wire.SessionOpen)
def open_session(
    host: SessionHost, params: wire.SessionOpen
) -> wire.SessionOpenResult | Coroutine[Any, Any, wire.SessionOpenResult]:
    """``oi.session.open``: at once where the session is here, so that no chunk comes between it and the answer."""
    if host.has(params.session_id):
        return _opened(host.find(params.session_id), params)
    return _open_stored(host, params)


async def _open_stored(host: SessionHost, params: wire.SessionOpen) -> wire.SessionOpenResult:
    return _opened(await host.open(params.session_id), params)


def _opened(hosted: Hosted, params: wire.SessionOpen) -> wire.SessionOpenResult:
    session = hosted.session
    messages = _messages(session) if params.messages else ()
    return wire.SessionOpenResult(_info(hosted), messages, _after_messages(session), state_of(session))


@HANDLERS.serves(wire.SessionClose)
def close(host: SessionHost, params: wire.SessionClose) -> wire.Nothing:
    """``oi.session.close``."""
    host.close_session(params.session_id)
    return wire.Nothing()


@HANDLERS.serves(wire.SessionDelete)
def delete(host: SessionHost, params: wire.SessionDelete) -> wire.Nothing:
    """``oi.session.delete``."""
    host.delete(params.session_id)
    return wire.Nothing()


@HANDLERS.serves(wire.SessionRename)
def rename(host: SessionHost, params: wire.SessionRename) -> wire.Nothing:
    """``oi.session.rename``."""
    host.find(params.session_id).session.title = params.title
    host.spawn(_store_title(host, params))
    return wire.Nothing()


async def _store_title(host: SessionHost, params: wire.SessionRename) -> None:
    from oi_engine.errors import UnknownConversation

    if host.engine.history is not None:
        # What is not stored yet is stored under the title that the session had when it began.
        await host.engine.flush(params.session_id)
        with contextlib.suppress(UnknownConversation):
            await host.library.use(lambda store: store.rename(params.session_id, params.title))


@HANDLERS.serves(wire.SessionExport)
def export(host: SessionHost, params: wire.SessionExport) -> wire.SessionExportResult:
    """``oi.session.export``."""
    return wire.SessionExportResult(_messages(host.find(params.session_id).session))


@HANDLERS.serves(wire.SessionUndo)
def undo(
    host: SessionHost, params: wire.SessionUndo
) -> wire.SessionUndoResult | Coroutine[Any, Any, wire.SessionUndoResult]:
    """``oi.session.undo``: at once where no file is to be written for it."""
    session = host.live(params.session_id)
    before = [message.id for message in session.messages]
    session.undo(params.message_id)
    taken = before[len(session.messages) :]
    return _rewound(session, taken) if params.files else wire.SessionUndoResult()


async def _rewound(session: Session, messages: list[str]) -> wire.SessionUndoResult:
    reverted = await session.effects.rewind(messages)
    left = (refusal for one in reverted for refusal in one.refused)
    return wire.SessionUndoResult(tuple(LeftPath(refusal.path, refusal.reason) for refusal in left))


@HANDLERS.serves(wire.SessionReset)
def reset(host: SessionHost, params: wire.SessionReset) -> wire.Nothing:
    """``oi.session.reset``."""
    host.live(params.session_id).reset()
    return wire.Nothing()


@HANDLERS.serves(wire.SessionReplay)
def replay(host: SessionHost, params: wire.SessionReplay) -> wire.SessionReplayResult:
    """``oi.session.replay``."""
    hosted = host.find(params.session_id)
    last = hosted.session.stream.next_seq - 1
    if not 0 <= params.after_seq <= last:
        raise InvalidField("afterSeq", f"must be from 0 to {last}, the number of the last chunk.")
    if hosted.feed is None:
        raise InvalidField("sessionId", "is not followed: initializationOptions.oi.protocolVersion was not given.")
    return wire.SessionReplayResult(hosted.feed.replay(params.after_seq))


def _info(hosted: Hosted) -> wire.SessionInfo:
    session = hosted.session
    return wire.SessionInfo(
        session.id, session.title, session.cwd, session.created_at, session.snapshot.state, hosted.closed
    )


def _messages(session: Session) -> tuple[wire.LmcMessage, ...]:
    return tuple(wire.LmcMessage(message.to_dict()) for message in session.messages)


def _after_messages(session: Session) -> int:
    """The number of the first chunk that no whole message holds: the start of the open one, if there is one."""
    head = session.stream.open_message
    if head is None:
        return session.stream.next_seq
    entries = reversed(session.stream.entries_after(0))
    return next(entry.seq for entry in entries if entry.chunk.start and entry.chunk.id == head.id)
