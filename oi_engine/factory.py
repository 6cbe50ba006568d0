"""Puts an engine together: its settings, which model answers, which runtime runs which language, what is kept."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path

import attrs
from attrs import evolve, frozen

from oi_engine import paths
from oi_engine.computer.computer import RuntimeMaker
from oi_engine.computer.runtime import Runtime
from oi_engine.computer.runtimes import RuntimeFactory
from oi_engine.computer.spill import clean_spill_folders, spill_folder
from oi_engine.history.recorder import Recorder
from oi_engine.history.restore import REOPENED, needs_word, restore
from oi_engine.history.store import Conversation, Opened, Store
from oi_engine.messages import Message, new_id
from oi_engine.models import tour
from oi_engine.models.discovery import discover
from oi_engine.models.model import Model, ModelEvent, ModelInfo, ModelRequest
from oi_engine.models.worker_client import ModelWorker, WorkerModel
from oi_engine.profiles.live import LiveSettings, Sources
from oi_engine.safety.secrets import scrubbed, take_provider_keys
from oi_engine.session.context import workspace_context
from oi_engine.session.session import Session
from oi_engine.settings import LlmSettings, Resolved, Settings

log = logging.getLogger(__name__)


@frozen
class Choice:
    """The model that answers, and why it was chosen, in a sentence for the person."""

    model: str
    why: str
    api_base: str | None = None


class Engine:
    """Makes sessions that share one model worker and, with ``history``, one database of conversations.

    ``keys`` are the provider keys (name of the variable to value), taken out of the environment by
    ``safety.secrets.take_provider_keys``: only the model worker gets them. Without ``history``, the path of the
    database, nothing is kept. ``worker``: another engine's, or nobody's, which outlives this one.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        keys: Mapping[str, str] | None = None,
        *,
        history: Path | None = None,
        worker: ModelWorker | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.history = history
        self._keys = dict(keys or {})
        self._own_worker = worker is None
        self._worker = worker or ModelWorker(self._keys)
        self._live: LiveSettings | None = None
        self._sessions: list[Session] = []
        self._recorders: dict[str, Recorder] = {}

    @classmethod
    async def open(cls, sources: Sources, on_problem: Callable[[str], None] = log.warning) -> Engine:
        """An engine that goes by the person's profiles and files, now and after each change of them.

        Takes the provider keys out of this process's environment. ``on_problem`` is called with a sentence for each
        setting that was not used.
        """
        live = LiveSettings(sources)
        engine = cls(keys=take_provider_keys(os.environ))
        engine._live = live

        def follow(resolved: Resolved) -> None:
            engine.settings = resolved.settings
            for session in engine._sessions:
                session.settings = attrs.evolve(resolved.settings)
            for problem in resolved.problems:
                if problem.severity != "note":
                    on_problem(str(problem))

        follow(await live.watch(follow))
        if engine.settings.conversation_history:
            engine.history = history_path(engine.settings)
        await asyncio.to_thread(clean_spill_folders)
        return engine

    async def choose_model(self, llm: LlmSettings | None = None) -> Choice:
        """The model of the settings, else the one that is found on this machine, else the tour."""
        llm = llm or self.settings.llm
        if llm.model:
            return Choice(llm.model, "It is the one in your settings.", llm.api_base)
        found = (await discover(self._keys, os.environ)).choose()
        if found is not None:
            return Choice(found.model, found.why, found.api_base)
        return Choice(tour.NAME, "No provider key and no local model server was found.")

    def new_session(
        self,
        *,
        cwd: str,
        settings: Settings | None = None,
        model: Choice | None = None,
        title: str = "",
        answering: Model | None = None,
        languages: Callable[[RuntimeMaker], RuntimeMaker] | None = None,
    ) -> Session:
        """A session that runs code in ``cwd``; without ``model``, one is chosen when the first message is sent.

        ``answering`` replies in place of any model that would be chosen. ``languages`` makes, of what makes runtimes,
        what makes those of the caller's own languages too.
        """
        session = self._session(new_id("s"), cwd, settings, model, title, answering, languages)
        session.preface = lambda: workspace_context(Path(cwd))
        self._record(session, Conversation(session.id, title, cwd, created_at=session.created_at))
        return session

    async def reopen(self, conversation_id: str, *, model: Choice | None = None) -> Session:
        """A session that goes on with a stored conversation. Raises ``UnknownConversation``, ``HistoryError``."""
        opened = await asyncio.to_thread(self._stored, conversation_id)
        conversation = opened.conversation
        session = self._session(conversation.id, _folder_of(conversation), None, model, conversation.title)
        await asyncio.to_thread(restore, session.stream, opened)
        if needs_word(opened):
            session.preface = lambda: [Message("computer", "message", REOPENED)]
        self._record(session, conversation, opened)
        return session

    def model(self, name: str) -> Model:
        """The model behind a name: the tour, or the worker."""
        return tour.TourModel() if name == tour.NAME else WorkerModel(self._worker)

    async def close_session(self, session: Session) -> None:
        """End a session: its turn, its kernels, and the writing of what it still has to keep."""
        await session.close()
        if session in self._sessions:
            self._sessions.remove(session)
        recorder = self._recorders.pop(session.id, None)
        if recorder is not None:
            await asyncio.to_thread(recorder.close)

    async def close(self) -> None:
        """End every session, the model worker where it is this engine's own, and the watch on the settings."""
        await asyncio.gather(*(self.close_session(session) for session in list(self._sessions)))
        if self._own_worker:
            await self._worker.close()
        if self._live is not None:
            await self._live.close()

    def _session(
        self,
        session_id: str,
        cwd: str,
        settings: Settings | None,
        model: Choice | None,
        title: str,
        answering: Model | None = None,
        languages: Callable[[RuntimeMaker], RuntimeMaker] | None = None,
    ) -> Session:
        own = attrs.evolve(settings or self.settings)
        runtimes = RuntimeFactory(own.computer, scrubbed(os.environ, own.computer.env_allow))

        def make_runtime(language: str, folder: str) -> Runtime:
            return runtimes.make(language, folder, spill_folder(session_id))

        session = Session(
            answering or ChosenModel(self, own.llm, model),
            languages(make_runtime) if languages else make_runtime,
            own,
            languages=runtimes.languages(),
            session_id=session_id,
            cwd=cwd,
            title=title,
        )
        self._sessions.append(session)
        return session

    def _record(self, session: Session, conversation: Conversation, opened: Opened | None = None) -> None:
        if self.history is None:
            return
        recorder = Recorder(self.history, conversation, opened, secrets=self._keys.values(), on_problem=log.warning)
        self._recorders[session.id] = recorder
        session.stream.subscribe(recorder)

    def _stored(self, conversation_id: str) -> Opened:
        with Store(self.history) as store:
            return store.open(conversation_id)


def history_path(settings: Settings) -> Path:
    """The database in which the settings have conversations kept."""
    folder = settings.conversation_history_path
    return (Path(folder).expanduser() if folder else paths.data_folder()) / "history.db"


def _folder_of(conversation: Conversation) -> str:
    """Where a stored conversation ran its code, if that is still there, else here."""
    return conversation.cwd if os.path.isdir(conversation.cwd) else os.getcwd()


class ChosenModel:
    """The model that a session ends up with, chosen when it is first needed."""

    def __init__(self, engine: Engine, llm: LlmSettings, choice: Choice | None = None) -> None:
        self._engine = engine
        self._llm = llm
        self.choice = choice

    async def _chosen(self) -> Choice:
        if self.choice is None:
            self.choice = await self._engine.choose_model(self._llm)
        return self.choice

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Pass the request on, under the chosen model's name."""
        choice = await self._chosen()
        named = evolve(request, model=choice.model, api_base=request.api_base or choice.api_base)
        async with contextlib.aclosing(self._engine.model(choice.model).stream(named)) as events:
            async for event in events:
                yield event

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        """What is known of the chosen model."""
        choice = await self._chosen()
        return await self._engine.model(choice.model).info(choice.model, api_base or choice.api_base)

    async def warm_up(self) -> None:
        """Choose, and get the chosen one ready."""
        choice = await self._chosen()
        await self._engine.model(choice.model).warm_up()

    async def close(self) -> None:
        """The engine closes what its sessions share."""
