"""Looking into a live Python kernel, hostile objects included, and which line wrote what, and which failed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from oi_engine.computer.kernel import JupyterKernel, PythonKernel
from oi_engine.computer.kernel_process import KernelSpec
from oi_engine.computer.looks import Completion, Completions, Inspection
from oi_engine.computer.runtime import ActiveLine, Failure, Finished, RunEvent, Text
from oi_engine.session.session import Session
from tests.fakes.scripted import ScriptedModel

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOSTILE = """
import time
called = []

class Hostile:
    def __init__(self):
        self.plain, self._private = 1, 2
    def __repr__(self):
        time.sleep(600)
    def __getattr__(self, name):
        called.append(name)
        raise AttributeError(name)
    def __len__(self):
        called.append("len")
    def __dir__(self):
        called.append("dir")
    def __getitem__(self, key):
        called.append("item")
    def __eq__(self, other):
        called.append("eq")
    def __hash__(self):
        called.append("hash")
        return 1
    @property
    def __class__(self):
        called.append("class")
        return int
    @property
    def property(self):
        "Deletes everything."
        called.append("property")
    def method(self, one, *rest):
        "Does it."

class Meta(type):
    def __getattribute__(cls, name):
        called.append(name)
        return type.__getattribute__(cls, name)
    def __hash__(cls):
        called.append("hash of a class")
        return 1
    def __eq__(cls, other):
        called.append("eq of a class")
        return cls is other
    def __repr__(cls):
        raise RuntimeError

class Odd(metaclass=Meta):
    pass

class Raises:
    def __repr__(self):
        raise RuntimeError("no")

class Missing(dict):
    def __missing__(self, key):
        called.append("missing")

hostile, odd, raises, missing = Hostile(), Odd(), Raises(), Missing(a=1)
held = {"it": hostile, "rows": [raises, odd]}
called.clear()
"""

VALUES = """
import collections, enum, math
import numpy as np
numbers = list(range(1_000_000))
table = {"one": 1, "deep": {"two": [1, 2.5, None, "x"]}}
letters = "é" * 10_000_000
grid = np.zeros((2, 3))
large = np.arange(10**7).reshape(1000, 100, 100)
row = np.arange(10**6)
objects = np.empty(1, dtype=object)
Point = collections.namedtuple("Point", "x y")
point = Point(1, 2)
Colour = enum.Enum("Colour", "RED")
huge = 10 ** 200_000
def area(width, *, unit="m"):
    "The area."
control = "\\x1b[2J"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kernel(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[PythonKernel, None]:
    made = PythonKernel(cwd=tmp_path_factory.mktemp("looks"), env=dict(os.environ), python=sys.executable)
    assert (await ran(made, HOSTILE))[-1] == Finished()
    assert (await ran(made, VALUES))[-1] == Finished()
    yield made
    await made.close()


async def ran(kernel: JupyterKernel, code: str) -> list[RunEvent]:
    async with asyncio.timeout(90):
        return [event async for event in kernel.run(code) if not isinstance(event, ActiveLine)]


async def seen(kernel: PythonKernel, code: str) -> Inspection | None:
    """A look at the end of some code, again where a loaded machine did not answer in time."""
    for _ in range(20):
        found = await kernel.inspect(code, len(code))
        if found is not None:
            return found
    return None


async def shown(kernel: PythonKernel, code: str) -> Inspection:
    found = await seen(kernel, code)
    assert found is not None
    return found


async def offered(kernel: PythonKernel, code: str) -> Completions:
    found = Completions()
    for _ in range(20):
        found = await kernel.complete(code, len(code))
        if found.items:
            break
    return found


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind", "value"),
    [
        ("table", "dict", "{'one': 1, 'deep': {'two': [1, 2.5, None, 'x']}}"),
        ("table['deep']['two'][-1]", "str", "'x'"),
        ("point", "Point", "Point(1, 2)"),
        ("point.y", "int", "2"),
        ("Colour.RED", "Colour", "Colour.RED"),
        ("huge", "int", "<a number of 664,386 bits>"),
        ("math", "module", "<module math>"),
        ("math.pi", "float", "3.141592653589793"),
        ("grid", "numpy.ndarray", "[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]"),
        ("large", "numpy.ndarray", "<numpy.ndarray (1000, 100, 100)>"),
        ("objects", "numpy.ndarray", "<numpy.ndarray (1,)>"),
        ("collections.deque", "type", "<class collections.deque>"),
    ],
)
async def test_a_value_is_shown(kernel: PythonKernel, code: str, kind: str, value: str) -> None:
    found = await shown(kernel, code)
    assert (found.type, found.value) == (kind, value)


async def test_an_array_has_a_shape_and_a_type(kernel: PythonKernel) -> None:
    found = await shown(kernel, "row")
    assert (found.shape, found.dtype, found.length) == ((1_000_000,), "int64", 1_000_000)
    assert found.value.startswith("[0, 1, 2, ")
    assert found.value.endswith(", 19, …]")
    assert (await shown(kernel, "row.shape")).value == "(1000000,)"


async def test_a_function_shows_how_it_is_called(kernel: PythonKernel) -> None:
    found = await shown(kernel, "area")
    assert (found.type, found.value, found.docs) == ("function", "area(width, unit)", "The area.")


async def test_what_is_shown_is_short(kernel: PythonKernel) -> None:
    assert len((await shown(kernel, "letters")).value) < 700
    found = await shown(kernel, "numbers")
    assert found.length == 1_000_000
    assert len(found.value) < 100


async def test_where_it_stands_in_the_code(kernel: PythonKernel) -> None:
    found = None
    while found is None:
        found = await kernel.inspect("x = table['one'] + 1", 6)
    assert (found.name, found.start, found.end) == ("table", 4, 9)


@pytest.mark.parametrize("code", ["nowhere", "table['none']", "table.none", "numbers[10_000_000]", "f().x"])
async def test_what_is_not_there_is_nothing(kernel: PythonKernel, code: str) -> None:
    assert await kernel.inspect(code, len(code)) is None


# --- hostile objects -------------------------------------------------------------------------------------------------


async def test_nothing_of_the_persons_is_called(kernel: PythonKernel) -> None:
    assert (await shown(kernel, "hostile")).value == "<Hostile plain=1>"
    assert (await shown(kernel, "hostile.plain")).value == "1"
    assert (await shown(kernel, "held")).value == "{'it': <Hostile plain=1>, 'rows': [<Raises>, <Odd>]}"
    assert (await shown(kernel, "held['it'].plain")).value == "1"
    assert (await shown(kernel, "raises")).value == "<Raises>"
    assert (await shown(kernel, "odd")).type == "Odd"
    assert (await shown(kernel, "Odd")).value == "<class Odd>"
    assert (await shown(kernel, "hostile.method")).value == "method(self, one, *rest)"
    computed = await shown(kernel, "hostile.property")
    assert (computed.type, computed.value, computed.docs) == ("property", "", "Deletes everything.")
    for code in ("hostile.nothing", "hostile[0]", "missing['b']"):
        assert await kernel.inspect(code, len(code)) is None
    assert [item.text for item in (await offered(kernel, "hostile.")).items] == ["method", "plain", "property"]
    assert [item.text for item in (await offered(kernel, "hostile._p")).items] == ["_private"]
    assert [item.text for item in (await offered(kernel, "missing['")).items] == ["a"]
    assert (await ran(kernel, "called"))[0] == Text("[]\n", "result", 1)


async def test_looking_leaves_no_trace(kernel: PythonKernel) -> None:
    before = await ran(kernel, "sorted(globals()), len(In)")
    await shown(kernel, "table")
    await offered(kernel, "ta")
    assert (await ran(kernel, "_"))[0] == before[0]


# --- completion ------------------------------------------------------------------------------------------------------


async def test_names_are_completed(kernel: PythonKernel) -> None:
    found = await offered(kernel, "x = tabl")
    assert (found.items, found.start, found.end) == ((Completion("table", "variable", "dict"),), 4, 8)
    assert Completion("area", "function") in (await offered(kernel, "ar")).items
    assert Completion("len", "function") in (await offered(kernel, "le")).items
    assert Completion("lambda", "keyword") in (await offered(kernel, "la")).items
    assert Completion("%timeit", "magic") in (await offered(kernel, "%ti")).items
    assert Completion("sqrt", "function") in (await offered(kernel, "math.sq")).items


async def test_keys_are_completed(kernel: PythonKernel) -> None:
    assert (await offered(kernel, "table['deep']['")).items == (Completion("two", "key"),)


async def test_the_names_that_ipython_puts_there_are_not_offered(kernel: PythonKernel) -> None:
    assert not {"In", "Out", "get_ipython", "exit"} & {item.text for item in (await offered(kernel, "")).items}


async def test_any_jupyter_kernel_completes(tmp_path: Path) -> None:
    argv = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")

    async def spec() -> KernelSpec:
        return KernelSpec("a kernel", argv, dict(os.environ))

    kernel = JupyterKernel(spec, cwd=tmp_path)
    await ran(kernel, "a_long_name = 1")
    found = Completions()
    async with asyncio.timeout(90):
        while not found.items:
            found = await kernel.complete("x = a_lo", 8)
    assert (found.items[0].text, found.start, found.end) == ("a_long_name", 4, 8)
    assert await kernel.inspect("a_long_name", 1) is None
    await kernel.close()


# --- not now ---------------------------------------------------------------------------------------------------------


async def test_a_kernel_that_is_not_there_is_not_started(tmp_path: Path) -> None:
    kernel = PythonKernel(cwd=tmp_path, env=dict(os.environ), python=sys.executable)
    assert await kernel.inspect("x", 1) is None
    assert await kernel.complete("x", 1) == Completions(end=1)
    assert not kernel.alive


async def test_a_busy_kernel_answers_nothing_at_once(kernel: PythonKernel) -> None:
    looked = []
    async for event in kernel.run("print('begun')\ninput()"):
        if event == Text("begun\n", line=1):
            # To completion without a step of the loop: nothing was waited for.
            for look in (kernel.inspect("table", 1), kernel.complete("ta", 2)):
                with pytest.raises(StopIteration) as stopped:
                    look.send(None)
                looked.append(stopped.value.value)
            await kernel.interrupt()
    assert looked == [None, Completions(end=2)]


async def test_a_cell_that_begins_meanwhile_runs(kernel: PythonKernel) -> None:
    looking = [asyncio.create_task(kernel.inspect("table", 1)) for _ in range(20)]
    await asyncio.sleep(0)
    assert await ran(kernel, "1 + 1") == [Text("2\n", "result", 1), Finished()]
    await asyncio.gather(*looking)
    assert (await shown(kernel, "table")).length == 2


async def test_a_session_looks_into_its_kernels(tmp_path: Path) -> None:
    kernel = PythonKernel(cwd=tmp_path, env=dict(os.environ), python=sys.executable)
    session = Session(ScriptedModel(), lambda language, cwd: kernel)
    assert await session.inspect("py", "name", 1) is None
    session.run("python", "name = {'\\x1b[2Jk': 1}")
    async with asyncio.timeout(90):
        await session.idle()
        found = None
        while found is None:
            found = await session.inspect("py", "name", 1)
    assert (found.type, found.length) == ("dict", 1)
    assert "\x1b" not in "".join(item.text for item in (await session.complete("python", "name['", 6)).items)
    await session.close()


# --- which line ------------------------------------------------------------------------------------------------------


async def test_output_is_the_line_that_wrote_it(kernel: PythonKernel) -> None:
    code = "print('a')\nfor n in range(2):\n    print(n)\n\n    print('b')\nn + 40"
    assert await ran(kernel, code) == [
        Text("a\n", line=1),
        Text("0\n", line=3),
        Text("b\n", line=5),
        Text("1\n", line=3),
        Text("b\n", line=5),
        Text("41\n", "result", 6),
        Finished(),
    ]


async def test_output_of_a_function_is_its_line_in_this_cell(kernel: PythonKernel) -> None:
    await ran(kernel, "def far():\n\n\n    print('far')")
    code = "def near():\n    print('near')\nnear()\nfar()"
    assert await ran(kernel, code) == [Text("near\n", line=2), Text("far\n", line=4), Finished()]


async def test_output_that_no_line_wrote_has_none(kernel: PythonKernel) -> None:
    code = "import threading\nt = threading.Thread(target=lambda: print('thread'))\nt.start()\nt.join()"
    assert await ran(kernel, code) == [Text("thread\n"), Finished()]
    assert Text("child\n") in await ran(kernel, "import os\nos.system('echo child')")
    assert (await ran(kernel, "%%capture nothing\n1\n"))[-1] == Finished()
    assert (await ran(kernel, "%%time\nprint('timed')"))[0].line is None  # type: ignore[union-attr]


async def test_a_loop_tells_its_lines_for_a_while(kernel: PythonKernel) -> None:
    events = await ran(kernel, "for n in range(5000):\n    print('a')\n    print('b')")
    texts = [event for event in events if isinstance(event, Text)]
    assert "".join(event.text for event in texts) == "a\nb\n" * 5000
    # What is sent in between may cut a print in two.
    told = [event for event in texts if event.line]
    assert {(event.line, event.text.strip()) for event in told} - {(2, ""), (3, "")} == {(2, "a"), (3, "b")}
    assert sum(event.text.startswith(("a", "b")) for event in told) in range(100, 501)
    assert texts[-1].line is None


# --- where it failed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("x = 1\n\n\nx / 0", Failure(4, "ZeroDivisionError", "division by zero", 0, 4, 5)),
        ("\n\nx = 'é' + 1", Failure(3, "TypeError", 'can only concatenate str (not "int") to str', 4, 3, 11)),
        ("def f():\n    1/0\n\nf()", Failure(2, "ZeroDivisionError", "division by zero", 4, 2, 7)),
        ("import math\nmath.sqrt(-1)", Failure(2, "ValueError", "math domain error", 0, 2, 13)),
        ("x = [\n  1,\n  nowhere\n]", Failure(3, "NameError", "name 'nowhere' is not defined", 2, 3, 9)),
        ("ok = 1\nok = )", Failure(2, "SyntaxError", "unmatched ')'", 5, None, None)),
        ("ok = 1\n%pwd\n1/0", Failure(3, "ZeroDivisionError", "division by zero", 0, 3, 3)),
        ("exec('1 +')", Failure(1, "SyntaxError", "invalid syntax (<string>, line 1)", 0, 1, 11)),
        ("import asyncio\nawait asyncio.sleep(0)\nraise KeyError('k')", Failure(3, "KeyError", "'k'", 0, 3, 19)),
    ],
)
async def test_a_failure_has_its_place_in_the_cell(kernel: PythonKernel, code: str, failure: Failure) -> None:
    assert (await ran(kernel, code))[-2:] == [failure, Finished("error", failure.name)]


async def test_a_place_that_is_not_known_is_not_told(kernel: PythonKernel) -> None:
    events = await ran(kernel, "%%time\n\n1/0")
    assert not any(isinstance(event, Failure) for event in events)
    assert events[-1] == Finished("error", "ZeroDivisionError")
    assert not any(isinstance(event, Failure) for event in await ran(kernel, "get_ipython().showtraceback()"))
