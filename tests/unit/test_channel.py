"""Frames off the wire, and the writer that never blocks."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_lsp.channel import PipeWriter, frames


def framed(body: bytes, length: int | None = None) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body) if length is None else length, body)


def reader(*blocks: bytes) -> Callable[[int], bytes]:
    """A source that gives these blocks, then the end."""
    waiting = [block for block in blocks if block]

    def read(_: int) -> bytes:
        return waiting.pop(0) if waiting else b""

    return read


@given(st.lists(st.binary(max_size=60), max_size=5), st.lists(st.integers(1, 40), max_size=40))
def test_every_way_of_cutting_the_bytes_gives_the_same_messages(bodies: list[bytes], cuts: list[int]) -> None:
    wire = b"".join(map(framed, bodies))
    blocks = []
    for cut in cuts:
        blocks.append(wire[:cut])
        wire = wire[cut:]
    assert list(frames(reader(*blocks, wire))) == bodies


def test_other_headers_and_bare_newlines_are_taken() -> None:
    wire = b"Content-Type: application/vscode-jsonrpc\r\ncontent-length:2\r\n\r\n{}Content-Length: 2\n\n[]"
    assert list(frames(reader(wire))) == [b"{}", b"[]"]


@pytest.mark.parametrize("length", [0, 1, 5, 30, 45])
def test_a_wrong_length_costs_at_most_the_next_message(length: int) -> None:
    wrong = framed(b'{"wrong": "message"}', length)
    wire = wrong + framed(b'{"next": 1}') + framed(b'{"after": 1}')
    assert list(frames(reader(wire)))[-1] == b'{"after": 1}'


def test_garbage_between_messages_is_passed_over() -> None:
    wire = framed(b"{}") + b"Traceback: a stray print\n\r\n\r\n" + framed(b"[]") + b"\xff\xfe" * 100_000 + framed(b"1")
    assert list(frames(reader(wire))) == [b"{}", b"[]", b"1"]


def test_a_message_that_is_too_long_is_skipped_and_said() -> None:
    blocks = [framed(b"x" * 300)[at : at + 7] for at in range(0, 400, 7)]
    assert list(frames(reader(*blocks, framed(b"{}")), limit=100)) == [None, b"{}"]


def test_an_end_inside_a_message_ends_the_messages() -> None:
    assert list(frames(reader(framed(b"{}"), b"Content-Length: 50\r\n\r\n{"))) == [b"{}"]


async def test_writes_in_order_and_says_when_all_is_written() -> None:
    written = bytearray()
    idle = asyncio.Event()

    def write(data: memoryview) -> int:
        written.extend(data[:3])
        return min(3, len(data))

    writer = PipeWriter(write, idle.set, lambda: None)
    for number in range(50):
        writer.write(b"<%d>" % number)
    await asyncio.wait_for(writer.drained(), 30)
    await asyncio.wait_for(idle.wait(), 30)
    assert bytes(written) == b"".join(b"<%d>" % number for number in range(50))
    assert writer.pending == 0


async def test_a_client_that_does_not_read_blocks_nobody() -> None:
    go_on = threading.Event()

    def write(data: memoryview) -> int:
        go_on.wait(60)
        return len(data)

    writer = PipeWriter(write, lambda: None, lambda: None)
    writer.write(b"x" * 1000)
    writer.write(b"y" * 1000)
    assert writer.pending == 2000
    assert not asyncio.ensure_future(writer.drained()).done()
    go_on.set()
    await asyncio.wait_for(writer.drained(), 30)


async def test_a_client_that_is_gone_is_said_once_and_written_to_no_more() -> None:
    source, sink = os.pipe()
    os.close(source)
    broken = asyncio.Event()
    writer = PipeWriter(lambda data: os.write(sink, data), lambda: None, broken.set)
    writer.write(b"hello")
    await asyncio.wait_for(broken.wait(), 30)
    writer.write(b"hello")
    assert writer.pending == 0
    await asyncio.wait_for(writer.drained(), 30)
    os.close(sink)
