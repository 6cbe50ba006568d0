"""Attacks on the sandbox, from inside real runtimes; and that these work in it as they do outside."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from oi_engine import OpenInterpreter
from oi_engine.api.hub import hub
from oi_engine.computer.kernel import PythonKernel
from oi_engine.computer.languages import driver
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Finished
from oi_engine.computer.sandbox import Allowed, Confinement, Sandbox, look_for_sandbox
from oi_engine.errors import KernelFailed, OiError
from oi_engine.factory import Engine
from oi_engine.session.state import Snapshot
from oi_engine.settings import Settings
from oi_engine.settings.tree import SandboxSettings
from tests.fakes.scripted import ScriptedModel, code, say
from tests.integration.cells import DEADLINE, Said, run, stop
from tests.unit.api.rig import Model

STRICT = Sandbox("strict", network=False)
WORKSPACE = Sandbox("workspace", network=True)


@pytest.fixture(autouse=True)
async def sandbox_is_here() -> None:
    if problem := (await look_for_sandbox()).problem:
        assert os.environ.get("CI") != "true" or os.geteuid() != 0, problem
        pytest.skip(problem)


KEYS = (".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".gnupg/key", ".mozilla/cookies", ".netrc")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder with keys in it. Not under ``/tmp``, which is another one inside."""
    with tempfile.TemporaryDirectory(prefix=".home-", dir=Path(__file__).parent) as folder:
        yield _furnished(Path(folder), monkeypatch)


def _furnished(found: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in KEYS:
        path = found / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret words")
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        own = found / kind.lower()
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(own))
        (own / "oi-lsp").mkdir(parents=True)
        (own / "oi-lsp" / "file").write_text("secret words")
    (found / "notes.txt").write_text("notes")
    monkeypatch.setenv("HOME", str(found))
    return found


@pytest.fixture
def place(home: Path) -> Path:
    """A workspace in it, a git repository."""
    found = home / "work"
    found.mkdir()
    subprocess.run(["git", "init", "-q", str(found)], check=True)
    (found / ".vscode").mkdir()
    (found / ".vscode" / "tasks.json").write_text("{}")
    return found


def there(path: str) -> bool:
    return os.path.lexists(path)


def shell(place: Path, sandbox: Sandbox = STRICT, **limits: Any) -> ReplRuntime:
    env = {**os.environ, "SSH_AUTH_SOCK": "/tmp/agent", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus"}
    confinement = Confinement(sandbox, str(place), **limits)
    found = driver("shell", shell="bash", env=env)
    assert found is not None
    return ReplRuntime(found, cwd=place, env=env, confinement=confinement)


@contextlib.asynccontextmanager
async def kernel(place: Path, sandbox: Sandbox = STRICT, **limits: Any) -> AsyncIterator[PythonKernel]:
    made = PythonKernel(
        cwd=place, env=dict(os.environ), python=sys.executable, confinement=Confinement(sandbox, str(place), **limits)
    )
    try:
        yield made
    finally:
        await made.close()


async def in_shell(place: Path, script: str, sandbox: Sandbox = STRICT, **limits: Any) -> Said:
    runtime = shell(place, sandbox, **limits)
    try:
        return await run(runtime, script)
    finally:
        await runtime.close()


async def cell(runtime: PythonKernel, text: str, answers: list[str] | None = None) -> Said:
    return await run(runtime, text, answers or [])  # type: ignore[arg-type]  # what it needs both have


# --- files ----------------------------------------------------------------------------------------------------------


async def test_the_workspace_and_tmp_can_be_written_and_nothing_else(place: Path, home: Path) -> None:
    script = """
        echo x > a && cat a; echo y > /tmp/b && cat /tmp/b
        for path in /etc/x /usr/x ~/x ~/.bashrc ~/notes.txt /x /run/x /dev/x /sys/x; do
            (echo z > $path) 2> /dev/null && echo "WROTE $path"
        done; rm -f ~/notes.txt 2> /dev/null; mv ~/notes.txt . 2> /dev/null; chmod 777 ~ 2> /dev/null; true"""
    said = await in_shell(place, script)
    assert said.text.split() == ["x", "y"]
    assert (place / "a").read_text() == "x\n"
    assert not there("/tmp/b")
    assert (home / "notes.txt").read_text() == "notes"
    assert not (home / ".bashrc").exists()


async def test_keys_profiles_and_our_own_files_cannot_be_read(place: Path) -> None:
    script = """
        cat ~/notes.txt; find ~ -name 'id_ed25519'; grep -rs 'secret words' ~; cat ~/.netrc
        ls -A ~/.ssh ~/.aws ~/.config/gh ~/.gnupg ~/.mozilla ~/data/oi-lsp
    """
    said = await in_shell(place, script)
    assert "notes" in said.text
    assert "secret words" not in said.text
    assert "id_ed25519" not in said.text


async def test_a_link_out_of_the_workspace_leads_nowhere_else(place: Path, home: Path) -> None:
    (place / "keys").symlink_to(home / ".ssh")
    (place / "etc").symlink_to("/etc")
    (place / "notes").symlink_to(home / "notes.txt")
    script = "cat keys/id_ed25519; echo x > etc/oi-test; echo x > notes; ln ~/notes.txt hard; echo x >> hard"
    said = await in_shell(place, script)
    assert "secret words" not in said.text
    assert not there("/etc/oi-test")
    assert (home / "notes.txt").read_text() == "notes"


GUARD_TRICKS = """
    echo x > .git/hooks/pre-commit; echo x >> .git/config; echo x > .git/commondir; git config core.fsmonitor x
    echo x > .vscode/tasks.json; rm -rf .vscode; mkdir .oi; echo 'auto_run: true' > .oi/settings.yaml
    mv .git .git2; mv .vscode v; rm -rf .git; ln -sfn /tmp .oi; mount -o remount,rw .git; umount .git; umount -l .vscode
    unshare -r sh -c 'umount .git; echo x > .git/hooks/pre-commit'; mkdir .VSCODE; true
"""


async def test_what_others_run_of_the_workspace_cannot_be_changed(place: Path) -> None:
    before = (place / ".git" / "config").read_text()
    hooks = sorted(os.listdir(place / ".git" / "hooks"))
    said = await in_shell(place, GUARD_TRICKS)
    assert said.finished.status in ("ok", "error")
    assert (place / ".git" / "config").read_text() == before
    assert sorted(os.listdir(place / ".git" / "hooks")) == hooks
    assert not (place / ".git" / "commondir").exists()
    assert (place / ".vscode" / "tasks.json").read_text() == "{}"
    assert os.listdir(place / ".oi") == []
    assert not (place / ".oi").is_symlink()


async def test_this_program_cannot_be_changed_where_it_is_in_the_workspace(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed in the workspace's own environment, it would run outside of the sandbox at the next start."""
    site = place / ".venv" / "lib"
    site.mkdir(parents=True)
    (site / "supervisor.py").write_text("ours")
    monkeypatch.setattr(sys, "prefix", str(place / ".venv"))
    await in_shell(place, "echo x > .venv/lib/supervisor.py; mv .venv v; rm -rf .venv; touch inside")
    assert (site / "supervisor.py").read_text() == "ours"
    assert (place / "inside").exists()


async def test_other_letters_of_a_guarded_name_are_guarded_too(place: Path) -> None:
    """A file system may take them for the same."""
    for name in (".VSCode", ".Git", ".OI"):
        (place / name).mkdir()
        (place / name / "file").write_text("{}")
    await in_shell(place, "for name in .VSCode .Git .OI; do echo x > $name/file; rm -rf $name; mv $name v; done; true")
    assert [(place / name / "file").read_text() for name in (".VSCode", ".Git", ".OI")] == ["{}"] * 3


async def test_what_is_missing_of_it_cannot_be_made(home: Path) -> None:
    bare = home / "bare"
    bare.mkdir()
    made = "git init .; mkdir -p .git/hooks .vscode .oi; echo x > .git/config; echo x > .vscode/tasks.json"
    await in_shell(bare, made)
    assert [os.listdir(bare / name) for name in (".git", ".vscode", ".oi")] == [[], [], []]


async def test_a_guarded_folder_that_is_a_link_is_refused(place: Path) -> None:
    (place / ".oi").symlink_to("/tmp")
    runtime = shell(place)
    with pytest.raises(KernelFailed, match="is a link"):
        await runtime.start()
    await runtime.close()


async def test_the_home_folder_is_no_workspace(home: Path) -> None:
    said = await in_shell(home, "echo x > ~/.bashrc; cat ~/.ssh/*")
    assert "secret words" not in said.text
    assert not (home / ".bashrc").exists()
    assert not (home / ".oi").exists()


async def test_a_folder_that_was_allowed_can_be_written(place: Path, home: Path) -> None:
    (home / "out").mkdir()
    allowed = Allowed().with_folder(str(home / "out")).added_to(STRICT)
    await in_shell(place, "echo x > ~/out/x; echo y > ~/y; cat ~/.ssh/*", allowed)
    assert (home / "out" / "x").read_text() == "x\n"
    assert not (home / "y").exists()
    for path in (home, "/", home / "nothing"):
        with pytest.raises(OiError):
            Allowed().with_folder(str(path))


# --- processes, descriptors, the network -----------------------------------------------------------------------------


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


# --- it works as it does outside -------------------------------------------------------------------------------------


async def test_input_interrupt_and_state_in_a_python_kernel(place: Path) -> None:
    async with kernel(place) as runtime:
        assert (await cell(runtime, "x = input('? '); print('got', x)", ["hi"])).text.endswith("got hi\n")
        stopped, said = await stop(runtime, "import time; print('on', flush=True)\nwhile True: time.sleep(0.01)", "on")  # type: ignore[arg-type]
        assert stopped
        assert said.finished.status == "interrupted"
        assert (await cell(runtime, "print(x)")).text == "hi\n"
        assert (await cell(runtime, "import os; os._exit(3)")).finished.status == "died"
        assert (await cell(runtime, "print(2)")).text == "2\n"


async def test_input_interrupt_and_state_in_a_shell(place: Path) -> None:
    runtime = shell(place)
    try:
        assert (await run(runtime, "read x; echo got $x", ["hi"])).text.endswith("got hi\n")
        stopped, said = await stop(runtime, "echo on; sleep 1000", "on")
        assert stopped
        assert said.finished.status == "interrupted"
        assert (await run(runtime, "echo $x; exit 3")).finished == Finished("error", "exit status 3")
        assert (await run(runtime, "kill -9 $$")).finished == Finished("died", "signal SIGKILL")
        assert (await run(runtime, "echo 2")).text == "2\n"
    finally:
        await runtime.close()


@pytest.mark.parametrize(
    ("language", "program", "script"),
    [
        ("shell", "zsh", "echo $((6 * 7))"),
        ("r", None, "x <- 6 * 7; print(x)"),
        ("ruby", None, "p 6 * 7"),
        ("java", None, "System.out.println(6 * 7);"),
    ],
)
async def test_the_other_languages_run_in_it(place: Path, language: str, program: str | None, script: str) -> None:
    found = driver(language, shell=program, env=os.environ)
    assert found is not None
    if found.find(os.environ.get("PATH")) is None:
        pytest.skip(f"{found.programs[0]} is not installed")
    confinement = Confinement(STRICT, str(place), 8192, 512)
    runtime = ReplRuntime(found, cwd=place, env=dict(os.environ), confinement=confinement)
    try:
        assert "42" in (await run(runtime, script)).text
    finally:
        await runtime.close()


async def test_node_is_interrupted(place: Path) -> None:
    found = driver("javascript", shell=None, env=os.environ)
    assert found is not None
    if found.find(os.environ.get("PATH")) is None:
        pytest.skip("node is not installed")
    confinement = Confinement(STRICT, str(place), 4096, 256)
    runtime = ReplRuntime(found, cwd=place, env=dict(os.environ), confinement=confinement)
    try:
        assert (await run(runtime, "const x = 6 * 7; x")).text == "42\n"
        stopped, said = await stop(runtime, "console.log('on'); while (true) {}", "on")
        assert stopped
        assert said.finished.status == "interrupted"
        assert (await run(runtime, "x + 1")).text == "43\n"
    finally:
        await runtime.close()


async def test_nothing_is_left_when_it_is_closed(place: Path) -> None:
    runtime = shell(place)
    await run(runtime, "setsid sleep 4321 & (sleep 4321 &) ; echo x")
    assert sleepers() != 0
    await runtime.close()
    assert sleepers() == 0


def sleepers() -> int:
    found = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])]
    return sum(line == ["sleep", "4321"] for line in found)


# --- limits -----------------------------------------------------------------------------------------------------------


async def test_a_fork_bomb_is_ended_and_said(place: Path) -> None:
    said = await in_shell(place, "bomb() { bomb | bomb & sleep 100; }; bomb; sleep 100", processes=120)
    assert said.finished.status in ("died", "error")
    if os.geteuid() == 0:  # the kernel counts no processes for root: the supervisor does
        passed = "more than 120 processes: the sandbox's limit, `sandbox_limits.processes`"
        assert said.finished == Finished("died", passed)


async def test_a_memory_bomb_of_many_processes_is_ended_and_said(place: Path) -> None:
    bomb = "import os, time\nfor _ in range(7): os.fork()\nkept = bytearray(os.urandom(1 << 20) * 30)\ntime.sleep(100)"
    async with kernel(place, memory=1024) as runtime:
        said = await cell(runtime, bomb)
        assert said.finished == Finished(
            "died", "more than 1,024 MB of memory: the sandbox's limit, `sandbox_limits.memory`"
        )
        assert (await cell(runtime, "print(1)")).text == "1\n"


async def test_one_process_gets_no_more_memory_than_that(place: Path) -> None:
    async with kernel(place, memory=1024) as runtime:
        said = await cell(runtime, "kept = bytearray(4 << 30)")
        assert "MemoryError" in said.text
        assert (await cell(runtime, "print(1)")).text == "1\n"


async def test_tmp_and_shared_memory_are_bounded(place: Path) -> None:
    said = await in_shell(place, "for d in /tmp /dev/shm /var/tmp; do head -c 400M /dev/zero > $d/x; done", memory=1024)
    assert said.text.count("No space left on device") == 3


# --- the whole: settings, gate, session ------------------------------------------------------------------------------


class Rig:
    """A session of an engine with a scripted model."""

    def __init__(self, place: Path, *blocks: str, language: str = "shell", **settings: Any) -> None:
        replies = [[*code(block, language)] for block in blocks]
        self.engine = Engine(Settings(**settings))
        self.session = self.engine.new_session(cwd=str(place), answering=ScriptedModel([*replies, say("Done.")]))
        self.proposals: list[Any] = []
        self.session.on_state(self._state)

    def _state(self, snapshot: Snapshot) -> None:
        if snapshot.proposal is not None:
            self.proposals.append(snapshot.proposal)

    async def go(self) -> list[str]:
        """Send a message, see the turn through; all that the computer said."""
        async with asyncio.timeout(DEADLINE):
            self.session.send("go")
            await self.session.idle()
        return [m.text for m in self.session.messages if m.role == "computer"]

    async def close(self) -> None:
        await self.engine.close()


async def test_auto_run_sandboxed_runs_unasked_inside_and_tells_what_was_stopped(place: Path) -> None:
    rig = Rig(place, "touch inside; touch /etc/oi-test", auto_run="sandboxed")
    try:
        said = "\n".join(await rig.go())
        assert rig.proposals == []
        assert (place / "inside").exists()
        assert not there("/etc/oi-test")
        assert "The sandbox seems to have kept it from /etc/oi-test" in said
        assert "%sandbox allow" in said
    finally:
        await rig.close()


async def test_what_was_allowed_holds_from_the_next_run_on_and_variables_go(place: Path, home: Path) -> None:
    (home / "out").mkdir()
    rig = Rig(place, "x=5; echo a > ~/out/a", 'echo "x is $x"; echo b > ~/out/b', sandbox="strict", auto_run=True)
    try:
        await rig.go()
        assert not (home / "out" / "a").exists()
        rig.session.allow(str(home / "out"))
        rig.session.run("shell", 'echo "x is $x"; echo b > ~/out/b')
        await rig.session.idle()
        said = "\n".join(m.text for m in rig.session.messages if m.role == "computer")
        assert (home / "out" / "b").read_text() == "b\n"
        assert "its variables are gone" in said
        assert "x is \n" in said
    finally:
        await rig.close()


async def test_a_run_has_its_time(place: Path) -> None:
    rig = Rig(place, "sleep 1000", auto_run=True, sandbox="workspace", sandbox_limits=SandboxSettings(seconds=1))
    try:
        assert any("stopped after 1 seconds" in said for said in await rig.go())
    finally:
        await rig.close()


async def test_a_planted_python_is_asked_inside_the_sandbox(place: Path) -> None:
    planted = place / ".venv" / "bin" / "python"
    planted.parent.mkdir(parents=True)
    planted.write_text(f'#!/bin/sh\ntouch {place}/ran ~/escaped\nexec {sys.executable} "$@"\n')
    planted.chmod(0o755)
    rig = Rig(place, "print(6 * 7)", language="python", auto_run="sandboxed")
    try:
        assert any("42" in said for said in await rig.go())
        assert (place / "ran").exists()
        assert not (place.parent / "escaped").exists()
    finally:
        await rig.close()


async def test_a_planted_bubblewrap_is_no_way_out(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code may write to the workspace, and its environment comes first on the PATH of the next kernel."""
    folder = place / ".venv" / "bin"
    folder.mkdir(parents=True)
    (place / ".venv" / "pyvenv.cfg").write_text(f"home = {sys.base_prefix}/bin\n")
    (folder / "python").symlink_to(sys.executable)
    own = Path(sysconfig.get_path("purelib"))
    site = place / ".venv" / own.relative_to(sys.prefix)
    site.parent.mkdir(parents=True)
    site.symlink_to(own)
    for path in (folder, place):
        (path / "bwrap").write_text(f"#!/bin/sh\necho $0 $1 >> {place.parent}/escaped\n")
        (path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    for language, script in (("python", "print(6 * 7)"), ("shell", "echo $((6 * 7))")):
        rig = Rig(place, script, language=language, auto_run="sandboxed")
        try:
            assert any("42" in said for said in await rig.go())
        finally:
            await rig.close()
    assert not there(str(place.parent / "escaped"))


@pytest.mark.parametrize("stream", [True, False])
async def test_the_python_api_runs_sandboxed_what_is_read_past(place: Path, stream: bool) -> None:
    def chat() -> None:
        interpreter = OpenInterpreter()
        interpreter.llm.completions = Model("```shell\ntouch inside; touch /etc/oi-test\n```")
        interpreter.auto_run = "sandboxed"
        try:
            if stream:
                assert list(interpreter.chat("go", display=False, stream=True))
            else:
                assert interpreter.chat("go", display=False)
        finally:
            interpreter.close()

    before = await asyncio.to_thread(os.getcwd)
    os.chdir(place)
    try:
        await asyncio.to_thread(chat)
    finally:
        os.chdir(before)
        await asyncio.to_thread(hub().close)
    assert there(str(place / "inside"))
    assert not there("/etc/oi-test")
