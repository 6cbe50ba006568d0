"""Looking into a live runtime without running anything: what could be typed here, and what a variable holds.

A look is never worth a wait: a runtime that is busy, starting or not there answers nothing at once, one that is idle
within ``LOOK_SECONDS``. Looking starts nothing, and the code that is given is looked up, never evaluated.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

from attrs import evolve, field, fields, frozen
from attrs.validators import deep_iterable, instance_of, optional

from oi_engine.safety.sanitize import sanitize

LOOK_SECONDS = 0.5
"""How long a look may take; after that the answer is nothing."""
LONGEST_CODE = 200_000
"""Characters; in more than that nothing is looked up: reading it would hold up the loop."""


_TEXT, _NUMBER = instance_of(str), instance_of(int)
# Checked, as they are made of what kernels say.


@frozen
class Completion:
    """One text that could stand here.

    ``kind`` is ``variable``, ``function``, ``class``, ``module``, ``property``, ``key``, ``keyword``, ``magic``, or
    nothing where the runtime does not say. ``detail`` is a word on it: a type, mostly.
    """

    text: str = field(validator=_TEXT)
    kind: str = field(default="", validator=_TEXT)
    detail: str = field(default="", validator=_TEXT)


@frozen
class Completions:
    """What could stand in place of ``code[start:end]`` (in characters, not UTF-16 units), the likeliest first.

    ``more``: there are others, which a longer prefix would show.
    """

    items: tuple[Completion, ...] = ()
    start: int = 0
    end: int = 0
    more: bool = False


@frozen
class Column:
    """One column of a table: its name, and the type of its values where that is known."""

    name: str = field(validator=_TEXT)
    dtype: str = field(default="", validator=_TEXT)


@frozen
class Inspection:
    """What a name stands for now.

    ``name`` is the text that was looked up, ``code[start:end]``. ``type`` is the class with its module
    (``pandas.DataFrame``), without one where it is built in. ``value`` is a short text (600 characters),
    empty where nothing can be shown without running code of the person's. ``length`` is what ``len`` gives,
    ``shape`` and ``dtype`` are those of an array or a table; ``columns`` holds the first of its columns,
    ``column_count`` is how many there are. ``docs`` is the documentation of a function, a class or a module.
    """

    name: str
    type: str = field(validator=_TEXT)
    value: str = field(default="", validator=_TEXT)
    length: int | None = field(default=None, validator=optional(_NUMBER))
    shape: tuple[int, ...] | None = field(default=None, validator=optional(deep_iterable(_NUMBER, instance_of(tuple))))
    dtype: str = field(default="", validator=_TEXT)
    columns: tuple[Column, ...] = ()
    column_count: int = field(default=0, validator=_NUMBER)
    docs: str = field(default="", validator=_TEXT)
    start: int = 0
    end: int = 0


_Look = TypeVar("_Look", Completion, Column, Inspection)


def made_harmless(look: _Look) -> _Look:
    """The same without terminal control: names and values are whatever a program made them."""
    changes: dict[str, Any] = {}
    for attribute in fields(type(look)):
        value = getattr(look, attribute.name)
        if isinstance(value, str):
            changes[attribute.name] = sanitize(value)
    if isinstance(look, Inspection):
        changes["columns"] = tuple(made_harmless(column) for column in look.columns)
    return evolve(look, **changes)


@runtime_checkable
class Looks(Protocol):
    """A runtime that can be looked into. Those without these methods answer nothing."""

    async def complete(self, code: str, cursor: int) -> Completions:
        """What could stand at ``cursor`` (characters from the start of ``code``)."""
        ...

    async def inspect(self, code: str, cursor: int) -> Inspection | None:
        """What the name at ``cursor`` stands for; ``None`` where there is no name, or nothing is known of it."""
        ...
