"""What the tests of the model worker share: requests, and what came of them."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import time
from typing import Any

import psutil
import pytest

from oi_engine.errors import ModelError
from oi_engine.models.model import ModelEvent, ModelRequest, TextDelta, ToolCallDelta
from oi_engine.models.worker_client import WorkerModel
from tests.fakes.http_server import HttpServer

DEADLINE = 100.0
KEY = "sk-test-0123456789abcdef"
CLAUDE = "anthropic/claude-sonnet-4-5"


def environ() -> dict[str, str]:
    """An environment with no key in it, and no way to the network."""
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    closed = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    return {**environ, **closed, "NO_PROXY": "127.0.0.1,localhost"}


def ask(server: HttpServer, model: str = "openai/gpt-4o", **more: Any) -> ModelRequest:
    fields: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}], "api_key": KEY, **more}
    return ModelRequest(model=model, api_base=server.base_url, **fields)


async def collect(model: WorkerModel, request: ModelRequest) -> list[ModelEvent]:
    async with asyncio.timeout(DEADLINE):
        return [event async for event in model.stream(request)]


async def failure(model: WorkerModel, request: ModelRequest) -> tuple[str, ModelError]:
    """The text that came before the reply failed, and the failure."""
    received = io.StringIO()

    async def read() -> None:
        async for event in model.stream(request):
            received.write(event.text if isinstance(event, TextDelta) else "")

    with pytest.raises(ModelError) as caught:
        await asyncio.wait_for(read(), DEADLINE)
    assert KEY not in str(caught.value)
    assert request.model in caught.value.message
    return received.getvalue(), caught.value


def ended(process: psutil.Process) -> None:
    """Wait until the process has ended, whether or not somebody has collected its status yet."""
    deadline = time.monotonic() + DEADLINE
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, "the worker goes on"
            time.sleep(0.01)


def text(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def arguments(events: list[ModelEvent]) -> str:
    return "".join(event.arguments for event in events if isinstance(event, ToolCallDelta))
