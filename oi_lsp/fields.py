"""What the classes of the protocol are made of: fields with a meaning and a limit."""

from __future__ import annotations

from typing import Any, NewType, TypeVar, dataclass_transform

import attrs

T = TypeVar("T")

TEXT_LIMIT = 10_000_000
"""The most characters that a text from the client may have."""

ID_LIMIT = 200
"""The most characters that an identifier from the client may have."""

LmcMessage = NewType("LmcMessage", dict[str, Any])
"""A whole LMC message, in its documented form."""

LmcChunk = NewType("LmcChunk", dict[str, Any])
"""An LMC chunk, in its documented form."""


def wire(doc: str, *, default: Any = attrs.NOTHING, limit: int = TEXT_LIMIT) -> Any:
    """One field: what it means, its default (none: the field is required), and the most characters of a text."""
    return attrs.field(default=default, metadata={"doc": doc, "limit": limit})


def identifier(doc: str, *, default: Any = attrs.NOTHING) -> Any:
    """A field that is an identifier."""
    return wire(doc, default=default, limit=ID_LIMIT)


@dataclass_transform(frozen_default=True, field_specifiers=(wire, identifier))
def wire_type(kind: type[T]) -> type[T]:
    """Make a class of the wire. What nothing here needs is left out: making it would triple the cost at start-up."""
    return attrs.frozen(kind, eq=False, repr=False, slots=False)


@wire_type
class OfSession:
    """What many commands take: which session."""

    session_id: str = identifier("The session.")


@wire_type
class Nothing:
    """An empty object."""


@wire_type
class Command:
    """A command: its name, and the classes of its one argument and of its result."""

    name: str
    params: type
    result: type
