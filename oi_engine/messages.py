"""LMC messages and chunks: the public format of sessions, notifications, exports and the Python API.

The format is the one documented by Open Interpreter (``protocols/lmc-messages``, ``guides/streaming-response``,
``NCU_MIGRATION_GUIDE``, ``server/usage``). Added here, and ignorable by a client:

- ``id``: of the message, stable; every chunk of a message carries it;
- ``created_at``: ISO 8601, UTC, on whole messages and on a message's first chunk;
- ``parent``: on what answers a code message (its output, its edited form, a note that it did not run): the ``id``
  of that code message; on what is said beside the conversation: the ``id`` of its mark (``session.aside``);
- ``line``: on a chunk of output: the line of the code, from 1, that wrote it, where that is known for certain;
  It is gone once the message is folded into one chunk;
- ``failure``: on the chunk that ends the active line, where the code failed, and on the whole message: ``{"line",
  "column"?, "end_line"?, "end_column"?, "name", "message"}``, the place of the error in the code that ran (lines from
  1, columns in characters from 0, the last one exclusive).

Inside the engine both are frozen classes with literal tags; ``to_dict`` and ``from_dict`` are the border.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeGuard, cast, get_args

from attrs import frozen

from oi_engine.errors import InvalidMessage

Role = Literal["user", "assistant", "computer", "server"]
MessageType = Literal[
    "message",
    "code",
    "console",
    "image",
    "file",
    "audio",
    "confirmation",
    "review",
    "reasoning",
    "command",
    "status",
    "error",
]
Recipient = Literal["user", "assistant"]
Content = str | dict[str, Any] | None
"""Text; for a confirmation ``{"type": "code", "format": language, "content": code}``; ``None`` ends an active line."""

ROLES: tuple[str, ...] = get_args(Role)
TYPES: tuple[str, ...] = get_args(MessageType)
RECIPIENTS: tuple[str, ...] = get_args(Recipient)

STANDALONE: frozenset[str] = frozenset({"confirmation", "command", "status", "error"})
"""Types that are one chunk, with neither ``start`` nor ``end``."""

SAFE = "<SAFE>"
"""Content of a review that found nothing (``server/usage``)."""

MARK = "magic"
"""Content of the command chunk after which comes what is no part of the conversation: all that has it as ``parent``."""

_run = os.urandom(5).hex()
_counter = itertools.count(1)


def new_id(prefix: str) -> str:
    """A short identifier, unique across processes: ``prefix`` plus a random and a counted part."""
    return f"{prefix}-{_run}{next(_counter):x}"


def now() -> str:
    """The time as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@frozen
class Message:
    """One whole LMC message."""

    role: Role
    type: MessageType
    content: Content = ""
    format: str | None = None
    recipient: Recipient | None = None
    id: str = ""
    created_at: str = ""
    parent: str | None = None
    failure: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The documented form; keys without a value are left out."""
        found = _head(self)
        found["content"] = self.content
        if self.created_at:
            found["created_at"] = self.created_at
        if self.failure is not None:
            found["failure"] = self.failure
        return found

    @property
    def text(self) -> str:
        """The content where it is text, else an empty string."""
        return self.content if isinstance(self.content, str) else ""


@frozen
class Chunk:
    """One piece of the stream: a ``start`` flag, an ``end`` flag, or content."""

    role: Role
    type: MessageType
    format: str | None = None
    content: Content = None
    start: bool = False
    end: bool = False
    recipient: Recipient | None = None
    id: str = ""
    created_at: str = ""
    parent: str | None = None
    line: int | None = None
    failure: dict[str, Any] | None = None

    @property
    def has_content(self) -> bool:
        """Whether the chunk carries content (which may be ``None``, for an active line)."""
        return not (self.start or self.end)

    def to_dict(self) -> dict[str, Any]:
        """The documented form: ``start`` or ``end`` or ``content``, never two of them."""
        found = _head(self)
        if self.start:
            found["start"] = True
        elif self.end:
            found["end"] = True
        else:
            found["content"] = self.content
        if self.created_at:
            found["created_at"] = self.created_at
        if self.line is not None:
            found["line"] = self.line
        if self.failure is not None:
            found["failure"] = self.failure
        return found


def _head(item: Message | Chunk) -> dict[str, Any]:
    found: dict[str, Any] = {"role": item.role, "type": item.type}
    if item.format is not None:
        found["format"] = item.format
    if item.recipient is not None:
        found["recipient"] = item.recipient
    if item.id:
        found["id"] = item.id
    if item.parent is not None:
        found["parent"] = item.parent
    return found


def message_from_dict(data: object, *, where: str = "message") -> Message:
    """Read one message in the documented form.

    Raises ``InvalidMessage`` naming the field. Content of an unknown shape is refused rather than guessed; unknown
    keys are ignored, as the format allows others to add their own.
    """
    fields = _fields(data, where)
    content = fields.get("content", "")
    if not isinstance(content, str | dict):
        raise InvalidMessage(f"{where}.content must be text or an object, not {_kind(content)}.")
    kind = cast(MessageType, _literal(fields, "type", TYPES, where, default="message"))
    return Message(
        role=cast(Role, _literal(fields, "role", ROLES, where)),
        type=kind,
        content=cast(Content, content),
        format=_text(fields, "format", where),
        recipient=cast("Recipient | None", _optional_literal(fields, "recipient", RECIPIENTS, where)),
        id=_text(fields, "id", where) or new_id("m"),
        created_at=_text(fields, "created_at", where) or now(),
        parent=_text(fields, "parent", where),
        failure=_failure(fields),
    )


def chunk_from_dict(data: object, *, where: str = "chunk") -> Chunk:
    """Read one chunk in the documented form. Raises ``InvalidMessage`` naming the field."""
    fields = _fields(data, where)
    content = fields.get("content")
    if not (content is None or isinstance(content, str | dict)):
        raise InvalidMessage(f"{where}.content must be text, an object or null, not {_kind(content)}.")
    line = fields.get("line")
    return Chunk(
        role=cast(Role, _literal(fields, "role", ROLES, where)),
        type=cast(MessageType, _literal(fields, "type", TYPES, where)),
        format=_text(fields, "format", where),
        content=cast(Content, content),
        start=fields.get("start") is True,
        end=fields.get("end") is True,
        recipient=cast("Recipient | None", _optional_literal(fields, "recipient", RECIPIENTS, where)),
        id=_text(fields, "id", where) or "",
        created_at=_text(fields, "created_at", where) or "",
        parent=_text(fields, "parent", where),
        # As with the failure: what is no such thing is somebody else's key.
        line=line if isinstance(line, int) else None,
        failure=_failure(fields),
    )


def _failure(fields: Mapping[str, object]) -> dict[str, Any] | None:
    failure = fields.get("failure")
    return failure if isinstance(failure, dict) and isinstance(failure.get("line"), int) else None


def _fields(data: object, where: str) -> Mapping[str, object]:
    if not _is_mapping(data):
        raise InvalidMessage(f"{where} must be an object, not {_kind(data)}.")
    return data


def _is_mapping(data: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(data, Mapping)


def _literal(
    fields: Mapping[str, object], key: str, allowed: tuple[str, ...], where: str, default: str | None = None
) -> str:
    value = fields.get(key, default)
    if value not in allowed:
        raise InvalidMessage(f"{where}.{key} must be one of {', '.join(allowed)}; it is {_shown(value)}.")
    return value


def _optional_literal(fields: Mapping[str, object], key: str, allowed: tuple[str, ...], where: str) -> str | None:
    return None if fields.get(key) is None else _literal(fields, key, allowed, where)


def _text(fields: Mapping[str, object], key: str, where: str) -> str | None:
    value = fields.get(key)
    if not (value is None or isinstance(value, str)):
        raise InvalidMessage(f"{where}.{key} must be text, not {_kind(value)}.")
    return value


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
