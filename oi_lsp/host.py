"""The sessions that the server hosts, and the engine behind them."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define

from oi_engine.errors import OiError, SessionBusy, UnknownInput, UnknownProposal
from oi_lsp.outbox import Feed, Outbox
from oi_lsp.protocol import ErrorCode

if TYPE_CHECKING:
    from oi_engine.factory import Choice
    from oi_engine.session.session import Session
    from oi_engine.settings import Settings

log = logging.getLogger(__name__)

CLOSING_TIME = 2.0
"""Seconds that sessions and the engine have to close when the server ends."""


class UnknownSession(OiError):
    """No session has that id."""


class Engine(Protocol):
    """What the host needs of ``oi_engine.factory.Engine``."""

    settings: Settings

    def new_session(self, *, cwd: str, model: Choice | None = None, title: str = "") -> Session: ...
    async def close_session(self, session: Session) -> None: ...
    async def close(self) -> None: ...


EngineMaker = Callable[[Mapping[str, object], str, Callable[[str], None]], Coroutine[Any, Any, Engine]]
"""Makes an engine of the editor's settings, the workspace's folder ("" where there is none), and whom to tell of
settings that are not used, a sentence each."""

EngineLoader = Callable[[], EngineMaker]
"""Imports what an engine needs, which takes a while and happens in a thread."""


@define(eq=False)
class Hosted:
    """A session in the host's care."""

    session: Session
    feed: Feed | None
    closed: bool = False


class SessionHost:
    """Opens, finds and closes sessions."""

    def __init__(self, load: EngineLoader, outbox: Outbox) -> None:
        self._load = load
        self._outbox = outbox
        self._engine: Engine | None = None
        self._sessions: dict[str, Hosted] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.settings: Mapping[str, object] = {}
        self.cwd = ""
        self.streams = False
        self.on_problem: Callable[[str], None] = log.warning
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

    @property
    def sessions(self) -> list[Hosted]:
        """All sessions, the newest first."""
        return list(reversed(self._sessions.values()))

    def new(self, *, cwd: str | None = None, model: str | None = None, title: str = "") -> Hosted:
        """Open a session; its model gets ready meanwhile."""
        choice = None
        if model is not None:
            from oi_engine.factory import Choice

            choice = Choice(model, "It was chosen for this session.")
        session = self.engine.new_session(cwd=cwd or self.cwd or os.getcwd(), model=choice, title=title)
        feed = Feed(session, self._outbox.wake) if self.streams else None
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
            raise UnknownSession(f"No session {session_id!r} is open.", "oi.session.list names those that are.")
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
            hosted.closed = True
            self.spawn(self.engine.close_session(hosted.session))

    def delete(self, session_id: str) -> None:
        """Close the session and forget it."""
        self.close_session(session_id)
        hosted = self._sessions.pop(session_id)
        if hosted.feed is not None:
            self._outbox.forget(hosted.feed)

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Have something done that no answer waits for; what goes wrong is logged."""

        async def guarded() -> None:
            try:
                await work
            except OiError as error:
                self.on_problem(str(error))

        task = asyncio.get_running_loop().create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._over)

    async def close(self) -> None:
        """Close every session and the engine, in ``CLOSING_TIME`` at most."""
        if self._engine is None:
            return
        try:
            await asyncio.wait_for(self._engine.close(), CLOSING_TIME)
        except TimeoutError:
            log.warning("Kernels or the model worker did not end in time; they end when the server is gone.")

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("A background task failed.", exc_info=task.exception())


ERROR_CODES: tuple[tuple[type[OiError], ErrorCode, str | None], ...] = (
    (UnknownSession, ErrorCode.UNKNOWN_SESSION, "sessionId"),
    (UnknownProposal, ErrorCode.UNKNOWN_PROPOSAL, "proposalId"),
    (UnknownInput, ErrorCode.UNKNOWN_INPUT, "inputId"),
    (SessionBusy, ErrorCode.SESSION_BUSY, None),
    (OiError, ErrorCode.REFUSED, None),
)
"""Which error of the engine is which on the wire, and the field that it is about; the first that fits counts."""
