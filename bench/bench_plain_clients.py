"""What a plain client waits for while a model streams, a kernel runs and much is pending: the whole, as delivered."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.rows import Row, percentile
from tests.e2e.product import folders
from tests.e2e.test_whole import LITELLM
from tests.fakes.http_server import Response
from tests.fakes.lsp_client import PRODUCT, server
from tests.fakes.lsp_editor import Buffer, LspEditor
from tests.fakes.openai_server import OpenAiServer, Reply
from tests.fakes.profiles import profile

ASKED = 300
PENDING = 50
WORDS = "a word of the answer and\n" * 2_000
PAUSE = 0.002
"""Seconds between two pieces of four characters: some 500 in a second."""

LOOP = "import time\nwhile True:\n    print('a line of output')\n    time.sleep(0.01)"


@asynccontextmanager
async def _editor(replies: list[Response]) -> AsyncIterator[tuple[LspEditor, Path]]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        async with OpenAiServer(replies) as provider:
            llm = {"model": "openai/gpt-4o", "api_base": provider.base_url, "api_key": "sk-bench"}
            options = {"settings": {"llm": llm, "computer": {"python": sys.executable}}}
            async with server(PRODUCT, env={**folders(folder), **LITELLM}) as client:
                await client.initialize(options, rootUri=folder.as_uri(), **profile("vscode"))
                yield LspEditor(client), folder


async def _chat(editor: LspEditor, path: Path) -> Buffer:
    buffer = await editor.open(path, "")
    await editor.until(buffer, "## You")
    editor.append(buffer, "Please.\n")
    return buffer


async def _taken(editor: LspEditor, buffer: Buffer) -> tuple[list[float], list[float]]:
    """Milliseconds for code actions at the end of a document, and for its code lenses, asked for many times."""
    actions, lenses = [], []
    for _ in range(ASKED):
        began = time.perf_counter()
        await editor.actions(buffer, (len(buffer.text), len(buffer.text)))
        between = time.perf_counter()
        await editor.lenses(buffer)
        actions.append((between - began) * 1000)
        lenses.append((time.perf_counter() - between) * 1000)
        await asyncio.sleep(0.01)
    return actions, lenses


async def offers_while_it_streams() -> list[Row]:
    """Code actions and lenses of the document that an answer streams into, while a kernel prints into another."""
    async with _editor([Reply.tool_call("python", LOOP), Reply.text(WORDS, pause=PAUSE)]) as (editor, folder):
        looping = await _chat(editor, folder / "loop.oi.md")
        streaming = await _chat(editor, folder / "stream.oi.md")
        alone = await _taken(editor, streaming)
        await editor.take(looping, "Send", "Please.")
        await editor.offered(looping, "Run")
        await editor.take(looping, "Run", "while True")
        await editor.until(looping, "a line of output\n")
        await editor.take(streaming, "Send", "Please.")
        await editor.until(streaming, "a word of the answer")
        before = streaming.text
        beside = await _taken(editor, streaming)
        assert len(streaming.text) > len(before), "nothing streamed"
        assert "Stop" in await editor.titles(looping, "while True"), "the kernel did not run"
        for buffer in (looping, streaming):
            await editor.take(buffer, "Stop", "Please.")
            await editor.gone(buffer, "Stop")
    return [
        Row(
            f"{what} beside a model and a kernel, {name}",
            percentile(busy, percent),
            percentile(idle, percent),
            "ms",
            to,
        )
        for what, busy, idle in zip(("code actions", "code lenses"), beside, alone, strict=True)
        for name, percent, to in (("99 of 100", 99, "no more than 20 ms"), ("median", 50, ""))
    ]


async def fifty_pending() -> list[Row]:
    """A request to the server while 50 chat documents each wait for a decision."""
    async with _editor([Reply.tool_call("python", "print(1)")] * PENDING) as (editor, folder):
        buffers = [await _chat(editor, folder / f"{number}.oi.md") for number in range(PENDING)]
        alone = await _pings(editor)
        for buffer in buffers:
            await editor.take(buffer, "Send", "Please.")
        coming = asyncio.create_task(_pings(editor))
        for buffer in buffers:
            await editor.offered(buffer, "Run")
        arriving = await coming
        pending = await _pings(editor)
    return [
        Row("a ping with 50 proposals pending, longest", max(pending), max(alone), "ms", "no more than 100 ms"),
        Row("a ping while 50 chats ask a model, longest", max(arriving), max(alone), "ms"),
    ]


async def _pings(editor: LspEditor) -> list[float]:
    taken = []
    for _ in range(ASKED):
        began = time.perf_counter()
        await editor.client.command("oi.session.list")
        taken.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0.01)
    return taken


BENCHES = (offers_while_it_streams, fifty_pending)
