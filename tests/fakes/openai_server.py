"""A scripted server that speaks OpenAI's chat completions API, streaming (server-sent events) and errors alike::

    async with OpenAiServer([Reply.text("Hello"), Reply.tool_call("python", "print(1)")]) as server:
        ModelRequest(model="openai/gpt-4o", api_base=server.base_url, api_key="sk-test", ...)

The format is that of https://platform.openai.com/docs/api-reference/chat/streaming and ``…/guides/error-codes``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tests.fakes.http_server import Drop, Hold, HttpServer, Pause, Response, Send, Step

MODEL = "gpt-4o"
USAGE = (11, 7)
"""Tokens of prompt and completion that every whole reply reports."""


class OpenAiServer(HttpServer):
    """The server; ``base_url`` ends in ``/v1`` as OpenAI's does."""

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"


class Reply:
    """Scripted replies. ``size`` is how many characters a chunk carries, ``pause`` the seconds before each chunk."""

    @staticmethod
    def text(text: str, *, size: int = 4, pause: float = 0.0, finish: str | None = "stop") -> Response:
        """Plain text, usage and ``[DONE]``."""
        return Reply.stream([role(), *spaced(texts(text, size), pause), *ending(finish)])

    @staticmethod
    def reasoning(reasoning: str, text: str, *, size: int = 4) -> Response:
        """What the model thinks (as DeepSeek and others send it: ``reasoning_content``), then text."""
        thought = [delta({"reasoning_content": part}) for part in cut(reasoning, size)]
        return Reply.stream([role(), *thought, *texts(text, size), *ending("stop")])

    @staticmethod
    def tool_call(language: str, code: str, *, text: str = "", size: int = 4, pause: float = 0.0) -> Response:
        """Perhaps text, then one call of ``execute``."""
        arguments = json.dumps({"language": language, "code": code})
        return Reply.calls([("execute", arguments)], text=text, size=size, pause=pause)

    @staticmethod
    def calls(calls: Sequence[tuple[str, str]], *, text: str = "", size: int = 4, pause: float = 0.0) -> Response:
        """Perhaps text, then calls of tools, each a name and its raw arguments, one after the other."""
        chunks: list[Step] = [role(), *texts(text, size)]
        for index, (name, arguments) in enumerate(calls):
            chunks += tool_call(index, name, arguments, size)
        return Reply.stream([*spaced(chunks, pause), *ending("tool_calls")])

    @staticmethod
    def stream(steps: Iterable[Step]) -> Response:
        """Any steps at all."""
        return Response.events(steps)

    @staticmethod
    def held(text: str, then: str = "", *, size: int = 4) -> Response:
        """Text, then silence until the test releases it, then more text and a whole ending."""
        return Reply.stream([role(), *texts(text, size), Hold(), *texts(then, size), *ending("stop")])

    @staticmethod
    def dropped(text: str, *, size: int = 4) -> Response:
        """Text, then the connection is reset."""
        return Reply.stream([role(), *texts(text, size), Drop()])

    @staticmethod
    def error(
        status: int,
        message: str,
        *,
        type: str = "invalid_request_error",  # noqa: A002
        code: str | None = None,
        param: str | None = None,
    ) -> Response:
        """An error in OpenAI's form."""
        return Response.json({"error": {"message": message, "type": type, "param": param, "code": code}}, status)


def chunk(choices: list[dict[str, Any]], **more: Any) -> Step:
    """One server-sent event that holds one streaming chunk."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": MODEL,
        "choices": choices,
        **more,
    }
    return Send(f"data: {json.dumps(body)}\n\n".encode())


def delta(change: dict[str, Any], finish: str | None = None) -> Step:
    """One chunk with a delta."""
    return chunk([{"index": 0, "delta": change, "finish_reason": finish, "logprobs": None}])


def role() -> Step:
    """The first chunk, as OpenAI sends it."""
    return delta({"role": "assistant", "content": ""})


def texts(text: str, size: int) -> list[Step]:
    """Text in chunks of ``size`` characters."""
    return [delta({"content": part}) for part in cut(text, size)]


def tool_call(index: int, name: str, arguments: str, size: int) -> list[Step]:
    """One tool call: its head, then its arguments in chunks of ``size`` characters."""
    function = {"name": name, "arguments": ""}
    head = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
    return [
        delta({"tool_calls": [head]}),
        *(delta({"tool_calls": [{"index": index, "function": {"arguments": part}}]}) for part in cut(arguments, size)),
    ]


def ending(finish: str | None) -> list[Step]:
    """The finish reason (left out where ``None``), the usage chunk and ``[DONE]``."""
    prompt, completion = USAGE
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    last = [] if finish is None else [delta({}, finish)]
    return [*last, chunk([], usage=usage), done()]


def done() -> Step:
    """What ends every whole stream."""
    return Send(b"data: [DONE]\n\n")


def spaced(steps: Iterable[Step], pause: float) -> list[Step]:
    """The steps with a pause before each."""
    if not pause:
        return list(steps)
    return [item for step in steps for item in (Pause(pause), step)]


def cut(text: str, size: int) -> list[str]:
    """The text in parts of ``size`` characters."""
    return [text[start : start + size] for start in range(0, len(text), size)]
