"""Attributes that are settings: reading, setting, and what was meant by a name that there is not."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from oi_engine.api.core import Core
from oi_engine.api.hub import hub
from oi_engine.errors import NotHere
from oi_engine.settings.spellings import OLD_NAMES
from oi_engine.settings.tree import NOT_SETTINGS, SECTIONS, all_settings, find_setting


class Attributes:
    """``interpreter``, or one group of it. A setting is read and set as an attribute, under any documented name."""

    _prefix = ""

    def __init__(self, core: Core) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        """The value of a setting that is in force. Raises ``AttributeError``, with the name that was meant."""
        setting = None if name.startswith("_") else find_setting(self._prefix + name)
        if setting is None:
            raise self._unknown(name)
        return hub().call(self._core.get(setting.name))

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a setting of this interpreter. Raises ``AttributeError``, and ``InvalidSetting`` for a wrong value."""
        own = getattr(type(self), name, None)
        if name.startswith("_") or (isinstance(own, property) and own.fset is not None):
            object.__setattr__(self, name, value)
            return
        setting = find_setting(self._prefix + name)
        if setting is None:
            raise self._unknown(name)
        hub().call(self._core.set(setting.name, value))

    def __dir__(self) -> list[str]:
        """Methods and settings, for completion."""
        inside = (name.removeprefix(self._prefix) for name in all_settings() if name.startswith(self._prefix))
        return sorted({*(name for name in object.__dir__(self)), *(name for name in inside if "." not in name)})

    def _absent(self, name: str) -> NotHere | None:
        """What to say of a documented name that is not here."""
        return None

    def _unknown(self, name: str) -> AttributeError:
        where = f"interpreter.{self._prefix}"
        absent = self._absent(name)
        if absent is not None:
            return absent
        if name.startswith("_"):
            return AttributeError(name)
        if not self._prefix and name in SECTIONS:
            return AttributeError(f"interpreter.{name} is a group of settings: set what is in it.")
        meant = self._meant(name)
        return AttributeError(f"There is no {where}{name}." + (f" Did you mean interpreter.{meant}?" if meant else ""))

    def _meant(self, name: str) -> str:
        """The dotted name that is closest to a wrong one, within this group first."""
        own = {name: f"{self._prefix}{name}" for name in dir(self) if not name.startswith("_")}
        elsewhere = {full.rpartition(".")[2]: full for full in (*all_settings(), *NOT_SETTINGS)}
        candidates = {**OLD_NAMES, **elsewhere, **own}
        close = get_close_matches(name, own, n=1) or get_close_matches(name, candidates, n=1)
        return candidates[close[0]] if close else ""
