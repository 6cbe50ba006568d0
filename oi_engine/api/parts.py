"""``interpreter.llm`` and ``interpreter.computer``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oi_engine.api.attributes import Attributes
from oi_engine.api.hub import hub
from oi_engine.errors import NotHere
from oi_engine.models.custom import Completions

OS_MODE = ("display", "keyboard", "mouse", "clipboard", "os", "mail", "sms", "contacts", "calendar", "browser", "files")
"""The parts of ``interpreter.computer`` that OS mode and the computer API have (``code-execution/computer-api``)."""


class Llm(Attributes):
    """The language model: ``model``, ``temperature`` and the other settings, and ``completions``."""

    _prefix = "llm."

    @property
    def completions(self) -> Completions | None:
        """The function that replies in place of a model (``language-models/custom-models``); ``None``: a model does."""
        return hub().call(self._core.completions())

    @completions.setter
    def completions(self, function: Completions | None) -> None:
        if function is not None and not callable(function):
            raise TypeError("llm.completions is a function that yields chunks in OpenAI's form, or None.")
        hub().call(self._core.complete_with(function))

    def __repr__(self) -> str:
        return f"<llm {self.model or 'not chosen yet'}>"


class Computer(Attributes):
    """The computer: runs code in the kernels that the model's code runs in."""

    _prefix = "computer."

    @property
    def languages(self) -> list[Any]:
        """The languages that run here, built-in ones and classes of the program's own. Can be changed in place."""
        return hub().call(self._core.shown_languages())

    @languages.setter
    def languages(self, entries: Iterable[Any]) -> None:
        hub().call(self._core.set_languages(entries))

    def _absent(self, name: str) -> NotHere | None:
        if name not in OS_MODE:
            return None
        return NotHere(
            f"interpreter.computer.{name} is not here: oi-lsp has no OS mode and no computer API. It does not control "
            "screen, mouse, keyboard, mail or calendar.",
            "Code runs in ordinary kernels: have it use a package for the task.",
        )

    def __repr__(self) -> str:
        return f"<computer with {', '.join(language.name for language in self.languages)}>"


class SyncComputer(Computer):
    """The computer of an ``OpenInterpreter``."""

    def run(self, language: str, code: str) -> list[dict[str, Any]]:
        """Run code of the program's own; answers what it put out, as LMC messages of role ``computer``.

        It needs no approval, and neither it nor its output is in the conversation. Raises ``LanguageUnavailable``,
        ``KernelFailed``, and ``SessionBusy`` in mid-turn. An exception in the code is in the output.
        """
        return hub().call(self._core.execute(language, code))

    def terminate(self) -> None:
        """End every kernel; variables are gone, and the next run starts afresh."""
        hub().call(self._core.terminate())


class AsyncComputer(Computer):
    """The computer of an ``AsyncInterpreter``: as ``SyncComputer``, to be awaited."""

    async def run(self, language: str, code: str) -> list[dict[str, Any]]:
        """See ``SyncComputer.run``."""
        return await hub().acall(self._core.execute(language, code))

    async def terminate(self) -> None:
        """See ``SyncComputer.terminate``."""
        await hub().acall(self._core.terminate())
