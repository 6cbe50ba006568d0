"""What comes from the client: bytes, messages, and every command with every kind of argument, to a real server."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, cast

from attrs import define

from oi_engine.computer.runtimes import RuntimeFactory
from oi_engine.factory import Engine
from oi_engine.models.chosen import Choice
from oi_engine.models.model import Model, ModelEvent, ModelRequest
from oi_engine.profiles.live import Sources
from oi_engine.settings import Settings
from oi_lsp.channel import Channel, frames
from oi_lsp.host import EngineMaker
from oi_lsp.language_server import OiLanguageServer
from oi_lsp.protocol import ErrorCode
from tests.fakes.scripted import ScriptedModel, TinyRuntime, code
from tests.fuzz.fuzzing import PLANNED, Dice, cut, dice, fuzzed, run_all
from tests.fuzz.messages import CANARY, MARKED, SETTABLE, World, body, command, request, response
from tests.unit.test_channel import framed, reader
from tests.unit.test_wire import Bench

LSP_REFUSALS = {-32800, -32801, -32802, -32803}
"""``RequestCancelled`` and the like, of LSP itself."""


# --- framing ------------------------------------------------------------------------------------------------------

HEADERS = (
    *(
        "Content-Length: ",
        "content-length:",
        "Content-Length:\t",
        "Content-Type: x\r\n",
        "\r\n",
        "\r\n",
        "\n",
        "\r",
        "\r\n\r\n",
    ),
    *(
        "0",
        "2",
        "5",
        "12",
        "-1",
        "+3",
        "1e3",
        "9" * 18,
        "9" * 30,
        "0x5",
        " ",
        "{}",
        "[]",
        "Content-Length: 2\r\n\r\n{}",
    ),
    *("Content-Length: 40\r\n\r\n{", "é", "\x00", "Content-Length", ":", "Content-Length: 200\r\n\r\n" + "x" * 200),
)


@fuzzed(dice(60), 8000)
def test_any_bytes_are_frames_however_they_are_cut(drawn: Dice) -> None:
    wire = drawn.text((*HEADERS, "\ud800"), 14).encode("utf-8", "surrogatepass")
    limit = drawn.pick((10, 150, 10**9))
    whole = list(frames(reader(wire), limit))
    pieces = list(cut(wire, [1 + size for size in drawn.some(range(40), 20)]))
    assert list(frames(reader(*pieces), limit)) == whole
    assert all(body is None or len(body) <= limit for body in whole)
    if limit > 1000 and max(map(int, re.findall(rb"[0-9]+", wire)), default=0) < 1000:
        # Whatever came before, of which the longest body may miss its end: then all is well again.
        after = b"\r\n\r\n" + b"x" * 1000 + b"\r\n" + framed(b"[1]") * 2
        assert list(frames(reader(wire + after), limit))[-1] == b"[1]"


BENCH = Bench()


@fuzzed(dice(120), 10_000)
def test_any_body_is_answered_or_passed_over(drawn: Dice) -> None:
    sent = BENCH.take(body(drawn))
    assert len(sent) <= 1
    for answer in sent:
        assert "result" in answer or answer["error"]["code"] in set(ErrorCode) - {ErrorCode.INTERNAL_ERROR}
    BENCH.protocol._shutdown = False
    assert BENCH.command("echo", 1)["result"] == [1]


# --- the server ---------------------------------------------------------------------------------------------------


class CanaryModel(ScriptedModel):
    """Proposes the canary, whatever it is asked."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.replies[:] = [code(CANARY)]
        async for event in super().stream(request):
            yield event


class Runtimes:
    """The real languages, each of which only notes what is run."""

    def __init__(self, real: RuntimeFactory, ran: list[str]) -> None:
        self._real = real
        self._ran = ran

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def make(self, *_: Any) -> TinyRuntime:
        return TinyRuntime(self._ran)


class NotingEngine(Engine):
    """The engine as it is delivered, with a model that proposes the canary."""

    ran: list[str]

    def __init__(self, settings: Settings | None = None, keys: Mapping[str, str] | None = None, **more: Any) -> None:
        self.ran = []
        super().__init__(settings, keys, languages=lambda real: cast(Any, Runtimes(cast(Any, real), self.ran)), **more)

    def model(self, name: str) -> Model:
        return CanaryModel()

    async def choose_model(self, settings: Settings | None = None) -> Choice:
        return Choice("canary", "It is the test's.")


class Errors(logging.Handler):
    """What was logged as an error, and is one of ours."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(("oi_", "asyncio")):
            self.found.append(logging.Formatter().format(record))


ANSWERS: tuple[dict[str, Any], ...] = (
    {"result": None},
    {"result": {"applied": True}},
    {"error": {"code": "x"}},
    {"result": 5},
)
"""What the client answers the server."""


class Attacked:
    """A real server in this process, and a client that answers its requests with whatever comes."""

    def __init__(self, folder: str) -> None:
        self.world = World(folder)
        self.engine: NotingEngine
        self.server = OiLanguageServer(self._load)
        self.answers: dict[object, asyncio.Future[Any]] = {}
        self.states: dict[str, Any] = {}
        self.errors = Errors()
        self.loaded = 0
        self._over = threading.Event()
        self._count = 0
        self._odd = Dice(bytes(range(256)) * 100_000)

    def _load(self) -> EngineMaker:
        async def make(given: Mapping[str, object], workspace: str, on_problem: Callable[[str], None]) -> Engine:
            sources = Sources(editor=given, workspaces=(Path(workspace),))
            self.loaded += 1
            self.engine = cast(NotingEngine, await NotingEngine.open(sources, logging.getLogger(__name__).info))
            return self.engine

        return make

    # As the writer of the protocol.

    pending = 0

    def write(self, data: bytes) -> None:
        message = json.loads(data.partition(b"\r\n\r\n")[2])
        if "method" not in message:
            answer = self.answers.pop(message["id"], None) if message["id"] is not None else None
            if answer is not None:
                answer.set_result(message)
        elif "id" in message:
            given = self._odd.pick(ANSWERS)
            self.post({"jsonrpc": "2.0", "id": message["id"], **given}, soon=True)
        elif message["method"] == "oi/state":
            self.states[message["params"]["sessionId"]] = message["params"]

    def close(self) -> None: ...

    def post(self, message: object, *, soon: bool = False) -> None:
        """Have the server take a message."""
        data = json.dumps(message).encode()
        if soon:
            asyncio.get_running_loop().call_soon(self.server.protocol.receive, data)
        else:
            self.server.protocol.receive(data)

    async def ask(self, method: str, params: object) -> Any:
        """Send a request. Answers the whole answer."""
        self._count += 1
        return await self.answered({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})

    async def answered(self, message: Mapping[str, Any]) -> Any:
        """Send a message with an id, and wait for the answer."""
        answer = self.answers[message["id"]] = asyncio.get_running_loop().create_future()
        self.post(message)
        return await asyncio.wait_for(answer, 20)

    async def command(self, name: str, /, **argument: object) -> Any:
        """Run a command that must succeed."""
        answer = await self.ask("workspace/executeCommand", {"command": name, "arguments": [argument]})
        return answer["result"]

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0)

    # From beginning to end.

    async def begin(self) -> None:
        """Two sessions: the first has had a proposal declined, and in both the model's next one waits."""
        logging.getLogger().addHandler(self.errors)
        logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)  # as in the product
        loop = asyncio.get_running_loop()
        self.serving = loop.create_task(self.server.serve(Channel(lambda _: (self._over.wait() and b"") or b"", len)))
        await asyncio.sleep(0)
        self.server.protocol.set_writer(cast(Any, self))
        folder = Path(self.world.folder).as_uri()
        options = {"oi": {"protocolVersion": 1}}
        given = {"capabilities": {}, "rootUri": folder, "initializationOptions": options, "processId": None}
        await self.ask("initialize", given)
        self.post({"jsonrpc": "2.0", "method": "initialized", "params": {}})
        await self.until(lambda: self.server._loading is not None and self.server._loading.done())
        for _ in range(2):
            session = (await self.command("oi.session.new"))["sessionId"]
            self.world.sessions.append(session)
            proposal = await self.proposal(session)
            await self.command("oi.code.reject", sessionId=session, proposalId=proposal)
            self.world.proposals.append(proposal)
            await self.until(lambda: "proposal" in self.states[session])  # noqa: B023 -- awaited here
        for name in ("a.oi.md", "a.py"):
            item = {"uri": f"{folder}/{name}", "languageId": "python", "version": 0, "text": MARKED}
            self.post({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})

    async def proposal(self, session: str) -> str:
        """Have the model propose something. Answers the proposal's id."""
        await self.command("oi.chat.send", sessionId=session, content="go")
        await self.until(lambda: "proposal" in self.states.get(session, {}))
        found: str = self.states[session]["proposal"]["id"]
        return found

    async def end(self) -> None:
        """It still answers and works, nothing went wrong inside, and nothing ran that should not have."""
        self.post({"jsonrpc": "2.0", "method": "workspace/didChangeConfiguration", "params": {"settings": {"oi": {}}}})
        for name in SETTABLE:
            await self.command("oi.settings.set", name=name, unset=True)
        session = (await self.command("oi.session.new"))["sessionId"]
        proposal = await self.proposal(session)
        self.check()
        await self.command("oi.code.approve", sessionId=session, proposalId=proposal)
        await self.until(lambda: CANARY in self.engine.ran)
        await self.command("oi.session.list")
        self._over.set()
        self.server.end(0)
        assert await asyncio.wait_for(self.serving, 60) == 0
        logging.getLogger().removeHandler(self.errors)

    def check(self) -> None:
        """Nothing went wrong, and nothing ran that nobody asked for."""
        assert self.errors.found == []
        assert self.loaded == 1, "there are two engines"
        assert not any("CANARY" in ran for ran in self.engine.ran), "code ran"

    async def attack(self, message: dict[str, Any]) -> None:
        """Send a message; a request must be answered, and not with an internal error."""
        if "id" not in message or "method" not in message:
            self.post(message)
            await asyncio.sleep(0)
        else:
            error = (await self.answered(message)).get("error")
            assert error is None or error["code"] in {*ErrorCode, *LSP_REFUSALS} - {ErrorCode.INTERNAL_ERROR}, error
        self.check()


@define
class Message:
    """One message; alike are those that say the same."""

    said: dict[str, Any]


NOWHERE = {end: {"line": 2**40, "character": 0} for end in ("start", "end")}
FOUND = [
    ("workspace/executeCommand", {"command": name, "arguments": [argument]})
    for name, argument in (
        ("oi.session.new", {"profile": "x" * 5000}),
        ("oi.session.new", {"profile": "~nobody/x.yaml"}),
        ("oi.selection.edit", {"uri": "untitled:1", "instruction": "x", "range": NOWHERE}),
        ("oi.selection.run", {"uri": "untitled:1", "range": NOWHERE}),
    )
]
"""What was once answered with an internal error."""


def under_attack(count: int, make: Callable[[Dice, World], dict[str, Any]], size: int = 120) -> None:
    """A server that gets ``count`` different messages."""
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        attacked = Attacked(folder)
        runner.run(attacked.begin())
        for method, params in FOUND:
            runner.run(attacked.attack({"jsonrpc": "2.0", "id": "found", "method": method, "params": params}))
        attacked.post({"jsonrpc": "2.0", "method": "initialized", "params": {}})

        async def attack(drawn: Dice) -> None:
            await attacked.attack(make(drawn, attacked.world))

        run_all(dice(size), attack, count, runner=runner)
        runner.run(attacked.end())


PLANNED[f"{__name__}.commands"] = COMMANDS = 10_000
PLANNED[f"{__name__}.requests"] = REQUESTS = 10_000


def test_commands_with_any_argument() -> None:
    def make(drawn: Dice, world: World) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": "c", "method": "workspace/executeCommand", "params": command(drawn, world)}

    under_attack(COMMANDS, make)


def test_requests_notifications_and_responses_of_any_kind() -> None:
    def make(drawn: Dice, world: World) -> dict[str, Any]:
        return request(drawn, world, "r1") if drawn.below(8) else response(drawn)

    under_attack(REQUESTS, make)
