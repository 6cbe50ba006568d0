"""The supervisor: nothing outlives its owner, and the command's end is told as it was."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil
import pytest

from oi_engine.computer.supervised import Supervised, start_supervised
from oi_engine.errors import KernelFailed

# One child of each kind that is hard to find: a plain one, one in its own session, one that ignores SIGHUP, one that
# is an orphan, and one that ignores every polite signal. Each writes its process id.
FAMILY = """
sleep 600 & echo $! >> pids
setsid sh -c 'echo $$ >> pids; exec sleep 600' &
nohup sh -c 'echo $$ >> pids; exec sleep 600' > /dev/null 2>&1 &
sh -c '(sh -c "echo \\$\\$ >> pids; exec sleep 600" &)'
sh -c 'trap "" TERM INT HUP; echo $$ >> pids; exec sleep 600' &
while [ "$(wc -l < pids)" -lt 5 ]; do sleep 0.01; done
echo ready
"""


class Pipe:
    """A pipe whose writing end is for the command, and whose reading end is read line by line."""

    def __init__(self) -> None:
        reader, self.writer = os.pipe()
        self.reader = asyncio.StreamReader()
        self._file = os.fdopen(reader, "rb")

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self.transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self.reader), self._file)

    def close(self) -> None:
        self.transport.close()
        if self.writer >= 0:
            os.close(self.writer)

    def given_away(self) -> None:
        os.close(self.writer)
        self.writer = -1

    async def line(self) -> str:
        return (await asyncio.wait_for(self.reader.readline(), 30)).decode().rstrip("\n")


@pytest.fixture
async def pipe() -> AsyncGenerator[Pipe, None]:
    made = Pipe()
    await made.open()
    yield made
    made.close()


async def start(argv: list[str], pipe: Pipe, cwd: Path) -> Supervised:
    process = await start_supervised(argv, env=dict(os.environ), cwd=cwd, stdout=pipe.writer)
    pipe.given_away()
    return process


def family(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "pids").read_text().split()]


def living(pids: list[int]) -> list[int]:
    return [pid for pid in pids if psutil.pid_exists(pid)]


async def gone(pids: list[int]) -> None:
    """Wait until processes that are not this one's children are gone; the system has no event for that."""
    deadline = asyncio.get_running_loop().time() + 30
    while living(pids):
        assert asyncio.get_running_loop().time() < deadline, f"{living(pids)} live on"
        await asyncio.sleep(0.01)


def start_owner(script: str, *arguments: str, stdout: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script, *arguments], cwd=Path(__file__).parents[2], stdout=stdout)


async def test_exit_status_is_told(pipe: Pipe, tmp_path: Path) -> None:
    process = await start(["sh", "-c", "exit 3"], pipe, tmp_path)
    assert await asyncio.wait_for(process.wait_death(), 30) == 3
    assert not process.alive
    told = asyncio.get_running_loop().create_future()
    process.on_death(told.set_result)
    assert await asyncio.wait_for(told, 30) == 3
    await process.close()
    await process.close()


async def test_a_signal_is_told_as_such(pipe: Pipe, tmp_path: Path) -> None:
    process = await start(["sleep", "600"], pipe, tmp_path)
    assert process.alive
    process.signal(signal.SIGKILL)
    assert await asyncio.wait_for(process.wait_death(), 30) == -signal.SIGKILL
    await process.close()


async def test_interrupt_reaches_a_command_whose_owner_ignores_it(pipe: Pipe, tmp_path: Path) -> None:
    process = await start(["sleep", "600"], pipe, tmp_path)
    process.interrupt()
    assert await asyncio.wait_for(process.wait_death(), 30) == -signal.SIGINT
    await process.close()


async def test_the_supervisor_does_not_die_of_sigint(pipe: Pipe, tmp_path: Path) -> None:
    process = await start(["sleep", "600"], pipe, tmp_path)
    os.kill(process.supervisor_pid, signal.SIGINT)
    # The command's own end is what comes next, so the supervisor outlived the signal that was sent before it.
    process.signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait_death(), 30) == -signal.SIGTERM
    await process.close()


async def test_a_command_that_is_not_there(pipe: Pipe, tmp_path: Path) -> None:
    with pytest.raises(KernelFailed, match="No such file"):
        await start(["no-such-command-at-all"], pipe, tmp_path)


async def test_a_folder_that_is_not_there(pipe: Pipe, tmp_path: Path) -> None:
    with pytest.raises(KernelFailed, match="No such file"):
        await start(["true"], pipe, tmp_path / "none")


async def test_close_ends_the_whole_family(pipe: Pipe, tmp_path: Path) -> None:
    process = await start(["sh", "-c", FAMILY + "wait"], pipe, tmp_path)
    assert await pipe.line() == "ready"
    pids = family(tmp_path)
    assert len(living(pids)) == 5
    await process.close()
    assert living([*pids, process.pid]) == []
    assert process.exit_status == -signal.SIGKILL


async def test_what_the_command_leaves_behind_ends_with_it(pipe: Pipe, tmp_path: Path) -> None:
    process = await start(["sh", "-c", FAMILY + "exit 7"], pipe, tmp_path)
    assert await asyncio.wait_for(process.wait_death(), 30) == 7
    await process.close()
    assert living(family(tmp_path)) == []


async def test_a_fork_bomb_ends(pipe: Pipe, tmp_path: Path) -> None:
    # It is fast, and would be over after 400: for root the kernel bounds no number of processes.
    bomb = 'spawn() { [ "$1" -lt 400 ] && (setsid sleep 600 & spawn $(($1 + 1))) & }; spawn 0; echo ready; wait'
    process = await start(["sh", "-c", bomb], pipe, tmp_path)
    assert await pipe.line() == "ready"
    await process.close()
    # Every one of them holds the writing end: end of file says that none is left.
    assert await asyncio.wait_for(pipe.reader.read(), 30) == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_polite_signal_to_the_supervisor_ends_the_family(pipe: Pipe, tmp_path: Path, number: int) -> None:
    process = await start(["sh", "-c", FAMILY + "wait"], pipe, tmp_path)
    assert await pipe.line() == "ready"
    os.kill(process.supervisor_pid, number)
    assert await asyncio.wait_for(process.wait_death(), 30) == -signal.SIGKILL
    await process.close()
    assert living(family(tmp_path)) == []


async def test_a_killed_supervisor_takes_the_command_with_it(pipe: Pipe, tmp_path: Path) -> None:
    process = await start(["sleep", "600"], pipe, tmp_path)
    os.kill(process.supervisor_pid, signal.SIGKILL)
    assert await asyncio.wait_for(process.wait_death(), 30) == -signal.SIGKILL
    assert await asyncio.wait_for(pipe.reader.read(), 30) == b""
    await process.close()


async def test_the_lifeline_is_not_inherited(pipe: Pipe, tmp_path: Path) -> None:
    given = pipe.writer
    tell = f"import os; os.write({given}, str([fd for fd in range(256) if os.path.exists(f'/dev/fd/{{fd}}')]).encode())"
    argv = [sys.executable, "-I", "-S", "-c", tell]
    process = await start_supervised(argv, env=dict(os.environ), cwd=tmp_path, pass_fds=(given,))
    pipe.given_away()
    assert (await asyncio.wait_for(pipe.reader.read(), 30)).decode() == str([0, 1, 2, given])
    await process.close()


async def test_the_terminal_controls_the_command(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    process = await start_supervised(
        ["sh", "-c", "echo hi > /dev/tty"], env=dict(os.environ), cwd=tmp_path, stdout=slave, tty=slave
    )
    assert await asyncio.wait_for(process.wait_death(), 30) == 0
    assert os.read(master, 100) == b"hi\r\n"
    os.close(slave)
    os.close(master)
    await process.close()


async def test_the_family_dies_with_an_owner_that_is_killed(pipe: Pipe, tmp_path: Path) -> None:
    owner = (
        "import asyncio, os, sys\n"
        "from oi_engine.computer.supervised import start_supervised\n"
        "async def main():\n"
        "    await start_supervised(['sh', '-c', sys.argv[1]], env=dict(os.environ), cwd=sys.argv[2], stdout=1)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    process = start_owner(owner, FAMILY + "wait", str(tmp_path), stdout=pipe.writer)
    pipe.given_away()
    assert await pipe.line() == "ready"
    process.kill()
    # The whole family holds the writing end.
    assert await asyncio.wait_for(pipe.reader.read(), 30) == b""
    await gone(family(tmp_path))
    process.wait()
