"""What a variable holds, told without running anything of the person's.

A value is looked at by what its class is, never by asking it: no ``__repr__``, ``__getattr__``, ``__len__``,
``__dir__``, ``__class__`` or property is called but those of built-in classes, and of the array and table libraries, on
objects whose class and base classes are all theirs. What is shown is bounded, and so is what is read for it.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import datetime
import decimal
import fractions
import functools
import inspect
import itertools
import pathlib
import types
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

SCANNED = 5_000
"""Names or keys that are looked through."""
COLUMNS = 50
TEXT, LEAF, DOCS = 600, 80, 2_000  # characters of a value, of a part of one, of documentation
WIDTHS = (20, 8, 4)
"""Parts of a container that are shown: of the value itself, of its parts, of theirs."""
LIBRARIES = ("numpy", "pandas", "polars", "torch", "xarray", "scipy", "pyarrow", "geopandas")
"""Whose ``shape``, ``dtype`` and ``columns`` are read; reading them computes nothing."""
FACTS = ("shape", "dtype", "dtypes", "ndim", "size", "columns", "index", "name", "device")

mro = type.__dict__["__mro__"].__get__
class_names = type.__dict__["__dict__"].__get__
_module_of = type.__dict__["__module__"].__get__
_qualified = type.__dict__["__qualname__"].__get__
_MISSING = object()
_CODE = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType)
_WRAPPED = (types.WrapperDescriptorType, types.MethodWrapperType, types.ClassMethodDescriptorType)
_PLAIN = (datetime.date, datetime.timedelta, decimal.Decimal, fractions.Fraction, uuid.UUID, range, slice)
_TupleField = type(vars(collections.namedtuple("_", "field"))["field"])
_SIMPLE = (type(None), bool, float, complex, type(Ellipsis), type(NotImplemented))
_BRACKETS: tuple[tuple[Any, str, str], ...] = (
    (list, "[", "]"),
    (tuple, "(", ")"),
    (set, "{", "}"),
    (frozenset, "{", "}"),
    (collections.deque, "[", "]"),
)


class Computed(Exception):
    """The value would have to be computed by code of the person's; ``what`` stands in its place."""

    def __init__(self, what: Any) -> None:
        super().__init__()
        self.what = what


# --- classes, without asking them ------------------------------------------------------------------------------------


def is_a(value: Any, *bases: type) -> bool:
    """``isinstance`` by the class alone; the real one reads ``__class__``, which may be a property."""
    return any(cls is base for cls in mro(type(value)) for base in bases)


def exactly(value: Any, *classes: type) -> bool:
    """Whether a value is of one of these classes, not of one that derives from them."""
    return any(type(value) is cls for cls in classes)


def home(cls: type) -> str:
    """The top package that a class says it is from."""
    module = _module_of(cls)
    return module.partition(".")[0] if type(module) is str else ""


def of_a_library(value: Any) -> bool:
    """Whether a value's class and all of its base classes are an array or a table library's."""
    classes = mro(type(value))
    trusted = (*LIBRARIES, "builtins", "abc", "typing", "collections")
    return home(type(value)) in LIBRARIES and all(home(cls) in trusted for cls in classes)


def type_name(cls: type) -> str:
    """``pandas.DataFrame``: the module where a person imports it from is the package, for the libraries."""
    module, name = _module_of(cls), str(_qualified(cls))
    if type(module) is not str or module in ("builtins", "__main__"):
        return name
    return f"{home(cls) if home(cls) in LIBRARIES else module}.{name}"


def own_names(value: Any) -> dict[str, Any]:
    """An instance's own attributes, where it has them in the ordinary way."""
    for cls in mro(type(value)):
        place = class_names(cls).get("__dict__")
        if place is not None:
            if exactly(place, types.GetSetDescriptorType, types.MemberDescriptorType):
                with contextlib.suppress(AttributeError):
                    found = place.__get__(value)
                    return found if type(found) is dict else {}
            return {}
    return {}


def is_descriptor(value: Any) -> bool:
    """Whether reading it from a class calls something."""
    return any("__get__" in class_names(cls) for cls in mro(type(value)))


# --- the way from a name ---------------------------------------------------------------------------------------------


def attribute(value: Any, name: str) -> Any:
    """An attribute, as far as it lies there. Raises ``Computed``, and ``LookupError`` where there is none."""
    own = own_names(value)
    if name in own:
        return own[name]
    found = inspect.getattr_static(value, name, _MISSING)
    if found is _MISSING:
        return item(value, name) if of_a_library(value) and name in columns_of(value) else nothing(name)
    if exactly(found, staticmethod, classmethod):
        return found.__func__
    if exactly(found, *_CODE, *_WRAPPED) or not is_descriptor(found) or is_a(value, type):
        return found
    plain = exactly(found, types.MemberDescriptorType, _TupleField)
    library = of_a_library(value) and name in FACTS
    built_in = exactly(found, types.GetSetDescriptorType) and home(type(value)) == "builtins"
    if plain or library or built_in:
        try:
            return found.__get__(value, type(value))
        except AttributeError:
            return nothing(name)
    raise Computed(found)


def item(value: Any, key: Any) -> Any:
    """What plain data has under a number or a text. Raises ``LookupError`` where there is nothing."""
    if is_a(value, dict):
        found = dict.get(value, key, _MISSING)  # not ``[]``, which calls ``__missing__``
        return nothing(key) if found is _MISSING else found
    if type(key) is int:
        for kind in (list, tuple, str, bytes, range, collections.deque):
            if is_a(value, kind):
                return kind.__getitem__(value, key)
        if of_a_library(value) and type_name(type(value)) == "numpy.ndarray":
            return value[key]
    elif of_a_library(value) and key in columns_of(value):
        return value[key]
    return nothing(key)


def nothing(key: Any) -> Any:
    raise LookupError(key)


def follow(space: dict[str, Any], root: str, steps: Iterable[Any]) -> Any:
    """What a path leads to. Raises ``LookupError`` and ``Computed``."""
    value = space[root] if root in space else _class_or_function(root)
    for kind, key in steps:
        value = attribute(value, key) if kind == "attribute" else item(value, key)
    return value


def _class_or_function(name: str) -> Any:
    return vars(builtins).get(name) if name in vars(builtins) else nothing(name)


# --- a value in a few words ------------------------------------------------------------------------------------------


def short(value: Any, depth: int = 0) -> str:
    """A value as text, bounded in length and in what it costs."""
    if exactly(value, int):
        return repr(value) if value.bit_length() < 1_000 else f"<a number of {value.bit_length():,} bits>"
    if exactly(value, str, bytes, bytearray):
        room = TEXT if depth == 0 else LEAF
        return repr(value) if len(value) <= room else f"{value[:room]!r}…"
    if exactly(value, *_SIMPLE, *_PLAIN) or _is_naive(value):
        return repr(value)[:TEXT]
    if is_a(value, pathlib.PurePath) and home(type(value)) == "pathlib":
        return repr(value)[:TEXT]
    if is_a(value, dict, list, tuple, set, frozenset, collections.deque):
        return container(value, depth)
    if is_a(value, type):
        return f"<class {type_name(value)}>"
    if is_a(value, types.ModuleType):
        return f"<module {own_names(value).get('__name__', '')!s}>"
    if exactly(value, *_CODE, *_WRAPPED):
        return f"<function {getattr(value, '__name__', '')}>"
    if of_a_library(value):
        return library_value(value, depth)
    return instance(value, depth)


def _is_naive(value: Any) -> bool:
    """A time whose zone, which it would show, is no object of the person's."""
    if not exactly(value, datetime.datetime, datetime.time):
        return False
    return value.tzinfo is None or home(type(value.tzinfo)) in ("datetime", "zoneinfo")


def container(value: Any, depth: int) -> str:
    """A dict, list, tuple or set, of which the first parts are shown."""
    name = "" if exactly(value, dict, list, tuple, set) else type_name(type(value))
    try:
        if is_a(value, dict):
            parts = [f"{short(k, depth + 1)}: {short(v, depth + 1)}" for k, v in _first(dict.items(value), depth)]
            text = "{" + _joined(parts, dict.__len__(value)) + "}"
        else:
            kind, opening, closing = next(each for each in _BRACKETS if is_a(value, each[0]))
            parts = [short(part, depth + 1) for part in _first(kind.__iter__(value), depth)]
            comma = "," if opening == "(" and len(parts) == 1 else ""
            text = opening + _joined(parts, kind.__len__(value)) + comma + closing
    except RuntimeError:  # a cell has begun, and changes it
        text = "…"
    return f"{name}{text}" if name and text[0] == "(" else f"{name}({text})" if name else text


def _first(parts: Iterable[Any], depth: int) -> Iterator[Any]:
    return itertools.islice(parts, WIDTHS[depth] if depth < len(WIDTHS) else 0)


def _joined(parts: list[str], length: int) -> str:
    return ", ".join([*parts, "…"] if len(parts) < length else parts)


def instance(value: Any, depth: int) -> str:
    """An object of any class, by its own attributes: its ``__repr__`` is not called."""
    own = own_names(value)
    if type(own.get("_name_")) is str and "_value_" in own:  # a member of an Enum
        return f"{type_name(type(value))}.{own['_name_']}"
    try:
        fields = ((key, part) for key, part in own.items() if type(key) is str and not key.startswith("_"))
        parts = [f"{key}={short(part, depth + 1)}" for key, part in _first(fields, depth)]
    except RuntimeError:
        parts = ["…"]
    return f"<{' '.join([type_name(type(value)), *parts])}>"


def library_value(value: Any, depth: int) -> str:
    """An array's or a column's first values, of built-in kinds; of a table its size."""
    name = type_name(type(value))
    shape = shape_of(value)
    if name.startswith("numpy.") and shape == [] and value.dtype.kind in "biufcSUMm":
        return short(value.item(), depth + 1)
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        if shape is not None and len(shape) == 1:
            return _values(value, name, depth)
        if name in ("numpy.ndarray", "torch.Tensor") and shape is not None and _count(shape) <= 2 * WIDTHS[0]:
            return short(_small(value, name), depth)
    if shape is not None and len(shape) == 2 and columns_of(value):
        return f"{shape[0]:,} rows × {shape[1]:,} columns"
    return f"<{name}{'' if shape is None else ' ' + str(tuple(shape))}>"


def _small(value: Any, name: str) -> Any:
    if name == "numpy.ndarray" and value.dtype.kind in "biufcSUMm":
        return value.tolist()
    if name == "torch.Tensor" and value.device.type == "cpu":
        return value.detach().tolist()
    raise ValueError(name)


def _values(value: Any, name: str, depth: int) -> str:
    """The first values of something with one dimension."""
    width = WIDTHS[depth] if depth < len(WIDTHS) else 0
    dtype = value.dtype
    if name == "numpy.ndarray" and dtype.kind not in "biufcSUMm":
        raise ValueError(name)
    if home(type(dtype)) not in LIBRARIES and type(dtype) is not type:
        raise ValueError(name)  # a kind of column that somebody has written
    if name == "polars.Series":
        first = value.head(width).to_list()
    elif name == "torch.Tensor":
        first = _small(value[:width], name)
    else:
        first = (value.iloc if name == "pandas.Series" else value)[:width].tolist()
    return "[" + _joined([short(part, depth + 1) for part in first], shape_of(value)[0]) + "]"  # type: ignore[index]


def _count(shape: Iterable[int]) -> int:
    return functools.reduce(lambda left, right: left * right, shape, 1)


# --- what is told of a value -----------------------------------------------------------------------------------------


def shape_of(value: Any) -> list[int] | None:
    """The shape of an array or a table of a library."""
    found: Any = getattr(value, "shape", None) if of_a_library(value) else None
    if not is_a(found, tuple) or not all(is_a(size, int) for size in found):
        return None
    return [int(size) for size in found]


def columns_of(value: Any) -> list[Any]:
    """The names of a table's first columns."""
    shape = shape_of(value)
    if shape is None or len(shape) != 2 or type_name(type(value)) not in ("pandas.DataFrame", "polars.DataFrame"):
        return []
    return list(value.columns[:SCANNED])


def table(value: Any) -> dict[str, Any]:
    """The columns of a table with their types."""
    names = columns_of(value)
    if not names:
        return {}
    count = shape_of(value)[1]  # type: ignore[index]
    # Both libraries give the types of all columns at once.
    kinds = [str(kind) for kind in list(value.dtypes)[:COLUMNS]] if count <= SCANNED else []
    shown = [name if type(name) is str else short(name, 1) for name in names[:COLUMNS]]
    pairs = itertools.zip_longest([name[:LEAF] for name in shown], kinds, fillvalue="")
    return {"columns": [list(pair) for pair in pairs], "column_count": count}


def length_of(value: Any) -> int | None:
    """What ``len`` gives of built-in containers and of arrays."""
    for kind in (dict, list, tuple, set, frozenset, str, bytes, bytearray, range, collections.deque):
        if is_a(value, kind):
            return kind.__len__(value)
    shape = shape_of(value)
    return shape[0] if shape else None


def docs_of(value: Any) -> str:
    """The documentation of a function, a class or a module, and a property's."""
    found: Any = None
    if exactly(value, *_CODE, *_WRAPPED):
        found = value.__doc__
    elif is_a(value, type):
        found = class_names(value).get("__doc__")
    elif is_a(value, types.ModuleType):
        found = own_names(value).get("__doc__")
    elif exactly(value, property):
        found = value.__doc__
    return inspect.cleandoc(found[: 2 * DOCS])[:DOCS] if type(found) is str else ""


def signature_of(function: Any) -> str:
    """The names of a function's parameters: their defaults and annotations may be any objects."""
    if exactly(function, types.MethodType):
        function = function.__func__
    if not exactly(function, types.FunctionType):
        text = getattr(function, "__text_signature__", None) if exactly(function, *_CODE) else None
        return text[:TEXT] if type(text) is str else ""
    try:
        names = inspect.getargs(function.__code__)
    except TypeError:
        return ""
    stars = [f"*{names.varargs}"] if names.varargs else []
    return f"({', '.join([*names.args, *stars, *([f'**{names.varkw}'] if names.varkw else [])])})"


def kind_of(value: Any) -> str:
    """What a completion says it is."""
    if is_a(value, type):
        return "class"
    if is_a(value, types.ModuleType):
        return "module"
    if exactly(value, property, functools.cached_property):
        return "property"
    return "function" if exactly(value, *_CODE, *_WRAPPED, staticmethod, classmethod) else "variable"


def described(value: Any) -> dict[str, Any]:
    """All that is told of a value."""
    if exactly(value, *_CODE, *_WRAPPED):
        name = str(getattr(value, "__name__", ""))
        return {"type": type_name(type(value)), "value": f"{name}{signature_of(value)}", "docs": docs_of(value)}
    text = short(value)
    told = {"type": type_name(type(value)), "value": text if len(text) <= TEXT else f"{text[:TEXT]}…"}
    dtype = getattr(value, "dtype", None) if shape_of(value) is not None and not columns_of(value) else None
    if dtype is not None:
        told["dtype"] = f"structured, {len(dtype.names)} fields" if getattr(dtype, "names", None) else str(dtype)[:LEAF]
    return {**told, "length": length_of(value), "shape": shape_of(value), "docs": docs_of(value), **table(value)}
