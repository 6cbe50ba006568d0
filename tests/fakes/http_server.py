"""A scripted HTTP server on loopback: answers each request with the next response of its script.

It runs on a thread of its own, so that it serves the test's event loop, plain synchronous tests and child processes
alike. ``openai_server`` and ``anthropic_server`` render providers' wire formats on top of it::

    async with HttpServer([Response.json({"ok": True})]) as server:
        ...                                  # talk to server.base_url
        await server.wait_requests(1)
        server.requests[0].json["model"]

What a response does over time is a list of steps: ``Send`` bytes, ``Pause``, ``Hold`` until the test releases it,
``Drop`` the connection. Nothing waits for ever: leaving the ``with`` block ends every connection and the thread.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, cast

from attrs import field, frozen

DEADLINE = 60.0
"""Seconds that ``wait_requests`` and ``wait_departures`` wait before they fail: far more than anything needs."""


@frozen
class Send:
    """Bytes of the body; one chunk of the chunked transfer encoding."""

    data: bytes


@frozen
class Pause:
    """Seconds of silence: the pace of a slow provider."""

    seconds: float


@frozen
class Hold:
    """Silence until ``HttpServer.release`` is called, or the client leaves."""


@frozen
class Drop:
    """The connection is reset."""


Step = Send | Pause | Hold | Drop


@frozen
class Recorded:
    """One request as it came. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@frozen
class Response:
    """One scripted response; the body is what its steps send. They may be made as they are needed."""

    steps: Iterable[Step] = ()
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(factory=dict)

    @classmethod
    def json(cls, body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
        """A whole JSON body at once."""
        return cls((Send(json.dumps(body).encode()),), status, "application/json", headers or {})

    @classmethod
    def events(cls, steps: Iterable[Step]) -> Response:
        """A stream of server-sent events."""
        return cls(tuple(steps), 200, "text/event-stream; charset=utf-8")

    @classmethod
    def silence(cls) -> Response:
        """Headers, then nothing until the client leaves or the test releases it."""
        return cls.events([Hold()])


Script = Sequence[Response] | Callable[[Recorded], Response]


class HttpServer:
    """The server. ``script`` is used up response by response, or asked at every request where it is a function."""

    def __init__(self, script: Script = ()) -> None:
        self.requests: list[Recorded] = []
        self.departures = 0
        """Clients that left before their response was over."""
        self.port = 0
        self._script = script
        self._answered = 0
        self._news = threading.Condition()
        self._loop: asyncio.AbstractEventLoop
        self._holds: asyncio.Semaphore | None = None
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="scripted-server", daemon=True)
        self._ready = threading.Event()

    @property
    def url(self) -> str:
        """``http://127.0.0.1:port``."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """What a client takes as the provider's base URL."""
        return self.url

    def start(self) -> None:
        """Listen on a free port of loopback."""
        self._loop = asyncio.new_event_loop()
        self._thread.start()
        self._ready.wait(DEADLINE)
        assert self.port, "the scripted server did not start"

    def stop(self) -> None:
        """End every connection and the thread."""
        if self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(DEADLINE)

    def release(self, count: int = 1) -> None:
        """Let ``count`` holds go on, the oldest first."""
        for _ in range(count):
            self._loop.call_soon_threadsafe(self._let_go)

    async def wait_requests(self, count: int) -> None:
        """Wait until ``count`` requests have come in all."""
        await asyncio.to_thread(self._wait, lambda: len(self.requests) >= count, f"{count} requests")

    async def wait_departures(self, count: int) -> None:
        """Wait until ``count`` clients have left before their response was over."""
        await asyncio.to_thread(self._wait, lambda: self.departures >= count, f"{count} departures")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _wait(self, happened: Callable[[], bool], what: str) -> None:
        with self._news:
            assert self._news.wait_for(happened, DEADLINE), f"waited {DEADLINE:.0f} s for {what}"

    def _let_go(self) -> None:
        assert self._holds is not None
        self._holds.release()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        self._holds = asyncio.Semaphore(0)
        self._stop = asyncio.Event()
        connections: set[_Connection] = set()
        server = await self._loop.create_server(lambda: _Connection(self, connections), "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        tasks = [connection.task for connection in connections]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # One more turn of the loop, so that aborted transports let go of their sockets.
        await asyncio.sleep(0)

    def _take(self, request: Recorded) -> Response:
        with self._news:
            self.requests.append(request)
            self._news.notify_all()
        if callable(self._script):
            return self._script(request)
        if self._answered == len(self._script):
            return Response.json({"error": {"message": "the script is over", "type": "test"}}, 501)
        self._answered += 1
        return self._script[self._answered - 1]

    def _departed(self) -> None:
        with self._news:
            self.departures += 1
            self._news.notify_all()

    async def _held(self) -> None:
        assert self._holds is not None
        await self._holds.acquire()


class _Left(Exception):
    """The client closed the connection."""


class _Connection(asyncio.Protocol):
    """One connection, kept alive over many requests."""

    def __init__(self, server: HttpServer, connections: set[_Connection]) -> None:
        self._server = server
        self._connections = connections
        self._buffer = bytearray()
        self._arrived = asyncio.Event()
        self._gone = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)
        self.task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._arrived.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self._gone.set()
        self._arrived.set()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def _serve(self) -> None:
        try:
            while True:
                request = await self._request()
                response = self._server._take(request)
                try:
                    await self._respond(response)
                except _Left:
                    self._server._departed()
                    return
        except _Left:
            return
        finally:
            self._transport.abort()

    async def _request(self) -> Recorded:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            await self._more()
        head = self._buffer[:end].decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        size = end + 4 + int(headers.get("content-length", "0"))
        while len(self._buffer) < size:
            await self._more()
        body = bytes(self._buffer[end + 4 : size])
        del self._buffer[:size]
        return Recorded(method, path, headers, body)

    async def _more(self) -> None:
        self._arrived.clear()
        if self._gone.is_set():
            raise _Left
        await self._arrived.wait()

    async def _respond(self, response: Response) -> None:
        head = [f"HTTP/1.1 {response.status} Scripted", f"Content-Type: {response.content_type}"]
        head += [f"{name}: {value}" for name, value in response.headers.items()]
        head += ["Transfer-Encoding: chunked", "", ""]
        self._transport.write("\r\n".join(head).encode())
        for step in response.steps:
            await self._do(step)
        await self._write(b"0\r\n\r\n")

    async def _do(self, step: Step) -> None:
        match step:
            case Send(data):
                await self._write(b"%x\r\n%b\r\n" % (len(data), data))
            case Pause(seconds):
                await self._unless_gone(asyncio.sleep(seconds))
            case Hold():
                await self._unless_gone(self._server._held())
            case Drop():
                self._transport.abort()
                raise asyncio.CancelledError

    async def _write(self, data: bytes) -> None:
        if self._gone.is_set():
            raise _Left
        self._transport.write(data)
        await self._writable.wait()

    async def _unless_gone(self, wait: Any) -> None:
        waiting = asyncio.ensure_future(wait)
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait((waiting, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            gone.cancel()
        if self._gone.is_set():
            raise _Left
