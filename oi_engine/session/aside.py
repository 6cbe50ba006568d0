"""What the person has the program do beside the conversation, such as a magic command: seen in the stream, not sent.

In the stream it is, with a turn id of its own::

    {"role": "user", "type": "command", "content": "magic", "id": "m-1"}                              the mark
    {"role": "user", "type": "message", "recipient": "user", "parent": "m-1", "content": "%tokens"}   what was written
    {"role": "computer", "type": "message", "recipient": "user", "parent": "m-1", "content": "…"}     the answer
    {"role": "computer", "type": "command", "format": "show", "content": "s-2", "parent": "m-1"}      perhaps
    {"role": "computer", "type": "command", "format": "allowed", "content": {…}, "parent": "m-1"}     perhaps
    {"role": "server", "type": "status", "content": "complete", "parent": "m-1"}

What the program tells by itself, such as a change of the policy, has the same form, without the person's line.

Whatever has the mark as its ``parent`` is no part of the conversation: the transcript leaves it out, and so no model
gets it, no undo counts it, and it is neither stored nor exported.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from attrs import frozen

from oi_engine.errors import OiError
from oi_engine.messages import MARK, Chunk, Role, new_id
from oi_engine.stream import Stream

log = logging.getLogger(__name__)


@frozen
class Answer:
    """What came of it: Markdown for the person, which may be empty, and for programs the id of a session to be shown
    from now on, or what the sandbox allows from now on."""

    text: str = ""
    show: str | None = None
    allowed: dict[str, Any] | None = None


Work = Callable[[], Coroutine[Any, Any, Answer]]
"""What is to be done. What it raises is told in the place of its answer."""


class Asides:
    """The asides of one session that are under way. ``on_end`` is called after each."""

    def __init__(self, stream: Stream, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end
        self._tasks: set[asyncio.Task[Answer]] = set()

    @property
    def under_way(self) -> bool:
        """Whether one is not yet done."""
        return bool(self._tasks)

    def begin(self, said: str, work: Work) -> str:
        """Do ``work``; once it is done, show what the person ``said`` and the answer. Answers the turn id of both."""
        turn_id = new_id("t")
        task = asyncio.get_running_loop().create_task(work())
        self._tasks.add(task)
        task.add_done_callback(partial(self._done, turn_id, said))
        return turn_id

    def tell(self, answer: Answer) -> None:
        """Show a word for the person that answers nothing: a change of the policy, say."""
        self._stream.between(partial(self._write, new_id("t"), "", answer))

    async def close(self) -> None:
        """Give up those under way; nothing is shown of them."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    def _done(self, turn_id: str, said: str, task: asyncio.Task[Answer]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._stream.between(partial(self._write, turn_id, said, _answer_of(task)))
        self._on_end()

    def _write(self, turn_id: str, said: str, answer: Answer) -> None:
        stream = self._stream
        before, stream.turn_id = stream.turn_id, turn_id
        mark = new_id("m")
        stream.put(Chunk("user", "command", content=MARK, id=mark))
        if said:
            self._say("user", said, mark)
        if answer.text:
            self._say("computer", answer.text, mark)
        for what, content in (("show", answer.show), ("allowed", answer.allowed)):
            if content is not None:
                stream.put(Chunk("computer", "command", what, content, id=new_id("m"), parent=mark))
        stream.put(Chunk("server", "status", content="complete", id=new_id("m"), parent=mark))
        stream.turn_id = before

    def _say(self, role: Role, text: str, mark: str) -> None:
        self._stream.open(role, "message", recipient="user", parent=mark)
        self._stream.write(text)
        self._stream.close()


def _answer_of(task: asyncio.Task[Answer]) -> Answer:
    error = task.exception()
    if error is None:
        return task.result()
    if not isinstance(error, OiError):
        log.error("What was done beside the conversation failed.", exc_info=error)
        return Answer(f"Internal error: {type(error).__name__}: {error}")
    return Answer(str(error))
