"""Jupyter's messages in the words of ``runtime``, and the queue in which they wait for the reader of a run.

The messages are those of the Jupyter messaging protocol 5.3, and what ``kernel_start`` adds to them. The code that runs
in a kernel can send any others in its name: what is not as the protocol has it raises one of ``UNREADABLE``.
"""

from __future__ import annotations

import asyncio
import re
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


_NAMELESS = re.compile(r"<[\w.]+(?: object| object at 0x[0-9a-fA-F]+| at 0x[0-9a-fA-F]+)>")
"""What Python says of an object that says nothing of itself."""

UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, RecursionError)
"""What reading a message raises that is not as the protocol has it."""

_LARGEST = 2**31
"""What is counted in a message (lines, columns, characters) is below it."""


@frozen
class Reply:
    """How a cell ended. ``error``: the error's name, and empty where there was none; ``left``: the program left."""

    error: str
    failure: Failure | None
    left: bool


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
    """The cell of that request has ended, and how."""

    request: str
    reply: Reply


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

    ``clear_output`` says nothing: what was printed stays, since the model has read it. Raises ``UNREADABLE``.
    """
    if kind == "stream":
        stream = "stderr" if content["name"] == "stderr" else "stdout"
        return _written(_text(content["text"]), stream, content.get("oi_lines"))  # type: ignore[arg-type]
    if kind in ("execute_result", "display_data", "update_display_data"):
        return _shown(content["data"], _counted(content.get("oi_line")) or None)
    if kind == "error":
        lines = content["traceback"] or [f"{content['ename']}: {content['evalue']}"]
        return [Text("\n".join(lines) + "\n", "traceback")]
    if kind == "oi_active_line":
        return [ActiveLine(_counted(content["line"]))]
    if kind == "oi_spilled":
        omitted, problem = _counted(content["omitted"]) or 0, _text(content.get("problem", ""))
        return [Spilled(omitted, _text(content["path"]), problem), Text(_text(content["tail"]))]
    return []


def input_of(request: str, content: Mapping[str, Any]) -> Input:
    """What an ``input_request`` asks. Raises ``UNREADABLE``."""
    return Input(request, _text(content["prompt"]), bool(content["password"]))


def _text(value: object) -> str:
    """A text, which the protocol allows as a list of lines."""
    if isinstance(value, list):
        return "".join(value)
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is no text")
    return value


def _counted(value: object) -> int | None:
    """A number of lines, columns or characters; nothing of what is none."""
    return value if type(value) is int and 0 <= value < _LARGEST else None


def _written(text: str, stream: Literal["stdout", "stderr"], lines: list[tuple[int, int]] | None) -> list[RunEvent]:
    """Printed text, parted by the lines that wrote it, where the kernel says which."""
    parts: list[RunEvent] = []
    at = 0
    for line, size in lines or [(0, len(text))]:
        if not _counted(size):
            continue
        parts.append(Text(text[at : at + size], stream, _counted(line) or None))
        at += size
    if at < len(text):
        parts.append(Text(text[at:], stream))
    return parts


def _shown(data: Mapping[str, Any], line: int | None) -> list[RunEvent]:
    """The richest form, as Jupyter's front ends choose, and of markup the words before it, for the model."""
    found = next((mime for mime in _RICH if mime in data), None)
    text = _text(data.get("text/markdown") or data.get("text/plain") or "")
    if found is None:
        return [Text(f"{text}\n", "result", line)] if text else []
    type_, form = _RICH[found]
    value = _text(data[found])
    if type_ == "image":
        return [Rich(type_, form, value.strip(), line)]
    says_something = text and not _NAMELESS.fullmatch(text)
    return [*([Text(f"{text}\n", "twin", line)] if says_something else []), Rich(type_, form, value, line)]


def reply_of(content: object) -> Reply:
    """What an ``execute_reply`` says. One that is not as the protocol has it says that there was an error: without it
    the cell would have no end."""
    said = content if isinstance(content, Mapping) else {}
    if said.get("status") == "ok":
        error = ""
    else:
        name = said.get("ename", said.get("status"))
        error = name if isinstance(name, str) and name else "error"
    payload = said.get("payload")
    left = isinstance(payload, list) and any(
        isinstance(each, dict) and each.get("source") == "ask_exit" for each in payload
    )
    return Reply(error, _failure_of(said) if error else None, left)


def _failure_of(reply: Mapping[str, Any]) -> Failure | None:
    """Where the cell failed, as far as its reply tells."""
    place = reply.get("oi_failure")
    if not isinstance(place, dict) or (line := _counted(place.get("line"))) is None:
        return None
    words = (place.get("name", reply.get("ename")), place.get("message", reply.get("evalue")))
    name, message = (word if isinstance(word, str) else "" for word in words)
    column, end_line, end_column = (_counted(place.get(key)) for key in ("column", "end_line", "end_column"))
    return Failure(line, name, message, column, end_line, end_column)


def death(status: int) -> str:
    """A process's end in a few words; ``status`` as in ``subprocess``: -N for signal N."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
