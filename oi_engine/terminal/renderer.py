"""What a renderer is: it takes the entries of a session's stream and shows them. One is rich, one is plain."""

from __future__ import annotations

from typing import Literal, Protocol

from oi_engine.messages import Chunk
from oi_engine.session.state import Snapshot
from oi_engine.stream import Entry

Tone = Literal["note", "warning", "error", "echo", "title"]


def unasked(chunk: Chunk) -> str:
    """Why a block runs without a question, where a chunk says so; else nothing."""
    says = chunk.type == "command" and chunk.format == "unasked"
    return str(chunk.content["words"]) if says and isinstance(chunk.content, dict) else ""


class Renderer(Protocol):
    """Shows a session. ``entry`` and ``state`` only take note; ``draw`` and ``settle`` write."""

    def entry(self, entry: Entry) -> None:
        """Take the next entry of the stream."""
        ...

    def state(self, snapshot: Snapshot) -> None:
        """Take the session's new state."""
        ...

    def say(self, text: str, tone: Tone = "note") -> None:
        """Show a word of the terminal's own."""
        ...

    def tell(self, markdown: str) -> None:
        """Show Markdown of the terminal's own."""
        ...

    def show_edit(self, code: str) -> None:
        """Show the code as the person edited it, in place of the code that was proposed."""
        ...

    def draw(self) -> None:
        """Bring what is shown up to date."""
        ...

    def settle(self) -> None:
        """Print everything for good; nothing is drawn anew after this."""
        ...

    def pause(self) -> None:
        """A question is about to be put under what is shown."""
        ...

    def hand_over(self) -> None:
        """Another program gets the terminal: print for good what it must not draw over."""
        ...

    def resume(self) -> None:
        """Others have written to the terminal: nothing that is on it can be drawn over."""
        ...
