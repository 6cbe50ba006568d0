"""All that this program listens at, and what another user of the machine, or a web page, gets from it: nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
import zmq.asyncio
from jupyter_client.session import Session
from zmq.constants import SocketType

from oi_engine.computer.kernel import JupyterKernel, PythonKernel
from oi_engine.computer.kernel_process import KernelSpec
from oi_engine.computer.repl import ReplRuntime
from oi_engine.models.worker_client import ModelWorker
from tests.integration.cells import Said
from tests.integration.cells import run as run_cell
from tests.integration.test_shell import SHELLS

NOBODY = 65534
OTHER_PYTHON = shutil.which("python3", path="/usr/bin:/bin")
"""One that every user can start."""


async def run(kernel: JupyterKernel, code: str) -> Said:
    return await run_cell(kernel, code)  # type: ignore[arg-type]  # what it needs both have


@contextlib.asynccontextmanager
async def started(kernel: JupyterKernel) -> AsyncIterator[JupyterKernel]:
    await kernel.start()
    try:
        yield kernel
    finally:
        await kernel.close()


def python(folder: Path) -> JupyterKernel:
    return PythonKernel(cwd=folder, env=dict(os.environ), python=sys.executable)


def by_tcp(folder: Path) -> JupyterKernel:
    """A kernel of the kind that speaks TCP alone, as those of other languages do."""
    argv = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")

    async def spec() -> KernelSpec:
        return KernelSpec("kernel", argv, dict(os.environ), speaks_ipc=False)

    return JupyterKernel(spec, cwd=folder)


def folder_of(kernel: JupyterKernel) -> Path:
    assert kernel._process is not None
    return kernel._process.folder.path


def connection_of(kernel: JupyterKernel) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder_of(kernel) / "connection.json").read_text())
    return found


def listeners(children: list[psutil.Process]) -> Iterator[str]:
    """Where the processes listen: paths, and ``host:port``."""
    listening = {row[7] for row in _unix_rows() if int(row[3], 16) & 0x10000}  # __SO_ACCEPTCON
    for process in children:
        for connection in process.net_connections("all"):
            place: Any = connection.laddr
            if connection.status == psutil.CONN_LISTEN:
                yield f"{place.ip}:{place.port}"
            elif place in listening:
                yield place


def _unix_rows() -> list[list[str]]:
    rows = [line.rstrip("\n").split(None, 7) for line in Path("/proc/net/unix").read_text().splitlines()]
    return [row for row in rows if len(row) == 8 and row[0] != "Num"]


async def test_nothing_listens_but_kernels_at_paths_in_a_folder_of_their_own(tmp_path: Path) -> None:
    shell = ReplRuntime(SHELLS[0].values[0], cwd=tmp_path)  # type: ignore[arg-type]
    worker = ModelWorker()
    async with started(python(tmp_path)) as kernel:
        try:
            await shell.start()
            await worker.start()
            me = psutil.Process()
            found = sorted(set(listeners([me, *me.children(recursive=True)])))
        finally:
            await shell.close()
            await worker.close()
        folder = folder_of(kernel)
        assert len(found) == 6  # five channels, and one for what forked children print
        assert {Path(path).parent for path in found} == {folder}
        assert stat.S_IMODE(folder.stat().st_mode) & 0o777 == 0o700
        assert folder.stat().st_uid == os.getuid()
        assert stat.S_IMODE((folder / "connection.json").stat().st_mode) == 0o600


FORK = """
import os
from IPython.display import HTML, display
if os.fork() == 0:
    print('from the child', flush=True)
    display(HTML('<b>bold</b>'))
    os._exit(0)
os.wait()
"""


async def test_what_forked_children_print_and_show_comes_without_a_port(tmp_path: Path) -> None:
    async with started(python(tmp_path)) as kernel:
        said = await run(kernel, FORK)
    assert "from the child\n" in said.text
    assert any("<b>bold</b>" in str(event) for event in said.events)


# --- a message that is not ours --------------------------------------------------------------------------------------


async def send_forged(connection: Mapping[str, Any], key: bytes, code: str) -> None:
    """An ``execute_request`` as Jupyter has it, signed with ``key``, on both channels that take requests."""
    session = Session(key=key, signature_scheme="hmac-sha256")
    context = zmq.asyncio.Context()
    try:
        for channel in ("shell", "control"):
            socket = context.socket(SocketType.DEALER)
            socket.linger = 1000
            separator = "-" if connection["transport"] == "ipc" else ":"
            socket.connect(f"{connection['transport']}://{connection['ip']}{separator}{connection[f'{channel}_port']}")
            message = session.msg("execute_request", {"code": code, "silent": False, "allow_stdin": False})
            await socket.send_multipart(session.serialize(message))
            socket.close()
    finally:
        await asyncio.to_thread(context.term)  # returns when all is sent


@pytest.mark.parametrize("kind", [python, by_tcp])
@pytest.mark.parametrize("key", [b"", b"a key of one's own"], ids=["none", "own"])
async def test_a_message_without_the_right_signature_is_not_run(
    kind: Callable[[Path], JupyterKernel], key: bytes, tmp_path: Path
) -> None:
    async with started(kind(tmp_path)) as kernel:
        await send_forged(connection_of(kernel), key, f"open({str(tmp_path / 'ran')!r}, 'w')")
        # A channel is a queue: by the time that this has run, what came before it was seen.
        assert "2" in (await run(kernel, "print(1 + 1)")).text
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", [python, by_tcp])
async def test_one_with_the_right_signature_would_be(kind: Callable[[Path], JupyterKernel], tmp_path: Path) -> None:
    """The test before this one forges as it should."""
    async with started(kind(tmp_path)) as kernel:
        connection = connection_of(kernel)
        await send_forged(connection, connection["key"].encode(), f"open({str(tmp_path / 'ran')!r}, 'w')")
        await run(kernel, "1")
    assert (tmp_path / "ran").exists()


async def test_a_page_that_posts_to_every_port_runs_nothing(tmp_path: Path) -> None:
    header = {"msg_id": "1", "msg_type": "execute_request", "username": "", "session": "1", "version": "5.3"}
    ran = f"open({str(tmp_path / 'ran')!r}, 'w')"
    body = json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": {"code": ran}})
    async with started(by_tcp(tmp_path)) as kernel:
        connection = connection_of(kernel)
        ports = [value for name, value in connection.items() if name.endswith("_port")]
        assert len(ports) == 5
        assert connection["ip"] == "127.0.0.1"
        for port in ports:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: null\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write((head + body).encode())
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                await asyncio.wait_for(reader.read(), 30)  # until the kernel has closed it
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        assert "2" in (await run(kernel, "print(1 + 1)")).text
    assert not (tmp_path / "ran").exists()


# --- another user ----------------------------------------------------------------------------------------------------

INTRUDER = """
import os, socket, sys
for path in sys.argv[1:]:
    for attempt in (
        lambda: open(path).read(),
        lambda: open(path, 'a'),
        lambda: os.listdir(path),
        lambda: os.stat(path + '/.'),
        lambda: socket.socket(socket.AF_UNIX).connect(path),
        lambda: os.unlink(path),
    ):
        try:
            attempt()
        except OSError:
            continue
        print('REACHED', path)
print('tried')
"""


@pytest.fixture
def nobody() -> list[str]:
    """Begins a command line that another user runs."""
    if os.geteuid() != 0 or OTHER_PYTHON is None:
        pytest.skip("only root can be another user, who needs a Python in /usr/bin")
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", OTHER_PYTHON, "-I", "-c"]


async def intrude(nobody: list[str], paths: list[str]) -> None:
    tried = await asyncio.to_thread(
        subprocess.run, [*nobody, INTRUDER, *paths], cwd="/", capture_output=True, text=True, timeout=60
    )
    assert tried.stdout == "tried\n", tried.stderr


async def test_another_user_reaches_no_socket_no_file_and_no_memory_of_ours(nobody: list[str], tmp_path: Path) -> None:
    worker = ModelWorker({"OPENAI_API_KEY": "sk-secret"})
    async with started(python(tmp_path)) as kernel:
        try:
            await worker.start()
            await run(kernel, "print('x' * 3_000_000)")  # so that something was spilled
            me = psutil.Process()
            processes = [me, *me.children(recursive=True)]
            secret = [f"/proc/{process.pid}/{name}" for process in processes for name in ("environ", "mem", "fd")]
            paths = [str(folder_of(kernel)), *map(str, folder_of(kernel).rglob("*"))]
            assert any("spill" in path for path in paths)
            await intrude(nobody, [*paths, *secret])
        finally:
            await worker.close()


async def test_another_user_has_no_key_to_a_kernel_that_speaks_tcp(nobody: list[str], tmp_path: Path) -> None:
    async with started(by_tcp(tmp_path)) as kernel:
        await intrude(nobody, [str(folder_of(kernel)), str(folder_of(kernel) / "connection.json")])


SPEAK_LSP = """
import socket, sys
with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as connection:
    connection.sendall(b'Content-Length: 2\\r\\n\\r\\n{}')
    connection.settimeout(30)
    try:
        print('SAID' if connection.recv(1) else 'closed')
    except ConnectionError:
        print('closed')
"""


async def test_another_user_is_not_served_by_the_server_on_a_port(nobody: list[str]) -> None:
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.scripted_server", "0"),
        stderr=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert server.stderr is not None
    try:
        said = (await asyncio.wait_for(server.stderr.readline(), 30)).decode()
        port = said.rstrip(".\n").rpartition(":")[2]
        tried = await asyncio.to_thread(
            subprocess.run, [*nobody, SPEAK_LSP, port], cwd="/", capture_output=True, text=True, timeout=60
        )
        assert tried.stdout == "closed\n", tried.stderr
        assert "another user's" in (await asyncio.wait_for(server.stderr.readline(), 30)).decode()
        own = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", SPEAK_LSP, port], capture_output=True, text=True, timeout=60
        )
        assert own.stdout == "SAID\n", own.stderr
    finally:
        if server.returncode is None:
            server.kill()
        await server.wait()
