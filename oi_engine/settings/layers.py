"""Settings: how layers of them become the one tree that is in force.

A **layer** is what one place says: a profile, the environment, the editor. ``resolve`` lays them over each other in the
order of ``KINDS`` and says where each value is from and what could not be used: a bad value keeps what lies under it, a
bad *safety* value falls to the strictest. The workspace is the one layer that the person may not have written, so it is
bounded: what guards safety (``Setting.order``) it can only make stricter, and that holds over every other layer; what
decides where the conversation goes, what is run, or speaks in the person's name, it cannot set at all.

``read`` is the same for a single mapping. Both take the shape of a profile: nested, dotted, or older flat keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Literal, get_args

from attrs import NOTHING, Factory, define, field, frozen

from oi_engine.settings.spellings import OLD_NAMES, OLD_SECTIONS
from oi_engine.settings.tree import (
    MODES,
    NOT_SETTINGS,
    PROFILE_VERSION,
    SECTIONS,
    ComputerSettings,
    LlmSettings,
    SafeMode,
    Setting,
    Settings,
    all_settings,
    build,
    find_setting,
    get,
    names,
)
from oi_engine.settings.values import described, fit, from_text, shown

__all__ = [
    "KINDS",
    "ComputerSettings",
    "Layer",
    "LlmSettings",
    "Origin",
    "Problem",
    "Resolved",
    "SafeMode",
    "Setting",
    "Settings",
    "all_settings",
    "environment_layer",
    "find_setting",
    "from_text",
    "get",
    "names",
    "read",
    "resolve",
    "strictest_layer",
]

Kind = Literal["defaults", "default profile", "workspace", "profile", "environment", "editor", "session"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""The layers, from the lowest to the highest. The workspace's preferences give way to all that the person chose; its
guards hold over everything."""

Severity = Literal["error", "warning", "note"]

_LONGEST = 60
"""Characters of an unknown name that are looked at for what was meant."""
_MOST = 20
"""Unknown names of one layer that are said one by one: looking for what was meant takes a millisecond each."""


@frozen
class Problem:
    """What could not be used, or needs a word, for the person. ``line`` and ``column`` count from 1.

    An ``error`` means that a whole place could not be read, a ``warning`` that one value was not taken as it stands, a
    ``note`` that it was taken and does not do what it says.
    """

    message: str
    severity: Severity = "warning"
    name: str = ""
    where: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.where, self.line, self.column) if part)
        return f"{place}: {self.message}" if place else self.message


@frozen
class Layer:
    """What one place says. ``positions`` are the lines and columns of the names as they are spelled in ``data``."""

    kind: Kind
    data: Mapping[str, object] = field(repr=False)
    where: str = ""
    positions: Mapping[str, tuple[int, int | None]] = field(factory=dict, repr=False)
    problems: tuple[Problem, ...] = ()


@frozen
class Origin:
    """Where the value in force is from."""

    kind: Kind
    where: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.where, self.line) if part)
        return f"{self.kind} ({place})" if place else self.kind


@frozen
class Resolved:
    """The settings in force, the origin of each by its dotted name, and what is to be said about them."""

    settings: Settings
    origins: Mapping[str, Origin]
    problems: tuple[Problem, ...] = ()


def resolve(layers: Iterable[Layer]) -> Resolved:
    """Lay the layers over each other and over the defaults. Pure, and never raises, whatever the layers hold."""
    work = _Work()
    ordered = sorted(layers, key=lambda layer: KINDS.index(layer.kind))
    for layer in ordered:
        work.problems.extend(layer.problems)
        work.lay(layer)
    work.finish()
    return Resolved(build(work.values), work.origins, tuple(work.problems))


def read(data: Mapping[str, object], base: Settings | None = None) -> tuple[Settings, list[str]]:
    """Settings from one mapping of the person's own, over ``base``; and a sentence for each key that was not used."""
    work = _Work()
    if base is not None:
        work.values = {name: get(base, name) for name in all_settings()}
    work.lay(Layer("session", data))
    work.finish()
    return build(work.values), [problem.message for problem in work.problems]


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """The layer of the variables ``OI_…``. An empty variable counts as absent; an unknown one is said if it is close
    to one that exists, and is somebody else's if not."""
    known = {setting.environment: setting for setting in all_settings().values()}
    data: dict[str, object] = {}
    problems = []
    for variable, text in environ.items():
        if not variable.startswith("OI_") or not text.strip():
            continue
        if variable in known:
            data[known[variable].name] = from_text(text, known[variable])
        elif close := get_close_matches(variable[:_LONGEST], known, n=1, cutoff=0.85):
            message = f"Unknown variable {variable[:_LONGEST]!r}. Did you mean {close[0]!r}?"
            problems.append(Problem(message, name=variable, where="environment"))
    return Layer("environment", data, "environment", problems=tuple(problems))


def strictest_layer(kind: Kind, where: str = "") -> Layer:
    """What stands in for a place that cannot be read and never could: every guard at its strictest."""
    guards = (setting for setting in all_settings().values() if setting.order is not None)
    return Layer(kind, {setting.name: setting.strictest for setting in guards}, where)


@frozen
class _Entry:
    """One key of a layer: as it was spelled, the setting that it means, and its value."""

    spelled: str
    setting: Setting
    value: object


@define
class _Work:
    """Values on their way to being resolved."""

    values: dict[str, Any] = Factory(lambda: {name: setting.default for name, setting in all_settings().items()})
    origins: dict[str, Origin] = Factory(lambda: dict.fromkeys(all_settings(), Origin("defaults")))
    problems: list[Problem] = Factory(list)
    bounds: list[tuple[Layer, _Entry]] = Factory(list)

    def lay(self, layer: Layer) -> None:
        """Take one layer's values. The workspace's guards wait for ``finish``."""
        entries = list(self._entries(layer))
        if layer.kind != "workspace":
            self._modes(layer, entries)
        for entry in entries:
            if not self._may_set(layer, entry):
                continue
            if layer.kind == "workspace" and entry.setting.scope == "tighten":
                self.bounds.append((layer, entry))
            else:
                self._take(layer, entry)

    def finish(self) -> None:
        """Apply what holds over every layer."""
        for layer, entry in self.bounds:
            self._tighten(layer, entry)
        if self.values["auto_run"] and self.values["safe_mode"] != "off":
            self.values["auto_run"] = False
            self.origins["auto_run"] = self.origins["safe_mode"]
            message = f"safe_mode is {shown(self.values['safe_mode'])}, which turns auto_run off."
            self.problems.append(Problem(message, "note", "auto_run"))

    def _entries(self, layer: Layer) -> Iterator[_Entry]:
        unknown = 0
        for spelled, value in _flat(layer.data):
            setting = find_setting(spelled)
            if setting is not None:
                yield _Entry(spelled, setting, value)
            elif spelled == "version":
                if problem := _version_problem(value):
                    self._say(layer, spelled, problem)
            elif spelled in NOT_SETTINGS:
                self._say(layer, spelled, NOT_SETTINGS[spelled])
            elif spelled not in SECTIONS:
                unknown += 1
                if unknown <= _MOST:
                    self._say(layer, spelled, _unknown(spelled))
            elif value is not None:  # with everything under it commented out it is null
                self._say(layer, spelled, f"{spelled} is a group of settings, not {shown(value)}.")
        if unknown > _MOST:
            self._say(layer, "", f"{unknown - _MOST:,} more unknown settings.")

    def _modes(self, layer: Layer, entries: list[_Entry]) -> None:
        for entry in entries:
            mode = entry.setting.name
            if mode in MODES and self._fitted(entry) is True:
                for name, value in MODES[mode].items():
                    self._put(layer, entry.spelled, all_settings()[name], value)

    def _may_set(self, layer: Layer, entry: _Entry) -> bool:
        scope = entry.setting.scope
        if layer.kind == "workspace" and scope in ("user", "choice"):
            self._say(layer, entry.spelled, f"{entry.spelled} is not taken from a workspace: set it in your profile.")
            return False
        if layer.kind in ("default profile", "profile") and scope == "choice":
            self._say(layer, entry.spelled, f"{entry.spelled} is not taken from a profile: a profile chooses no other.")
            return False
        return True

    def _take(self, layer: Layer, entry: _Entry) -> None:
        setting = entry.setting
        fitted = self._fitted(entry)
        if fitted is NOTHING:
            self._say(layer, entry.spelled, self._misfit(layer, entry))
            fitted = setting.strictest
        if fitted is not NOTHING:
            self._put(layer, entry.spelled, setting, fitted)
            if setting.note and fitted != setting.default:
                self._say(layer, entry.spelled, f"{_label(layer, entry)}: {setting.note}", "note")

    def _fitted(self, entry: _Entry) -> Any:
        return fit(entry.value, entry.setting)

    def _tighten(self, layer: Layer, entry: _Entry) -> None:
        setting = entry.setting
        fitted = self._fitted(entry)
        if fitted is NOTHING:
            self._say(layer, entry.spelled, self._misfit(layer, entry))
            fitted = setting.strictest
        asked, held = setting.strictness(fitted), setting.strictness(self.values[setting.name])
        if asked > held:
            self._put(layer, entry.spelled, setting, fitted)
        elif asked < held:
            held_value = shown(self.values[setting.name])
            message = f"a workspace can only make {entry.spelled} stricter: it stays {held_value}, not {shown(fitted)}."
            self._say(layer, entry.spelled, message)

    def _misfit(self, layer: Layer, entry: _Entry) -> str:
        """Why a value was not taken, and what is in its place."""
        setting = entry.setting
        must = f"{_label(layer, entry)} must be {described(setting)}"
        if not setting.secret:
            must += f", not {shown(entry.value)}"
        if _is_text(setting) and isinstance(entry.value, int | float) and not isinstance(entry.value, bool):
            must += " (put it in quotes)"
        if setting.strictest is not NOTHING:
            return f"{must}; the strictest value, {shown(setting.strictest)}, is taken."
        kept = "as it was" if setting.secret else shown(self.values[setting.name])
        return f"{must}; it stays {kept}."

    def _put(self, layer: Layer, spelled: str, setting: Setting, value: object) -> None:
        line, _ = layer.positions.get(spelled, (None, None))
        self.values[setting.name] = value
        self.origins[setting.name] = Origin(layer.kind, layer.where, line)

    def _say(self, layer: Layer, spelled: str, message: str, severity: Severity = "warning") -> None:
        line, column = layer.positions.get(spelled, (None, None))
        self.problems.append(Problem(message, severity, spelled, layer.where, line, column))


def _label(layer: Layer, entry: _Entry) -> str:
    return entry.setting.environment if layer.kind == "environment" else entry.spelled


def _is_text(setting: Setting) -> bool:
    return setting.kind is str or str in get_args(setting.kind)


def _flat(data: Mapping[Any, object]) -> Iterator[tuple[str, object]]:
    """Every key as a dotted name. Groups are entered, once: what is nested deeper is a value."""
    for key, value in data.items():
        name = key if isinstance(key, str) else shown(key)
        if (name in SECTIONS or name in OLD_SECTIONS) and isinstance(value, Mapping):
            for inner, item in value.items():
                yield f"{name}.{inner if isinstance(inner, str) else shown(inner)}", item
        else:
            yield name, value


def _unknown(name: str) -> str:
    short = name if len(name) <= _LONGEST else name[:_LONGEST] + "…"
    close = get_close_matches(name[:_LONGEST], [*names(), *OLD_NAMES], n=1)
    return f"Unknown setting {short!r}." + (f" Did you mean {close[0]!r}?" if close else "")


def _version_problem(value: object) -> str:
    """What there is to say about the ``version`` of a profile; nothing, mostly."""
    if not isinstance(value, str | int | float) or not re.fullmatch(
        r"\d{1,9}(\.\d{1,9}){0,3}", shown(value).strip("'")
    ):
        return f"version is the version of the profile format, such as 0.2.5, not {shown(value)}."
    if tuple(int(part) for part in str(value).split(".")) > PROFILE_VERSION:
        return f"version {value} of the profile format is later than 0.2.5: what is known of it is read."
    return ""
