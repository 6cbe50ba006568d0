"""Puts an engine together: its settings, which model answers, which runtime runs which language, what is kept."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from attrs import asdict, evolve

from oi_engine import paths
from oi_engine.changes.workspaces import Workspaces
from oi_engine.computer.confiner import Confiner
from oi_engine.computer.kernelspecs import InstalledKernels
from oi_engine.computer.languages import language as language_of
from oi_engine.computer.runtime import Runtime
from oi_engine.computer.runtimes import RuntimeFactory, Runtimes
from oi_engine.computer.spill import clean_spill_folders, spill_folder
from oi_engine.edits.ask import Asking, Passage
from oi_engine.errors import ModelError, OiError
from oi_engine.history.recorder import Recorder
from oi_engine.history.restore import REOPENED, cut_off, needs_word, restore
from oi_engine.history.storable import Cleaner
from oi_engine.history.store import Conversation, Opened, Store
from oi_engine.logs import hide
from oi_engine.messages import Message, new_id
from oi_engine.models import tour
from oi_engine.models.chosen import Choice, ChosenModel
from oi_engine.models.discovery import Candidate, discover
from oi_engine.models.model import Model
from oi_engine.profiles.live import LiveSettings, Sources
from oi_engine.safety.approvals import KeptApprovals
from oi_engine.safety.programs import path_outside
from oi_engine.safety.secrets import scrubbed, take_provider_keys
from oi_engine.session.context import workspace_context
from oi_engine.session.session import Session
from oi_engine.session.state import Snapshot, UsageTotals
from oi_engine.settings import Resolved, Settings
from oi_engine.settings.layers import Layer, resolve
from oi_engine.settings.tree import ChangesSettings, ComputerSettings, get, names
from oi_engine.temporary import remove_left_over

if TYPE_CHECKING:
    from oi_engine.changes.workspace import Workspace
    from oi_engine.models.catalog import Offer
    from oi_engine.models.worker_client import ModelWorker
    from oi_engine.safety.scan.scanner import Scanner

log = logging.getLogger(__name__)


class Engine:
    """Makes sessions that share one model worker and, with ``history``, one database of conversations.

    ``keys`` are the provider keys (name of the variable to value), taken out of the environment by
    ``safety.secrets.take_provider_keys``: only the model worker gets them. Without ``history``, the path of the
    database, nothing is kept. ``worker``: another engine's, or nobody's, which outlives this one. ``languages`` makes,
    of what runs the languages of a session, what runs those of the caller's own too. ``changes``: the folder for
    what is kept of files that runs change; without it, that is not followed.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        keys: Mapping[str, str] | None = None,
        *,
        history: Path | None = None,
        worker: ModelWorker | None = None,
        languages: Callable[[RuntimeFactory], Runtimes] = lambda runtimes: runtimes,
        changes: Path | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.history = history
        self._workspaces = None if changes is None else Workspaces(changes)
        self.approvals = KeptApprovals()
        self._own_keys = dict(keys or {})
        self._keys: Mapping[str, str] = self._own_keys
        self._secrets = list(self._own_keys.values())
        self._given_worker = worker
        self._own_worker: ModelWorker | None = None
        self._own_scanner: Scanner | None = None
        self._live: LiveSettings | None = None
        self._kernels = InstalledKernels()
        self._languages = languages
        self._sessions: list[Session] = []
        self._recorders: dict[str, Recorder] = {}
        self._own: dict[str, Mapping[str, object]] = {}
        self._profiles: dict[str, str] = {}
        self._on_settings: Callable[[Resolved], None] = lambda _: None

    @classmethod
    async def open(cls, sources: Sources, on_problem: Callable[[str], None] = log.warning) -> Engine:
        """An engine that goes by the person's profiles and files, now and after each change of them.

        Takes the provider keys out of this process's environment. ``on_problem`` is called with a sentence for each
        setting that was not used.
        """
        live = LiveSettings(sources)
        engine = cls(keys=take_provider_keys(os.environ), changes=paths.data_folder() / "changes")
        engine._live = live
        hide(*engine._secrets)

        def follow(resolved: Resolved) -> None:
            engine._follow(resolved)
            for problem in resolved.problems:
                if problem.severity != "note":
                    on_problem(str(problem))

        follow(await live.watch(follow))
        if engine.settings.conversation_history:
            engine.history = history_path(engine.settings)
        await asyncio.to_thread(_clean_up)
        return engine

    # --- settings ----------------------------------------------------------------------------------------------

    def on_settings(self, listener: Callable[[Resolved], None]) -> None:
        """Have ``listener`` called with what is resolved, now and after each change of the engine's settings."""
        self._on_settings = listener
        if self._live is not None and self._live.resolved is not None:
            listener(self._live.resolved)

    async def change_settings(
        self, *, editor: Mapping[str, object] | None = None, session: Mapping[str, object] | None = None
    ) -> None:
        """Put another mapping, of the shape of a profile, in the place of the editor's or the session layer of all."""
        if self._live is None:
            raise OiError("These settings come from no files.", "Give the engine others when it is made.")
        sources = self._live.sources
        sources = evolve(
            sources,
            editor=sources.editor if editor is None else editor,
            session=sources.session if session is None else session,
        )
        self._follow(await self._live.change(sources))

    def change_session(self, session: Session, own: Mapping[str, object]) -> Resolved:
        """Put another mapping in the place of a session's own layer. Answers what holds in that session."""
        self._own[session.id] = own
        resolved = self.resolved(session)
        if _change(session, resolved.settings) and isinstance(session.model, ChosenModel):
            session.model.go_by(resolved.settings)
        return resolved

    def set_in_session(self, session: Session, changes: Mapping[str, object]) -> list[str]:
        """Set settings of one session by their dotted names. Answers a sentence for each that was not used."""
        known = self.resolved(session).problems
        resolved = self.change_session(session, {**self.own_layer(session), **changes})
        return [str(new) for new in resolved.problems if new not in known and new.severity != "note"]

    def own_layer(self, session: Session | None = None) -> Mapping[str, object]:
        """What a session's own layer says; without a session, the session layer of all."""
        if session is not None:
            return self._own.get(session.id, {})
        return {} if self._live is None else self._live.sources.session

    def resolved(self, session: Session | None = None) -> Resolved:
        """The settings with their origins: a session's, or those that a new session starts with."""
        if session is None:
            return resolve(self._layers())
        own = Layer("session", self.own_layer(session), "session")
        return resolve([*self._layers(self._profiles.get(session.id)), own])

    async def follow_profile(self, name: str) -> None:
        """Follow a profile, so that sessions may go by it: its name in the profiles folder, or a path.

        Raises ``ProfileError`` where it cannot be read.
        """
        if self._live is None:
            raise OiError("These settings come from no files.", "Give the session its settings when it is made.")
        await self._live.follow(name)

    def _layers(self, profile: str | None = None) -> list[Layer]:
        """What a session goes by beside its own layer; ``profile`` takes the place of the chosen one."""
        if self._live is None:
            return [Layer("defaults", {name: get(self.settings, name) for name in names()})]
        if profile is None:
            return list(self._live.layers)
        return [*(layer for layer in self._live.layers if layer.kind != "profile"), self._live.beside[profile]]

    def _follow(self, resolved: Resolved) -> None:
        self.settings = resolved.settings
        for session in self._sessions:
            settings = self.resolved(session).settings
            model = session.model
            if _change(session, settings) and isinstance(model, ChosenModel) and not model.given:
                model.go_by(settings)
        self._on_settings(resolved)

    # --- models ------------------------------------------------------------------------------------------------

    def change_keys(self, given: Mapping[str, str]) -> None:
        """Put other keys in the place of those that were given here before; those of the environment stay beneath.

        The model worker has them from the next request on, and kernels never do. A session chooses its model anew where
        none was found, or by a key that is gone.
        """
        self._keys = {**self._own_keys, **given}
        self._secrets.extend(key for key in given.values() if key not in self._secrets)
        hide(*given.values())
        if self._own_worker is not None:
            self._own_worker.change_keys(self._keys)
        for session in self._sessions:
            model = session.model
            if isinstance(model, ChosenModel) and not model.given and self._is_outdated(model.choice, session.settings):
                model.go_by(session.settings)

    def _is_outdated(self, choice: Choice | None, settings: Settings) -> bool:
        if choice is None:
            return False
        if choice.key:
            return choice.key not in self._keys
        return choice.model == tour.NAME and not settings.llm.model

    async def models(self) -> tuple[Candidate, ...]:
        """The models that were found: one for each provider key, and those of local servers; the best first."""
        return (await discover(self._keys, os.environ)).candidates

    def choose(self, session: Session, choice: Choice) -> None:
        """Have another model answer in a session, from the next request on."""
        if isinstance(session.model, ChosenModel):
            session.model.choice = choice

    def model_of(self, session: Session) -> str:
        """The model that answers in a session, as LiteLLM names it; empty where none is chosen yet."""
        return session.model.name if isinstance(session.model, ChosenModel) else session.settings.llm.model

    async def choose_model(self, settings: Settings | None = None) -> Choice:
        """The model of the settings, else the one that is found on this machine, else the tour."""
        settings = settings or self.settings
        llm = settings.llm
        if llm.model:
            return Choice(llm.model, "It is the one in your settings.", llm.api_base)
        if llm.api_base:
            return await self._served_at(llm.api_base)
        found = (await discover(self._keys, os.environ)).choose(local_only=settings.offline)
        if found is not None:
            return Choice(found.model, found.why, found.api_base, found.source if found.source in self._keys else "")
        if settings.offline:
            return Choice(tour.NAME, "offline is on, and no local model server was found.")
        return Choice(tour.NAME, "No provider key and no local model server was found.")

    async def catalog(self) -> list[Offer]:
        """All models that can be chosen now, with what is known of each: LiteLLM's table and local servers."""
        from oi_engine.models.catalog import Catalog

        return await Catalog(self._worker, os.environ).offers(local_only=self.settings.offline)

    async def _served_at(self, api_base: str) -> Choice:
        """The first model of a server of the person's own, where the settings name no model."""
        from oi_engine.models.catalog import Catalog

        offers = await Catalog(self._worker, os.environ).at(api_base)
        if not offers:
            raise ModelError("unknown_model", f"No model is named, and {api_base} lists none.", "Set `llm.model`.")
        return Choice(offers[0].model, f"It is the first that {api_base} lists.", api_base)

    @property
    def _worker(self) -> ModelWorker:
        if self._given_worker is not None:
            return self._given_worker
        if self._own_worker is None:
            from oi_engine.models.worker_client import ModelWorker

            self._own_worker = ModelWorker(self._keys)
        return self._own_worker

    def _scanner(self) -> Scanner:
        if self._own_scanner is None:
            from oi_engine.safety.scan.scanner import Scanner

            folders = [session.cwd for session in self._sessions]
            self._own_scanner = Scanner({**scrubbed(os.environ), "PATH": path_outside(None, *folders)})
        return self._own_scanner

    # --- sessions ----------------------------------------------------------------------------------------------

    def new_session(
        self,
        *,
        cwd: str,
        settings: Settings | None = None,
        model: Choice | None = None,
        title: str = "",
        answering: Model | None = None,
        profile: str | None = None,
    ) -> Session:
        """A session that runs code in ``cwd``; without ``model``, one is chosen when the first message is sent.

        ``answering`` replies in place of any model that would be chosen. ``profile``, which is followed, takes the
        place of the chosen one.
        """
        if profile is not None:
            settings = resolve(self._layers(profile)).settings
        session = self._session(new_id("s"), cwd, settings, model, title, answering)
        if profile is not None:
            self._profiles[session.id] = profile
        session.preface = lambda: workspace_context(Path(cwd))
        self._record(session, Conversation(session.id, title, cwd, created_at=session.created_at))
        return session

    async def reopen(self, conversation_id: str, *, model: Choice | None = None) -> Session:
        """A session that goes on with a stored conversation; the one that has it open, if one does.

        Raises ``UnknownConversation``, ``HistoryError``.
        """
        for session in self._sessions:
            if session.id == conversation_id:
                return session
        opened = await asyncio.to_thread(self._stored, conversation_id)
        conversation = opened.conversation
        session = self._session(conversation.id, _folder_of(conversation), None, model, conversation.title)
        await asyncio.to_thread(restore, session.stream, opened)
        session.spent(UsageTotals(conversation.prompt_tokens, conversation.completion_tokens, conversation.cost))
        if needs_word(opened):
            session.preface = lambda: [Message("computer", "message", REOPENED)]
        self._record(session, conversation, opened)
        return session

    def runnable(self, language: str) -> str | None:
        """The canonical name of a language, if code of it is run here (and not only shown); by any of its names.

        Installed Jupyter kernels are known once a session has looked for them.
        """
        runtimes = self._runtimes(self.settings)
        name = runtimes.canonical(language)
        known = language_of(name or "")
        if name is None or (known is not None and known.runs == "shown"):
            return None
        return name if name in runtimes.languages() else None

    def model(self, name: str) -> Model:
        """The model behind a name: the tour, or the worker."""
        if name == tour.NAME:
            return tour.TourModel()
        from oi_engine.models.worker_client import WorkerModel

        return WorkerModel(self._worker)

    async def edit(self, passage: Passage, session: Session | None = None, *, spent: float = 0.0) -> Asking:
        """A request for the text that replaces a passage, to the model of a session, or else to that of the settings.

        ``spent``: as ``Asking`` has it, where there is no session. Raises ``ModelError`` where no model can be had.
        """
        settings = self.settings if session is None else session.settings
        model: Model = ChosenModel(self, settings) if session is None else session.model
        if isinstance(model, ChosenModel) and (await model.chosen()).model == tour.NAME:
            raise ModelError(
                "no_key",
                "The tour, which is no language model, cannot edit.",
                "Set a provider's key or `llm.model`, or start a model server on this machine.",
            )
        return Asking(model, settings, passage, spent if session is None else session.snapshot.usage.cost or 0.0)

    async def close_session(self, session: Session) -> None:
        """End a session: its turn, its kernels, and the writing of what it still has to keep."""
        await session.close()
        if session in self._sessions:
            self._sessions.remove(session)
        recorder = self._recorders.pop(session.id, None)
        if recorder is not None:
            await asyncio.to_thread(recorder.close)
        self._own.pop(session.id, None)
        self._profiles.pop(session.id, None)

    async def flush(self, session_id: str) -> None:
        """Have all that was said in a session so far written to the history."""
        recorder = self._recorders.get(session_id)
        if recorder is not None:
            await asyncio.to_thread(recorder.flush)

    def cleaner(self) -> Cleaner:
        """What takes keys out of messages that are stored without having been said in a session."""
        return Cleaner(self._secrets)

    async def close(self) -> None:
        """End every session, its own model worker and scanner, and the watch on the settings."""
        await asyncio.gather(*(self.close_session(session) for session in list(self._sessions)))
        if self._own_worker is not None:
            await self._own_worker.close()
        if self._own_scanner is not None:
            await self._own_scanner.close()
        if self._live is not None:
            await self._live.close()
        if self._workspaces is not None:
            await asyncio.to_thread(self._workspaces.close)

    def _session(
        self,
        session_id: str,
        cwd: str,
        settings: Settings | None,
        model: Choice | None,
        title: str,
        answering: Model | None = None,
    ) -> Session:
        own = attrs.evolve(settings or self.settings)
        session: Session | None = None
        runtimes = self._runtimes(own, lambda: (own if session is None else session.settings).computer)

        def make_runtime(language: str, folder: str) -> Runtime:
            return runtimes.make(language, folder, spill_folder(session_id))

        chosen = ChosenModel(self, own, model)
        session = Session(
            answering or chosen,
            make_runtime,
            own,
            languages=runtimes.languages(),
            naming=runtimes,
            look_for_languages=runtimes.discover,
            session_id=session_id,
            cwd=cwd,
            title=title,
            workspace=self._workspace_of(cwd, own.changes),
            make_scanner=self._scanner,
            approvals=self.approvals,
            confiner=Confiner(
                runtimes, lambda: own if session is None else session.settings, spill_folder(session_id), cwd
            ),
        )
        if answering is None:
            chosen.on_choice = session.show_model
            session.show_model(chosen.name)
        self._sessions.append(session)
        return session

    def _runtimes(self, settings: Settings, now: Callable[[], ComputerSettings] | None = None) -> Runtimes:
        """What runs the languages. ``now``: what the computer is to go by when it starts one, else ``settings``."""
        own = self._own_keys
        allowed = {name: own[name] for name in settings.computer.env_allow if name in own}
        environment = {**scrubbed(os.environ, settings.computer.env_allow), **allowed}
        return self._languages(RuntimeFactory(now or (lambda: settings.computer), environment, kernels=self._kernels))

    def _workspace_of(self, cwd: str, changes: ChangesSettings) -> Callable[[], Workspace] | None:
        """What opens, in a thread, the folder whose changes are followed."""
        workspaces = self._workspaces
        if workspaces is None:
            return None

        def opened() -> Workspace:
            from oi_engine.changes.workspace import Limits

            million = 1_000_000
            limits = Limits(int(changes.max_file * million), int(changes.max_total * million), changes.keep_days)
            return workspaces.get(cwd, limits)

        return opened

    def _record(self, session: Session, conversation: Conversation, opened: Opened | None = None) -> None:
        if self.history is None:
            return
        recorder = Recorder(self.history, conversation, opened, secrets=self._secrets, on_problem=log.warning)
        self._recorders[session.id] = recorder
        session.stream.subscribe(recorder)

        def describe(now: Snapshot) -> None:
            recorder.describe(model=now.model, **asdict(now.usage))

        session.on_state(describe)

    def _stored(self, conversation_id: str) -> Opened:
        with Store(self.history) as store:
            return cut_off(store.open(conversation_id))


def preload() -> None:
    """Import what a turn needs and making a session does not. Takes a while: for a thread, while nobody waits."""
    import_module("oi_engine.session.turn")
    import_module("oi_engine.computer.kernel")
    import_module("oi_engine.computer.repl")
    import_module("oi_engine.models.catalog")


def _clean_up() -> None:
    """Remove what is old of long output, and what processes that were killed have left."""
    clean_spill_folders()
    remove_left_over()


def history_path(settings: Settings) -> Path:
    """The database in which the settings have conversations kept."""
    folder = settings.conversation_history_path
    return (Path(os.path.expanduser(folder)) if folder else paths.data_folder()) / "history.db"


def _folder_of(conversation: Conversation) -> str:
    """Where a stored conversation ran its code, if that is still there, else here."""
    return conversation.cwd if os.path.isdir(conversation.cwd) else os.getcwd()


def _change(session: Session, settings: Settings) -> bool:
    """Change a session's settings. Whether they changed what a model is chosen by."""
    before, session.settings = session.settings, settings
    return any(get(before, name) != get(settings, name) for name in ("llm.model", "llm.api_base", "offline"))
