"""A client that stops reading for a while loses nothing, and the server does not grow for it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.fakes.lsp_client import DEADLINE, server

WORDS = 60_000
STATUS = Path("/proc/self/status")


def peak(pid: int) -> int:
    """The most memory that a process has had, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


async def lines_in(path: Path, count: int) -> None:
    """Wait until a file has so many lines; there is no event for that."""
    async with asyncio.timeout(DEADLINE):
        while not path.exists() or len(path.read_text().splitlines()) < count:  # noqa: ASYNC240 -- a small local file
            await asyncio.sleep(0.02)


@pytest.mark.skipif(not STATUS.exists(), reason="the system does not tell a process's peak of memory")
async def test_a_client_that_stops_reading_loses_nothing(tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    script = {"replies": [[{"say": "word ", "times": WORDS}, {"code": "print hi"}]]}
    options = {"oi": {"protocolVersion": 1}, "settings": {"auto_run": True}}
    async with server(env={"OI_SCRIPT": json.dumps(script), "OI_REQUESTS": str(requests)}) as client:
        await client.initialize(options)
        session = await client.new_session()
        turn = await client.turn(session, "go")
        follower = client.of(session)
        await client.until(lambda: follower.chunks)
        before = peak(client.process.pid)
        client.reading.clear()
        # The second request to the model says that the first reply is over, unread as it is.
        await lines_in(requests, 2)
        grown = peak(client.process.pid) - before
        client.reading.set()
        await client.ended(session, turn)
        assert follower.gaps == []
        opened = await client.command("oi.session.open", sessionId=session)
        assert [message.to_dict() for message in follower.check()] == opened["messages"]
        assert opened["messages"][1]["content"] == "word " * WORDS
        # The stream of an open message holds its chunks one by one (some 500 bytes each); nothing else may grow.
        assert grown < WORDS * 1000
