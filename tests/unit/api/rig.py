"""What the tests of the Python API share: a language, a model, and words for both."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from oi_engine import OpenInterpreter

Chunk = dict[str, Any]
Make = Callable[..., tuple[OpenInterpreter, "Model"]]


class Tiny:
    """A language that says what it was given; ``python`` by name, so that it is known."""

    name = "python"
    ran: list[str]
    stopped: threading.Event

    def run(self, code: str) -> Iterator[Chunk]:
        type(self).ran.append(code)
        if code == "wait":
            yield {"type": "console", "format": "output", "content": "waiting\n"}
            self.stopped.wait(30)
            return
        if code == "fail":
            raise ValueError("it failed")
        yield {"type": "console", "format": "active_line", "content": "1"}
        yield {"type": "console", "format": "output", "content": f"ran {code}\n"}

    def stop(self) -> None:
        self.stopped.set()

    def terminate(self) -> None:
        type(self).ran.append("terminated")


class Model:
    """A function that replies as scripted, then says ``Done.``, and keeps what it was asked."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.requests: list[list[Chunk]] = []

    def __call__(self, messages: list[Chunk], model: str, stream: bool, max_tokens: int | None) -> Iterator[Chunk]:
        self.requests.append(messages)
        reply = self.replies.pop(0) if self.replies else "Done."
        if isinstance(reply, Exception):
            raise reply
        for at in range(0, len(reply), 5):
            yield {"choices": [{"delta": {"content": reply[at : at + 5]}}]}


def block(code: str) -> str:
    return f"```python\n{code}\n```"


def said(messages: list[Chunk]) -> list[tuple[str, str, str]]:
    return [(message["role"], message["type"], message["content"]) for message in messages]


def until(true: Callable[[], bool]) -> None:
    """Wait until something on the engine's loop has come about."""
    deadline = threading.Event()
    for _ in range(3000):
        if true():
            return
        deadline.wait(0.01)
    raise AssertionError("it never came about")
