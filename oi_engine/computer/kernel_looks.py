"""Kernels' replies to a look, in the words of ``looks``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from oi_engine.computer.looks import Column, Completion, Completions, Inspection
from oi_engine.computer.python_path import Path

_ITEMS = 500
_KINDS = {"instance": "variable", "statement": "keyword", "param": "variable", "magic": "magic"}
"""What ipykernel and others call a kind, where it is not our word."""


def completions_of(reply: Mapping[str, Any]) -> Completions:
    """The content of a ``complete_reply``; nothing of one that says ``error``."""
    matches = reply.get("matches") or []
    # The protocol has no place for kinds; ipykernel's way to tell them is what others do, too.
    told = (reply.get("metadata") or {}).get("_jupyter_types_experimental") or []
    kinds = {str(each.get("text")): str(each.get("type") or "") for each in told if isinstance(each, dict)}
    items = [Completion(text, _kind(kinds.get(text, ""))) for text in itertools.islice(matches, _ITEMS)]
    if not items:
        return Completions()
    return Completions(tuple(items), int(reply["cursor_start"]), int(reply["cursor_end"]), len(matches) > _ITEMS)


def _kind(word: str) -> str:
    return _KINDS.get(word, word if word in ("function", "class", "module", "property", "keyword") else "")


def inspection_of(reply: Mapping[str, Any], code: str, path: Path) -> Inspection:
    """The content of an ``oi_inspect_reply`` that is not empty."""
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
