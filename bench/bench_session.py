"""The whole way: a provider's HTTP server, the model worker, the session, the language server, a client on its pipe.

Times that cross processes are taken from the monotonic clock, which all processes of a Linux machine share.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, cast

import psutil

from bench.rows import Row, percentile
from oi_engine.factory import Engine
from oi_engine.messages import Chunk
from oi_engine.models.chosen import Choice
from oi_engine.session.session import Session
from oi_engine.settings import LlmSettings, Settings
from tests.fakes.http_server import Pause, Recorded, Response, Send, Step
from tests.fakes.lsp_client import PRODUCT, LspClient, server
from tests.fakes.openai_server import OpenAiServer, Reply, delta, ending, role

MODEL = "openai/scripted"
CHUNKS = 5_000
WORDS = "".join(f"w{number % 1000:03} " for number in range(CHUNKS))
"""As many words of five characters as there are chunks; LiteLLM fails a reply that repeats one chunk too often."""
Json = dict[str, Any]
Script = Any


@contextlib.asynccontextmanager
async def talking(script: Script, **settings: object) -> AsyncIterator[tuple[LspClient, str, OpenAiServer]]:
    """The real server, initialized, with one session on a scripted provider, after one short turn."""
    async with OpenAiServer(_after_warm_up(script)) as provider, server(PRODUCT) as client:
        llm = {"model": MODEL, "api_base": provider.base_url, "api_key": "x", "supports_functions": True}
        await client.initialize({"oi": {"protocolVersion": 1}, "settings": {"llm": llm, **settings}})
        session = await client.new_session()
        await client.ended(session, await client.turn(session, "warm up"))
        yield client, session, provider


def _after_warm_up(script: list[Response]) -> Callable[[Recorded], Response]:
    replies = iter([Reply.text("ready"), *script])
    return chats(lambda: next(replies, Reply.text("done")))


def chats(reply: Callable[[], Response]) -> Callable[[Recorded], Response]:
    """A provider that answers chat requests; a question about its models it cannot answer."""
    return lambda request: reply() if request.method == "POST" else Reply.error(404, "no such page")


async def five_thousand_chunks() -> list[Row]:
    """5,000 chunks from the provider to the client, text and one tool call, beside LiteLLM alone."""
    async with talking([batched(Reply.text(WORDS, size=5)), batched(Reply.tool_call("python", WORDS, size=5))]) as (
        client,
        session,
        _,
    ):
        began = time.perf_counter()
        await whole_turn(client, session)
        assert client.of(session).text("message", None).endswith(WORDS), "the reply did not arrive whole"
        plain = CHUNKS / (time.perf_counter() - began)
        began = time.perf_counter()
        await client.command("oi.chat.send", sessionId=session, content="call")
        await client.proposal(session)
        call = CHUNKS / (time.perf_counter() - began)
    alone = await _litellm_alone()
    return [
        Row("5,000 text chunks, provider to client", plain, alone, "/s", "no slower than LiteLLM alone"),
        Row("5,000 chunks of one tool call, provider to proposal", call, alone, "/s", "as text"),
    ]


async def write_to_read() -> list[Row]:
    """From the provider's write to the client's read, at 200 chunks a second, for two seconds."""
    delays: list[float] = []

    def note(chunk: Json, now: float) -> None:
        content = chunk.get("content")
        if chunk["role"] == "assistant" and content and content.strip():
            delays.extend(now - float(stamp) for stamp in content.split())

    async with talking([Response(cast("tuple[Step, ...]", stamps(400, 0.005)), content_type=EVENTS)]) as (
        client,
        session,
        _,
    ):
        watch(client, session, note)
        await whole_turn(client, session)
    return [
        Row("provider's write to client's read at 200/s, p50", percentile(delays, 50) * 1e3, None, "ms", "2 ms"),
        Row("provider's write to client's read at 200/s, p99", percentile(delays, 99) * 1e3, None, "ms", "5 ms"),
    ]


async def approve_to_output() -> list[Row]:
    """From the person's approval to the first output at the client, warm; and from there to the next request."""
    rows: list[Row] = []
    for language, code in (
        ("python", "import time; print(time.monotonic())"),
        ("shell", "cut -d' ' -f1 /proc/uptime"),
        ("javascript", "console.log(1)"),
    ):
        first, after = await _runs(language, code, 12)
        rows.append(Row(f"{language}: approved to first output, warm", first * 1e3, None, "ms", "6 ms"))
        if language == "python":
            rows.append(Row("last output to the next model request", after * 1e3, None, "ms", "15 ms"))
    return rows


async def _runs(language: str, code: str, count: int) -> tuple[float, float]:
    """Medians in seconds: approval to first output; what Python printed to the arrival of the next request."""
    arrivals: list[float] = []
    outputs: list[float] = []
    printed: list[float] = []
    waits: list[float] = []

    def reply() -> Response:
        arrivals.append(time.monotonic())
        return Reply.tool_call(language, code)

    def note(chunk: Json, now: float) -> None:
        if chunk.get("format") == "output":
            outputs.append(now)
            if language == "python":
                printed.extend(float(stamp) for stamp in chunk["content"].split())

    async with OpenAiServer(chats(reply)) as provider, server(PRODUCT) as client:
        llm = {"model": MODEL, "api_base": provider.base_url, "api_key": "x", "supports_functions": True}
        await client.initialize({"oi": {"protocolVersion": 1}, "settings": {"llm": llm}})
        session = await client.new_session()
        watch(client, session, note)
        await client.command("oi.chat.send", sessionId=session, content="go")
        for _ in range(count):
            proposal = await client.proposal(session)
            approved = time.monotonic()
            await client.command("oi.code.approve", sessionId=session, proposalId=proposal["id"])
            follower = client.of(session)
            await client.until(lambda: follower.state.get("proposal", proposal) != proposal)  # noqa: B023
            waits.append(outputs[-1] - approved)
        await client.command("oi.chat.stop", sessionId=session)
    between = [later - earlier for earlier, later in zip(printed[2:], arrivals[3:], strict=False)]
    return statistics.median(waits[2:]), statistics.median(between) if between else 0.0


async def stops() -> list[Row]:
    """From the stop command to the idle session, with the state kept, 30 times each."""
    rows: list[Row] = []
    for language, spin in (("python", "while True: pass"), ("shell", "while :; do :; done")):
        taken = []
        async with talking([]) as (client, session, _):
            await client.command("oi.code.run", sessionId=session, language=language, code="x=41")
            await client.state(session, "idle")
            for _ in range(30):
                await client.command("oi.code.run", sessionId=session, language=language, code=spin)
                follower = client.of(session)
                await client.until(lambda: follower.chunks[-1].get("format") == "active_line")  # noqa: B023
                began = time.monotonic()
                await client.command("oi.chat.stop", sessionId=session)
                await client.state(session, "idle")
                taken.append(time.monotonic() - began)
            show = "print(x)" if language == "python" else "echo $x"
            await client.command("oi.code.run", sessionId=session, language=language, code=show)
            await client.until(lambda: client.of(session).text().endswith("41\n"))
        rows.append(Row(f"stop of an endless loop, {language}, p99", percentile(taken, 99) * 1e3, None, "ms", "100 ms"))
    return rows


async def a_hundred_megabytes() -> list[Row]:
    """What 100 MB of output cost the server: growth of its memory, and its slowest answer meanwhile."""
    rows: list[Row] = []
    for language, code in (
        ("python", "for _ in range(100): print(('x' * 99 + '\\n') * 10000, end='')"),
        ("shell", "yes $(printf 'x%.0s' $(seq 99)) | head -c 100000000"),
    ):
        async with talking([]) as (client, session, _):
            await client.command(
                "oi.code.run", sessionId=session, language=language, code="1" if language == "python" else "true"
            )
            await client.state(session, "idle")
            process = psutil.Process(client.process.pid)
            before = process.memory_info().rss
            await client.command("oi.code.run", sessionId=session, language=language, code=code)
            slowest, peak = 0.0, before
            while client.of(session).state["state"] != "idle":
                began = time.monotonic()
                await client.command("oi.usage.get", sessionId=session)
                slowest = max(slowest, time.monotonic() - began)
                peak = max(peak, process.memory_info().rss)
                await asyncio.sleep(0.002)
        grown = (peak - before) / 1e6
        rows.append(Row(f"100 MB printed, {language}: growth of the server", grown, None, "MB", "40 MB"))
        rows.append(Row(f"100 MB printed, {language}: slowest answer meanwhile", slowest * 1e3, None, "ms", "20 ms"))
    return rows


async def a_long_conversation() -> list[Row]:
    """Our own work in one turn at 3,000 messages: processor time of this process, which is all but the worker's."""
    async with OpenAiServer(chats(lambda: Reply.text("short"))) as provider:
        llm = LlmSettings(model=MODEL, api_base=provider.base_url, api_key="x", supports_functions=True)
        engine = Engine(Settings(llm=llm))
        short = engine.new_session(cwd="/", model=Choice(MODEL, "", provider.base_url))
        long = engine.new_session(cwd="/", model=Choice(MODEL, "", provider.base_url))
        fill(long, 3_000)
        try:
            await _turn_cost(short)
            cheap = min([await _turn_cost(short) for _ in range(5)])
            dear = min([await _turn_cost(long) for _ in range(5)])
        finally:
            await engine.close()
    return [Row("a turn's own cost at 3,000 messages", dear * 1e3, cheap * 1e3, "ms", "30 ms")]


async def longest_stall() -> list[Row]:
    """The longest time that the event loop was not served: worker starting, 5,000 chunks, kernel starting, a run."""
    replies = iter([batched(Reply.text(WORDS, size=5)), Reply.tool_call("python", "print(1)"), Reply.text("done")])
    async with OpenAiServer(chats(lambda: next(replies))) as provider:
        llm = LlmSettings(model=MODEL, api_base=provider.base_url, api_key="x", supports_functions=True)
        engine = Engine(Settings(llm=llm, auto_run=True))
        gaps: list[float] = []
        watcher = asyncio.create_task(_watch_loop(gaps))
        try:
            session = engine.new_session(cwd="/", model=Choice(MODEL, "", provider.base_url))
            session.send("go")
            await session.idle()
            session.send("run")
            await session.idle()
        finally:
            watcher.cancel()
            await engine.close()
    return [Row("longest stall of the event loop, a whole session", max(gaps) * 1e3, None, "ms", "20 ms")]


async def _watch_loop(gaps: list[float]) -> None:
    last = time.perf_counter()
    while True:
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        gaps.append(now - last - 0.001)
        last = now


async def _turn_cost(session: Session) -> float:
    before = time.process_time()
    session.send("go on")
    await session.idle()
    return time.process_time() - before


def fill(session: Session, count: int) -> None:
    """Put ``count`` messages into a session: questions, replies, code and output by turns."""
    stream = session.stream
    while len(session.messages) < count:
        _message(session, "user", "message", "Please do the next thing. " * 4)
        _message(session, "assistant", "message", "I do it now. " * 8)
        code = stream.open("assistant", "code", "python")
        stream.write("print('the next thing')\n" * 5)
        stream.open("computer", "console", parent=code)
        stream.write("the next thing\n" * 20, "output")
        stream.put(Chunk("server", "status", content="complete"))


def _message(session: Session, role: Any, kind: Any, text: str) -> None:
    session.stream.open(role, kind)
    session.stream.write(text)
    session.stream.close()


EVENTS = "text/event-stream; charset=utf-8"


def stamps(count: int, pause: float) -> Iterator[Step]:
    """A streamed reply whose chunks say when they were written."""
    yield role()
    for _ in range(count):
        yield delta({"content": f"{time.monotonic()} "})
        yield Pause(pause)
    yield from ending("stop")


def batched(response: Response, size: int = 16) -> Response:
    """The same stream, ``size`` events in a write, so that the scripted provider is not what is measured."""

    def batches() -> Iterable[Step]:
        data = [step.data for step in response.steps if isinstance(step, Send)]
        for at in range(0, len(data), size):
            yield Send(b"".join(data[at : at + size]))

    return Response.events(batches())


async def whole_turn(client: LspClient, session: str) -> None:
    """Send a message and wait for the end of its turn, at the cost of one look at each chunk."""
    ended = asyncio.Event()

    def note(chunk: Json, now: float) -> None:
        if chunk["type"] == "status":
            ended.set()

    watch(client, session, note)
    await client.turn(session, "go")
    await asyncio.wait_for(ended.wait(), 60)


def watch(client: LspClient, session: str, note: Callable[[Json, float], None]) -> None:
    """Have ``note`` called with every chunk at the moment when it was read."""
    follower = client.of(session)
    take = follower.take

    def timed(params: Json) -> None:
        now = time.monotonic()
        for chunk in params["chunks"]:
            note(chunk, now)
        take(params)

    follower.take = timed  # type: ignore[method-assign]


_ALONE = """
import asyncio, json, os, sys, time
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
async def main(url):
    messages = [{"role": "user", "content": "go"}]
    ask = dict(model="openai/scripted", api_base=url, api_key="x", stream=True, messages=messages)
    async for _ in await litellm.acompletion(**ask): pass
    began, count = time.perf_counter(), 0
    async for chunk in await litellm.acompletion(**ask): count += 1
    print(json.dumps(count / (time.perf_counter() - began)))
asyncio.run(main(sys.argv[1]))
"""


async def _litellm_alone() -> float:
    """Chunks a second of LiteLLM's asynchronous interface with nothing around it, in a process of its own."""
    replies = iter([Reply.text("ready"), batched(Reply.text(WORDS, size=5))])
    async with OpenAiServer(chats(lambda: next(replies))) as provider:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _ALONE, provider.base_url, stdout=asyncio.subprocess.PIPE
        )
        printed, _ = await process.communicate()
    return float(json.loads(printed.splitlines()[-1]))


BENCHES = [
    five_thousand_chunks,
    write_to_read,
    approve_to_output,
    stops,
    a_hundred_megabytes,
    a_long_conversation,
    longest_stall,
]
