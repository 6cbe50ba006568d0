"""Messages from elsewhere: the documented JSON in its present and its first form, and notebooks.

The first form (``usage/python/arguments``) has ``{"role", "message"}`` and ``{"role", "language", "code", "output"}``,
one or both in a message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from oi_engine.errors import InvalidMessage
from oi_engine.history.export.notebook import KEY, contents, groups, joined
from oi_engine.messages import STANDALONE, Message, message_from_dict, new_id, now

_FIRST_FORM = ("message", "code", "output")
_IMAGES = {"image/png": "base64.png", "image/jpeg": "base64.jpeg"}


def read_messages(text: str) -> list[Message]:
    """The messages of a file: the documented JSON, or a Jupyter notebook. Raises ``InvalidMessage``."""
    try:
        return _read(json.loads(text))
    except ValueError as error:
        raise InvalidMessage(f"This is not JSON: {error}.", "Choose a file of messages, or a notebook.") from error
    except RecursionError:
        raise InvalidMessage("This is nested too deeply.", "Choose a file of messages, or a notebook.") from None


def _read(data: object) -> list[Message]:
    if isinstance(data, dict) and isinstance(data.get("cells"), list):
        return _from_notebook(data)
    return messages_from_dicts(data)


def messages_from_dicts(data: object) -> list[Message]:
    """Messages from a list in a documented form, as ``interpreter.messages`` takes it. Raises ``InvalidMessage``.

    What is no part of a conversation (confirmations, active lines, statuses) is left out.
    """
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Sequence):
        raise InvalidMessage("The conversation must be a list of messages.")
    return list(_kept(message for at, item in enumerate(data) for message in _from_item(item, f"messages[{at}]")))


def _from_item(item: object, where: str) -> Iterator[Message]:
    if isinstance(item, Mapping) and "type" not in item and any(key in item for key in _FIRST_FORM):
        yield from _from_first_form(item, where)
        return
    yield message_from_dict(item, where=where)


def _kept(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages as they are kept, without what is no part of a conversation."""
    for message in messages:
        if message.type in STANDALONE or message.format == "active_line":
            continue
        form = "output" if message.type == "console" else message.format
        content = message.content
        text = json.dumps(content, ensure_ascii=False) if isinstance(content, dict) else content
        yield evolve(message, format=form, content=text)


def _from_first_form(item: Mapping[str, object], where: str) -> Iterator[Message]:
    known = {key: item[key] for key in ("role", "id", "created_at") if key in item}
    if item.get("message"):
        yield message_from_dict({**known, "content": item["message"]}, where=where)
    parent = None
    if item.get("code"):
        code = {"role": known.get("role"), "type": "code", "format": item.get("language") or "python"}
        block = message_from_dict({**code, "content": item["code"]}, where=where)
        parent = block.id
        yield block
    if item.get("output") is not None and (item["output"] or parent):
        output = {"role": "computer", "type": "console", "format": "output", "content": item["output"]}
        yield message_from_dict({**output, "parent": parent}, where=where)


# --- notebooks -------------------------------------------------------------------------------------------------


def _from_notebook(notebook: Mapping[str, Any]) -> list[Message]:
    """The messages of a notebook: those that our cells say they hold, in their order, and what others hold."""
    placed: list[tuple[int, Message]] = []
    at = -1
    for number, cell in enumerate(notebook["cells"]):
        if not isinstance(cell, dict):
            raise InvalidMessage(f"cells[{number}] must be an object.")
        outputs = cell.get("outputs", [])
        if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
            raise InvalidMessage(f"cells[{number}].outputs must be a list of objects.")
        for entry_at, message in _from_cell(cell, f"cells[{number}]"):
            at = at if entry_at is None else entry_at
            placed.append((at, message))
    return list(_kept(message for _, message in sorted(placed, key=lambda pair: pair[0])))


def _from_cell(cell: dict[str, Any], where: str) -> Iterator[tuple[int | None, Message]]:
    entries = _entries(cell)
    if entries is None:
        for message in _from_foreign_cell(cell):
            yield None, message
        return
    anew = False
    for entry, content in zip(entries, contents(cell, entries), strict=True):
        if "content" in entry or content is not None:
            yield entry["at"], message_from_dict({"content": content, **entry}, where=where)
        else:
            anew = True
    if anew:  # it was run since, and leaves something else now
        yield from ((entries[-1]["at"], message) for message in _printed(cell, entries[0].get("id")))


def _entries(cell: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """What one of our cells says of the messages that it holds."""
    metadata = cell.get("metadata")
    said = metadata.get(KEY) if isinstance(metadata, dict) else None
    entries = said.get("messages") if isinstance(said, dict) else None
    if not isinstance(entries, list) or not all(_is_entry(entry) for entry in entries):
        return None
    return entries


def _is_entry(entry: object) -> bool:
    kinds = (("at", int), ("role", str), ("type", str), ("format", str | None), ("id", str | None))
    return isinstance(entry, dict) and all(isinstance(entry.get(key), kind) for key, kind in kinds)


def _from_foreign_cell(cell: Mapping[str, Any]) -> Iterator[Message]:
    source = joined(cell.get("source", ""))
    if not source.strip():
        return
    if cell.get("cell_type") == "code":
        code = Message("user", "code", source, "python", id=new_id("m"), created_at=now())
        yield code
        yield from _printed(cell, code.id)
    else:
        yield Message("user", "message", source, id=new_id("m"), created_at=now())


def _printed(cell: Mapping[str, Any], parent: str | None) -> Iterator[Message]:
    """What a cell's outputs are as messages."""
    for group in groups(cell.get("outputs", [])):
        made = _output(group)
        if made is not None:
            yield evolve(made, id=new_id("m"), created_at=now(), parent=parent)


def _output(group: str | dict[str, Any]) -> Message | None:
    if isinstance(group, str):
        return Message("computer", "console", group, "output")
    for kind, form in _IMAGES.items():
        if kind in group:
            return Message("computer", "image", joined(group[kind]).strip(), form)
    if "text/html" in group:
        return Message("computer", "code", joined(group["text/html"]), "html")
    return Message("computer", "console", joined(group["text/plain"]), "output") if "text/plain" in group else None
