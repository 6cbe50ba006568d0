"""The documented JSON: a list of LMC messages, as ``interpreter.messages`` has it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from oi_engine.messages import Message


def to_json(messages: Iterable[Message]) -> str:
    """The messages as a JSON list, with ids, times and parents, which other readers ignore."""
    return json.dumps([message.to_dict() for message in messages], ensure_ascii=False, indent=2) + "\n"
