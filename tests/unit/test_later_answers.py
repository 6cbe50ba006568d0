"""Commands that are answered when their work is done: others go on meanwhile, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from lsprotocol import types

from oi_engine.errors import OiError
from oi_lsp import language_server, protocol
from oi_lsp.channel import Channel, frames
from oi_lsp.features import settings
from oi_lsp.host import SessionHost
from oi_lsp.language_server import OiLanguageServer
from oi_lsp.protocol_settings import SettingsGet, SettingsGetResult
from tests.unit.test_language_server import framed, load, request

COMMAND = "workspace/executeCommand"
ASK: dict[str, Any] = {"command": "oi.settings.get", "arguments": [{}]}


class Client:
    """A client in this process. ``answers`` are by id."""

    def __init__(self, server: OiLanguageServer) -> None:
        self.server = server
        self.answers: dict[Any, list[dict[str, Any]]] = {}
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Condition()
        self._blocks: list[bytes] = []
        self._more = threading.Condition()

    def send(self, *messages: object) -> None:
        with self._more:
            self._blocks.append(framed(*messages))
            self._more.notify()

    def hang_up(self) -> None:
        with self._more:
            self._blocks.append(b"")
            self._more.notify()

    async def answer(self, msg_id: object) -> dict[str, Any]:
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(lambda: msg_id in self.answers), 60)
        (found,) = self.answers[msg_id]
        return found

    def channel(self) -> Channel:
        return Channel(self._read, self._write)

    def _read(self, _: int) -> bytes:
        with self._more:
            self._more.wait_for(lambda: self._blocks, 60)
            return self._blocks.pop(0)

    def _write(self, data: memoryview) -> int:
        self._loop.call_soon_threadsafe(lambda taken: self._loop.create_task(self._take(taken)), bytes(data))
        return len(data)

    async def _take(self, data: bytes) -> None:
        blocks = iter([data])
        for body in frames(lambda _: next(blocks, b"")):
            message = json.loads(body or b"{}")
            if "id" in message:
                self.answers.setdefault(message["id"], []).append(message)
        async with self._news:
            self._news.notify_all()


@asynccontextmanager
async def serving(
    monkeypatch: pytest.MonkeyPatch, handler: Callable[[SessionHost, SettingsGet], Any]
) -> AsyncIterator[Client]:
    """A server whose ``oi.settings.get`` is served by ``handler``, and its client."""
    monkeypatch.setitem(settings.HANDLERS._handlers, SettingsGet, handler)
    client = Client(OiLanguageServer(load))
    running = asyncio.create_task(client.server.serve(client.channel()))
    client.send(request(-1, "initialize", {"capabilities": {}}), {"jsonrpc": "2.0", "method": "initialized"})
    try:
        await client.answer(-1)
        yield client
    finally:
        client.hang_up()
        await asyncio.wait_for(running, 60)


async def test_others_are_answered_meanwhile_and_no_future_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = asyncio.Event()

    async def slow(_: SessionHost, __: SettingsGet) -> SettingsGetResult:
        await go_on.wait()
        return SettingsGetResult({"late": True}, ())

    async with serving(monkeypatch, slow) as client:
        client.send(*(request(number, COMMAND, ASK) for number in range(20)))
        client.send(request(99, COMMAND, {"command": "oi.session.list", "arguments": [{}]}))
        assert (await client.answer(99))["result"] == {"sessions": []}
        assert not any(number in client.answers for number in range(20))
        go_on.set()
        for number in range(20):
            assert (await client.answer(number))["result"]["settings"] == {"late": True}
        assert client.server.protocol._request_futures == {}
        assert client.server._answering == set()


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancelled_request_is_answered_once_and_its_work_goes_on(
    monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    began, go_on, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(_: SessionHost, __: SettingsGet) -> SettingsGetResult:
        began.set()
        await go_on.wait()
        over.set()
        if fails:
            raise OiError("It failed.")
        return SettingsGetResult({}, ())

    async with serving(monkeypatch, slow) as client:
        client.send(request(1, COMMAND, ASK))
        await asyncio.wait_for(began.wait(), 60)
        client.send(*({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": each}} for each in (1, 1, 77)))
        assert (await client.answer(1))["error"]["code"] == -32800
        assert client.server.protocol._request_futures == {}
        go_on.set()
        await asyncio.wait_for(over.wait(), 60)
        client.send(request(2, COMMAND, {"command": "oi.session.list", "arguments": [{}]}))
        await client.answer(2)
        assert len(client.answers[1]) == 1


async def test_what_takes_too_long_is_an_error_and_so_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_server, "ANSWERING", 2)

    async def never(_: SessionHost, __: SettingsGet) -> None:
        await asyncio.Event().wait()

    async with serving(monkeypatch, never) as client:
        client.send(*(request(number, COMMAND, ASK) for number in (1, 2, 3)))
        assert (await client.answer(3))["error"]["code"] == protocol.ErrorCode.TIMED_OUT
        assert not {1, 2} & set(client.answers)
    monkeypatch.setattr(protocol, "ANSWER_TIME", 0.0)
    async with serving(monkeypatch, never) as client:
        client.send(request(1, COMMAND, ASK))
        assert (await client.answer(1))["error"]["code"] == protocol.ErrorCode.TIMED_OUT


@pytest.mark.parametrize(
    ("error", "code"),
    [(OiError("No.", "Do that."), protocol.ErrorCode.REFUSED), (KeyError("x"), protocol.ErrorCode.INTERNAL_ERROR)],
)
async def test_errors_are_those_of_other_commands(
    monkeypatch: pytest.MonkeyPatch, error: Exception, code: protocol.ErrorCode
) -> None:
    async def fails(_: SessionHost, __: SettingsGet) -> None:
        raise error

    async with serving(monkeypatch, fails) as client:
        client.server.host.speaks = True
        client.send(request(1, COMMAND, ASK))
        assert (await client.answer(1))["error"]["code"] == code


async def test_a_query_that_takes_too_long_is_answered_with_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_server, "QUERY_TIME", 0.01)
    never, began = asyncio.Event(), asyncio.Event()

    async def slow(*_: Any) -> str:
        began.set()
        await never.wait()
        return "late"

    async def fast(*_: Any) -> types.Hover:
        return types.Hover("here")

    class Looking:
        hover, complete = staticmethod(fast), staticmethod(slow)

    async def at_once(_: SessionHost, __: SettingsGet) -> SettingsGetResult:
        return SettingsGetResult({}, ())

    async with serving(monkeypatch, at_once) as client:
        client.send(request(0, COMMAND, ASK))  # by the time of its answer the tools are ready
        await client.answer(0)
        monkeypatch.setattr(client.server.tools, "looking", Looking())
        item = {"uri": "file:///a.py", "languageId": "python", "version": 0, "text": "a"}
        client.send({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})
        place = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 0}}
        client.send(request(1, "textDocument/hover", place), request(2, "textDocument/completion", place))
        assert (await client.answer(1))["result"] == {"contents": "here"}
        assert (await client.answer(2))["result"] is None
        assert began.is_set()
        monkeypatch.setattr(language_server, "ANSWERING", 0)
        client.send(request(3, "textDocument/hover", place))
        assert (await client.answer(3))["result"] is None
        assert client.server._answering == set()
