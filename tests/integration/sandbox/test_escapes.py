"""Ways out of the sandbox: processes, descriptors, sockets, the network."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_engine.computer.runtime import Finished
from oi_engine.computer.sandbox import Sandbox
from tests.integration.cells import DEADLINE, run
from tests.integration.sandbox.inside import STRICT, WORKSPACE, cell, in_shell, kernel, shell, there


async def test_no_way_out_by_proc(place: Path) -> None:
    ours = f"/proc/{os.getpid()}"
    script = f"""
        ls /proc | grep -c '^[0-9]'; ls {ours}; kill -0 {os.getpid()}; cat {ours}/environ
        cat /proc/1/root/root/.ssh/* ~/.ssh/*; cat /proc/1/environ | tr '\\0' '\\n' | grep SSH
        for file in sys/kernel/core_pattern sys/kernel/hostname sys/vm/drop_caches sysrq-trigger; do
            (exec 3>> /proc/$file) 2> /dev/null && echo "OPENED $file"
        done
        grep -E '^(Cap(Eff|Prm|Bnd)|NoNewPrivs)' /proc/self/status
    """
    said = await in_shell(place, script)
    assert int(said.text.split()[0]) < 12
    assert "secret words" not in said.text
    assert "SSH_AUTH_SOCK" not in said.text
    assert "OPENED" not in said.text
    for capabilities in ("CapEff", "CapPrm", "CapBnd"):
        assert f"{capabilities}:\t0000000000000000" in said.text
    assert "NoNewPrivs:\t1" in said.text


# ptrace(2) by PTRACE_ATTACH, process_vm_readv(2), and every signal that ends a process.
REACH = """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
byte = ctypes.create_string_buffer(1)
local = (ctypes.c_size_t * 2)(ctypes.addressof(byte), 1)
for pid in {pids}:
    for attempt in (
        lambda: libc.ptrace(16, pid, None, None),
        lambda: libc.process_vm_readv(pid, local, 1, local, 1, 0),
        lambda: os.kill(pid, signal.SIGKILL) or 0,
        lambda: os.killpg(pid, signal.SIGKILL) or 0,
        lambda: os.pidfd_open(pid),
    ):
        try:
            if attempt() >= 0:
                print('REACHED', pid)
        except OSError:
            pass
print('tried')
"""


async def test_nobody_outside_is_traced_read_or_signalled(place: Path) -> None:
    victim = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
    try:
        async with kernel(place) as runtime:
            await cell(runtime, "kept = 1")
            assert runtime._process is not None
            assert runtime._process.supervised is not None
            ours = [victim.pid, os.getpid(), os.getppid(), runtime._process.supervised.supervisor_pid]
            # In a PID namespace of its own the same number may be somebody inside.
            said = await cell(runtime, REACH.format(pids=[pid for pid in ours if pid > 100]))
            assert said.text == "tried\n"
            everybody = "import os\ntry: os.kill(-1, 9)\nexcept ProcessLookupError: print('nobody else')"
            assert (await cell(runtime, everybody)).text == "nobody else\n"
            assert victim.returncode is None
            assert (await cell(runtime, "print(kept)")).text == "1\n"
    finally:
        victim.kill()
        await victim.wait()


# Pushes characters into every terminal that can be had: TIOCSTI, and the selection of the console (TIOCLINUX).
PUSH = """
import fcntl, glob, os, termios
for name in ('/dev/tty', *glob.glob('/dev/pts/*'), *(f'/proc/self/fd/{n}' for n in os.listdir('/proc/self/fd'))):
    try:
        terminal = os.open(name, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        continue
    for character in b'touch pushed\\n':
        for request, argument in ((termios.TIOCSTI, bytes([character])), (0x541C, b'\\x03')):
            try:
                fcntl.ioctl(terminal, request, argument)
            except OSError:
                pass
print('tried')
"""

AT_A_TERMINAL = """
import asyncio, os, select, sys
from pathlib import Path
from tests.integration.sandbox.inside import cell, kernel

async def main():
    async with kernel(Path(sys.argv[1])) as runtime:
        return (await cell(runtime, sys.argv[2])).text

said = asyncio.run(main())
pushed = select.select([0], [], [], 0.2)[0]
os.write(int(sys.argv[3]), f"{os.isatty(0)} {os.ctermid()} {said!r} {bool(pushed)}".encode())
"""


async def test_the_persons_terminal_is_out_of_reach(place: Path) -> None:
    """The owner sits at a terminal, as ``oi-lsp chat`` does."""
    terminal, side = os.openpty()
    reader, writer = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *("setsid", "--ctty", "--wait", sys.executable, "-c", AT_A_TERMINAL, str(place), PUSH, str(writer)),
            cwd=Path(__file__).parents[3],
            stdin=side,
            stdout=side,
            stderr=side,
            pass_fds=[writer],
        )
        os.close(writer)
        async with asyncio.timeout(DEADLINE):
            await process.wait()
            assert os.read(reader, 1000).decode() == "True /dev/tty 'tried\\n' False"
    finally:
        for descriptor in (terminal, side, reader):
            os.close(descriptor)


async def test_what_is_pushed_into_the_runtimes_own_terminal_stays_inside(place: Path, home: Path) -> None:
    runtime = shell(place)
    try:
        script = (
            f"cat > push.py <<'end'\n{PUSH.replace('touch pushed', 'touch ~/pushed /etc/pushed')}\nend\npython3 push.py"
        )
        assert "tried" in (await run(runtime, script)).text
        assert (await run(runtime, "echo on")).text.endswith("on\n")
    finally:
        await runtime.close()
    assert not (home / "pushed").exists()
    assert not there("/etc/pushed")


async def test_no_descriptor_of_ours_is_inherited(place: Path, tmp_path: Path) -> None:
    ours = os.open(tmp_path / "ours", os.O_CREAT | os.O_WRONLY)
    try:
        os.set_inheritable(ours, True)
        said = await in_shell(place, "for f in /proc/$$/fd/* /proc/1/fd/*; do readlink $f; done")
    finally:
        os.close(ours)
    kinds = {line.split(":")[0] for line in said.text.splitlines()}
    assert "/dev/pts" in {kind.rpartition("/")[0] for kind in kinds}
    assert not [kind for kind in kinds if not kind.startswith(("/dev/", "pipe", "anon_inode", "/proc", "/tmp/oi-"))]


async def test_strict_has_no_network_and_workspace_has(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        near = f"(exec 3<> /dev/tcp/127.0.0.1/{port}) 2> /dev/null && echo REACHED"
        script = f"{near}; (exec 3<> /dev/tcp/192.0.2.1/80) 2>&1"
        assert "REACHED" not in (strict := await in_shell(place, script)).text
        assert "unreachable" in strict.text
        assert "REACHED" in (await in_shell(place, near, WORKSPACE)).text
        without = Sandbox("workspace", network=False)
        assert "REACHED" not in (await in_shell(place, near, without)).text


@pytest.fixture
def agent() -> Iterator[str]:
    """A socket in the folder for temporary files, as an agent of keys has it."""
    path = f"/tmp/oi-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        yield path
    os.unlink(path)


async def test_sockets_of_agents_and_services_are_out_of_reach(place: Path, agent: str) -> None:
    connect = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({agent!r})"
    script = f"ls -A /run; ls {agent}; env | grep -E 'SSH_|DBUS'; python3 -c \"{connect}\""
    said = await in_shell(place, script, WORKSPACE)
    assert "FileNotFoundError" in said.text or "No such file" in said.text
    assert "agent" not in said.text.replace(agent, "")
    assert "bus" not in said.text


@pytest.mark.parametrize("sandbox", [STRICT, WORKSPACE], ids=str)
async def test_sockets_elsewhere_are_out_of_reach_but_for_those_of_the_workspace(
    place: Path, home: Path, sandbox: Sandbox
) -> None:
    with contextlib.ExitStack() as listening:
        for folder in (home, place):
            server = listening.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(str(folder / "a socket"))
            server.listen()
        async with kernel(place, sandbox) as runtime:
            connect = "import socket; s = socket.socket(socket.AF_UNIX); s.connect({!r})"
            refused = await cell(runtime, connect.format(str(home / "a socket")))
            assert "ConnectionRefusedError" in refused.text
            assert (await cell(runtime, connect.format(str(place / "a socket")))).finished == Finished()


async def test_sockets_without_a_path_are_out_of_reach_too(place: Path) -> None:
    if ctypes.CDLL(None).syscall(444, None, 0, 1) < 6:
        pytest.skip("this kernel has no Landlock that can tell (Linux 6.12)")
    name = f"\0oi-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        async with kernel(place, WORKSPACE) as runtime:
            said = await cell(runtime, f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({name!r})")
            assert "PermissionError" in said.text
            own = "t = socket.socket(socket.AF_UNIX); t.bind('\\0mine'); t.listen(); s.connect('\\0mine'); print('own')"
            assert (await cell(runtime, own)).text == "own\n"


async def test_a_kernel_reaches_its_own_sockets_alone_and_cannot_change_where_we_connect(place: Path) -> None:
    async with kernel(place) as runtime:
        there = f"glob.glob({tempfile.gettempdir() + '/oi-*'!r}), glob.glob('/run/user/*/oi-*')"
        said = await cell(runtime, f"import os, glob; print({there})")
        (folder,) = [part.strip("'[](), \n") for part in said.text.split() if "/oi-" in part]
        listed = await cell(runtime, f"print(sorted(os.listdir({folder!r})))")
        assert "connection.json" in listed.text
        attack = f"path = {folder!r} + '/connection.json'\n"
        for step in ("open(path, 'w')", "os.unlink(path)", "os.rename(path, path + '2')", "os.chmod(path, 0o777)"):
            failed = await cell(runtime, attack + step)
            assert failed.finished.status == "error", step
        assert (await cell(runtime, "print('still there')")).text == "still there\n"
