"""A model that says what a test scripted, and a runtime that runs a tiny language of a test's own."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterable
from typing import Any

from oi_engine.computer.runtime import ActiveLine, Failure, Finished, InputRequest, InputTaken, Rich, RunEvent, Text
from oi_engine.errors import ModelError, UnknownInput
from oi_engine.models.model import ModelEvent, ModelInfo, ModelRequest, TextDelta, ToolCallDelta

Step = ModelEvent | ModelError | asyncio.Event


def say(text: str) -> list[Step]:
    """A reply of prose, a word at a time."""
    return [TextDelta(word) for word in re.findall(r"\S+\s*|\s+", text)]


def code(source: str, language: str = "python", index: int = 0) -> list[Step]:
    """A reply that is one tool call, in three pieces."""
    arguments = json.dumps({"language": language, "code": source})
    third = max(1, len(arguments) // 3)
    pieces = [arguments[at : at + third] for at in range(0, len(arguments), third)]
    first = ToolCallDelta(index, pieces[0], id=f"call{index}", name="execute")
    return [first, *(ToolCallDelta(index, piece) for piece in pieces[1:])]


class ScriptedModel:
    """Gives the scripted replies in order, then ``after`` for ever. An event in a reply is waited for."""

    def __init__(self, replies: Iterable[list[Step]] = (), *, tools: bool = True, after: str = "Done.") -> None:
        self.replies = list(replies)
        self.requests: list[ModelRequest] = []
        self._tools = tools
        self._after = after

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(request)
        for step in self.replies.pop(0) if self.replies else say(self._after):
            if isinstance(step, asyncio.Event):
                await step.wait()
            elif isinstance(step, ModelError):
                raise step
            else:
                yield step
                await asyncio.sleep(0)

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        return ModelInfo(supports_functions=self._tools)

    async def warm_up(self) -> None: ...

    async def close(self) -> None: ...


class TinyRuntime:
    """Runs lines: ``print X``, ``image``, ``input``, ``wait`` (for an interrupt), ``fail``, ``die``.

    ``value X`` prints and tells its line, ``raise X`` fails and tells where: at the word ``X``.
    """

    def __init__(self, ran: list[str]) -> None:
        self.ran = ran
        self.alive = False
        self.closed = False
        self._answer: asyncio.Future[str] | None = None
        self._stop = asyncio.Event()

    async def start(self) -> None:
        await asyncio.sleep(0)
        self.alive = True

    async def run(self, code: str) -> AsyncGenerator[RunEvent, None]:
        self.ran.append(code)
        self._stop.clear()
        for number, line in enumerate(code.splitlines(), start=1):
            yield ActiveLine(number)
            await asyncio.sleep(0)
            word, _, rest = line.partition(" ")
            if word == "print":
                yield Text(f"{rest}\n")
            elif word == "value":
                yield Text(f"{rest}\n", "result", number)
            elif word == "raise":
                yield Failure(number, rest, "no", line.index(rest), number, len(line))
                yield Finished("error", rest)
                return
            elif word == "throw":  # as runtimes do that do not know the place
                yield Text(f"{rest}: no\n", "traceback")
                yield Finished("error", rest)
                return
            elif word == "image":
                yield Rich("image", "base64.png", "aW1hZ2U=")
            elif word == "input":
                yield InputRequest("? ")
                answer = await self._wait_for_answer()
                yield InputTaken()
                if answer is not None:
                    yield Text(f"got {answer}\n")
            elif word == "wait":
                await self._stop.wait()
            elif word in ("fail", "die"):
                self.alive = word == "fail"
                yield Finished("error" if word == "fail" else "died", word)
                return
            if self._stop.is_set():
                yield Finished("interrupted")
                return
        yield Finished()

    async def _wait_for_answer(self) -> str | None:
        self._answer = asyncio.get_running_loop().create_future()
        stopped = asyncio.ensure_future(self._stop.wait())
        waited: list[asyncio.Future[Any]] = [self._answer, stopped]
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        answered, self._answer = self._answer, None
        return answered.result() if answered.done() else None

    def answer(self, text: str) -> None:
        if self._answer is None or self._answer.done():
            raise UnknownInput("nobody asked")
        self._answer.set_result(text)

    async def interrupt(self) -> bool:
        self._stop.set()
        return True

    async def close(self) -> None:
        self._stop.set()
        self.alive = False
        self.closed = True
