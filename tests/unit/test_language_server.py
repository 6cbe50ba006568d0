"""The server's life, in this process: reading no faster than the client reads, loading the engine, ending."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from oi_engine.factory import Engine
from oi_lsp import language_server
from oi_lsp.channel import Channel
from oi_lsp.host import EngineMaker
from oi_lsp.language_server import OiLanguageServer, _watch


def framed(*messages: object) -> bytes:
    bodies = [json.dumps(message).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)


def request(number: int, method: str, params: object = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def load() -> EngineMaker:
    async def make(given: Mapping[str, object], workspace: str, on_problem: Callable[[str], None]) -> Engine:
        return Engine()

    return make


async def test_a_client_that_does_not_read_is_not_read_from(monkeypatch: pytest.MonkeyPatch) -> None:
    full, count = 200_000, 1000
    monkeypatch.setattr(language_server, "FULL", full)
    asked = {"command": "oi.settings.get", "arguments": [{}]}
    start = framed(request(-1, "initialize", {"capabilities": {}}), {"jsonrpc": "2.0", "method": "initialized"})
    requests = (framed(request(number, "workspace/executeCommand", asked)) for number in range(count))
    blocks: Iterator[bytes] = iter([start, *requests])
    go_on = threading.Event()
    answered = bytearray()
    pending: list[int] = []

    def read(_: int) -> bytes:
        if hasattr(server, "_writer"):
            pending.append(server._writer.pending)
        return next(blocks, b"")

    def write(data: memoryview) -> int:
        go_on.wait(60)
        answered.extend(data)
        return len(data)

    server = OiLanguageServer(load)
    serving = asyncio.create_task(server.serve(Channel(read, write)))
    async with asyncio.timeout(60):
        while not hasattr(server, "_writer") or server._writer.pending <= full:
            await asyncio.sleep(0)
        go_on.set()
        assert await serving == 0
    assert answered.count(b'"result":') + answered.count(b'"result": ') >= count
    assert full - 10_000 < max(pending) < full + 10_000


async def test_an_engine_that_cannot_be_loaded_is_said_and_the_server_goes_on() -> None:
    def broken() -> EngineMaker:
        raise ImportError("no module named tea")

    answers: asyncio.Queue[bytes] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    go_on = threading.Event()
    blocks = iter(
        [
            framed(request(1, "initialize", {"capabilities": {}}), {"jsonrpc": "2.0", "method": "initialized"}),
            framed(request(2, "workspace/executeCommand", {"command": "oi.session.new", "arguments": [{}]})),
        ]
    )

    def read(_: int) -> bytes:
        block = next(blocks, b"")
        if not block:
            go_on.wait(60)
        return block

    def write(data: memoryview) -> int:
        loop.call_soon_threadsafe(answers.put_nowait, bytes(data))
        return len(data)

    serving = asyncio.create_task(OiLanguageServer(broken).serve(Channel(read, write)))
    async with asyncio.timeout(60):
        seen = b"".join([await answers.get() for _ in range(3)])
        go_on.set()
        assert await serving == 0
    assert b"The engine could not be loaded: no module named tea" in seen
    assert b"The engine is not loaded." in seen


async def test_the_end_of_a_watched_process_is_told() -> None:
    ended = asyncio.Event()
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)  # noqa: ASYNC220
    try:
        _watch(process.pid, ended.set)
        assert process.stdin is not None
        process.stdin.close()
        await asyncio.wait_for(ended.wait(), 30)
    finally:
        process.kill()
        process.wait()


async def test_a_process_that_is_not_there_is_not_watched() -> None:
    _watch(2**22 + 12345, os.abort)
