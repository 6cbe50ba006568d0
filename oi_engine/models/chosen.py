"""The model that a session ends up with: chosen by its settings, or for it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Protocol

from attrs import evolve, frozen

from oi_engine.models.model import Model, ModelEvent, ModelInfo, ModelRequest
from oi_engine.settings import Settings


@frozen
class Choice:
    """The model that answers, and why it was chosen, in a sentence for the person.

    ``key``: the variable of the provider's key that it was found by, if it was.
    """

    model: str
    why: str
    api_base: str | None = None
    key: str = ""


class Chooser(Protocol):
    """What knows the models: the engine."""

    async def choose_model(self, settings: Settings | None = None) -> Choice:
        """The model that these settings lead to. Raises ``ModelError``."""
        ...

    def model(self, name: str) -> Model:
        """The model behind a name."""
        ...


class ChosenModel:
    """The model that a session ends up with, chosen when it is first needed.

    ``on_choice`` is called with its name, as LiteLLM has it, whenever another answers from then on.
    """

    def __init__(self, engine: Chooser, settings: Settings, choice: Choice | None = None) -> None:
        self._engine = engine
        self._settings = settings
        self._choice = choice
        self.on_choice: Callable[[str], None] = lambda _: None
        self.given = choice is not None
        """Chosen for this session, and not by settings."""

    @property
    def choice(self) -> Choice | None:
        """The model that answers; ``None`` where none is chosen yet."""
        return self._choice

    @choice.setter
    def choice(self, choice: Choice | None) -> None:
        self._choice = choice
        self.on_choice(self.name)

    @property
    def name(self) -> str:
        """Its name, as LiteLLM has it; empty where none is chosen yet."""
        return self._settings.llm.model if self._choice is None else self._choice.model

    def go_by(self, settings: Settings) -> None:
        """Choose anew, by other settings, for the next request."""
        self._settings = settings
        self.choice = None
        self.given = False

    async def chosen(self) -> Choice:
        """The model that answers, chosen now if it was not before. Raises ``ModelError``."""
        if self.choice is None:
            self.choice = await self._engine.choose_model(self._settings)
        return self.choice

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Pass the request on, under the chosen model's name."""
        choice = await self.chosen()
        named = evolve(request, model=choice.model, api_base=request.api_base or choice.api_base)
        async with contextlib.aclosing(self._engine.model(choice.model).stream(named)) as events:
            async for event in events:
                yield event

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        """What is known of the chosen model."""
        choice = await self.chosen()
        return await self._engine.model(choice.model).info(choice.model, api_base or choice.api_base)

    async def warm_up(self) -> None:
        """Choose, and get the chosen one ready."""
        choice = await self.chosen()
        await self._engine.model(choice.model).warm_up()

    async def close(self) -> None:
        """The engine closes what its sessions share."""
