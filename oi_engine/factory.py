"""Puts an engine together: which model answers, which runtime runs which language, and their common lifetime."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Mapping

import attrs
from attrs import evolve, frozen

from oi_engine.computer.runtime import Runtime
from oi_engine.computer.runtimes import RuntimeFactory
from oi_engine.computer.spill import spill_folder
from oi_engine.messages import new_id
from oi_engine.models import tour
from oi_engine.models.discovery import discover
from oi_engine.models.model import Model, ModelEvent, ModelInfo, ModelRequest
from oi_engine.models.worker_client import ModelWorker, WorkerModel
from oi_engine.safety.secrets import scrubbed
from oi_engine.session.session import Session
from oi_engine.settings import LlmSettings, Settings


@frozen
class Choice:
    """The model that answers, and why it was chosen, in a sentence for the person."""

    model: str
    why: str
    api_base: str | None = None


class Engine:
    """Makes sessions that share one model worker.

    ``keys`` are the provider keys (name of the variable to value), taken out of the environment by
    ``safety.secrets.take_provider_keys``: only the model worker gets them.
    """

    def __init__(self, settings: Settings | None = None, keys: Mapping[str, str] | None = None) -> None:
        self.settings = settings or Settings()
        self._keys = dict(keys or {})
        self._worker = ModelWorker(self._keys)
        self._sessions: list[Session] = []

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
        self, *, cwd: str, settings: Settings | None = None, model: Choice | None = None, title: str = ""
    ) -> Session:
        """A session that runs code in ``cwd``; without ``model``, one is chosen when the first message is sent."""
        own = attrs.evolve(settings or self.settings)
        runtimes = RuntimeFactory(own.computer, scrubbed(os.environ, own.computer.env_allow))
        session_id = new_id("s")

        def make_runtime(language: str, folder: str) -> Runtime:
            return runtimes.make(language, folder, spill_folder(session_id))

        session = Session(
            ChosenModel(self, own.llm, model),
            make_runtime,
            own,
            languages=runtimes.languages(),
            session_id=session_id,
            cwd=cwd,
            title=title,
        )
        self._sessions.append(session)
        return session

    def model(self, name: str) -> Model:
        """The model behind a name: the tour, or the worker."""
        return tour.TourModel() if name == tour.NAME else WorkerModel(self._worker)

    async def close(self) -> None:
        """End every session and the model worker."""
        await asyncio.gather(*(session.close() for session in self._sessions))
        await self._worker.close()


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
