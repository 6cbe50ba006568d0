"""Programs that use up what there is: lines, processes, memory, the disk, patience. The server answers meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import psutil
import pytest

from oi_engine.computer.sandbox import look_for_sandbox
from tests.e2e.product import folders
from tests.fakes.lsp_client import PRODUCT, Follower, LspClient, server

PATIENCE = 3.0
"""Seconds within which the server answers, however busy the machine is with the bomb and with other tests."""


@contextlib.asynccontextmanager
async def started(tmp_path: Path, **settings: object) -> AsyncIterator[tuple[LspClient, str]]:
    """The delivered server and a session in an empty folder."""
    given = {"llm": {"model": "tour"}, "computer": {"python": sys.executable, "shell": "bash"}, **settings}
    options = {"oi": {"protocolVersion": 1}, "settings": given}
    place = tmp_path / "place"
    place.mkdir(exist_ok=True)
    async with server(PRODUCT, env=folders(tmp_path)) as client:
        await client.initialize(options)
        yield client, await client.new_session(cwd=str(place))


async def begin(client: LspClient, session: str, language: str, code: str) -> str:
    found: str = (await client.command("oi.code.run", sessionId=session, language=language, code=code))["turnId"]
    return found


async def run(client: LspClient, session: str, language: str, code: str) -> str:
    """What a run adds to the output."""
    before = len(client.of(session).text())
    return (await client.ended(session, await begin(client, session, language, code))).text()[before:]


def notes(follower: Follower) -> str:
    """All that the person was told beside the output."""
    return "\n".join(m.text for m in follower.check() if m.type == "message" and m.role == "computer")


class Pings:
    """Asks the server something simple all the time, and looks at its memory."""

    def __init__(self, client: LspClient, session: str) -> None:
        self.worst = 0.0
        self.grown = 0
        self._client, self._session = client, session
        self._process = psutil.Process(client.process.pid)
        self._before = self._process.memory_info().rss

    async def until_ended(self, turn: str) -> Follower:
        end = asyncio.create_task(self._client.ended(self._session, turn))
        while not end.done():
            asked = time.monotonic()
            await self._client.command("oi.usage.get", sessionId=self._session)
            self.worst = max(self.worst, time.monotonic() - asked)
            self.grown = max(self.grown, self._process.memory_info().rss - self._before)
            await asyncio.wait([end], timeout=0.02)
        return await end


TEN_MILLION = {"shell": "seq 10000000", "python": "print('\\n'.join(map(str, range(1, 10_000_001))))"}


@pytest.mark.parametrize("language", TEN_MILLION)
async def test_ten_million_lines(tmp_path: Path, language: str) -> None:
    async with started(tmp_path) as (client, session):
        await run(client, session, language, "1 if True else 0" if language == "python" else "true")
        pings = Pings(client, session)
        follower = await pings.until_ended(await begin(client, session, language, TEN_MILLION[language]))
        text = follower.text()
        assert text.rstrip("\n").endswith("\n9999999\n10000000")
        assert "characters left out; the whole output is in" in text
        assert len(text) < 500_000
        assert pings.grown < 60_000_000
        assert pings.worst < PATIENCE


STUBBORN = {
    "python": """
import os, signal
kept = 1
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), "begun", flush=True)
while True:
    try:
        while True: pass
    except BaseException: pass
""",
    "shell": "kept=1; trap '' INT TERM HUP; echo $$ begun; while :; do :; done",
}


@pytest.mark.parametrize(("language", "look"), [("python", "print('kept' in dir())"), ("shell", "echo [$kept]")])
async def test_a_program_that_ignores_every_interrupt_is_ended_which_is_said(
    tmp_path: Path, language: str, look: str
) -> None:
    async with started(tmp_path) as (client, session):
        turn = await begin(client, session, language, STUBBORN[language])
        follower = client.of(session)
        await client.until(lambda: "begun\n" in follower.text())
        pid = int(follower.text().split()[0])
        asked = time.monotonic()
        await client.command("oi.chat.stop", sessionId=session)
        await client.ended(session, turn)
        assert time.monotonic() - asked < 2 * PATIENCE
        assert "It did not stop when interrupted, so its kernel was ended. Variables are gone." in notes(follower)
        assert not psutil.pid_exists(pid)
        assert (await run(client, session, language, look)).split() in (["False"], ["[]"])


BOMBS = {
    # Doubles every few hundredths of a second, and is no less of a bomb: nothing in it ends by itself.
    "processes": ("shell", "bomb() { sleep 0.03; bomb & bomb & sleep 100; }; bomb", {"processes": 60}),
    "memory": ("shell", "tail /dev/zero & python3 -c 'import os; os.urandom(3 << 30)'; wait", {"memory": 512}),
}


@pytest.mark.parametrize("kind", BOMBS)
async def test_a_bomb_in_the_sandbox_ends_and_the_session_goes_on(tmp_path: Path, kind: str) -> None:
    if problem := (await look_for_sandbox()).problem:
        pytest.skip(problem)
    language, code, limits = BOMBS[kind]
    async with started(tmp_path, sandbox="strict", sandbox_limits=limits) as (client, session):
        pings = Pings(client, session)
        follower = await pings.until_ended(await begin(client, session, language, code))
        assert pings.worst < PATIENCE
        if os.geteuid() == 0 and kind == "processes":  # for others the kernel refuses, and nothing need be ended
            assert "`sandbox_limits.processes`" in notes(follower)
        assert "alive" in await run(client, session, language, "echo alive")


# --- the disk --------------------------------------------------------------------------------------------------------

SMALL_DISK = 'mount -t tmpfs -o size=32m tmpfs "$0" && mkdir "$0/place" "$0/tmp" && exec "$@"'


def small_disk(folder: Path) -> tuple[str, ...]:
    """Begins a command line; for what it starts ``folder`` is a disk of 32 MB."""
    own = () if os.geteuid() == 0 else ("--map-root-user",)
    return ("unshare", *own, "--mount", "sh", "-c", SMALL_DISK, str(folder))


def environment(tmp_path: Path) -> Mapping[str, str]:
    return {**folders(tmp_path), "TMPDIR": str(tmp_path / "tmp"), "XDG_RUNTIME_DIR": ""}


async def test_a_full_disk_costs_files_and_neither_the_session_nor_its_output(tmp_path: Path) -> None:
    begins = small_disk(tmp_path)
    if (await asyncio.to_thread(subprocess.run, [*begins, "true"], capture_output=True)).returncode:
        pytest.skip("this user cannot mount a small disk")
    given = {"llm": {"model": "tour"}, "computer": {"python": sys.executable, "shell": "bash"}}
    async with server((*begins, *PRODUCT), env=environment(tmp_path)) as client:
        await client.initialize({"oi": {"protocolVersion": 1}, "settings": given})
        session = await client.new_session(cwd=str(tmp_path / "place"))
        assert "ready" in await run(client, session, "python", "print('ready')")
        filled = await run(client, session, "shell", "cat /dev/zero > filler; df --output=avail . | tail -1")
        assert "No space left on device" in filled
        said = await run(client, session, "python", "print('\\n'.join(map(str, range(1, 1_000_001))))")
        assert said.startswith("1\n2\n")
        assert said.endswith("\n1000000\n")
        assert re.search(r"characters left out; .* \((No space left on device|a file may have [\d,]+ bytes)\) …", said)
        ended = await client.ended(session, await begin(client, session, "shell", "echo here"))
        told = ended.check()[-1].text
        assert re.search(r"The code could not be written to .*: No space left on device", told), told
        await run(client, session, "python", "import os; os.unlink('filler')")
        assert (await run(client, session, "shell", "echo here")) == "here\n"
        assert "the whole output is in" in await run(client, session, "shell", "seq 1000000")
