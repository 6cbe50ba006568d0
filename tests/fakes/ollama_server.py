"""A scripted server that speaks Ollama's own API: ``/api/chat`` (streaming, a JSON object a line), ``/api/show``,
``/api/tags``.

The format is that of https://docs.ollama.com/api. Requests for replies use up ``replies``; what is asked about models
is answered from ``models``, any number of times::

    async with OllamaServer([Reply.text("Hello")], [LocalModel("llama3.2:3b", tools=True)]) as server:
        ModelRequest(model="ollama_chat/llama3.2:3b", api_base=server.base_url, ...)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from tests.fakes.http_server import HttpServer, Recorded, Response, Send, Step
from tests.fakes.openai_server import USAGE, cut

MODEL = "llama3.2:3b"


@frozen
class LocalModel:
    """A model that the server has. ``lists`` is false for servers that do not tell what a model can do."""

    name: str = MODEL
    tools: bool = False
    vision: bool = False
    thinking: bool = False
    context_length: int = 131_072
    num_ctx: int | None = None
    lists: bool = True

    def show(self) -> dict[str, Any]:
        """The answer of ``/api/show``."""
        can = {"completion": True, "tools": self.tools, "vision": self.vision, "thinking": self.thinking}
        told: dict[str, Any] = {
            "modelfile": "FROM …",
            "template": "{{ .System }}{{ if .Tools }}…{{ end }}" if self.tools else "{{ .System }}",
            "details": {"format": "gguf", "family": "llama", "parameter_size": "3.2B"},
            "model_info": {"general.architecture": "llama", "llama.context_length": self.context_length},
        }
        if self.num_ctx is not None:
            told["parameters"] = f'num_ctx                        {self.num_ctx}\nstop "<|eot_id|>"'
        return {**told, "capabilities": [name for name, is_so in can.items() if is_so]} if self.lists else told


class OllamaServer(HttpServer):
    """The server; ``base_url`` has no path."""

    def __init__(self, replies: Sequence[Response] = (), models: Sequence[LocalModel] = (LocalModel(),)) -> None:
        self._replies = list(replies)
        self._models = {model.name: model for model in models}
        super().__init__(self._answer)

    @property
    def chats(self) -> list[Any]:
        """What was asked of ``/api/chat``."""
        return [request.json for request in self.requests if request.path == "/api/chat"]

    def _answer(self, request: Recorded) -> Response:
        if request.path == "/api/tags":
            return Response.json({"models": [{"name": name, "model": name} for name in self._models]})
        if request.path == "/api/show":
            asked = request.json.get("model") or request.json.get("name")
            model = self._models.get(asked)
            return Response.json(model.show()) if model else _not_found(asked)
        if request.path != "/api/chat":
            return Response((Send(b"404 page not found"),), 404, "text/plain")
        if request.json["model"] not in self._models:
            return _not_found(request.json["model"])
        return self._replies.pop(0)


class Reply:
    """Scripted replies. ``size`` is how many characters a line carries."""

    @staticmethod
    def text(text: str, *, thinking: str = "", size: int = 4) -> Response:
        """Perhaps thinking, then text."""
        thought = [line({"role": "assistant", "content": "", "thinking": part}) for part in cut(thinking, size)]
        said = [line({"role": "assistant", "content": part}) for part in cut(text, size)]
        return _stream([*thought, *said, last()])

    @staticmethod
    def tool_call(language: str, code: str, *, text: str = "", size: int = 4) -> Response:
        """Perhaps text, then one call of ``execute``; Ollama sends its arguments at once, as an object."""
        said = [line({"role": "assistant", "content": part}) for part in cut(text, size)]
        function = {"name": "execute", "arguments": {"language": language, "code": code}}
        return _stream(
            [*said, line({"role": "assistant", "content": "", "tool_calls": [{"function": function}]}), last()]
        )

    @staticmethod
    def error(status: int, message: str) -> Response:
        """An error in Ollama's form."""
        return Response.json({"error": message}, status)


def line(message: dict[str, Any], **more: Any) -> Step:
    """One line of a stream."""
    head = {"model": MODEL, "created_at": "2025-06-01T12:00:00.000000Z"}
    return Send(json.dumps({**head, "message": message, "done": False, **more}).encode() + b"\n")


def last(reason: str = "stop") -> Step:
    """The line that ends a reply, with its figures (durations in nanoseconds)."""
    prompt, completion = USAGE
    figures = {"total_duration": 5, "load_duration": 1, "prompt_eval_duration": 1, "eval_duration": 1}
    counts = {"prompt_eval_count": prompt, "eval_count": completion}
    return line({"role": "assistant", "content": ""}, done=True, done_reason=reason, **figures, **counts)


def _stream(steps: Sequence[Step]) -> Response:
    return Response(tuple(steps), 200, "application/x-ndjson")


def _not_found(name: str) -> Response:
    return Reply.error(404, f"model '{name}' not found")
