"""Between the classes of ``oi_lsp.protocol`` and JSON. Reading is strict: nothing is converted, guessed or dropped."""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import attrs

from oi_lsp.fields import TEXT_LIMIT

T = TypeVar("T")


class InvalidField(Exception):
    """A value from the client that is not as the protocol says. ``field`` is its path, ``problem`` what is wrong."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field or 'The argument'} {problem}")
        self.field = field
        self.problem = problem


def camel_case(name: str) -> str:
    """The name of a field on the wire: ``session_id`` is ``sessionId``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def from_wire(kind: type[T], value: object, where: str = "") -> T:
    """Read ``kind`` from parsed JSON. Raises ``InvalidField`` at the first field that is not as ``kind`` has it.

    A null counts as absent. A field that ``kind`` does not have is an error: a misspelt one would otherwise be lost
    without a word.
    """
    if not isinstance(value, Mapping):
        raise InvalidField(where, f"must be an object, not {kind_of(value)}.")
    known = wire_fields(cast(Any, kind))
    for name in value:
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(str(name)[:100], known, n=1)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            raise InvalidField(_path(where, shortened(str(name))), f"is no field of this object.{meant}")
    found = {}
    for name, (attribute, wanted) in known.items():
        given = value.get(name)
        path = _path(where, name)
        if given is not None:
            found[attribute.name] = _read(wanted, given, path, attribute.metadata["limit"])
        elif attribute.default is attrs.NOTHING:
            raise InvalidField(path, "is missing.")
    return kind(**found)


def to_wire(value: object) -> Any:
    """An instance of a protocol class as JSON has it; fields that are ``None`` are left out."""
    kind: Any = type(value)
    if attrs.has(kind):
        found = {camel_case(a.name): getattr(value, a.name) for a in attrs.fields(kind)}
        return {name: to_wire(item) for name, item in found.items() if item is not None}
    if isinstance(value, tuple):
        return [to_wire(item) for item in value]
    return value


@cache
def wire_fields(kind: Any) -> dict[str, tuple[attrs.Attribute[Any], Any]]:
    """The fields of a protocol class by their names on the wire, each with its type."""
    hints = get_type_hints(kind)
    return {camel_case(a.name): (a, hints[a.name]) for a in attrs.fields(kind)}


def check_text(text: str, where: str, limit: int = TEXT_LIMIT) -> str:
    """The text, if it is not too long and is Unicode. Raises ``InvalidField``."""
    if len(text) > limit:
        raise InvalidField(where, f"has {len(text):,} characters; at most {limit:,} are taken.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidField(where, f"holds half of a surrogate pair at character {error.start}.") from None
    return text


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    names = {type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "text"}
    return names.get(type(value), "a list" if isinstance(value, list) else "an object")


def shortened(text: str) -> str:
    """The text, cut where it is too long to be quoted."""
    return text if len(text) <= 60 else f"{text[:57]}…"


def _read(wanted: Any, value: object, where: str, limit: int) -> Any:
    origin = get_origin(wanted)
    if isinstance(wanted, NewType):
        wanted, origin = dict, None
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(wanted) if option is not type(None)]
        return _read(_chosen(options, value, where), value, where, limit)
    if origin is tuple:
        if not isinstance(value, list):
            raise InvalidField(where, f"must be a list, not {kind_of(value)}.")
        item = get_args(wanted)[0]
        return tuple(_read(item, each, f"{where}[{index}]", limit) for index, each in enumerate(value))
    if origin is Literal:
        if value not in get_args(wanted):
            raise InvalidField(where, f"must be one of {', '.join(get_args(wanted))}.")
        return value
    if attrs.has(wanted):
        return from_wire(wanted, value, where)
    if wanted is Any:
        return value
    if not _is(wanted, value):
        raise InvalidField(where, f"must be {_described(wanted)}, not {kind_of(value)}.")
    return check_text(value, where, limit) if isinstance(value, str) else value


def _chosen(options: list[Any], value: object, where: str) -> Any:
    """Which of several types a value is to be read as: told by whether it is a list."""
    if len(options) == 1:
        return options[0]
    for option in options:
        if isinstance(value, list) if get_origin(option) is tuple else _is(option, value):
            return option
    raise InvalidField(where, f"must be {' or '.join(map(_described, options))}, not {kind_of(value)}.")


def _is(wanted: Any, value: object) -> bool:
    if get_origin(wanted) is Literal:
        return isinstance(value, str) and value in get_args(wanted)
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, (int, float) if wanted is float else wanted)


def _described(wanted: Any) -> str:
    if get_origin(wanted) is tuple:
        return "a list"
    if get_origin(wanted) is Literal:
        return f"one of {', '.join(get_args(wanted))}"
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    return names.get(wanted, "an object")


def _path(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
