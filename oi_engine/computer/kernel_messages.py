"""Jupyter's messages in the words of ``runtime``: a pure mapping, of content to events.

The messages are those of the Jupyter messaging protocol 5.3, and the two that ``kernel_start`` adds.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from oi_engine.computer.runtime import ActiveLine, Rich, RunEvent, Spilled, Text

_RICH: dict[str, tuple[str, str]] = {
    "image/png": ("image", "base64.png"),
    "image/jpeg": ("image", "base64.jpeg"),
    "image/svg+xml": ("code", "html"),
    "text/html": ("code", "html"),
    "application/javascript": ("code", "javascript"),
}
"""What LMC can hold, the richest first: type and format by MIME type."""


def events_of(kind: str, content: Mapping[str, Any]) -> list[RunEvent]:
    """What an iopub message says to the person and the model; nothing for those of the protocol's own business.

    ``clear_output`` says nothing: what was printed stays, since the model has read it.
    """
    if kind == "stream":
        return [Text(content["text"], "stderr" if content["name"] == "stderr" else "stdout")]
    if kind in ("execute_result", "display_data", "update_display_data"):
        return _shown(content["data"])
    if kind == "error":
        lines = content["traceback"] or [f"{content['ename']}: {content['evalue']}"]
        return [Text("\n".join(lines) + "\n", "traceback")]
    if kind == "oi_active_line":
        return [ActiveLine(content["line"])]
    if kind == "oi_spilled":
        return [Spilled(content["omitted"], content["path"]), Text(content["tail"])]
    return []


def _shown(data: Mapping[str, Any]) -> list[RunEvent]:
    """The richest form, and beside markup the plain one too, which is what the model reads."""
    found = next((mime for mime in _RICH if mime in data), None)
    text = data.get("text/markdown") or data.get("text/plain") or ""
    plain: list[RunEvent] = [Text(f"{text}\n", "result")] if text else []
    if found is None:
        return plain
    type_, form = _RICH[found]
    # The protocol allows a text as a list of lines.
    value = "".join(data[found])
    rich = Rich("image" if type_ == "image" else "code", form, value.strip() if type_ == "image" else value)
    return [rich] if type_ == "image" else [*plain, rich]


def death(status: int) -> str:
    """A process's end in a few words; ``status`` as in ``subprocess``: -N for signal N."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
