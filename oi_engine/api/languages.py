"""``computer.languages``: the languages that an interpreter runs, built-in ones and the program's own classes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from oi_engine.api.kept import KeptList
from oi_engine.computer.custom_language import CustomLanguage
from oi_engine.computer.languages import LANGUAGES, Language, language
from oi_engine.computer.runtime import Runtime
from oi_engine.computer.runtimes import RuntimeFactory
from oi_engine.computer.sandbox import Confinement
from oi_engine.errors import InvalidSetting


@define(eq=False)
class Languages:
    """The list that the program sees and changes, and what it means for a session."""

    _kept: KeptList[Any] = field(factory=KeptList)
    _default: bool = field(default=True, init=False)

    def shown(self) -> list[Any]:
        """The list itself: built-in languages (``.name``, ``.aliases``) and classes."""
        self._adopt()
        if self._default:
            self._kept.show(language for language in LANGUAGES if language.runs in ("kernel", "repl"))
        return self._kept.items

    def set(self, entries: Iterable[Any]) -> None:
        """Have these languages and no others. Raises ``InvalidSetting`` for what is none."""
        checked = [_checked(entry) for entry in entries]
        self._default = False
        self._kept.show(checked)

    def offered(self) -> tuple[str | CustomLanguage, ...] | None:
        """The languages as ``RuntimeFactory`` has them; ``None`` while the program has changed nothing.

        Raises ``InvalidSetting`` for what was put into the list and is none.
        """
        self._adopt()
        if self._default:
            return None
        checked = map(_checked, self._kept.items)
        return tuple(entry.name if isinstance(entry, Language) else CustomLanguage.of(entry) for entry in checked)

    def _adopt(self) -> None:
        """Go by the list from when it is changed in place."""
        if self._default and self._kept.changed():
            self._default = False


@frozen
class Offered:
    """The runtimes of the languages that are in the list at the moment; see ``RuntimeFactory``."""

    _list: Languages
    _runtimes: RuntimeFactory

    @property
    def _now(self) -> RuntimeFactory:
        return evolve(self._runtimes, offered=self._list.offered())

    async def discover(self) -> tuple[str, ...]:
        """Look for installed Jupyter kernels, where any language is offered."""
        return await self._now.discover()

    def languages(self) -> tuple[str, ...]:
        """The languages that can run here."""
        return self._now.languages()

    def known_names(self) -> frozenset[str]:
        """Every name and alias of theirs."""
        return self._now.known_names()

    def canonical(self, name: str) -> str | None:
        """The language that is meant."""
        return self._now.canonical(name)

    def system_messages(self) -> tuple[str, ...]:
        """What the program's own languages add to the system message."""
        return self._now.system_messages()

    def runs_here(self, language: str) -> bool:
        """Whether a language is the program's own."""
        return self._now.runs_here(language)

    def make(self, language: str, cwd: str, spill: Path, confinement: Confinement | None = None) -> Runtime:
        """The runtime of a language. Raises ``LanguageUnavailable``."""
        return self._now.make(language, cwd, spill, confinement)


def _checked(entry: Any) -> Any:
    """A language as it is kept; names of built-in ones become those."""
    if isinstance(entry, str):
        found = language(entry)
        if found is None:
            raise InvalidSetting(f"{entry!r} is no built-in language.", "Give a class with `name` and `run`.")
        return found
    if isinstance(entry, Language):
        return entry
    CustomLanguage.of(entry)
    return entry
