"""Java in a real JDK. One process for all tests: starting it takes a second or two."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from oi_engine.computer.drivers.java import JAVA
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Finished
from oi_engine.errors import LanguageUnavailable
from tests.integration.cells import run, stop

pytestmark = [
    pytest.mark.skipif(shutil.which("jshell") is None, reason="no JDK is installed"),
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def java(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[ReplRuntime, None]:
    runtime = ReplRuntime(JAVA, cwd=tmp_path_factory.mktemp("java"))
    yield runtime
    await runtime.close()


async def test_output_result_and_end(java: ReplRuntime) -> None:
    said = await run(java, 'System.out.println("grüße 🐚"); System.err.println("err");\nint x = 3;\nx * 2')
    assert said.stream("stdout") == "grüße 🐚\nerr\n"
    assert said.stream("result").endswith(" ==> 6\n")
    assert said.finished == Finished("ok")


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ('String s = "a\\"b"', 's ==> "a\\"b"\n'),
        ("s = null", "s ==> null\n"),
        ("record P(int a) {}\nvar p = new P(3);", "p ==> P[a=3]\n"),
        ("var l = Stream.of(1, 2).map(i -> i + 1).collect(Collectors.toList());", "l ==> [2, 3]\n"),
    ],
)
async def test_results(java: ReplRuntime, code: str, result: str) -> None:
    said = await run(java, code)
    assert (said.text, said.finished) == (result, Finished("ok"))


@pytest.mark.parametrize("code", ["", "\n", "// nothing", "/* nor\nthis */", "int later;", "class C {}", ";"])
async def test_no_result(java: ReplRuntime, code: str) -> None:
    said = await run(java, code)
    assert (said.text, said.finished) == ("", Finished("ok"))


async def test_state_lives_on_and_is_declared_again(java: ReplRuntime) -> None:
    await run(java, "int kept = 1;\nint twice(int n) { return 2 * n; }\nclass Box { int n = 4; }")
    assert (await run(java, "kept + twice(2) + new Box().n")).text.endswith("==> 9\n")
    await run(java, 'String kept = "now";')
    assert (await run(java, "kept")).text == 'kept ==> "now"\n'


async def test_exceptions_have_their_true_lines(java: ReplRuntime) -> None:
    code = (
        '// one\nvoid inner() {\n  throw new IllegalStateException("boom", new Exception("why"));\n}\n\n'
        "// more\ninner();\nSystem.out.println();"
    )
    said = await run(java, code)
    assert said.finished == Finished("error", "java.lang.IllegalStateException")
    head, inner, outer, cause, *_ = said.text.splitlines()
    assert head == "Exception java.lang.IllegalStateException: boom"
    assert inner.endswith(".java:3)")
    assert outer.endswith(".java:7)")
    assert cause == "Caused by: java.lang.Exception: why"
    # A later cell tells of the earlier one's line.
    assert (await run(java, "\ninner()")).text.splitlines()[1] == inner


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ('int y = 1;\n// c\nint z =\n  "a";\n5', 4, "cannot be converted to int"),
        ("nowhere();", 1, "cannot find symbol"),
        ("\nint w = );", 2, "illegal start of expression"),
        ("for (;;) {", 1, "reached end of file"),
    ],
)
async def test_what_does_not_compile(java: ReplRuntime, code: str, line: int, words: str) -> None:
    said = await run(java, code)
    assert said.finished == Finished("error", "compile error")
    assert f".java:{line}: error: " in said.stream("traceback")
    assert words in said.text


async def test_a_source_file_is_run(java: ReplRuntime) -> None:
    code = (
        "package some.where;\n\nimport java.util.List;\n\npublic class Main {\n"
        "  public static void main(String[] args) {\n    System.out.println(List.of(args.length));\n"
        "    throw new RuntimeException();\n  }\n}\n"
    )
    said = await run(java, code)
    assert said.stream("stdout") == "[0]\n"
    assert ".java:8)" in said.stream("traceback")
    assert said.finished.status == "error"
    assert (await run(java, "Main.class.getSimpleName()")).text.endswith('==> "Main"\n')


async def test_what_is_not_declared_yet(java: ReplRuntime) -> None:
    said = await run(java, "int first() { return second(); }")
    assert said.stream("stderr") == "first cannot be used before this is declared: method second()\n"
    assert "method second()" in (await run(java, "first()")).stream("traceback")
    assert (await run(java, "int second() { return 2; }\nfirst()")).text.endswith("==> 2\n")


async def test_input_is_answered(java: ReplRuntime) -> None:
    code = (
        'System.out.print("name? "); var in = new Scanner(System.in);\n'
        'System.out.println("hi " + in.nextLine());\nin.nextLine()'
    )
    said = await run(java, code, ["Zoé", "more"])
    assert [request.prompt for request in said.requests] == ["name? ", ""]
    assert said.stream("stdout") == "name? Zoé\nhi Zoé\nmore\n"
    assert said.stream("result").endswith('==> "more"\n')
    assert (await run(java, "System.in.read()", ["\x04"])).text.endswith("==> -1\n")


async def test_lines_are_told(java: ReplRuntime) -> None:
    said = await run(java, "int a = 1;\n\n// c\nnew Scanner(System.in).nextLine();", ["go"])
    assert said.lines[-2:] == [4, None]


@pytest.mark.parametrize(
    "code",
    [
        "while (true) {}",
        "Thread.sleep(1000000);",
        "System.in.read();",
        "var lock = new Object(); synchronized (lock) { lock.wait(); }",
        'new ProcessBuilder("sleep", "1000").inheritIO().start().waitFor(); while (true) {}',
        'while (true) System.out.println("y");',
    ],
)
async def test_interrupt_keeps_the_state(java: ReplRuntime, code: str) -> None:
    await run(java, "int state = 1;")
    pid = java.pid
    stopped, said = await stop(java, f'System.out.println("go");\n{code}', "go\n")
    assert stopped
    assert said.finished == Finished("interrupted")
    assert (await run(java, "state + 1")).stream("result").endswith("==> 2\n")
    assert java.pid == pid


async def test_children_do_not_get_the_descriptors(java: ReplRuntime) -> None:
    said = await run(java, 'new ProcessBuilder("sh", "-c", "echo x >&$OI_REPORTS").inheritIO().start().waitFor()')
    assert not said.stream("result").endswith(" ==> 0\n")


async def test_exit_ends_the_process_and_is_told(java: ReplRuntime) -> None:
    said = await run(java, 'int gone = 1;\nSystem.out.println("last"); System.exit(3);')
    assert said.stream("stdout") == "last\n"
    assert said.finished == Finished("died", "exit status 3")
    assert "cannot find symbol" in (await run(java, "gone")).text


async def test_java_without_a_jdk(tmp_path: Path) -> None:
    (tmp_path / "java").write_text("#!/bin/sh\n")
    (tmp_path / "java").chmod(0o755)
    runtime = ReplRuntime(JAVA, cwd=tmp_path, env={"PATH": str(tmp_path)})
    with pytest.raises(LanguageUnavailable) as caught:
        await runtime.start()
    assert "default-jdk-headless" in caught.value.remedy
