"""A scripted server that speaks Anthropic's messages API, streaming and errors alike::

    async with AnthropicServer([Reply.tool_call("python", "print(1)", text="I look.")]) as server:
        ModelRequest(model="anthropic/claude-3-5-sonnet-20241022", api_base=server.base_url, api_key="test", ...)

The format is that of https://docs.anthropic.com/en/api/messages-streaming and ``…/api/errors``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.fakes.http_server import Drop, HttpServer, Response, Send, Step
from tests.fakes.openai_server import USAGE, cut

MODEL = "claude-3-5-sonnet-20241022"


class AnthropicServer(HttpServer):
    """The server; ``base_url`` has no path: LiteLLM adds ``/v1/messages``."""


class Reply:
    """Scripted replies. ``size`` is how many characters a delta carries."""

    @staticmethod
    def text(text: str, *, size: int = 4) -> Response:
        """Plain text."""
        return Reply.stream([start(), *text_block(0, text, size), *ending("end_turn")])

    @staticmethod
    def tool_call(language: str, code: str, *, text: str = "", size: int = 4) -> Response:
        """Perhaps text, then one use of the tool ``execute``."""
        blocks = text_block(0, text, size) if text else []
        arguments = json.dumps({"language": language, "code": code})
        tool = tool_block(1 if text else 0, "execute", arguments, size)
        return Reply.stream([start(), *blocks, *tool, *ending("tool_use")])

    @staticmethod
    def stream(steps: Iterable[Step]) -> Response:
        """Any steps at all."""
        return Response.events(steps)

    @staticmethod
    def dropped(text: str, *, size: int = 4) -> Response:
        """Text, then silence until the test releases it, then the connection is reset."""
        return Reply.stream([start(), *text_block(0, text, size), Drop()])

    @staticmethod
    def error(status: int, type: str, message: str) -> Response:  # noqa: A002
        """An error in Anthropic's form."""
        return Response.json({"type": "error", "error": {"type": type, "message": message}}, status)


def event(type: str, **fields: Any) -> Step:  # noqa: A002
    """One server-sent event."""
    body = {"type": type, **fields}
    return Send(f"event: {type}\ndata: {json.dumps(body)}\n\n".encode())


def start() -> Step:
    """The event that begins every message."""
    usage = {"input_tokens": USAGE[0], "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": []}
    return event("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})


def text_block(index: int, text: str, size: int) -> list[Step]:
    """One block of text."""
    return [
        event("content_block_start", index=index, content_block={"type": "text", "text": ""}),
        *(
            event("content_block_delta", index=index, delta={"type": "text_delta", "text": part})
            for part in cut(text, size)
        ),
        event("content_block_stop", index=index),
    ]


def tool_block(index: int, name: str, arguments: str, size: int) -> list[Step]:
    """One use of a tool: its input arrives as pieces of JSON."""
    head = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    return [
        event("content_block_start", index=index, content_block=head),
        *(
            event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": part})
            for part in cut(arguments, size)
        ),
        event("content_block_stop", index=index),
    ]


def ending(reason: str) -> list[Step]:
    """The stop reason with the usage, and the end of the message."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [event("message_delta", delta=delta, usage={"output_tokens": USAGE[1]}), event("message_stop")]
