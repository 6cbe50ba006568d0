"""The model of one interpreter: the function that the program set, else the model that the settings name now."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

from attrs import define, evolve, field

from oi_engine.errors import OiError
from oi_engine.factory import Engine
from oi_engine.models.chosen import Choice
from oi_engine.models.custom import CallableModel, Completions
from oi_engine.models.model import Model, ModelEvent, ModelInfo, ModelRequest
from oi_engine.settings import LlmSettings


@define
class Answering:
    """A ``Model`` that follows ``llm.*`` and ``llm.completions`` as they change between two requests.

    ``failure`` is what the last request raised: the stream has its words alone, a program wants the error.
    """

    _engine: Engine
    llm: LlmSettings = field(factory=LlmSettings)
    completions: Completions | None = None
    failure: OiError | None = field(default=None, init=False)
    _found: dict[str | None, Choice] = field(factory=dict, init=False)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask the model that answers now; see ``Model.stream``."""
        self.failure = None
        try:
            model, choice = await self._now()
            named = evolve(request, model=choice.model, api_base=choice.api_base or request.api_base)
            async with contextlib.aclosing(model.stream(named)) as events:
                async for event in events:
                    yield event
        except OiError as error:
            self.failure = error
            raise

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        """What is known of the model that answers now."""
        answering, choice = await self._now()
        return await answering.info(choice.model, choice.api_base or api_base)

    async def warm_up(self) -> None:
        """Nothing: a program's first request comes at once."""

    async def close(self) -> None:
        """The engine closes what its sessions share."""

    async def _now(self) -> tuple[Model, Choice]:
        if self.completions is not None:
            return CallableModel(self.completions), Choice(self.llm.model or "custom", "", self.llm.api_base)
        choice = await self._chosen()
        return self._engine.model(choice.model), choice

    async def _chosen(self) -> Choice:
        """The choice for these settings; what has to be looked for is looked for once."""
        if self.llm.model:
            return await self._engine.choose_model(evolve(self._engine.settings, llm=self.llm))
        base = self.llm.api_base
        if base not in self._found:
            self._found[base] = await self._engine.choose_model(evolve(self._engine.settings, llm=self.llm))
        return self._found[base]
