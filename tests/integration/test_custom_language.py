"""Languages that somebody brings along, and those that are shown."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from oi_engine.computer.custom_language import CustomLanguage, CustomRuntime, events_of
from oi_engine.computer.runtime import ActiveLine, Finished, Rich, RunEvent, Text
from oi_engine.computer.runtimes import RuntimeFactory
from oi_engine.computer.shown import ShownRuntime
from oi_engine.errors import InvalidSetting, KernelFailed, LanguageUnavailable, SessionBusy, UnknownInput
from oi_engine.settings import ComputerSettings

DEADLINE = 60.0


class Documented:
    """The class of the documentation, with a calculator in place of the service."""

    name = "Python"
    system_message = "# Every block MUST print."

    def run(self, code: str) -> Iterator[dict[str, Any]]:
        yield {"type": "console", "format": "output", "content": str(sum(map(int, code.split("+"))))}

    def stop(self) -> None:
        pass

    def terminate(self) -> None:
        pass


class Machine:
    """Remembers, runs on until it is stopped, and fails as told."""

    name = "machine"
    aliases = ("mach",)
    file_extension = "m"

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.stopped = threading.Event()
        self.terminated = threading.Event()

    def run(self, code: str) -> Iterator[dict[str, Any]]:
        self.threads.add(threading.get_ident())
        match code:
            case "threads":
                yield output(str(len(self.threads)))
            case "hold":
                yield output("go")
                self.stopped.wait()
                yield output("never")
            case "flood":
                while True:
                    yield output("go")
            case "exit":
                raise SystemExit(3)
            case "fail":
                yield output("before ")
                raise ZeroDivisionError("by none")
            case _:
                yield {"no": "type"}

    def stop(self) -> None:
        self.stopped.set()

    def terminate(self) -> None:
        self.terminated.set()


class Deaf(Machine):
    def stop(self) -> None:
        raise RuntimeError("will not")


def output(text: str) -> dict[str, Any]:
    return {"type": "console", "format": "output", "content": text}


async def ran(runtime: Any, code: str) -> list[RunEvent]:
    async with asyncio.timeout(DEADLINE):
        return [event async for event in runtime.run(code)]


@pytest.fixture
async def machine() -> AsyncIterator[CustomRuntime]:
    runtime = CustomRuntime(CustomLanguage.of(Machine))
    yield runtime
    await runtime.close()


def factory(*offered: Any, tmp_path: Path) -> RuntimeFactory:
    return RuntimeFactory(ComputerSettings, {"PATH": str(tmp_path)}, offered or None)


async def test_the_documented_class_takes_the_place_of_python(tmp_path: Path) -> None:
    made = factory(CustomLanguage.of(Documented), tmp_path=tmp_path)
    assert made.languages() == ("python",)
    assert made.system_messages() == ("# Every block MUST print.",)
    assert made.canonical("py") == "python"
    assert made.canonical("shell") is None
    runtime = made.make("python3", str(tmp_path), tmp_path)
    assert await ran(runtime, "349808+1") == [Text("349809"), Finished()]
    await runtime.close()
    with pytest.raises(LanguageUnavailable, match="shell cannot be run"):
        made.make("shell", str(tmp_path), tmp_path)


async def test_custom_languages_stand_beside_built_in_ones(tmp_path: Path) -> None:
    made = factory("python", "html", CustomLanguage.of(Machine()), tmp_path=tmp_path)
    assert made.languages() == ("python", "html", "machine")
    assert made.canonical("mach") == "machine"
    assert {"mach", "machine", "py", "htm"} <= made.known_names()
    assert "bash" not in made.known_names()
    assert isinstance(made.make("Mach", str(tmp_path), tmp_path), CustomRuntime)


async def test_one_thread_runs_all_cells(machine: CustomRuntime) -> None:
    assert await ran(machine, "threads") == [Text("1"), Finished()]
    assert await ran(machine, "threads") == [Text("1"), Finished()]


async def test_errors_are_told_with_their_place(machine: CustomRuntime) -> None:
    before, trace, finished = await ran(machine, "fail")
    assert before == Text("before ")
    assert isinstance(trace, Text)
    assert trace.stream == "traceback"
    assert trace.text.endswith("ZeroDivisionError: by none\n")
    assert "custom_language.py" not in trace.text.replace("test_custom_language.py", "")
    assert finished == Finished("error", "ZeroDivisionError")
    assert (await ran(machine, "exit"))[-1] == Finished("error", "SystemExit")
    nothing = await ran(machine, "?")
    assert isinstance(nothing[0], Text)
    assert "it is no LMC message" in nothing[0].text
    assert await ran(machine, "threads") == [Text("1"), Finished()]


@pytest.mark.parametrize("code", ["hold", "flood"])
async def test_stop_is_called_and_the_object_kept(machine: CustomRuntime, code: str) -> None:
    events: list[RunEvent] = []
    async with asyncio.timeout(DEADLINE):
        async for event in machine.run(code):
            if event == Text("go") and event not in events:
                assert await machine.interrupt()
            events.append(event)
    assert events[-1] == Finished("interrupted")
    assert Text("never") not in events
    assert await ran(machine, "threads") == [Text("1"), Finished()]


async def test_a_language_that_does_not_stop_is_left_behind() -> None:
    deaf = Deaf()
    runtime = CustomRuntime(CustomLanguage.of(deaf))
    cell = runtime.run("hold")
    async with asyncio.timeout(DEADLINE):
        assert await anext(cell) == Text("go")
        assert not await runtime.interrupt()
        await runtime.close()
        assert [event async for event in cell] == [Finished("died", "terminated")]
        assert deaf.terminated.is_set()
        assert await ran(runtime, "threads") == [Text("2"), Finished()]
        await runtime.close()
    deaf.stopped.set()


async def test_closing_the_cell_early_stops_it(machine: CustomRuntime) -> None:
    cell = machine.run("flood")
    async with asyncio.timeout(DEADLINE):
        await anext(cell)
        with pytest.raises(SessionBusy):
            await anext(machine.run("threads"))
        await cell.aclose()
    assert await ran(machine, "threads") == [Text("1"), Finished()]


async def test_nothing_can_be_answered(machine: CustomRuntime) -> None:
    with pytest.raises(UnknownInput):
        machine.answer("x")
    assert await machine.interrupt()


async def test_a_class_that_cannot_be_made() -> None:
    class Broken(Documented):
        def __init__(self) -> None:
            raise ConnectionError("no key")

    runtime = CustomRuntime(CustomLanguage.of(Broken))
    with pytest.raises(KernelFailed, match="Python could not be made: ConnectionError: no key"):
        await runtime.start()
    assert not runtime.alive


def test_what_is_no_language() -> None:
    with pytest.raises(InvalidSetting, match="has no `name`"):
        CustomLanguage.of(object())
    with pytest.raises(InvalidSetting, match="Half has no method `run`"):
        CustomLanguage.of(type("Half", (), {"name": "Half"}))
    assert evolve(CustomLanguage.of(Machine), given=None).aliases == ("mach",)


def test_messages_and_chunks(tmp_path: Path) -> None:
    (tmp_path / "plot.PNG").write_bytes(b"png")
    encoded = base64.b64encode(b"png").decode()
    said = [
        {"role": "computer", "type": "console", "start": True},
        {"type": "console", "format": "active_line", "content": "3"},
        {"type": "console", "format": "active_line", "content": None},
        {"type": "console", "content": 5},
        {"type": "message", "content": "word"},
        {"type": "image", "format": "base64.jpeg", "content": "QQ=="},
        {"type": "image", "format": "path", "content": str(tmp_path / "plot.PNG")},
        {"type": "code", "format": "html", "content": "<b>"},
        {"role": "computer", "type": "console", "end": True},
    ]
    assert [event for chunk in said for event in events_of(chunk)] == [
        ActiveLine(3),
        ActiveLine(None),
        Text("5"),
        Text("word\n"),
        Rich("image", "base64.jpeg", "QQ=="),
        Rich("image", "base64.png", encoded),
        Rich("code", "html", "<b>"),
    ]


@pytest.mark.parametrize(
    "chunk",
    [
        "text",
        {"type": "video", "content": ""},
        {"type": "image", "format": "path", "content": "plot.tiff"},
        {"type": "image", "format": "base64", "content": ""},
    ],
)
def test_what_is_no_message(chunk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plot.tiff").touch()
    with pytest.raises(ValueError, match=r"run\(\) yielded"):
        list(events_of(chunk))


async def test_html_is_shown_and_told(tmp_path: Path) -> None:
    runtime = factory(tmp_path=tmp_path).make("htm", str(tmp_path), tmp_path)
    assert isinstance(runtime, ShownRuntime)
    shown, told, finished = await ran(runtime, "<h1>hi</h1>")
    assert shown == Rich("code", "html", "<h1>hi</h1>")
    assert told == Text("The page is shown to the person.\n", "result")
    assert finished == Finished()


async def test_react_is_shown_as_its_source(tmp_path: Path) -> None:
    runtime = factory(tmp_path=tmp_path).make("jsx", str(tmp_path), tmp_path)
    shown, told, finished = await ran(runtime, "const App = () => <script>1</script>")
    assert isinstance(shown, Rich)
    assert "=&gt; &lt;script&gt;" in shown.content
    assert "<script" not in shown.content
    assert isinstance(told, Text)
    assert "not rendered" in told.text
    assert finished == Finished()
    with pytest.raises(UnknownInput):
        runtime.answer("x")
