"""Jupyter's messages in the words of ``runtime``, and the queue in which they wait for the reader of a run.

The messages are those of the Jupyter messaging protocol 5.3, and what ``kernel_start`` adds to them.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from typing import Any, Literal

from attrs import frozen

from oi_engine.computer.runtime import ActiveLine, Failure, Rich, RunEvent, Spilled, Text

_BACKLOG = 256
"""Messages that wait for the reader; what comes after them waits in the kernel."""

_RICH: dict[str, tuple[Literal["image", "code"], str]] = {
    "image/png": ("image", "base64.png"),
    "image/jpeg": ("image", "base64.jpeg"),
    "image/svg+xml": ("code", "html"),
    "text/html": ("code", "html"),
    "application/javascript": ("code", "javascript"),
}
"""What LMC can hold, the richest first: type and format by MIME type."""


@frozen
class Input:
    """The program asks for a line, in the cell of that request."""

    request: str
    prompt: str
    password: bool


@frozen
class Idle:
    """All that the cell of that request had to say has been said."""

    request: str


@frozen
class Replied:
    """The cell of that request has ended, and how: the content of ``execute_reply``."""

    request: str
    content: Mapping[str, Any]


@frozen
class Died:
    """The process has ended; its status as in ``subprocess``."""

    status: int


Item = RunEvent | Input | Idle | Replied | Died


class Inbox:
    """What has come from the kernel and is not yet read; ``room`` holds back the one who fills it."""

    def __init__(self) -> None:
        self._items: asyncio.Queue[Item] = asyncio.Queue()
        self._room = asyncio.Event()
        self._room.set()

    def put(self, item: Item) -> None:
        """Add an item; never waits."""
        self._items.put_nowait(item)
        if self._items.qsize() >= _BACKLOG:
            self._room.clear()

    async def get(self) -> Item:
        """The oldest item; waits for one."""
        item = await self._items.get()
        if self._items.qsize() < _BACKLOG // 2:
            self._room.set()
        return item

    async def room(self) -> None:
        """Wait until the reader has caught up."""
        await self._room.wait()


def events_of(kind: str, content: Mapping[str, Any]) -> list[RunEvent]:
    """What an iopub message says to the person and the model; nothing for those of the protocol's own business.

    ``clear_output`` says nothing: what was printed stays, since the model has read it.
    """
    if kind == "stream":
        return _written(content["text"], "stderr" if content["name"] == "stderr" else "stdout", content.get("oi_lines"))
    if kind in ("execute_result", "display_data", "update_display_data"):
        return _shown(content["data"], content.get("oi_line") or None)
    if kind == "error":
        lines = content["traceback"] or [f"{content['ename']}: {content['evalue']}"]
        return [Text("\n".join(lines) + "\n", "traceback")]
    if kind == "oi_active_line":
        return [ActiveLine(content["line"])]
    if kind == "oi_spilled":
        return [Spilled(content["omitted"], content["path"], content["problem"]), Text(content["tail"])]
    return []


def _written(text: str, stream: Literal["stdout", "stderr"], lines: list[tuple[int, int]] | None) -> list[RunEvent]:
    """Printed text, parted by the lines that wrote it, where the kernel says which."""
    parts: list[RunEvent] = []
    at = 0
    for line, size in lines or [(0, len(text))]:
        parts.append(Text(text[at : at + size], stream, line or None))
        at += size
    return parts


def _shown(data: Mapping[str, Any], line: int | None) -> list[RunEvent]:
    """The richest form, and beside markup the plain one too, which is what the model reads."""
    found = next((mime for mime in _RICH if mime in data), None)
    text = data.get("text/markdown") or data.get("text/plain") or ""
    plain: list[RunEvent] = [Text(f"{text}\n", "result", line)] if text else []
    if found is None:
        return plain
    type_, form = _RICH[found]
    # The protocol allows a text as a list of lines.
    value = "".join(data[found])
    if type_ == "image":
        return [Rich(type_, form, value.strip(), line)]
    return [*plain, Rich(type_, form, value, line)]


def failure_of(reply: Mapping[str, Any]) -> list[Failure]:
    """Where the cell failed, as far as its reply tells."""
    place = reply.get("oi_failure")
    return [Failure(**{"name": str(reply["ename"]), "message": str(reply["evalue"]), **place})] if place else []


def death(status: int) -> str:
    """A process's end in a few words; ``status`` as in ``subprocess``: -N for signal N."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
