"""Kernels' replies to a look, in the words of ``looks``."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from oi_engine.computer.kernel_messages import UNREADABLE
from oi_engine.computer.looks import Column, Completion, Completions, Inspection
from oi_engine.computer.python_path import Path

log = logging.getLogger(__name__)

_Look = TypeVar("_Look", Completions, Inspection)

_ITEMS = 500
_KINDS = {"instance": "variable", "statement": "keyword", "param": "variable", "magic": "magic"}
"""What ipykernel and others call a kind, where it is not our word."""


Content = Mapping[str, Any]


def completions_of(reply: Content, length: int) -> Completions:
    """The content of a ``complete_reply`` for so many characters; nothing of one that says ``error``."""
    return _readable(lambda: _completions(reply, length)) or Completions()


def looked_up(reply: Content, start: int, end: int) -> Completions:
    """The content of an ``oi_complete_reply``."""

    def read() -> Completions:
        items = tuple(Completion(*item) for item in reply.get("items", ()))
        return Completions(items, start, end, bool(reply.get("more")))

    return _readable(read) or Completions()


def inspection_of(reply: Content, code: str, path: Path) -> Inspection | None:
    """The content of an ``oi_inspect_reply``; nothing of an empty one."""
    return _readable(lambda: _inspection(reply, code, path)) if reply else None


def _readable(read: Callable[[], _Look]) -> _Look | None:
    """What was read; nothing of a reply that is not as it should be, since code in the kernel may have sent it."""
    try:
        return read()
    except UNREADABLE as error:
        log.info("What a kernel says of a name cannot be read: %s", type(error).__name__)
        return None


def _completions(reply: Content, length: int) -> Completions:
    matches = reply.get("matches") or []
    # The protocol has no place for kinds; ipykernel's way to tell them is what others do, too.
    told = (reply.get("metadata") or {}).get("_jupyter_types_experimental") or []
    kinds = {str(each.get("text")): str(each.get("type") or "") for each in told if isinstance(each, dict)}
    items = [Completion(text, _kind(kinds.get(text, ""))) for text in itertools.islice(matches, _ITEMS)]
    if not items:
        return Completions()
    start, end = int(reply["cursor_start"]), int(reply["cursor_end"])
    if not 0 <= start <= end <= length:
        raise ValueError("the completions are for no place in the code")
    return Completions(tuple(items), start, end, len(matches) > _ITEMS)


def _kind(word: str) -> str:
    return _KINDS.get(word, word if word in ("function", "class", "module", "property", "keyword") else "")


def _inspection(reply: Content, code: str, path: Path) -> Inspection:
    shape = reply.get("shape")
    return Inspection(
        name=code[path.start : path.end],
        type=reply["type"],
        value=reply.get("value", ""),
        length=reply.get("length"),
        shape=None if shape is None else tuple(shape),
        dtype=reply.get("dtype", ""),
        columns=tuple(Column(*column) for column in reply.get("columns", ())),
        column_count=reply.get("column_count", 0),
        docs=reply.get("docs", ""),
        start=path.start,
        end=path.end,
    )
