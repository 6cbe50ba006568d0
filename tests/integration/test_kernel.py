"""The Python kernel, as a reader of ``run`` sees it: real kernels, real processes."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from PIL import Image

from oi_engine.computer.kernel import JupyterKernel, PythonKernel
from oi_engine.computer.kernel_process import KernelSpec
from oi_engine.computer.runtime import (
    ActiveLine,
    Finished,
    InputRequest,
    InputTaken,
    Rich,
    RunEvent,
    Spilled,
    Text,
)
from oi_engine.errors import KernelFailed, UnknownInput
from tests.integration.cells import joined

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernel")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kernel(folder: Path) -> AsyncGenerator[PythonKernel, None]:
    """One kernel for all tests of this module; one that dies is followed by a fresh one."""
    made = PythonKernel(cwd=folder, env=dict(os.environ), python=sys.executable, spill_folder=folder / "spill")
    yield made
    await made.close()


async def ran(kernel: JupyterKernel, code: str) -> list[RunEvent]:
    async with asyncio.timeout(90):
        return [event async for event in kernel.run(code)]


async def ran_until(
    kernel: JupyterKernel, code: str, wanted: Callable[[RunEvent], bool], act: Callable[[], object]
) -> list[RunEvent]:
    """Run to the end; call ``act`` once, at the first event that is ``wanted``."""
    events, acted = [], False
    async with asyncio.timeout(90):
        async for event in kernel.run(code):
            events.append(event)
            if not acted and wanted(event):
                acted = True
                act()
    assert acted, events
    return events


def text(events: list[RunEvent], *streams: str) -> str:
    wanted = streams or ("stdout",)
    return "".join(event.text for event in events if isinstance(event, Text) and event.stream in wanted)


def says(word: str) -> Callable[[RunEvent], bool]:
    return lambda event: isinstance(event, Text) and word in event.text


class Stop:
    """Interrupts from a task of its own, as a person does while the reader of ``run`` reads on."""

    def __init__(self, kernel: JupyterKernel) -> None:
        self._kernel = kernel
        self._task: asyncio.Task[bool] | None = None

    def __call__(self) -> None:
        self._task = asyncio.create_task(self._kernel.interrupt())

    async def stopped(self) -> bool:
        assert self._task is not None
        return await self._task


async def test_state_is_kept(kernel: PythonKernel) -> None:
    assert await ran(kernel, "kept = 41") == [Finished()]
    assert kernel.alive
    assert await ran(kernel, "kept + 1") == [Text("42\n", "result", 1), Finished()]


async def test_working_directory_and_imports(kernel: PythonKernel, folder: Path) -> None:
    (folder / "environment.py").write_text("mine = True\n")
    events = await ran(kernel, "import os, sys, environment\nprint(os.getcwd(), environment.mine, sys.argv)")
    assert text(events) == f"{folder} True ['']\n"


async def test_streams_keep_their_order(kernel: PythonKernel) -> None:
    code = "import os, sys\nprint('a')\nos.system('echo b')\nprint('c', file=sys.stderr)\nprint('d')"
    events = [event for event in await ran(kernel, code) if isinstance(event, Text)]
    assert "".join(event.text for event in events) == "a\nb\nc\nd\n"
    assert text(list(events), "stderr") == "c\n"


async def test_output_of_child_processes(kernel: PythonKernel) -> None:
    code = "import subprocess\nsubprocess.run(['sh', '-c', 'echo \"ünï\"; echo no >&2'])"
    events = await ran(kernel, code)
    assert text(events) == "ünï\n"
    assert text(events, "stderr") == "no\n"


async def test_shell_escape_and_magics(kernel: PythonKernel) -> None:
    assert "hello" in text(await ran(kernel, "!echo hello"))
    assert "per loop" in text(await ran(kernel, "%timeit -n1 -r1 pass"))
    assert "Wall time" in text(await ran(kernel, "\n\n%%time\nsum(range(10))"))


async def test_a_plain_terminal(kernel: PythonKernel) -> None:
    code = "import os\nprint(*(os.environ.get(n) for n in ('TERM', 'PAGER', 'FORCE_COLOR', 'JPY_PARENT_PID')))"
    assert text(await ran(kernel, code)) == "dumb cat None None\n"


async def test_nothing_is_read_from_stdin(kernel: PythonKernel) -> None:
    assert text(await ran(kernel, "import os\nprint(os.read(0, 1))")) == "b''\n"


async def test_a_plot_is_a_picture(kernel: PythonKernel) -> None:
    events = await ran(kernel, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
    pictures = [event for event in events if isinstance(event, Rich)]
    assert [(p.type, p.format) for p in pictures] == [("image", "base64.png")]
    assert Image.open(io.BytesIO(base64.b64decode(pictures[0].content))).size[0] > 100
    assert "Figure" not in text(events, "result", "stdout")


async def test_markup_comes_with_what_it_is_in_words_where_that_says_something(kernel: PythonKernel) -> None:
    code = "class T:\n    def _repr_html_(self): return '<b>t</b>'\n    def __repr__(self): return 'plain'\nT()"
    assert await ran(kernel, code) == [Text("plain\n", "twin", 4), Rich("code", "html", "<b>t</b>", 4), Finished()]
    code = "from IPython.display import HTML, display\ndisplay(HTML('<b>t</b>'))"
    assert await ran(kernel, code) == [Rich("code", "html", "<b>t</b>", 2), Finished()]
    code = "class T:\n    def _repr_html_(self): return '<b>t</b>'\nT()"
    assert await ran(kernel, code) == [Rich("code", "html", "<b>t</b>", 3), Finished()]


async def test_javascript(kernel: PythonKernel) -> None:
    events = await ran(kernel, "from IPython.display import Javascript, display\ndisplay(Javascript('go()'))")
    assert events == [Rich("code", "javascript", "go()", 2), Finished()]


@pytest.mark.parametrize("blank", ["", "\n\n", "# a comment\n\n"])
async def test_a_traceback_has_the_true_line(kernel: PythonKernel, blank: str) -> None:
    events = await ran(kernel, f"{blank}x = 1\ndef f():\n    raise KeyError('it')\nf()")
    traceback = text(events, "traceback")
    lines = blank.count("\n")
    assert f"----> {lines + 4} f()" in traceback
    assert f"{lines + 3}     raise KeyError('it')" in traceback
    assert "\x1b" not in traceback
    assert events[-1] == Finished("error", "KeyError")


async def test_a_syntax_error(kernel: PythonKernel) -> None:
    events = await ran(kernel, "\nx = (\n")
    assert "SyntaxError" in text(events, "traceback")
    assert "line 2" in text(events, "traceback")


async def test_after_an_error_the_next_cell_runs(kernel: PythonKernel) -> None:
    await ran(kernel, "1 / 0")
    assert await ran(kernel, "7") == [Text("7\n", "result", 1), Finished()]


async def test_half_a_surrogate_pair(kernel: PythonKernel) -> None:
    assert text(await ran(kernel, "print('\\ud800 ä')")) == "\\ud800 ä\n"
    assert (await ran(kernel, "'\ud800'"))[-1] == Finished("error", "not valid text")


ACTIVE = """
import time
def wait(name):
    while not os.path.exists(name):
        time.sleep(0.005)

for i in range(2):
    wait(f"first{i}")
    wait(f"second{i}")
"""


async def test_active_lines(kernel: PythonKernel, folder: Path) -> None:
    # ``wait`` belongs to another cell, so that the lines are those of the loop.
    await ran(kernel, "import os\n" + ACTIVE.split("\nfor")[0])
    loop = "\nfor i in range(2):\n    wait(f'first{i}')\n    wait(f'second{i}')"
    gates = iter(["first0", "second0", "first1", "second1"])
    lines = []
    async with asyncio.timeout(90):
        async for event in kernel.run(loop):
            if isinstance(event, ActiveLine):
                lines.append(event.line)
                if event.line is not None:
                    (folder / next(gates)).touch()
    assert lines == [3, 4, 3, 4, None]


async def test_active_line_of_a_cell_that_awaits(kernel: PythonKernel, folder: Path) -> None:
    code = (
        "import asyncio, os\nwhile not os.path.exists('awaited'):\n    await asyncio.sleep(0.005)\n"
        "async def inner():\n    while not os.path.exists('inner'):\n        await asyncio.sleep(0.005)\nawait inner()"
    )
    lines = []
    async with asyncio.timeout(90):
        async for event in kernel.run(code):
            if isinstance(event, ActiveLine) and event.line is not None:
                lines.append(event.line)
                (folder / ("awaited" if event.line <= 3 else "inner")).touch()
    assert 3 in lines
    assert 6 in lines


async def test_input(kernel: PythonKernel) -> None:
    code = "print('before')\nname = input('Name? ')\nprint('hi ' + name)"
    asks = InputRequest("Name? ")
    events = await ran_until(kernel, code, lambda event: event == asks, lambda: kernel.answer("Äda"))
    assert joined(event for event in events if not isinstance(event, ActiveLine)) == [
        Text("before\n", line=1),
        Text("Name? "),
        asks,
        Text("Äda\n"),
        InputTaken(),
        Text("hi Äda\n", line=3),
        Finished(),
    ]
    with pytest.raises(UnknownInput):
        kernel.answer("again")


async def test_a_password_and_the_end_of_input(kernel: PythonKernel) -> None:
    code = "import getpass\nsecret = getpass.getpass()\ntry:\n    input()\nexcept EOFError:\n    print(len(secret))"
    passwords, events = [], []
    async with asyncio.timeout(90):
        async for event in kernel.run(code):
            events.append(event)
            if isinstance(event, InputRequest):
                passwords.append(event.password)
                kernel.answer("abc" if event.password else "\x04")
    assert passwords == [True, False]
    assert text(events) == "\n\n3\n"


async def test_interrupt_while_waiting_for_input(kernel: PythonKernel) -> None:
    stop = Stop(kernel)
    events = await ran_until(kernel, "input('?')", lambda event: isinstance(event, InputRequest), stop)
    assert await stop.stopped()
    assert InputTaken() in events
    assert events[-1] == Finished("interrupted")
    with pytest.raises(UnknownInput):
        kernel.answer("late")


@pytest.mark.parametrize(
    "busy",
    ["while True: pass", "import time; time.sleep(600)", "await asyncio.sleep(600)", "!sleep 600"],
)
async def test_interrupt_keeps_variables(kernel: PythonKernel, busy: str) -> None:
    stop = Stop(kernel)
    code = f"import asyncio\nvariable = 'kept'\nprint('begun', flush=True)\n{busy}"
    events = await ran_until(kernel, code, says("begun"), stop)
    assert await stop.stopped()
    if busy == "while True: pass":
        # The word that it has begun is out before its line is over.
        assert re.fullmatch(r"KeyboardInterrupt: stopped at line [34]\n", text(events, "traceback"))
    # IPython takes the interrupt of a shell escape for itself, so that cell ends in peace.
    assert events[-1].status in ("interrupted", "ok") if isinstance(events[-1], Finished) else False
    assert text(await ran(kernel, "print(variable)")) == "kept\n"


async def test_an_interrupt_does_not_reach_the_next_cell(kernel: PythonKernel) -> None:
    for _ in range(5):
        stop = Stop(kernel)
        await ran_until(kernel, "print('begun', flush=True)\nwhile True: pass", says("begun"), stop)
        assert await stop.stopped()
        assert (await ran(kernel, "sum(range(100_000))"))[-1] == Finished()


async def test_nothing_to_interrupt(kernel: PythonKernel) -> None:
    assert await kernel.interrupt()


async def test_a_cell_that_does_not_stop(kernel: PythonKernel) -> None:
    code = "while True:\n    try:\n        print('begun', flush=True)\n        while True: pass\n    except: pass"
    answers: list[bool] = []
    events = []
    async with asyncio.timeout(90):
        async for event in kernel.run(code):
            events.append(event)
            if says("begun")(event) and not answers:
                answers.append(await kernel.interrupt())
                await kernel.close()
    assert answers == [False]
    assert isinstance(events[-1], Finished)
    assert events[-1].status == "died"


async def test_a_reader_who_leaves_interrupts_the_cell(kernel: PythonKernel) -> None:
    await ran(kernel, "left = 'kept'")
    run = kernel.run("print('begun', flush=True)\nwhile True: pass")
    async with asyncio.timeout(90):
        async for event in run:
            if says("begun")(event):
                break
        await run.aclose()
    assert text(await ran(kernel, "print(left)")) == "kept\n"


async def test_death_in_mid_run(kernel: PythonKernel) -> None:
    await ran(kernel, "gone = 1")
    events = await ran(kernel, "import os\nprint('last', flush=True)\nos._exit(3)")
    assert events[-1] == Finished("died", "exit status 3")
    assert not kernel.alive
    assert (await ran(kernel, "gone"))[-1] == Finished("error", "NameError")


async def test_death_by_a_signal_while_a_line_is_shown(kernel: PythonKernel) -> None:
    pid = int(text(await ran(kernel, "import os\nos.getpid()"), "result"))
    code = "import time\ntime.sleep(600)"
    events = await ran_until(kernel, code, lambda event: event == ActiveLine(2), lambda: os.kill(pid, signal.SIGKILL))
    assert events[-2:] == [ActiveLine(None), Finished("died", "killed by SIGKILL")]


async def test_last_words_of_a_crash(kernel: PythonKernel) -> None:
    events = await ran(kernel, "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    assert events[-1] == Finished("died", "killed by SIGSEGV")
    assert "Segmentation fault" in text(events, "stderr")


async def test_death_between_cells_is_said(kernel: PythonKernel) -> None:
    events = await ran(kernel, "import os\nos.getpid()")
    os.kill(int(text(events, "result")), signal.SIGKILL)
    while kernel.alive:  # the kernel's death has no event of its own for a caller
        await asyncio.sleep(0.01)
    events = await ran(kernel, "1")
    assert "fresh" in str(events[0])
    assert events[-1] == Finished()


async def test_leaving_the_kernel(kernel: PythonKernel) -> None:
    assert (await ran(kernel, "exit()"))[-1] == Finished("died", "the program left the kernel")
    assert (await ran(kernel, "1"))[-1] == Finished()


@pytest.mark.parametrize(
    "program",
    [
        "line = 'x' * 99 + '\\n'\nfor i in range(200_000): sys.stdout.write(line)",
        "print('x' * 20_000_000)",
        "os.system('head -c 20000000 /dev/zero | tr \"\\\\0\" x')",
    ],
)
async def test_much_output_is_bounded_and_whole_in_a_file(kernel: PythonKernel, program: str) -> None:
    code = f"import os, sys\nprint('head')\n{program}\nprint('tail')"
    events = await ran(kernel, code)
    spilled = [event for event in events if isinstance(event, Spilled)]
    assert len(spilled) == 1
    sent = text(events)
    assert sent.startswith("head\nx")
    assert sent.endswith("tail\n")
    assert len(sent) < 2_200_000
    assert max(len(event.text) for event in events if isinstance(event, Text)) <= 64_000
    whole = await asyncio.to_thread(Path(spilled[0].path).read_text)
    assert len(whole) == len(sent) + spilled[0].omitted
    assert whole.startswith("head\nx")
    assert whole.endswith("tail\n")
    assert whole.count("x") >= 19_800_000


async def test_an_error_comes_after_the_end_of_much_output(kernel: PythonKernel) -> None:
    events = await ran(kernel, "print('x' * 3_000_000)\nprint('end')\n1 / 0")
    said = [event for event in events if isinstance(event, Text)]
    assert said[-2].text.endswith("end\n")
    assert said[-1].stream == "traceback"


async def test_flushing_after_every_character_loses_nothing(kernel: PythonKernel) -> None:
    events = await ran(kernel, "for i in range(20_000): print(i % 10, end='', flush=True)")
    assert text(events) == "0123456789" * 2_000
    assert events[-1] == Finished()


async def test_many_displays_lose_nothing(kernel: PythonKernel) -> None:
    events = await ran(kernel, "for i in range(3_000): display(i)")
    assert text(events, "result") == "".join(f"{i}\n" for i in range(3_000))


async def test_huge_values_are_kept_in_files(kernel: PythonKernel) -> None:
    events = await ran(kernel, "'x' * 10_000_000")
    assert len(text(events, "result")) < 300_000
    assert "characters left out; the whole is in" in text(events, "result")
    code = "from IPython.display import HTML, display\nfor _ in range(3): display(HTML('y' * 4_000_000))"
    events = await ran(kernel, code)
    assert len([event for event in events if isinstance(event, Rich)]) == 2
    assert "are too much to show" in text(events, "result")
    events = await ran(kernel, "raise ValueError('z' * 10_000_000)")
    assert len(text(events, "traceback")) < 1_000_000
    assert events[-1] == Finished("error", "ValueError")


async def test_late_output_is_shown_by_the_next_cell(kernel: PythonKernel, folder: Path) -> None:
    code = (
        "import os, threading, time\ndef late():\n    while not os.path.exists('late'): time.sleep(0.005)\n"
        "    print('late')\nthread = threading.Thread(target=late)\nthread.start()"
    )
    assert text(await ran(kernel, code)) == ""
    (folder / "late").touch()
    assert "late" in text(await ran(kernel, "thread.join()"))


async def test_forked_children_print(kernel: PythonKernel) -> None:
    code = "import os\nif os.fork() == 0:\n    os.write(1, b'child\\n')\n    os._exit(0)\nos.wait()\nprint('parent')"
    assert sorted(text(await ran(kernel, code)).split()) == ["child", "parent"]


async def test_cells_run_one_at_a_time(kernel: PythonKernel) -> None:
    first, second = await asyncio.gather(ran(kernel, "a = 1; print('first')"), ran(kernel, "print('second', a)"))
    assert text(first) == "first\n"
    assert text(second) == "second 1\n"


async def test_the_persons_ipython_setup_is_not_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    startup = tmp_path / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("from_startup = 1\n")
    env = {**os.environ, "HOME": str(tmp_path)}
    kernel = PythonKernel(cwd=folder, env=env, python=sys.executable)
    assert (await ran(kernel, "from_startup"))[-1] == Finished("error", "NameError")
    await kernel.close()


async def test_loopback_where_the_path_is_too_long(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("long" * 25)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    kernel = PythonKernel(cwd=folder, env=dict(os.environ), python=sys.executable)
    assert await ran(kernel, "1") == [Text("1\n", "result", 1), Finished()]
    await kernel.close()
    assert list(long.iterdir()) == []


async def test_a_kernel_that_does_not_start(folder: Path) -> None:
    async def spec() -> KernelSpec:
        return KernelSpec("Broken kernel", ("sh", "-c", "echo no luck >&2; exit 5"), dict(os.environ), "Mend it.")

    kernel = JupyterKernel(spec, cwd=folder)
    with pytest.raises(KernelFailed, match=r"(?s)Broken kernel did not start .exit status 5.*no luck.*Mend it"):
        await kernel.start()
    assert not kernel.alive
    await kernel.close()


async def test_messages_that_are_none_do_not_end_the_reading(kernel: PythonKernel) -> None:
    """Code in the kernel can send anything in its name."""
    setup = (
        "kernel = get_ipython().kernel",
        "def send(kind, content):",
        "    message = kernel.session.msg(kind, content, kernel.get_parent())",
        "    kernel.iopub_socket.send_multipart(type(kernel.session).serialize(kernel.session, message))",
    )
    kinds = ("stream", "display_data", "error", "oi_active_line", "oi_spilled", "status")
    contents: list[object] = [{}, b"[]", b"5", b"nonsense", {"name": "stdout", "text": 5, "data": [5], "traceback": 5}]
    lines = [f"send({kind!r}, {content})" for kind in kinds for content in contents]
    events = await ran(kernel, "\n".join([*setup, *lines, "print('still there')"]))
    assert text(events) == "still there\n", events
    assert events[-1] == Finished()


async def test_a_plain_kernel_without_our_extras(folder: Path) -> None:
    async def spec() -> KernelSpec:
        argv = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")
        return KernelSpec("Plain kernel", argv, dict(os.environ), interrupt_by_signal=True)

    kernel = JupyterKernel(spec, cwd=folder)
    assert text(await ran(kernel, "print('plain')")) == "plain\n"
    stop = Stop(kernel)
    events = await ran_until(kernel, "print('begun')\nwhile True: pass", says("begun"), stop)
    assert await stop.stopped()
    assert events[-1] == Finished("interrupted")
    await kernel.close()
