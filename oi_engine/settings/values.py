"""Values of settings: whether one fits its setting, how text becomes one, and how one is shown."""

from __future__ import annotations

import json
import math
import reprlib
import types
from typing import Any, Literal, Union, get_args, get_origin

from attrs import NOTHING

from oi_engine.settings.tree import Setting

_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")


def fit(value: object, setting: Setting) -> Any:
    """The value as the setting's type and within its bounds, or ``attrs.NOTHING``. Never raises.

    No text is read as a number or a truth value.
    """
    fitted = _fit(value, setting.kind)
    if isinstance(fitted, int | float) and not isinstance(fitted, bool) and not setting.low <= fitted <= setting.high:
        return NOTHING
    return fitted


def _fit(value: object, kind: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        fits = (_fit(value, option) for option in get_args(kind))
        return next((fitted for fitted in fits if fitted is not NOTHING), NOTHING)
    if origin is Literal:
        if value is False and "off" in get_args(kind):
            return "off"  # what YAML 1.1 makes of a plain `off`
        return value if isinstance(value, str) and value in get_args(kind) else NOTHING
    if origin is tuple:
        fits_all = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        return tuple(value) if fits_all else NOTHING  # type: ignore[arg-type]
    if kind is float:
        return _number(value)
    if isinstance(value, bool) and kind is not bool:
        return NOTHING
    return value if isinstance(value, kind) else NOTHING


def _number(value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NOTHING
    try:
        number = float(value)
    except OverflowError:
        return NOTHING
    return number if math.isfinite(number) else NOTHING


def from_text(text: str, setting: Setting) -> object:
    """What a text stands for where only text can be given: an environment variable, a flag, a magic command.

    Truth is ``true``, ``yes``, ``on`` or ``1``, and the opposites; ``null`` is no value; a list is a JSON array or
    names separated by commas. A text that stands for nothing that fits comes back as it is, for ``fit`` to refuse.
    """
    for kind in _kinds(setting.kind):
        value = _from_text(text.strip(), kind)
        if value is not NOTHING:
            return value
    return text


def _kinds(kind: Any) -> list[Any]:
    """The kinds that a text may stand for; text itself last."""
    options = list(get_args(kind)) if get_origin(kind) in (Union, types.UnionType) else [kind]
    return sorted(options, key=lambda option: option is str)


def _from_text(text: str, kind: Any) -> Any:
    if kind is bool:
        folded = text.lower()
        return True if folded in _TRUE else False if folded in _FALSE else NOTHING
    if kind is type(None):
        return None if text.lower() == "null" else NOTHING
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return NOTHING
    if get_origin(kind) is tuple:
        return _list_from_text(text)
    return NOTHING


def _list_from_text(text: str) -> object:
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return NOTHING
    return [part.strip() for part in text.split(",") if part.strip()]


def described(setting: Setting) -> str:
    """What a setting's value must be, in words."""
    words = _described(setting.kind)
    low, high = setting.low, setting.high
    if math.isfinite(low) and math.isfinite(high):
        return f"{words} (numbers from {low:g} to {high:g})" if " or " in words else f"{words} from {low:g} to {high:g}"
    if math.isfinite(low):
        return words.replace("number", f"number of at least {low:g}", 1)
    return words


def _described(kind: Any) -> str:
    if get_origin(kind) is Literal:
        options = [repr(option) for option in get_args(kind)]
        return options[0] if len(options) == 1 else "one of " + ", ".join(options)
    if get_origin(kind) in (Union, types.UnionType):
        return " or ".join(_described(option) for option in get_args(kind))
    plain = {bool: "true or false", str: "text", int: "a whole number", float: "a number", type(None): "null"}
    return plain.get(kind, "a list of texts")


class _Short(reprlib.Repr):
    """Bounded in length and depth, and without failing on numbers that Python will not print."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 2
        self.maxdict = self.maxlist = self.maxtuple = 4
        self.maxstring = self.maxother = 60

    def repr_int(self, x: int, level: int) -> str:
        return super().repr_int(x, level) if x.bit_length() < 128 else "a very large number"


_SHORT = _Short()


def shown(value: object) -> str:
    """A value for a message, on one line: cut short, and with nothing invisible in it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _SHORT.repr(value)
