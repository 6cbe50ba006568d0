"""The ``interpreter`` of a Python profile: it takes settings down, and does nothing.

A profile is read by itself: what it reads from ``interpreter`` are the defaults and what it has set before.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from types import FrameType
from typing import Any

from oi_engine.settings.spellings import OLD_NAMES
from oi_engine.settings.tree import NOT_SETTINGS, SECTIONS, all_settings, find_setting

_PLAIN = (type(None), bool, int, float, str)


class Notes:
    """What a profile has set so far. ``path`` is the profile's, to find the lines in it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._values: dict[str, object] = {}
        self._lines: dict[str, int] = {}
        self._read: dict[str, list[str]] = {}

    def get(self, name: str) -> object:
        """What was set, else the default. A list can be changed in place."""
        setting = find_setting(name)
        if setting is None:
            raise AttributeError(_unknown(name))
        if setting.name in self._values:
            return self._values[setting.name]
        if isinstance(setting.default, tuple):
            return self._read.setdefault(setting.name, list(setting.default))
        return setting.default

    def set(self, name: str, value: object) -> None:
        """Take a value down. Raises ``AttributeError`` for a wrong name, ``TypeError`` for what is no plain value."""
        setting = find_setting(name)
        if setting is None:
            raise AttributeError(_unknown(name))
        if not _is_plain(value):
            raise TypeError(
                f"{setting.name} cannot be set to {type(value).__name__} in a profile: it takes text, numbers, true, "
                "false, nothing and lists of them."
            )
        self._values[setting.name] = value
        if line := self._line():
            self._lines[setting.name] = line

    def result(self) -> dict[str, Any]:
        """``{"data": {name: value}, "lines": {name: line}}``, for JSON."""
        changed = {name: items for name, items in self._read.items() if tuple(items) != all_settings()[name].default}
        return {"data": {**changed, **self._values}, "lines": self._lines}

    def _line(self) -> int | None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self._path:
            frame = frame.f_back
        return frame.f_lineno if frame is not None else None


class Recorder:
    """``interpreter``, or one group of it: attributes are settings."""

    def __init__(self, notes: Notes, prefix: str = "") -> None:
        object.__setattr__(self, "_notes", notes)
        object.__setattr__(self, "_prefix", prefix)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copy, inspect and others look for
            raise AttributeError(name)
        if not self._prefix and name in SECTIONS:
            return Recorder(self._notes, f"{name}.")
        return self._notes.get(self._prefix + name)

    def __setattr__(self, name: str, value: object) -> None:
        if not self._prefix and name in SECTIONS:
            raise AttributeError(f"interpreter.{name} is a group of settings: set what is in it.")
        self._notes.set(self._prefix + name, value)

    def __dir__(self) -> list[str]:
        inside = [name.removeprefix(self._prefix) for name in all_settings() if name.startswith(self._prefix)]
        return sorted({name.split(".")[0] for name in inside})

    def __repr__(self) -> str:
        return f"<interpreter{'.' if self._prefix else ''}{self._prefix.rstrip('.')} of a profile>"


def _unknown(name: str) -> str:
    if name in NOT_SETTINGS:
        return f"interpreter.{name} cannot be used in a profile. {NOT_SETTINGS[name]}"
    close = get_close_matches(name, [*all_settings(), *OLD_NAMES], n=1)
    hint = f" Did you mean 'interpreter.{OLD_NAMES.get(close[0], close[0])}'?" if close else ""
    return f"interpreter.{name} is no setting, and a profile can only set settings.{hint}"


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, _PLAIN) for item in value)
    return isinstance(value, _PLAIN)
