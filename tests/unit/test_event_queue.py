"""The queue between a program and whoever takes what it says."""

from __future__ import annotations

import asyncio

from oi_engine.computer.event_queue import HIGH, LOW, EventQueue
from oi_engine.computer.runtime import ActiveLine, Finished, Text


def _queue() -> tuple[EventQueue, list[None]]:
    rooms: list[None] = []
    return EventQueue(lambda: rooms.append(None)), rooms


def _full(queue: EventQueue) -> bool:
    return queue.full


async def test_order_and_joining() -> None:
    queue, _ = _queue()
    queue.put_output(b"one ")
    queue.put_output(b"two")
    queue.put_output(b"")
    queue.put(ActiveLine(1))
    queue.put(ActiveLine(2))
    queue.put_output(b"three")
    queue.put(Finished())
    taken = [await queue.take() for _ in range(4)]
    assert taken == [Text("one two"), ActiveLine(2), Text("three"), Finished()]


async def test_characters_are_joined_across_pieces_and_events() -> None:
    queue, _ = _queue()
    queue.put_output("é".encode()[:1])
    queue.put(ActiveLine(1))
    queue.put_output("é".encode()[1:])
    assert [await queue.take(), await queue.take()] == [ActiveLine(1), Text("é")]
    queue.put_output(b"\xff\xc3")
    queue.end_output()
    queue.put_output(b"\xa9")
    assert [await queue.take() for _ in range(3)] == [Text("�"), Text("�"), Text("�")]


async def test_full_and_room_again() -> None:
    queue, rooms = _queue()
    queue.put_output(b"x" * (HIGH - 1))
    assert not _full(queue)
    queue.put(ActiveLine(1))
    queue.put_output(b"x" * LOW)
    assert _full(queue)
    assert await queue.take() == Text("x" * (HIGH - 1))
    assert not _full(queue)
    assert rooms == [None]
    queue.put_output(b"x" * HIGH)
    queue.forget()
    assert not _full(queue)


async def test_taker_waits() -> None:
    queue, _ = _queue()
    task = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    assert not task.done()
    queue.put_output(b"now")
    assert await task == Text("now")


def test_unfinished_line() -> None:
    queue, _ = _queue()
    assert queue.unfinished_line == ""
    queue.put_output(b"done\nName")
    queue.put_output(b"? ")
    assert queue.unfinished_line == "Name? "
    queue.put_output(b"\r50%")
    assert queue.unfinished_line == "50%"
    queue.put_output(b"x" * 5000)
    assert queue.unfinished_line == "x" * 1000
    queue.put_output(b"\n")
    assert queue.unfinished_line == ""
    queue.put_output(b"a")
    queue.end_line()
    assert queue.unfinished_line == ""
