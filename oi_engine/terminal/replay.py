"""The end of a conversation that was said elsewhere, shown before it goes on."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from oi_engine.history.restore import chunks
from oi_engine.history.store import Conversation, Opened
from oi_engine.messages import Message
from oi_engine.stream import Entry
from oi_engine.terminal.renderer import Renderer

SHOWN = 12
"""Messages that are shown of it."""
_LONGEST = 4000
"""Of a message that is longer than this, the beginning or, of output, the end is shown."""


def show_end(renderer: Renderer, messages: Sequence[Message]) -> None:
    """Show the last messages, as they looked when they were said."""
    if not messages:
        return
    end = messages[-SHOWN:]
    if len(messages) > len(end):
        renderer.say(f"… {len(messages) - len(end):,} messages before these")
    for message in end:
        if message.role == "user" and message.type == "message":
            renderer.hand_over()
            renderer.say(_short(message).text, "echo")
        elif message.type in ("message", "code", "console"):
            for chunk in chunks(Opened(Conversation(""), (_short(message),), (), revision=0)):
                if chunk.type != "status":
                    renderer.entry(Entry(1, "", chunk))
        elif message.type != "reasoning":
            renderer.say(f"({message.type})")
    renderer.settle()


def _short(message: Message) -> Message:
    text = message.text
    if len(text) <= _LONGEST:
        return message
    kept = f"…{text[-_LONGEST:]}" if message.type == "console" else f"{text[:_LONGEST]}…"
    return evolve(message, content=kept)
