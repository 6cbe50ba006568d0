"""What programs send: a hostile kernel's messages and replies, a hostile driver's reports, output of any kind."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any, cast

from attrs import asdict

from oi_engine.computer.driver import Driver
from oi_engine.computer.kernel_looks import completions_of, inspection_of, looked_up
from oi_engine.computer.kernel_messages import UNREADABLE, Input, events_of, input_of, reply_of
from oi_engine.computer.looks import Inspection, made_harmless
from oi_engine.computer.output import OutputLimiter
from oi_engine.computer.python_path import path_at
from oi_engine.computer.repl import ReplRuntime, _Cell, _Live
from oi_engine.computer.runtime import ActiveLine, Rich, RunEvent, Spilled, Text
from oi_lsp.sources.looking import described
from tests.fuzz.fuzzing import Dice, dice, fuzzed, texts

KINDS = (
    *("stream", "execute_result", "display_data", "update_display_data", "error", "oi_active_line", "oi_spilled"),
    *("status", "clear_output", "comm_open", ""),
)
FIELDS = (
    *("text", "name", "oi_lines", "data", "oi_line", "traceback", "ename", "evalue", "line", "omitted", "path", "tail"),
    *(
        "prompt",
        "password",
        "status",
        "payload",
        "oi_failure",
        "column",
        "end_line",
        "matches",
        "metadata",
        "cursor_start",
    ),
    *("cursor_end", "items", "more", "type", "value", "length", "shape", "dtype", "columns", "column_count", "docs"),
    *("text/plain", "text/html", "image/png", "image/svg+xml", "text/markdown", "source", "execution_state"),
)
SAID: tuple[Any, ...] = (
    *(
        "text",
        "stderr",
        "error",
        "ok",
        "ask_exit",
        ["a\n", "b"],
        [[1, 2], [0, 3]],
        [[2, -1], [3, 10**9]],
        [["a"]],
        [[1, 2.5]],
    ),
    *({"line": 1}, {"line": 2, "column": 3, "name": "E"}, {"line": -1}, {"text/plain": "x", "image/png": "aGk=\n"}),
    *(
        {"text/html": ["<b>", "</b>"], "text/markdown": 5},
        {"source": "ask_exit"},
        [{"source": "ask_exit"}],
        [["a", "b"]],
    ),
    *([["x", 5]], {"_jupyter_types_experimental": [{"text": "a", "type": "function"}, 5]}, 3, 0, [3, 4], 10**4000),
)


def content(drawn: Dice, depth: int = 2) -> dict[str, Any]:
    """What a message holds: fields that mean something, of any value."""
    found: dict[str, Any] = {}
    for _ in range(drawn.below(9)):
        name, how = drawn.pick(FIELDS), drawn.below(8)
        found[name] = (
            drawn.json(2) if how < 2 else content(drawn, depth - 1) if how == 2 and depth else drawn.pick(SAID)
        )
    return found


def check_event(event: RunEvent) -> None:
    """An event is what its class says."""
    for name, value in asdict(event).items():
        if name in ("line", "column", "end_line", "end_column", "omitted"):
            assert value is None or (type(value) is int and 0 <= value < 2**31), (event, name)
        else:
            assert isinstance(value, str), (event, name)


@fuzzed(dice(), 8000)
def test_a_kernels_messages_are_read_or_refused(drawn: Dice) -> None:
    kind, said = drawn.pick(KINDS), content(drawn)
    any_content: Any = said if drawn.below(10) else drawn.json(1)
    try:
        events = events_of(kind, any_content)
        asked: Any = input_of("request", any_content)
    except UNREADABLE:
        events, asked = [], Input("", "", False)
    for event in events:
        check_event(event)
    assert isinstance(asked.prompt, str)
    reply = reply_of(any_content)
    assert isinstance(reply.error, str)
    assert reply.failure is None or reply.error
    if reply.failure is not None:
        check_event(reply.failure)
    limiter = OutputLimiter(Path("/nowhere"))
    for event in events:
        for shown in limiter.feed(event):
            assert not isinstance(shown, Text) or not re.search("[\x00-\x08\x1b\x7f-\x9f\ud800-\udfff]", shown.text)


CODE = "df.loc"


@fuzzed(dice(), 5000)
def test_what_a_kernel_says_of_a_name_is_read_or_nothing(drawn: Dice) -> None:
    said: Any = content(drawn, 3)
    if drawn.below(3):
        said |= {"matches": drawn.pick([["a"], ["a", 5], "ab", 5, [["x"]], {}]), "cursor_start": drawn.pick(RANGES)}
        said |= {"cursor_end": drawn.pick(RANGES), "type": drawn.pick(["int", 5, "\x1b[2J", "`"])}
    path = path_at(CODE, 1)
    assert path is not None
    for found in (completions_of(said, len(CODE)), looked_up(said, 0, 2)):
        assert 0 <= found.start <= found.end <= len(CODE)
        assert all(isinstance(made_harmless(item).text, str) for item in found.items)
    name: Inspection | None = inspection_of(said, CODE, path)
    if name is not None:
        assert "\x1b" not in described(made_harmless(name))


RANGES: tuple[Any, ...] = (0, 1, 3, 6, 7, -1, "2", "x", None, 10**400, 1.5, [])

WORDS = (
    *("ready 1 x 1", "line", "text", "input", "done", "run", "c1", "c2", "p1", "yes", "no", "ok", "error", "result"),
    *("stdout", "traceback", "nowhere", '"x"', '"\\ud800"', "[" * 3000, "5", "0", "²", "9" * 5000, "-1", "1e3", "null"),
    *(" ", " ", " ", " ", " ", "\n", "\n", "\n", "\x00", "é", "\r", "done c1 ok\n", "line c1 3\n", "text c1 stdout "),
)


class NoTerminal:
    """A terminal to which nothing is written."""

    takes_lines, asks_password = True, False

    def read(self) -> bytes:
        return b""


async def _driver(data: list[bytes]) -> list[RunEvent]:
    """What a runtime says of a driver's reports, which come in these pieces, while a cell runs."""
    reports, writing = os.pipe()
    try:
        runtime = ReplRuntime(Driver("test", ("true",), (), ""), cwd="/")
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        live = _Live(cast(Any, None), cast(Any, NoTerminal()), -1, reports, ready, probe="p1")
        runtime._live, runtime._cell = live, _Cell("c1", Path("/nowhere"))
        for piece in filter(None, data):
            os.write(writing, piece)
            runtime._read_reports(live)
        queue, found = runtime._queue, list[RunEvent]()
        queue.put_output(b"end")
        while not found or found[-1] != Text("end"):
            found.append(await queue.take())
        return found
    finally:
        os.close(reports)
        os.close(writing)


@fuzzed(texts(*WORDS, length=20), 5000, examples=["text c1 stdout " + "[" * 30_000 + "\n", "line c1 ²\n"])
async def test_a_drivers_reports_are_read_or_passed_over(words: str) -> None:
    data = words.encode("utf-8", "surrogatepass")
    for event in await _driver([data[:40], data[40:]]):
        if isinstance(event, Text | ActiveLine | Rich | Spilled):
            check_event(event)
