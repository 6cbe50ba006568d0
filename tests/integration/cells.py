"""Running cells in a runtime and looking at what they said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence

from attrs import define, evolve, field

from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import ActiveLine, Finished, InputRequest, InputTaken, RunEvent, Text

DEADLINE = 60.0
"""Seconds after which a test has failed; far more than anything takes."""


@define
class Said:
    """What a cell said."""

    events: list[RunEvent] = field(factory=list)

    @property
    def text(self) -> str:
        """All of its output, results and tracebacks included."""
        return "".join(event.text for event in self.events if isinstance(event, Text))

    def stream(self, name: str) -> str:
        """Its output on one stream."""
        return "".join(event.text for event in self.events if isinstance(event, Text) and event.stream == name)

    @property
    def finished(self) -> Finished:
        """How it ended; that this is the last event, and the only one of its kind."""
        ends = [event for event in self.events if isinstance(event, Finished)]
        assert ends == self.events[-1:]
        return ends[0]

    @property
    def lines(self) -> list[int | None]:
        """Its active lines."""
        return [event.line for event in self.events if isinstance(event, ActiveLine)]

    @property
    def requests(self) -> list[InputRequest]:
        """What it asked."""
        return [event for event in self.events if isinstance(event, InputRequest)]

    @property
    def taken(self) -> int:
        """How often it no longer waited."""
        return sum(isinstance(event, InputTaken) for event in self.events)


async def run(runtime: ReplRuntime, code: str, answers: Sequence[str] = ()) -> Said:
    """Run a cell to its end, giving the answers in order to what it asks."""
    said, left = Said(), list(answers)
    async with asyncio.timeout(DEADLINE):
        async for event in runtime.run(code):
            said.events.append(event)
            if isinstance(event, InputRequest) and left:
                runtime.answer(left.pop(0))
    return said


async def run_until(cell: AsyncGenerator[RunEvent, None], text: str) -> Said:
    """Take a cell's events until its output holds ``text``."""
    said = Said()
    async with asyncio.timeout(DEADLINE):
        async for event in cell:
            said.events.append(event)
            if text in said.text:
                break
    assert text in said.text
    return said


async def rest(cell: AsyncGenerator[RunEvent, None]) -> Said:
    """Take the rest of a cell's events."""
    async with asyncio.timeout(DEADLINE):
        return Said([event async for event in cell])


async def stop(runtime: ReplRuntime, code: str, text: str) -> tuple[bool, Said]:
    """Run a cell, interrupt it when it has printed ``text``: whether that worked, and what the cell said after."""
    cell = runtime.run(code)
    await run_until(cell, text)
    async with asyncio.timeout(DEADLINE):
        stopped = await runtime.interrupt()
        if not stopped:
            await cell.aclose()
            return False, Said()
        return True, await rest(cell)


def joined(events: Iterable[RunEvent]) -> list[RunEvent]:
    """The events, the text of one line in one: on a busy machine a line may come in two pieces."""
    found: list[RunEvent] = []
    for event in events:
        last = found[-1] if found else None
        if isinstance(event, Text) and isinstance(last, Text) and evolve(last, text=event.text) == event:
            found[-1] = evolve(last, text=last.text + event.text)
        else:
            found.append(event)
    return found
