"""The sessions that the server hosts, and the engine behind them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define
from lsprotocol import types

from oi_engine.errors import OiError, SessionBusy, UnknownConversation, UnknownInput, UnknownProposal
from oi_lsp.library import Library
from oi_lsp.outbox import Feed, Outbox
from oi_lsp.protocol import ErrorCode

if TYPE_CHECKING:
    from oi_engine.factory import Engine
    from oi_engine.session.session import Session
    from oi_engine.settings import Problem, Resolved

log = logging.getLogger(__name__)

CLOSING_TIME = 2.0
"""Seconds that sessions and the engine have to close when the server ends."""


class UnknownSession(OiError):
    """No session has that id."""


EngineMaker = Callable[[Mapping[str, object], str, Callable[[str], None]], Coroutine[Any, Any, "Engine"]]
"""Makes an engine of the editor's settings, the workspace's folder ("" where there is none), and whom to tell of
settings that are not used, a sentence each."""

EngineLoader = Callable[[], EngineMaker]
"""Imports what an engine needs, which takes a while and happens in a thread."""


@define(eq=False)
class Hosted:
    """A session in the host's care."""

    session: Session
    feed: Feed | None
    closing: asyncio.Task[None] | None = None

    @property
    def closed(self) -> bool:
        """Whether the session was closed, or is about to be."""
        return self.closing is not None


class SessionHost:
    """Opens, finds and closes sessions."""

    def __init__(self, load: EngineLoader, outbox: Outbox) -> None:
        self._load = load
        self.outbox = outbox
        self._engine: Engine | None = None
        self._sessions: dict[str, Hosted] = {}
        self._opening: dict[str, asyncio.Task[Hosted]] = {}
        self._closing: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.library = Library(lambda: self.engine.history, self._say)
        self.settings: Mapping[str, object] = {}
        self.cwd = ""
        self.encoding = types.PositionEncodingKind.Utf16
        self.speaks = False
        """Whether the client is sent notifications of the protocol."""
        self.streams = False
        """Whether it is sent chunks."""
        self.on_problem: Callable[[str], None] = log.warning
        self.on_problems: Callable[[Iterable[Problem]], None] = lambda _: None
        self.last_run: str | None = None

    @property
    def engine(self) -> Engine:
        """The engine. Raises ``OiError`` where it could not be loaded."""
        if self._engine is None:
            raise OiError("The engine is not loaded.", "The server's log says why.")
        return self._engine

    async def load(self) -> None:
        """Import what the engine needs off the event loop, then make it."""
        make = await asyncio.to_thread(self._load)
        self._engine = await make(self.settings, self.cwd, self.on_problem)
        self._engine.on_settings(self._show_problems)

    def change_settings(self, editor: Mapping[str, object]) -> None:
        """Go by other settings of the editor's."""
        self.settings = editor
        self.spawn(self.engine.change_settings(editor=editor))

    def _say(self, notice: str) -> None:
        self.on_problem(notice)

    def _show_problems(self, resolved: Resolved) -> None:
        self.on_problems(resolved.problems)

    @property
    def sessions(self) -> list[Hosted]:
        """All sessions, the newest first."""
        return list(reversed(self._sessions.values()))

    def new(
        self, *, cwd: str | None = None, model: str | None = None, title: str = "", profile: str | None = None
    ) -> Hosted:
        """Open a session; its model gets ready meanwhile. ``profile``: one that the engine follows."""
        choice = None
        if model is not None:
            from oi_engine.models.chosen import Choice

            choice = Choice(model, "It was chosen for this session.")
        session = self.engine.new_session(
            cwd=cwd or self.cwd or os.getcwd(), model=choice, title=title, profile=profile
        )
        return self._hosted(session)

    async def open(self, conversation_id: str) -> Hosted:
        """The session with that id: one that is here, or else one that goes on with the stored conversation.

        Raises ``UnknownSession``, ``HistoryError``.
        """
        if conversation_id in self._sessions:
            return self._sessions[conversation_id]
        if self.engine.history is None:
            raise _unknown(conversation_id)
        opening = self._opening.get(conversation_id)
        if opening is None:
            opening = asyncio.get_running_loop().create_task(self._reopen(conversation_id))
            self._opening[conversation_id] = opening
            opening.add_done_callback(lambda _: self._opening.pop(conversation_id, None))
        # Whoever asks again, or gives up waiting, does not make two sessions of one conversation, or half of one.
        return await asyncio.shield(opening)

    async def _reopen(self, conversation_id: str) -> Hosted:
        await self.closed(conversation_id)
        try:
            return self._hosted(await self.engine.reopen(conversation_id))
        except UnknownConversation:
            raise _unknown(conversation_id) from None

    async def closed(self, session_id: str) -> None:
        """Wait until a session that is being closed has ended and is stored."""
        if (closing := self._closing.get(session_id)) is not None:
            await asyncio.shield(closing)

    def has(self, session_id: str) -> bool:
        """Whether a session of that id is here, closed or not."""
        return session_id in self._sessions

    def is_open(self, session_id: str) -> bool:
        """Whether a session of that id goes on here."""
        hosted = self._sessions.get(session_id)
        return hosted is not None and not hosted.closed

    def _hosted(self, session: Session) -> Hosted:
        feed = Feed(session, self.outbox.wake) if self.streams else None
        hosted = self._sessions[session.id] = Hosted(session, feed)
        self.spawn(session.model.warm_up())
        return hosted

    def for_runs(self) -> Session:
        """The session for code of the person's own that names none: the one used last for that, else a new one."""
        last = self._sessions.get(self.last_run or "")
        return last.session if last is not None and not last.closed else self.new().session

    def find(self, session_id: str) -> Hosted:
        """The session with that id. Raises ``UnknownSession``."""
        hosted = self._sessions.get(session_id)
        if hosted is None:
            raise _unknown(session_id)
        return hosted

    def live(self, session_id: str) -> Session:
        """The session with that id, if it was not closed. Raises ``UnknownSession``, ``SessionBusy``."""
        hosted = self.find(session_id)
        if hosted.closed:
            raise SessionBusy("The session is closed.", "Open a new one.")
        return hosted.session

    def close_session(self, session_id: str) -> None:
        """End the session's turn and kernels."""
        hosted = self.find(session_id)
        if not hosted.closed:
            hosted.closing = self._closing[session_id] = self.spawn(self.engine.close_session(hosted.session))
            hosted.closing.add_done_callback(lambda _: self._closing.pop(session_id, None))

    def delete(self, session_id: str) -> None:
        """Close the session and forget it."""
        self.close_session(session_id)
        hosted = self._sessions.pop(session_id)
        if hosted.feed is not None:
            self.outbox.forget(hosted.feed)

    def spawn(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        """Have something done that no answer waits for; what goes wrong is logged."""

        async def guarded() -> None:
            try:
                await work
            except OiError as error:
                self.on_problem(str(error))

        task = asyncio.get_running_loop().create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    async def close(self) -> None:
        """Close every session and the engine, in ``CLOSING_TIME`` at most."""
        if self._engine is None:
            return
        try:
            async with asyncio.timeout(CLOSING_TIME):
                await self._engine.close()
                await self.library.close()
        except TimeoutError:
            log.warning("Kernels or the model worker did not end in time; they end when the server is gone.")

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("A background task failed.", exc_info=task.exception())


def _unknown(session_id: str) -> UnknownSession:
    return UnknownSession(f"No session {session_id!r} is open.", "oi.session.list names those that are.")


ERROR_CODES: tuple[tuple[type[OiError], ErrorCode, str | None], ...] = (
    (UnknownSession, ErrorCode.UNKNOWN_SESSION, "sessionId"),
    (UnknownProposal, ErrorCode.UNKNOWN_PROPOSAL, "proposalId"),
    (UnknownInput, ErrorCode.UNKNOWN_INPUT, "inputId"),
    (SessionBusy, ErrorCode.SESSION_BUSY, None),
    (UnknownConversation, ErrorCode.UNKNOWN_CONVERSATION, "conversationId"),
    (OiError, ErrorCode.REFUSED, None),
)
"""Which error of the engine is which on the wire, and the field that it is about; the first that fits counts."""
