"""Installed Jupyter kernels as languages: an ipykernel of another name, and a kernel that is no Python."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from oi_engine.computer.kernelspecs import InstalledKernel, InstalledKernels
from oi_engine.computer.runtime import Finished, InputRequest, Rich, RunEvent, Runtime, Text
from oi_engine.computer.runtimes import RuntimeFactory
from oi_engine.errors import LanguageUnavailable
from oi_engine.settings import ComputerSettings

DEADLINE = 90.0

ECHO = """
import time
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel


class EchoKernel(Kernel):
    implementation, implementation_version, banner = "echo", "1", "echo"
    language_info = {"name": "echo", "mimetype": "text/plain", "file_extension": ".txt"}
    count = 0

    def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **more):
        self.count, self._allow_stdin = self.count + 1, allow_stdin
        say = lambda kind, **content: self.send_response(self.iopub_socket, kind, content)
        if code == "ask":
            code = self.raw_input("which? ")
        try:
            say("stream", name="stdout", text=f"{self.count} {code}\\n")
            if code == "html":
                say("display_data", data={"text/html": "<b>x</b>", "text/plain": "x"}, metadata={})
            if code == "wait":
                time.sleep(1000)
        except KeyboardInterrupt:  # it may come as soon as the text is out
            return {"status": "error", "ename": "Interrupted", "evalue": "", "traceback": []}
        return {"status": "ok", "execution_count": self.count, "payload": [], "user_expressions": {}}


IPKernelApp.launch_instance(kernel_class=EchoKernel)
"""


def install(folder: Path, name: str, **spec: Any) -> None:
    place = folder / "kernels" / name
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(json.dumps({"display_name": name.title(), **spec}))


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two kernels in a folder of Jupyter's, beside those that are there anyway."""
    folder = tmp_path / "jupyter"
    (tmp_path / "echo.py").write_text(ECHO)
    start = ["-f", "{connection_file}"]
    install(
        folder,
        "Second",
        argv=["python", "-m", "ipykernel_launcher", *start],
        language="python",
        env={"GREETING": "hello ${WHO}"},
    )
    install(folder, "echo-1", argv=[sys.executable, str(tmp_path / "echo.py"), *start], language="Echo")
    install(folder, "nothing", argv=[], language="nothing")
    monkeypatch.setenv("JUPYTER_PATH", str(folder))
    return tmp_path


@pytest.fixture
async def factory(kernels: Path) -> RuntimeFactory:
    made = RuntimeFactory(ComputerSettings, {**os.environ, "WHO": "you"})
    with pytest.raises(LanguageUnavailable, match="echo cannot be run"):
        made.make("echo", str(kernels), kernels)
    await made.discover()
    return made


@pytest.fixture
async def runtime(factory: RuntimeFactory, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Runtime]:
    """The kernel that the test names."""
    made = factory.make(request.param, str(tmp_path), tmp_path / "spill")
    yield made
    await made.close()


async def ran(runtime: Runtime, code: str) -> list[RunEvent]:
    async with asyncio.timeout(DEADLINE):
        return [event async for event in runtime.run(code)]


async def test_kernels_are_languages_of_their_own_names(factory: RuntimeFactory) -> None:
    assert factory.canonical("ECHO-1") == "echo-1"
    assert factory.canonical("echo") == "echo-1"
    assert factory.canonical("second") == "second"
    assert factory.canonical("python") == "python"
    assert factory.canonical("nothing") is None
    assert factory.canonical("") is None
    assert {"echo", "echo-1", "second"} <= factory.known_names()
    assert "echo-1" in factory.languages()
    assert "second" not in factory.languages()  # Python is there anyway


@pytest.mark.parametrize("runtime", ["Second"], indirect=True)
async def test_another_python(runtime: Runtime, tmp_path: Path) -> None:
    code = "import os\nprint(os.environ['GREETING'], os.getcwd())\nkept = 1"
    assert await ran(runtime, code) == [Text(f"hello you {tmp_path}\n"), Finished()]
    assert await ran(runtime, "kept") == [Text("1\n", "result"), Finished()]
    events = await ran(runtime, "1 / 0")
    assert events[-1] == Finished("error", "ZeroDivisionError")


@pytest.mark.parametrize("runtime", ["echo"], indirect=True)
async def test_a_kernel_that_is_no_python(runtime: Runtime) -> None:
    assert await ran(runtime, "word") == [Text("1 word\n"), Finished()]
    assert await ran(runtime, "html") == [
        Text("2 html\n"),
        Text("x\n", "twin"),
        Rich("code", "html", "<b>x</b>"),
        Finished(),
    ]
    events: list[RunEvent] = []
    async with asyncio.timeout(DEADLINE):
        async for event in runtime.run("wait"):
            events.append(event)
            if event == Text("3 wait\n"):
                assert await runtime.interrupt()
    assert events[-1] == Finished("interrupted")
    asked: list[RunEvent] = []
    async with asyncio.timeout(DEADLINE):
        async for event in runtime.run("ask"):
            asked.append(event)
            if event == InputRequest("which? "):
                runtime.answer("this")
    assert asked[-2:] == [Text("4 this\n"), Finished()]


def installed(name: str, language: str) -> InstalledKernel:
    return InstalledKernel(name, name, language, ("x",), {}, True)


def test_the_newest_kernel_runs_a_language() -> None:
    names = ("julia-1.9", "julia-1.10", "julia-1.2")
    kernels = InstalledKernels({name: installed(name, "julia") for name in names})
    newest, exact = kernels.named("julia"), kernels.named("julia-1.2")
    assert newest is not None
    assert newest.name == "julia-1.10"
    assert exact is not None
    assert exact.name == "julia-1.2"
    assert kernels.named("go") is None
