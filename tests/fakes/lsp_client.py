"""A raw LSP client over the pipes of a child process: JSON-RPC by hand, and what the protocol asks of a shim."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from oi_engine.messages import Message, chunk_from_dict
from oi_engine.stream import StreamChecker
from oi_engine.transcript import Transcript

DEADLINE = 60.0
"""Seconds after which a test that waits gives up; the machine may be busy."""

Json = dict[str, Any]


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Json = error.get("data") or {}


class Follower:
    """What a shim keeps of one session: its chunks by number, and its latest state."""

    def __init__(self) -> None:
        self.notifications: list[Json] = []
        self.states: list[Json] = []
        self.chunks: list[Json] = []
        self.next_seq = 1
        self.gaps: list[int] = []
        self.replayed = 0
        self.losing = False

    @property
    def state(self) -> Json:
        return self.states[-1]

    def take(self, params: Json) -> None:
        """Follow the rules of docs/protocol.md, *Following the stream*; a loss is played by ``losing``."""
        if self.losing:
            return
        if params["seq"] > self.next_seq:
            self.gaps.append(params["seq"])
            return
        self.notifications.append(params)
        if params["seq"] < self.next_seq:
            assert params["replay"] is True
            self.replayed += 1
            first = params["chunks"][0]["id"]
            del self.chunks[next(at for at, chunk in enumerate(self.chunks) if chunk["id"] == first) :]
        self.chunks += params["chunks"]
        self.next_seq = params["nextSeq"]

    def check(self) -> list[Message]:
        """Check that the chunks are a whole stream, and fold them into messages."""
        checker, transcript = StreamChecker(), Transcript()
        for data in self.chunks:
            chunk = chunk_from_dict(data)
            checker.feed(chunk)
            transcript.apply(chunk)
        return transcript.messages

    def text(self, kind: str = "console", form: str | None = "output") -> str:
        """All content of the chunks of one type, joined."""
        return "".join(
            chunk["content"]
            for chunk in self.chunks
            if chunk["type"] == kind and "content" in chunk and form in (None, chunk.get("format")) and chunk["content"]
        )


class LspClient:
    """Speaks to one server process."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.process = process
        self._stdin, self._stdout = writer, reader
        self.make_follower: Callable[[], Follower] = Follower
        self.sessions: dict[str, Follower] = {}
        self.notifications: list[tuple[str, Json]] = []
        self.unasked: list[Json] = []
        self._answers: dict[Any, asyncio.Future[Any]] = {}
        self._count = 0
        self._news = asyncio.Condition()
        self.reading = asyncio.Event()
        self.reading.set()
        self.on_request: Callable[[Any, str, Any], None] = self._unknown
        self._reader = asyncio.create_task(self._read())

    # --- sending -----------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send raw bytes."""
        self._stdin.write(data)

    def post(self, message: object) -> None:
        """Send one JSON value, framed."""
        body = json.dumps(message).encode()
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method: str, params: object = None) -> None:
        self.post({"jsonrpc": "2.0", "method": method, "params": params})

    def expect(self, msg_id: object) -> asyncio.Future[Any]:
        """The answer to a request with that id. Raises what ended the reading, where something has."""
        if self._reader.done():
            self._reader.result()
        return self._answers.setdefault(msg_id, asyncio.get_running_loop().create_future())

    async def request(self, method: str, params: object = None) -> Any:
        """Send a request and wait for its answer. Raises ``Refused``."""
        self._count += 1
        answer = self.expect(self._count)
        self.post({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        return await asyncio.wait_for(answer, DEADLINE)

    async def command(self, name: str, /, **argument: object) -> Any:
        """Run a command with one object; the names of its fields are given as on the wire."""
        return await self.request("workspace/executeCommand", {"command": name, "arguments": [argument]})

    async def initialize(self, options: object = None, **params: object) -> Json:
        """Do what an editor does at the start."""
        own = {"oi": {"protocolVersion": 1}} if options is None else options
        given = {"processId": None, "rootUri": None, "capabilities": {}, "initializationOptions": own, **params}
        result: Json = await self.request("initialize", given)
        self.notify("initialized", {})
        return result

    async def new_session(self, **argument: object) -> str:
        found: str = (await self.command("oi.session.new", **argument))["sessionId"]
        return found

    # --- waiting -----------------------------------------------------------------------------------------------

    def of(self, session_id: str) -> Follower:
        return self.sessions.setdefault(session_id, self.make_follower())

    async def until(self, condition: Callable[[], object], deadline: float = DEADLINE) -> None:
        """Wait until the condition holds; it is asked again with everything that comes in."""
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(lambda: condition() or self._reader.done()), deadline)
        assert condition(), "the server ended before that came about"

    async def state(self, session_id: str, *states: str) -> Json:
        """Wait until the session's latest state is one of these."""
        follower = self.of(session_id)
        await self.until(lambda: follower.states and follower.state["state"] in states)
        return follower.state

    async def input(self, session_id: str, *, password: bool) -> Json:
        """Wait until a program asks, for a password or not."""
        follower = self.of(session_id)
        await self.until(lambda: follower.states and follower.state.get("input", {}).get("password") is password)
        found: Json = follower.state["input"]
        return found

    async def unasked_after(self, count: int) -> Json:
        """Wait until more than ``count`` messages have come that answer no request. Answers the latest."""
        await self.until(lambda: len(self.unasked) > count)
        return self.unasked[-1]

    async def ended(self, session_id: str, turn_id: str) -> Follower:
        """Wait until a turn has ended and the client has all of it."""
        follower = self.of(session_id)

        def complete() -> bool:
            return any(
                note["turnId"] == turn_id and any(c["type"] == "status" for c in note["chunks"])
                for note in follower.notifications
            )

        await self.until(complete)
        return follower

    async def turn(self, session_id: str, content: object) -> str:
        """Send a message. Answers the turn's id."""
        found: str = (await self.command("oi.chat.send", sessionId=session_id, content=content))["turnId"]
        return found

    async def approve(self, session_id: str, **more: object) -> Json:
        """Approve the proposal that comes. Answers the proposal."""
        proposal = await self.proposal(session_id)
        await self.command("oi.code.approve", sessionId=session_id, proposalId=proposal["id"], **more)
        follower = self.of(session_id)
        await self.until(lambda: follower.state.get("proposal") != proposal)
        return proposal

    async def proposal(self, session_id: str) -> Json:
        """Wait until something waits for a decision."""
        follower = self.of(session_id)
        await self.until(lambda: follower.states and "proposal" in follower.state)
        found: Json = follower.state["proposal"]
        return found

    async def exit_code(self) -> int:
        """Wait until the process has ended."""
        return await asyncio.wait_for(self.process.wait(), DEADLINE)

    def hang_up(self) -> None:
        """Close the server's input."""
        self._stdin.close()

    async def close(self) -> None:
        """Leave as an editor does, or by force where that does not do."""
        self._stdin.close()
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(self._stdin.wait_closed(), DEADLINE)
        if self.process.returncode is None:
            self.reading.set()
            try:
                await asyncio.wait_for(self.process.wait(), 10)
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
        await asyncio.wait_for(asyncio.gather(self._reader, return_exceptions=True), DEADLINE)

    # --- reading -----------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        try:
            while True:
                await self.reading.wait()
                length = 0
                while line := (await self._stdout.readline()).strip():
                    name, _, value = line.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                if not length:
                    return
                self._take(json.loads(await self._stdout.readexactly(length)))
                async with self._news:
                    self._news.notify_all()
        finally:
            for answer in self._answers.values():
                answer.cancel("the server ended")
            async with self._news:
                self._news.notify_all()

    def _unknown(self, msg_id: Any, method: str, params: Any) -> None:
        error = {"code": -32601, "message": f"Unknown method: {method}"}
        self.post({"jsonrpc": "2.0", "id": msg_id, "error": error})

    def _take(self, message: Json) -> None:
        if "method" in message:
            method, params = message["method"], message.get("params") or {}
            if "id" in message:
                self.on_request(message["id"], method, params)
                return
            self.notifications.append((method, params))
            if method == "oi/chunks":
                self.of(params["sessionId"]).take(params)
            elif method == "oi/state":
                self.of(params["sessionId"]).states.append(params)
            return
        answer = self._answers.pop(message["id"], None) if message["id"] is not None else None
        if answer is None:
            self.unasked.append(message)
        elif "error" in message:
            answer.set_exception(Refused(message["error"]))
        else:
            answer.set_result(message["result"])


PRODUCT: tuple[str, ...] = (sys.executable, "-m", "oi_lsp.cli", "--stdio")
SCRIPTED: tuple[str, ...] = (sys.executable, "-m", "tests.fakes.scripted_server")


@contextlib.asynccontextmanager
async def server(
    command: Sequence[str] = SCRIPTED, env: Mapping[str, str] | None = None, cwd: str | None = None
) -> AsyncIterator[LspClient]:
    """A server process and its client."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})},
        cwd=cwd,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    client = LspClient(process, process.stdout, process.stdin)
    try:
        yield client
    finally:
        await client.close()
