"""However the server or its editor ends, nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator

import psutil
import pytest

from tests.fakes.editor import busy
from tests.fakes.lsp_client import DEADLINE, PRODUCT, SCRIPTED, LspClient, server

GONE_WITHIN = 5.0


def children(pid: int) -> list[psutil.Process]:
    """Every process below this one, once the model worker is there and three sleep: a forked shell is not yet one."""
    end = time.monotonic() + DEADLINE
    while True:
        found = psutil.Process(pid).children(recursive=True)
        words = [_command(process) for process in found]
        if sum(word[:1] == ["sleep"] for word in words) == 3 and any(
            "oi_engine.models.worker" in word for word in words
        ):
            return found
        assert time.monotonic() < end, found
        time.sleep(0.02)


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


async def assert_gone(processes: list[psutil.Process]) -> None:
    """The processes end in time; the dead that nobody has buried yet count as gone."""
    loop = asyncio.get_running_loop()
    _, alive = await loop.run_in_executor(None, lambda: psutil.wait_procs(processes, timeout=GONE_WITHIN))
    left = []
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.status() != psutil.STATUS_ZOMBIE:
                left.append(process)
    for process in left:
        process.kill()
    assert left == []


@pytest.fixture
async def at_work() -> AsyncIterator[LspClient]:
    async with server(PRODUCT) as client:
        await busy(client)
        yield client


@pytest.mark.parametrize("way", ["exit", "eof", "kill", "terminate", "hang up"])
async def test_when_the_server_ends_everything_ends(at_work: LspClient, way: str) -> None:
    below = children(at_work.process.pid)
    if way == "exit":
        await at_work.request("shutdown")
        at_work.notify("exit")
    elif way == "eof":
        at_work.hang_up()
    else:
        ways = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM, "hang up": signal.SIGHUP}
        at_work.process.send_signal(ways[way])
    await assert_gone(below)
    assert await at_work.exit_code() == (-signal.SIGKILL if way == "kill" else 0)


async def test_when_the_editor_is_killed_everything_ends() -> None:
    editor = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fakes.editor", *PRODUCT, stdout=asyncio.subprocess.PIPE
    )
    assert editor.stdout is not None
    try:
        pid = json.loads(await asyncio.wait_for(editor.stdout.readline(), DEADLINE))
        below = [psutil.Process(pid), *children(pid)]
    finally:
        editor.kill()
        await editor.wait()
    await assert_gone(below)


async def test_exit_without_shutdown_is_an_error() -> None:
    async with server() as client:
        await client.initialize()
        client.notify("exit")
        assert await client.exit_code() == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_the_end_of_the_pipe_ends_an_idle_server(when: str) -> None:
    async with server() as client:
        if when == "after":
            await client.initialize()
        client.hang_up()
        assert await client.exit_code() == 0


async def test_the_end_of_the_clients_process_ends_the_server_though_the_pipe_stays() -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
    assert parent.stdin is not None
    async with server() as client:
        await client.initialize(processId=parent.pid)
        parent.stdin.close()
        await parent.wait()
        assert await client.exit_code() == 0


async def test_a_client_that_reads_no_more_and_goes_ends_the_server() -> None:
    async with server() as client:
        await client.initialize()
        client.reading.clear()
        for _ in range(2000):
            client.notify("workspace/executeCommand", {"command": "oi.settings.get", "arguments": [{}]})
        client.hang_up()
        client.reading.set()
        assert await client.exit_code() == 0


NOISY = """
import os, subprocess, sys
from oi_lsp.server import serve_stdio
from tests.fakes.scripted_server import load

def noisy():
    os.write(1, b"stray")
    subprocess.run(["echo", "stray"])
    print("stray", sys.stdin.read())
    return load()

sys.exit(serve_stdio(noisy))
"""


async def test_nothing_stray_gets_on_the_wire() -> None:
    async with server((sys.executable, "-c", NOISY)) as client:
        await client.initialize()
        session = await client.new_session()
        await client.ended(session, await client.turn(session, "hello"))


async def test_one_client_over_tcp_and_no_web_page() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(*SCRIPTED, str(port), stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    try:
        assert f"127.0.0.1:{port}" in (await asyncio.wait_for(process.stderr.readline(), DEADLINE)).decode()
        page_reader, page = await asyncio.open_connection("127.0.0.1", port)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}})
        page.write(f"POST / HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(page_reader.read(), DEADLINE) == b""
        page.close()
        with contextlib.suppress(ConnectionResetError):
            await page.wait_closed()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        client = LspClient(process, reader, writer)
        await client.initialize()
        session = await client.new_session()
        await client.ended(session, await client.turn(session, "hello"))
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)
        await client.request("shutdown")
        client.notify("exit")
        assert await client.exit_code() == 0
        await client.close()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
