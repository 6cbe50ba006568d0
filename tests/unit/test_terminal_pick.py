"""Picking a stored conversation by its number, where there are no arrow keys."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oi_engine.errors import OiError
from oi_engine.history.store import Conversation, Store
from oi_engine.messages import Message
from oi_engine.terminal.ask import Left
from oi_engine.terminal.ask_lines import LineReader, PipeAsker
from oi_engine.terminal.pick import pick


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "history.db"
    with Store(path) as store:
        for name in ("first", "second"):
            store.save(Conversation(name, title=f"The {name}\n\x1b[31mone"), [Message("user", "message", "hi", id="m")])
    return path


@pytest.fixture
async def pipe() -> AsyncIterator[tuple[int, PipeAsker]]:
    source, sink = os.pipe()
    yield sink, PipeAsker(LineReader(source))
    os.close(source)


Pipe = tuple[int, PipeAsker]


def give(sink: int, text: str) -> None:
    os.write(sink, text.encode())
    os.close(sink)


async def test_the_first_line_is_the_number(stored: Path, pipe: Pipe, capsys: pytest.CaptureFixture[str]) -> None:
    sink, asker = pipe
    give(sink, "2\nhello\n")
    assert (await pick(stored, asker)).id == "first"
    assert await asker.message() == "hello"
    first, second, question = capsys.readouterr().out.splitlines()
    assert first.startswith("  1. ")
    assert first.endswith("1 message · The second one")
    assert second.startswith("  2. ")
    assert "1 to 2" in question


@pytest.mark.parametrize("answer", ["3\n", "0\n", "two\n"])
async def test_what_is_no_number_of_the_list_is_refused(stored: Path, pipe: Pipe, answer: str) -> None:
    sink, asker = pipe
    give(sink, answer)
    with pytest.raises(OiError, match="numbers from 1 to 2"):
        await pick(stored, asker)


async def test_leaving(stored: Path, pipe: Pipe) -> None:
    sink, asker = pipe
    give(sink, "")
    with pytest.raises(Left):
        await pick(stored, asker)


async def test_nothing_to_pick_is_said(tmp_path: Path, pipe: Pipe) -> None:
    sink, asker = pipe
    give(sink, "1\n")
    with pytest.raises(OiError, match="No conversation is stored yet"):
        await pick(tmp_path / "none.db", asker)
    with pytest.raises(OiError, match="not kept"):
        await pick(None, asker)
