"""``computer.languages``: the languages that an interpreter runs, built-in ones and the program's own classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import NOTHING, define, field

from oi_engine.api.kept import KeptList
from oi_engine.computer.computer import RuntimeMaker
from oi_engine.computer.custom_language import CustomLanguage, CustomRuntime
from oi_engine.computer.languages import LANGUAGES, Language, canonical, language
from oi_engine.computer.runtime import Runtime
from oi_engine.errors import InvalidSetting, LanguageUnavailable


@define(eq=False)
class Languages:
    """The list that the program sees and changes, and what it means for a session."""

    _kept: KeptList[Any] = field(factory=KeptList)
    _default: bool = field(default=True, init=False)

    def shown(self) -> list[Any]:
        """The list itself: built-in languages (``.name``, ``.aliases``) and classes."""
        if self._default:
            self._kept.show(language for language in LANGUAGES if language.runs in ("kernel", "repl"))
            self._default = False
        return self._kept.items

    def set(self, entries: Iterable[Any]) -> None:
        """Have these languages and no others. Raises ``InvalidSetting`` for what is none."""
        checked = [_checked(entry) for entry in entries]
        self._default = False
        self._kept.show(checked)

    def names(self, installed: Sequence[str]) -> tuple[str, ...]:
        """The names that the model is told: of the built-in languages, those that are installed."""
        if self._default:
            return tuple(installed)
        return tuple(
            name
            for name, entry in self._entries().items()
            if not isinstance(entry, Language) or entry.name in installed
        )

    def instructions(self) -> list[str]:
        """What the program's own languages add to the system message."""
        found = (getattr(entry, "system_message", None) for entry in self._entries().values())
        return [text for text in found if isinstance(text, str) and text]

    def maker(self, built_in: RuntimeMaker) -> RuntimeMaker:
        """What makes the runtime of a language of this list."""

        def make(name: str, cwd: str) -> Runtime:
            entry = None if self._default else self._entries().get(name, NOTHING)
            if entry is NOTHING:
                raise LanguageUnavailable(f"{name} is not among the languages of this interpreter.")
            if entry is None or isinstance(entry, Language):
                return built_in(name, cwd)
            return CustomRuntime(CustomLanguage.of(entry))

        return make

    def _entries(self) -> dict[str, Any]:
        """What runs each language. Raises ``InvalidSetting`` for what was put into the list and is none."""
        return {_name(entry): entry for entry in map(_checked, self._kept.items)}


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


def _name(entry: Any) -> str:
    name = str(entry.name)
    return canonical(name) or name.strip().lower()
