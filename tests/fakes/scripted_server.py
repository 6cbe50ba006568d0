"""The real server on standard input and output, with a scripted model and the tiny runtime.

``OI_SCRIPT`` is JSON: ``{"replies": [[step, …], …], "edits": [[step, …], …]}``, a step being ``{"say": text, "times":
1}`` or ``{"code": source, "language": name}`` or ``{"cost": dollars}`` or ``{"fail": message}`` or ``{"wait": true}``
(for ever). ``edits`` is what the model says outside sessions. Each request's messages are written to the file
``OI_REQUESTS`` as a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from oi_engine import settings as tree
from oi_engine.errors import ModelError
from oi_engine.factory import Engine
from oi_engine.models.chosen import Choice
from oi_engine.models.model import Model, ModelEvent, ModelRequest, Usage
from oi_engine.session.session import Session
from oi_engine.settings import Settings
from oi_lsp.host import EngineMaker
from oi_lsp.server import serve_stdio, serve_tcp
from tests.fakes.scripted import ScriptedModel, Step, TinyRuntime, code, say


def _steps(reply: list[dict[str, Any]]) -> list[Step]:
    found: list[Step] = []
    for step in reply:
        if "say" in step:
            found += say(step["say"]) * step.get("times", 1)
        elif "code" in step:
            found += code(step["code"], step.get("language", "python"))
        elif "cost" in step:
            found.append(Usage(100, 10, step["cost"]))
        elif "fail" in step:
            found.append(ModelError("refused", step["fail"]))
        else:
            found.append(asyncio.Event())
    return found


class RecordingModel(ScriptedModel):
    """Writes down what it is asked."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        if path := os.environ.get("OI_REQUESTS"):
            with open(path, "a", encoding="utf-8") as file:  # noqa: ASYNC230 -- a line to a local file
                file.write(json.dumps(list(request.messages)) + "\n")
        async for event in super().stream(request):
            yield event


class ScriptedEngine(Engine):
    """An engine whose sessions each begin the script anew."""

    def __init__(self, settings: Settings, script: dict[str, Any]) -> None:
        super().__init__(settings)
        self._script = script
        self._editing = RecordingModel([_steps(reply) for reply in script.get("edits", [])])

    def model(self, name: str) -> Model:
        return self._editing if name == "scripted" else super().model(name)

    async def choose_model(self, settings: Settings | None = None) -> Choice:
        named = (settings or self.settings).llm.model
        return Choice(named or "scripted", "It is the test's.")

    def new_session(
        self, *, cwd: str, settings: Settings | None = None, model: Choice | None = None, title: str = "", **_: Any
    ) -> Session:
        scripted = RecordingModel([_steps(reply) for reply in self._script.get("replies", [])])
        own = settings or self.settings
        session = Session(
            scripted, lambda language, folder: TinyRuntime([]), own, cwd=cwd, title=title, make_scanner=self._scanner
        )
        self._sessions.append(session)
        return session


def load() -> EngineMaker:
    script = json.loads(os.environ.get("OI_SCRIPT", "{}"))

    async def make(given: Mapping[str, object], workspace: str, on_problem: Callable[[str], None]) -> Engine:
        settings, problems = tree.read(given)
        for problem in problems:
            on_problem(problem)
        return ScriptedEngine(settings, script)

    return make


if __name__ == "__main__":
    sys.exit(serve_tcp(int(sys.argv[1]), load) if len(sys.argv) > 1 else serve_stdio(load))
