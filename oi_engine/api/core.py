"""One interpreter on the hub's loop: its settings, its session, and one run after the other."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from attrs import NOTHING, asdict, define, evolve, field

from oi_engine.api.answering import Answering
from oi_engine.api.hub import hub
from oi_engine.api.kept import KeptList
from oi_engine.api.languages import Languages, Offered
from oi_engine.api.own_code import run_own_code
from oi_engine.api.run import Chunk, Mode, Run, Shown, failure_of
from oi_engine.approval import Always, Proposal
from oi_engine.computer.runtimes import RuntimeFactory
from oi_engine.errors import InvalidSetting, SessionBusy, UnknownInput, UnknownProposal
from oi_engine.factory import Engine, history_path
from oi_engine.messages import Message
from oi_engine.models.custom import Completions
from oi_engine.profiles.live import LiveSettings, Sources, find_profile
from oi_engine.safety.secrets import is_provider_key
from oi_engine.session.session import Session
from oi_engine.session.state import Snapshot
from oi_engine.settings.layers import Resolved
from oi_engine.settings.tree import Settings, all_settings, get
from oi_engine.settings.values import described, fit, shown

log = logging.getLogger(__name__)

MakeShown = Callable[[Session, Engine], Shown]


@define(eq=False)
class Core:
    """The state of one interpreter. Everything here belongs to the hub's loop."""

    languages: Languages = field(factory=Languages)
    run: Run | None = field(default=None, init=False)
    _values: dict[str, object] = field(factory=dict, init=False)
    _lists: dict[str, KeptList[Any]] = field(factory=dict, init=False)
    _live: LiveSettings = field(factory=LiveSettings, init=False)
    _resolved: Resolved | None = field(default=None, init=False)
    _told: set[str] = field(factory=set, init=False)
    _completions: Completions | None = field(default=None, init=False)
    _answering: Answering | None = field(default=None, init=False)
    _engine: Engine | None = field(default=None, init=False)
    _session: Session | None = field(default=None, init=False)
    _shown: Shown | None = field(default=None, init=False)
    _busy: bool = field(default=False, init=False)

    # --- settings ----------------------------------------------------------------------------------------------

    async def get(self, name: str) -> Any:
        """The value of a setting that is in force. A list can be changed in place."""
        value = get((await self.resolved()).settings, name)
        if not isinstance(value, tuple):
            return value
        kept = self._lists.setdefault(name, KeptList())
        kept.show(value)
        return kept.items

    async def set(self, name: str, value: object) -> None:
        """Set a setting of this interpreter. Raises ``InvalidSetting``; a guard of safety is then at its strictest."""
        setting = all_settings()[name]
        fitted = fit(value, setting)
        self._lists.pop(name, None)
        taken = setting.strictest if fitted is NOTHING else fitted
        if taken is not NOTHING:
            self._values[name] = taken
        self._resolved = None
        if self.run is not None:
            await self._apply(self.run.mode)
        if fitted is NOTHING:
            instead = "" if setting.secret else f", not {shown(value)}"
            raise InvalidSetting(f"{name} must be {described(setting)}{instead}.")

    async def go_by(self, name: str) -> None:
        """Choose a profile. Raises ``ProfileError``, and then goes by the one before."""
        find_profile(name, self._live.sources.folder)
        await self.set("profile", name)

    async def resolved(self) -> Resolved:
        """All settings: this interpreter's own over the environment, its profile, and the default profile."""
        for name, kept in self._lists.items():
            if kept.changed():
                self._values[name] = list(kept.items)
                self._resolved = None
        if self._resolved is None:
            self._resolved = await self._live.change(Sources(session=dict(self._values), workspaces=(Path.cwd(),)))
            for problem in self._resolved.problems:
                if str(problem) not in self._told:
                    self._told.add(str(problem))
                    log.warning("%s", problem)
        return self._resolved

    async def complete_with(self, completions: Completions | None) -> None:
        """Have a function reply in place of a model, or (``None``) no longer."""
        self._completions = completions
        if self._answering is not None:
            self._answering.completions = completions

    async def completions(self) -> Completions | None:
        """The function that replies, if one does."""
        return self._completions

    async def _apply(self, mode: Mode) -> Session:
        """The session, going by the settings of this moment."""
        settings = (await self.resolved()).settings
        # The program's own Python, unless a setting names another: code finds the packages that the program has.
        python = settings.computer.python or sys.executable
        settings = evolve(settings, computer=evolve(settings.computer, python=python))
        session = self._session or self._open(settings)
        offered = self._offered
        told = [settings.custom_instructions, *(offered.system_messages() if offered else ())]
        unwatched = mode.stream and settings.auto_run == "sandboxed"
        session.settings = evolve(
            settings,
            # A caller who reads the stream may break off at a confirmation, whatever the settings say.
            auto_run=False if mode.stream else settings.auto_run,
            sandbox="workspace" if unwatched and settings.sandbox == "off" else settings.sandbox,
            custom_instructions="\n\n".join(text for text in told if text),
        )
        if offered is not None:
            session.computer.languages = offered.languages()
        if self._answering is not None and self._engine is not None:
            self._answering.llm = settings.llm
            self._engine.settings = settings
        return session

    # --- the session -------------------------------------------------------------------------------------------

    _offered: Offered | None = field(default=None, init=False)
    _forget: Callable[[], None] = field(default=lambda: None, init=False)

    def _open(self, settings: Settings) -> Session:
        keys = {name: value for name, value in os.environ.items() if value and is_provider_key(name)}
        history = history_path(settings) if settings.conversation_history else None
        engine = Engine(settings, keys, history=history, worker=hub().worker(keys), languages=self._over)
        self._answering = Answering(engine, settings.llm, self._completions)
        session = engine.new_session(cwd=os.getcwd(), settings=settings, answering=self._answering)
        session.preface = tuple  # what the model is told, the program says
        self._engine, self._session = engine, session
        self._forget = hub().close_at_exit(engine.close)
        return session

    def _over(self, runtimes: RuntimeFactory) -> Offered:
        self._offered = Offered(self.languages, runtimes)
        return self._offered

    async def session(self) -> Session:
        """The session; made at the first call."""
        return await self._apply(Mode() if self.run is None else self.run.mode)

    async def begin(
        self, messages: Sequence[Message], mode: Mode, sink: Callable[[Chunk | None], None], show: MakeShown | None
    ) -> Run:
        """Start a run. Raises ``SessionBusy`` while another one is under way."""
        await self._free()
        self._busy = True
        try:
            self._resolved = None  # a profile may have been edited meanwhile
            session = await self._apply(mode)
            shown = show(session, self._engine) if show is not None and self._engine is not None else None
            run = Run(session, mode, self._runs_by_itself, shown, sink)
            run.start(messages)
            self.run = run
        finally:
            self._busy = False
        return run

    async def converse(self, show: MakeShown) -> None:
        """Hold a conversation in the terminal until the person leaves it."""
        await self._free()
        self._busy = True
        try:
            self._resolved = None
            session = await self._apply(Mode())
            assert self._engine is not None
            self._shown = show(session, self._engine)
            await self._shown.converse()
            self._go_over(self._shown.session)
        finally:
            self._shown = None
            self._busy = False

    def _go_over(self, session: Session) -> None:
        """Go on with the session that the person has opened with a magic command."""
        if session is not self._session and self._answering is not None:
            session.model = self._answering
            self._session = session

    async def interrupt(self) -> None:
        """Ctrl-C came as a signal while a conversation is in the terminal."""
        if self._shown is not None:
            self._shown.interrupt()

    async def result(self, run: Run, start: int) -> list[Chunk]:
        """Wait for the end of a run: the messages from ``start`` on. Raises what the turn failed with."""
        await run.end()
        raised = self._answering.failure if self._answering is not None else None
        error = failure_of(run, raised)
        if error is not None and not run.stopped:
            raise error
        return (await self.messages())[start:]

    async def decide(self, code: str | None, *, always: Always | bool) -> None:
        """Run the code that waits, or ``code`` in its place."""
        proposal = self._waiting()
        proposal.approve(self._proposed(), code, always=always)

    async def reject(self, reason: str) -> None:
        """Do not run the code that waits."""
        self._waiting().reject(self._proposed(), reason)

    async def proposal(self) -> Chunk | None:
        """The code that waits for a decision, if some does."""
        proposal = self._session.snapshot.proposal if self._session is not None else None
        if proposal is None:
            return None
        cell = proposal.cell
        return {"id": proposal.id, "language": cell.language, "code": cell.code, "findings": list(proposal.findings)}

    async def question(self) -> Chunk | None:
        """What a program asks the person now, if one does."""
        pending = self._session.snapshot.input if self._session is not None else None
        return {"id": pending.id, "prompt": pending.prompt, "password": pending.password} if pending else None

    async def answer(self, text: str) -> None:
        """Give the program that asks its line. Raises ``UnknownInput``."""
        pending = self._session.snapshot.input if self._session is not None else None
        if self._session is None or pending is None:
            raise UnknownInput("No program waits for input.")
        self._session.answer(pending.id, text)

    async def usage(self) -> Chunk:
        """What the conversation has cost, and its last turn."""
        now = Snapshot() if self._session is None else self._session.snapshot
        return {**asdict(now.usage), "turn": asdict(now.turn_usage)}

    async def stop(self) -> bool:
        """Stop what goes on. Whether anything did."""
        run = self.run
        if run is None or run.over:
            return False
        await run.stop()
        return True

    # --- the conversation --------------------------------------------------------------------------------------

    async def messages(self) -> list[Chunk]:
        """The conversation in the documented form."""
        return [] if self._session is None else [message.to_dict() for message in self._session.messages]

    async def conversation(self, messages: Sequence[Message]) -> None:
        """Have this conversation in place of the one there is; what both begin with is kept as it is."""
        await self._free()
        if not messages and (self._session is None or not self._session.messages):
            return
        session = await self.session()
        session.rewrite(messages)

    async def undo(self) -> None:
        """Take back the last request and what came of it."""
        await self._free()
        if self._session is not None:
            self._session.undo()

    # --- the computer ------------------------------------------------------------------------------------------

    async def execute(self, language: str, code: str) -> list[Chunk]:
        """Run the program's own code, beside the conversation: the model is not told of it."""
        await self._free()
        session = await self.session()
        self._busy = True
        try:
            return await run_own_code(session, language, code)
        finally:
            self._busy = False

    async def terminate(self) -> list[str]:
        """End every kernel and driver; the next run starts afresh."""
        await self._free()
        return [] if self._session is None else await self._session.computer.restart()

    async def shown_languages(self) -> list[Any]:
        """The list that ``computer.languages`` is."""
        return self.languages.shown()

    async def set_languages(self, entries: Iterable[Any]) -> None:
        """Have these languages and no others."""
        self.languages.set(entries)

    async def close(self) -> None:
        """End the session, its kernels and what it still has to store. A later call begins a new conversation."""
        run, engine = self.run, self._engine
        self.run = self._engine = self._session = self._answering = None
        self._forget()
        if engine is not None:
            if run is not None and not run.over:
                await run.stop()
            await engine.close()

    # --- small things ------------------------------------------------------------------------------------------

    def _runs_by_itself(self, proposal: Proposal) -> bool:
        """Whether the settings let a proposal run that the caller has read past."""
        if self._resolved is None or self._session is None:
            return False
        return self._session.policy.judge(proposal.cell, self._resolved.settings).verdict == "run"

    async def _free(self) -> None:
        if self._busy or (self.run is not None and not self.run.over):
            raise SessionBusy(
                "This interpreter is still at work on something else.",
                "Call wait() or stop() first, or use another OpenInterpreter().",
            )

    def _waiting(self) -> Session:
        if self._session is None or self._session.snapshot.proposal is None:
            raise UnknownProposal("No code waits for a decision.", "It may have been decided already.")
        return self._session

    def _proposed(self) -> str:
        proposal = self._waiting().snapshot.proposal
        assert proposal is not None
        return proposal.id
