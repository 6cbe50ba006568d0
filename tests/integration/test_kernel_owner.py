"""A kernel and its owner: nothing is left behind, and the workspace's Python is the one that runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil
import pytest

from oi_engine.computer.kernel import PythonKernel
from oi_engine.computer.runtime import Finished, Notice, RunEvent, Text

OWNER = """
import asyncio, os, sys
from pathlib import Path
from oi_engine.computer.kernel import PythonKernel

CELL = '''
import os, subprocess
for command in (
    ['sleep', '600'],
    ['setsid', 'sleep', '600'],
    ['nohup', 'sleep', '600'],
    ['sh', '-c', '(sleep 600 &) ; exec sleep 600'],
):
    subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(f'ready {os.getpid()}', flush=True)
while True: pass
'''

async def main():
    kernel = PythonKernel(cwd=Path(sys.argv[1]), env=dict(os.environ), python=sys.executable)
    async for event in kernel.run(CELL):
        if 'ready' in getattr(event, 'text', ''):
            os.write(1, event.text.strip().encode() + bytes([10]))

asyncio.run(main())
"""


async def ran(kernel: PythonKernel, code: str) -> list[RunEvent]:
    async with asyncio.timeout(90):
        return [event async for event in kernel.run(code)]


def family_of(pid: int) -> list[psutil.Process]:
    """The kernel, its supervisor, and all that descends from the two."""
    supervisor = psutil.Process(pid).parent()
    assert supervisor is not None
    return [supervisor, *supervisor.children(recursive=True)]


def gone(processes: list[psutil.Process]) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=30)
    return not alive


def test_the_family_dies_with_an_owner_that_is_killed(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], cwd=root, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        word, pid = owner.stdout.readline().split()
        assert word == b"ready"
        family = family_of(int(pid))
        # The supervisor, the kernel, and five that sleep; ``setsid`` and ``sh`` may add themselves for a moment.
        assert len(family) >= 7
        owner.kill()
    assert gone(family)


async def test_close_leaves_neither_processes_nor_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    kernel = PythonKernel(cwd=tmp_path, env=dict(os.environ), python=sys.executable)
    code = "import atexit, os, subprocess\natexit.register(lambda: open('left', 'w').close())\n"
    events = await ran(kernel, code + "subprocess.Popen(['setsid', 'sleep', '600'])\nprint(os.getpid())")
    pid = next(int(event.text) for event in events if isinstance(event, Text) and event.stream == "stdout")
    family = family_of(pid)
    (folder,) = runtime.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    await kernel.close()
    assert await asyncio.to_thread(gone, family)
    assert list(runtime.iterdir()) == []
    assert (tmp_path / "left").exists()
    await kernel.close()
    assert not kernel.alive


async def test_a_kernel_starts_again_after_close(tmp_path: Path) -> None:
    kernel = PythonKernel(cwd=tmp_path, env=dict(os.environ), python=sys.executable)
    await kernel.start()
    await kernel.start()
    await kernel.close()
    assert (await ran(kernel, "1"))[-1] == Finished()
    await kernel.close()


async def test_close_while_a_cell_runs(tmp_path: Path) -> None:
    kernel = PythonKernel(cwd=tmp_path, env=dict(os.environ), python=sys.executable)
    events = []
    async with asyncio.timeout(90):
        async for event in kernel.run("print('begun', flush=True)\nwhile True: pass"):
            events.append(event)
            if event == Text("begun\n", line=1):
                await kernel.close()
    assert events[-1] == Finished("died", "killed by SIGKILL")


async def test_interrupt_while_the_kernel_starts(tmp_path: Path) -> None:
    kernel = PythonKernel(cwd=tmp_path, env=dict(os.environ), python=sys.executable)
    running = asyncio.create_task(ran(kernel, "open('ran', 'w')"))
    await asyncio.sleep(0)
    assert await kernel.interrupt()
    assert await running == [Finished("interrupted")]
    assert (await ran(kernel, "import os\nos.path.exists('ran')"))[0] == Text("False\n", "result", 2)
    await kernel.close()


def make_bare(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)


@pytest.fixture
async def bare_workspace(tmp_path: Path) -> AsyncGenerator[PythonKernel, None]:
    await asyncio.to_thread(make_bare, tmp_path / ".venv")
    kernel = PythonKernel(cwd=tmp_path, env=dict(os.environ))
    yield kernel
    await kernel.close()


async def test_fallback_where_the_workspace_has_no_ipykernel(bare_workspace: PythonKernel) -> None:
    events = await ran(bare_workspace, "import sys\nsys.executable")
    assert isinstance(events[0], Notice)
    assert "has no ipykernel" in events[0].text
    assert events[1] == Text(f"{sys.executable!r}\n", "result", 2)
    assert not any(isinstance(event, Notice) for event in await ran(bare_workspace, "1"))


async def test_the_workspaces_own_environment(tmp_path: Path) -> None:
    own = Path(sys.executable).parent.parent
    (tmp_path / ".venv").symlink_to(own)
    kernel = PythonKernel(cwd=tmp_path, env={**os.environ, "VIRTUAL_ENV": "/elsewhere"})
    code = "import os, shutil, sys\nprint(sys.executable, os.environ['VIRTUAL_ENV'], shutil.which('python'))"
    events = await ran(kernel, code)
    here = tmp_path / ".venv"
    assert events[0] == Text(f"{here}/bin/python {here} {here}/bin/python\n", line=2)
    await kernel.close()
