"""Models: how fast replies come through the worker, beside LiteLLM alone in the same run.

The scripted provider runs in a process of its own, and so does
LiteLLM where it is the baseline (with its defaults, on the same scripted replies). Medians of ``ROUNDS`` rounds that
take turns.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from bench.rows import Row
from oi_engine.messages import Message
from oi_engine.models.conversation import Ask, Conversation
from oi_engine.models.model import ModelEvent, ModelRequest, TextDelta, ToolCallDelta
from oi_engine.models.reply import ReplyParser
from oi_engine.models.resending import Sent
from oi_engine.models.worker_client import ModelWorker, WorkerModel
from oi_engine.settings import LlmSettings, Settings
from tests.fakes.http_server import Pause, Recorded, Response, Step
from tests.fakes.openai_server import OpenAiServer, Reply, delta, done, ending, role

"""What was measured, its value, the baseline's (where there is one), the unit, the target in words."""

CHUNKS = 5_000
ROUNDS = 3
PACE = 200
"""Chunks a second of a slow stream."""

_MODEL = "openai/gpt-4o"
_CODE = "x = 1\n" * (CHUNKS * 4 // 7)

_BASELINE = """
import asyncio, json, os, sys, time
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

async def main():
    for line in sys.stdin:
        call = json.loads(line)
        begun, count, late = time.perf_counter(), 0, []
        stream = await litellm.acompletion(stream=True, stream_options={"include_usage": True}, max_retries=0, **call)
        first = time.perf_counter()
        async for chunk in stream:
            count += 1
            if call["messages"][-1]["content"] == "paced" and chunk.choices and chunk.choices[0].delta.content:
                late.append((time.monotonic_ns() - int(chunk.choices[0].delta.content)) / 1e6)
        sys.stdout.write(json.dumps([time.perf_counter() - begun, first - begun, late]) + "\\n")
        sys.stdout.flush()

asyncio.run(main())
"""


async def text_chunks() -> list[Row]:
    """5,000 chunks of text, from the request to the last one, and so many of one tool call."""
    ours: dict[str, list[float]] = {"text": [], "tool": [], "tool, parsed": []}
    theirs: dict[str, list[float]] = {"text": [], "tool": []}
    async with _provider() as base, _baseline() as ask, _worker() as model:
        for _ in range(ROUNDS):
            for kind in ("text", "tool"):
                theirs[kind].append(CHUNKS / (await ask(_call(kind, base)))[0])
                ours[kind].append(CHUNKS / await _timed(model, kind, base, parse=False))
            ours["tool, parsed"].append(CHUNKS / await _timed(model, "tool", base, parse=True))
    theirs["tool, parsed"] = theirs["tool"]
    names = {"text": "5,000 text chunks", "tool": "5,000 chunks of one tool call", "tool, parsed": "the same, parsed"}
    goal = "no slower than LiteLLM alone"
    median = statistics.median
    return [Row(names[kind], median(ours[kind]), median(theirs[kind]), "chunks/s", goal) for kind in names]


async def latency() -> list[Row]:
    """From the provider's write to the client's read, at 200 chunks a second."""
    async with _provider() as base, _baseline() as ask, _worker() as model:
        theirs = (await ask(_call("paced", base)))[2]
        late = [
            (time.monotonic_ns() - int(event.text)) / 1e6
            async for event in model.stream(_request("paced", base))
            if isinstance(event, TextDelta)
        ]
    return [
        Row(f"write to read at {PACE}/s, p50", _percentile(late, 50), _percentile(theirs, 50), "ms", "2"),
        Row(f"write to read at {PACE}/s, p99", _percentile(late, 99), _percentile(theirs, 99), "ms", "5"),
    ]


async def stall() -> list[Row]:
    """The longest stall of the client's event loop over the worker's start, its first call and 5,000 chunks."""
    gaps: list[float] = []

    async def watch() -> None:
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(0.001)
            gaps.append((time.perf_counter() - begun) * 1000 - 1)

    async with _provider() as base:
        alone = asyncio.create_task(watch())
        await asyncio.sleep(2)
        noise = max(gaps)
        gaps.clear()
        worker = ModelWorker()
        model = WorkerModel(worker)
        try:
            await _timed(model, "text", base, parse=True)
            longest = max(gaps)
            alone.cancel()
            cpu = time.process_time()
            await _timed(model, "text", base, parse=False)
            per_chunk = (time.process_time() - cpu) / CHUNKS * 1e6
        finally:
            alone.cancel()
            await worker.close()
    return [
        Row("longest stall, worker's start and 5,000 chunks", longest, noise, "ms", "20; beside: an idle loop's"),
        Row("this process's CPU a chunk", per_chunk, None, "µs", "10"),
    ]


async def long_conversation() -> list[Row]:
    """A request of 3,000 messages (2 MB): what it costs here, and until the provider's first answer."""
    messages = [
        {"role": "user" if number % 2 else "assistant", "content": f"word {number} " * 70} for number in range(3_000)
    ]
    asked: list[dict[str, Any]] = [*messages, {"role": "user", "content": "short"}]
    cpu, whole, theirs = [], [], []
    async with _provider() as base, _baseline() as ask, _worker() as model:
        for _ in range(ROUNDS):
            begun, used = time.perf_counter(), time.process_time()
            stream = model.stream(_request("short", base, asked))
            await anext(stream)
            whole.append((time.perf_counter() - begun) * 1000)
            cpu.append((time.process_time() - used) * 1000)
            await stream.aclose()
            theirs.append((await ask({**_call("short", base), "messages": asked}))[1] * 1000)
    median = statistics.median
    return [
        Row("3,001 messages: this process's CPU", median(cpu), None, "ms", "20"),
        Row("3,001 messages: until the first word", median(whole), median(theirs), "ms", ""),
    ]


async def prompts() -> list[Row]:
    """What a turn's prompt costs here in a conversation that grows: the median of turns, and the first (restored)."""
    rows: list[Row] = []
    base: float | None = None
    async with _worker() as model:
        for size, goal in ((3_000, "30"), (30_000, "300")):
            for window, name in ((128_000, "trimmed to 128,000 tokens"), (100_000_000, "sent whole")):
                first, later = await _prompt_times(model, size, window)
                beside = base if size > 3_000 and window == 128_000 else None
                base = later if size == 3_000 and window == 128_000 else base
                rows.append(Row(f"{size:,} messages, {name}: a turn's prompt", later, beside, "ms", goal))
                rows.append(Row(f"{size:,} messages, {name}: the first prompt", first, None, "ms", ""))
    return rows


async def _prompt_times(model: WorkerModel, size: int, window: int) -> tuple[float, float]:
    """Milliseconds of the first prompt, with counting in the worker, and of this process's CPU for later ones (median).

    The summary is left out: it is a request of its own.
    """
    messages = [message for number in range(size // 4) for message in _turn(number)]
    settings = Settings(LlmSettings(model=_MODEL, context_window=window))
    conversation, ask = Conversation(), Ask(_WithoutSummaries(model), settings, "/", ("python",))

    sent, numbers = Sent(), count()

    async def prompt() -> None:
        async for step in conversation.request(messages, ask):
            if isinstance(step, ModelRequest):
                json.dumps(sent.fields(next(numbers), step.messages))  # as the worker's client sends it

    begun = time.perf_counter()
    await prompt()
    first = (time.perf_counter() - begun) * 1000
    later = []
    for number in range(20):
        messages += _turn(size + number)
        used = time.process_time()
        await prompt()
        later.append((time.process_time() - used) * 1000)
    return first, statistics.median(later)


def _turn(number: int) -> list[Message]:
    words = f"word {number} " * 60
    return [
        Message("user", "message", f"Do this: {words}", id=f"u{number}"),
        Message("assistant", "code", f"print({number})  # {words}", "python", id=f"c{number}"),
        Message("computer", "console", f"{words}\n", "output", id=f"o{number}", parent=f"c{number}"),
        Message("assistant", "message", f"Done: {words}", id=f"a{number}"),
    ]


class _WithoutSummaries:
    """The worker's model, which is asked for no reply."""

    def __init__(self, model: WorkerModel) -> None:
        self.info = model.info
        self.warm_up = model.warm_up
        self.close = model.close

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """A summary at once."""
        yield TextDelta("What was done before.")


BENCHES: list[Callable[[], Awaitable[list[Row]]]] = [text_chunks, latency, stall, long_conversation, prompts]


def _call(kind: str, base: str) -> dict[str, Any]:
    return {"model": _MODEL, "messages": [{"role": "user", "content": kind}], "api_base": base, "api_key": "none"}


def _request(kind: str, base: str, messages: list[dict[str, Any]] | None = None) -> ModelRequest:
    asked = messages or [{"role": "user", "content": kind}]
    return ModelRequest(_MODEL, asked, tools=kind == "tool", languages=("python",), api_base=base, api_key="none")


async def _timed(model: WorkerModel, kind: str, base: str, *, parse: bool) -> float:
    """Seconds that a reply took."""
    parser = ReplyParser(True, ("python",))
    begun, count = time.perf_counter(), 0
    async for event in model.stream(_request(kind, base)):
        count += isinstance(event, TextDelta | ToolCallDelta)
        if parse:
            parser.feed(event)
    if parse:
        parser.finish()
    assert count >= CHUNKS, count
    return time.perf_counter() - begun


def _percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100)[percent - 1]


@asynccontextmanager
async def _worker() -> AsyncIterator[WorkerModel]:
    worker = ModelWorker()
    try:
        model = WorkerModel(worker)
        await model.info(_MODEL)
        yield model
    finally:
        await worker.close()


@asynccontextmanager
async def _baseline() -> AsyncIterator[Callable[[dict[str, Any]], Awaitable[Any]]]:
    """LiteLLM alone: a call's arguments in; seconds of the whole, seconds until it began, delays of a paced one."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _BASELINE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    source, sink = process.stdout, process.stdin

    async def ask(call: dict[str, Any]) -> Any:
        sink.write(json.dumps(call).encode() + b"\n")
        return json.loads(await source.readline())

    try:
        yield ask
    finally:
        sink.close()
        await process.wait()


@asynccontextmanager
async def _provider() -> AsyncIterator[str]:
    """The scripted provider in a process of its own; its base URL."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        base: str = await asyncio.to_thread(here.recv)
        yield base
    finally:
        here.send(None)
        await asyncio.to_thread(process.join)


def _serve(pipe: Connection) -> None:
    with OpenAiServer(_script) as server:
        pipe.send(server.base_url)
        pipe.recv()


def _script(request: Recorded) -> Response:
    kind = request.json["messages"][-1]["content"]
    if kind == "text":
        # Not all alike: LiteLLM ends a reply that repeats itself a hundred times.
        return Reply.text("".join(f"{number:4d}" for number in range(CHUNKS)))
    if kind == "tool":
        return Reply.tool_call("python", _CODE)
    if kind == "paced":
        return Response(_paced(), content_type="text/event-stream")
    return Reply.text("Hello")


def _paced() -> Iterator[Step]:
    yield role()
    for _ in range(PACE * 5):
        yield Pause(1 / PACE)
        yield delta({"content": str(time.monotonic_ns())})
    yield from ending("stop")[:-1]
    yield done()
