"""Ways out of the sandbox: processes, descriptors, sockets, the network."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_engine.computer.sandbox import Sandbox
from tests.integration.sandbox.inside import WORKSPACE, cell, in_shell, kernel


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
        said = await cell(runtime, "import os, glob; print(glob.glob('/tmp/oi-*'), glob.glob('/run/user/*/oi-*'))")
        (folder,) = [part.strip("'[](), \n") for part in said.text.split() if "/oi-" in part]
        listed = await cell(runtime, f"print(sorted(os.listdir({folder!r})))")
        assert "connection.json" in listed.text
        attack = f"path = {folder!r} + '/connection.json'\n"
        for step in ("open(path, 'w')", "os.unlink(path)", "os.rename(path, path + '2')", "os.chmod(path, 0o777)"):
            failed = await cell(runtime, attack + step)
            assert failed.finished.status == "error", step
        assert (await cell(runtime, "print('still there')")).text == "still there\n"
