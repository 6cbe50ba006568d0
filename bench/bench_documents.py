"""Writing into a document: 5,000 chunks for an editor that takes 20 ms for an edit, and the mirror of a large one."""

from __future__ import annotations

import asyncio
import time

from lsprotocol import types

from bench.rows import Row, percentile
from oi_lsp.document_writer import DocumentWriter, Unwritten
from oi_lsp.documents import Document
from tests.fakes.editors import VSCODE, Editor

CHUNKS = 5_000
LATENCY = 0.01
"""Seconds for one message: with the edit and its answer, 20 ms."""

PAUSE = 0.001
LARGE = "Some words of a line, with an é in it.\n" * 52_000
"""About 2 MB."""

_HEAD, _TAIL = "# Chat\n\n## Assistant\n\n", "\n<!-- tail -->\n"


class _Owner:
    """Nothing may go wrong here."""

    def on_stuck(self, reason: str) -> None:
        raise AssertionError(reason)

    def on_misplaced(self, text: str, start: int, end: int) -> None:
        raise AssertionError(text)

    def on_undone(self, text: str, unwritten: list[Unwritten]) -> None:
        raise AssertionError(text)

    def on_closed(self, unwritten: list[Unwritten]) -> None:
        raise AssertionError(unwritten)


class _Plain(Editor):
    """An editor that keeps no account of who wrote what, which would take longer than what is measured."""

    def _change(self, where: types.Range, text: str, mark: str) -> None:
        change = types.TextDocumentContentChangePartial(where, text)
        self.buffer.apply(change, None)
        self._unsent.append(change)
        self.version += 1


class _Stalls:
    """How late the event loop comes round to a timer, every two milliseconds."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.002)
            self.late.append((time.perf_counter() - began - 0.002) * 1000)

    def end(self) -> None:
        self._task.cancel()


async def five_thousand_chunks() -> list[Row]:
    """5,000 chunks, one each millisecond, into a small document and into one of 2 MB; beside a loop that sleeps."""
    idle = await _idle()
    rows = []
    for what, head in (("a chat", _HEAD), ("2 MB", LARGE + _HEAD)):
        rows += await _streamed(what, head, idle)
    return rows


async def _idle() -> list[float]:
    stalls = _Stalls()
    for _ in range(CHUNKS):
        await asyncio.sleep(PAUSE)
    stalls.end()
    return stalls.late


async def _streamed(what: str, head: str, idle: list[float]) -> list[Row]:
    editor = _Plain(VSCODE, head + _TAIL, lambda: LATENCY)
    writer = DocumentWriter(editor.mirror, editor, _Owner())
    answer = writer.anchor(len(head))
    stalls, began = _Stalls(), time.perf_counter()
    chunks = [f"w{number:04} " if number % 10 else f"w{number:04}\n" for number in range(CHUNKS)]
    for chunk in chunks:
        writer.insert(answer, chunk)
        await asyncio.sleep(PAUSE)
    given = time.perf_counter()
    writer.flush()
    assert await writer.written(), "not all was written"
    ended = time.perf_counter()
    stalls.end()
    writer.close()
    assert editor.buffer.text == head + "".join(chunks) + _TAIL, "a character was lost"
    assert editor.most_in_flight == 1, "more than one edit was in flight"
    lag, alone = stalls.late, idle
    return [
        Row(f"5,000 chunks into {what}: longest stall of the loop", max(lag), max(alone), "ms", "no more than 20 ms"),
        Row(f"5,000 chunks into {what}: stall, 99 of 100", percentile(lag, 99), percentile(alone, 99), "ms"),
        Row(f"5,000 chunks into {what}: in the document after the last", (ended - given) * 1000, None, "ms"),
        Row(f"5,000 chunks into {what}: edits", len(editor.asked), CHUNKS, "", f"in {ended - began:.1f} s"),
    ]


async def large_mirror() -> list[Row]:
    """One edit in the middle of 2 MB, told of and applied, beside splitting the text into lines anew."""
    document = Document("file:///large", "markdown", 0, LARGE)
    at = len(LARGE) // 2
    taken = []
    for version in range(CHUNKS):
        began = time.perf_counter()
        where = document.position(at)
        document.apply(types.TextDocumentContentChangePartial(types.Range(where, where), "chunk\n"), version)
        taken.append((time.perf_counter() - began) * 1000)
        at += len("chunk\n")
    began = time.perf_counter()
    document.text.splitlines(keepends=True)
    anew = (time.perf_counter() - began) * 1000
    return [Row("one edit in 2 MB, position and change, 99 of 100", percentile(taken, 99), anew, "ms", "under 5 ms")]


BENCHES = (five_thousand_chunks, large_mirror)
