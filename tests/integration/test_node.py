"""JavaScript in a real node."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oi_engine.computer.drivers.node import NODE
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Finished
from oi_engine.errors import KernelFailed, LanguageUnavailable
from tests.integration.cells import run, run_until, stop

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[ReplRuntime]:
    runtime = ReplRuntime(NODE, cwd=tmp_path)
    yield runtime
    await runtime.close()


async def test_output_result_and_end(node: ReplRuntime) -> None:
    said = await run(node, "console.log('grüße 🐚'); console.error('err'); [1, 2].map(x => x + 1)")
    assert said.stream("stdout") == "grüße 🐚\nerr\n"
    assert said.stream("result") == "[ 2, 3 ]\n"
    assert said.finished == Finished("ok")


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("1 + 1", "2"),
        ("'text'", "'text'"),
        ("10n ** 20n", "100000000000000000000n"),
        ("-0", "-0"),
        ("NaN", "NaN"),
        ("null", "null"),
        ("Symbol('s')", "Symbol(s)"),
        ("({a: {b: [1]}})", "{ a: { b: [ 1 ] } }"),
        ("function f() {}; f", "[Function: f]"),
        ("await Promise.resolve(7)", "7"),
        ("(async () => 8)()", "8"),
        ("Object.create(null, {x: {get() { throw 1 }, enumerable: true}})", "[Object: null prototype] { x: [Getter] }"),
        ("({[Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('no') }})", None),
    ],
)
async def test_results(node: ReplRuntime, code: str, result: str | None) -> None:
    said = await run(node, code)
    if result is None:
        assert "cannot be shown" in said.stream("result")
    else:
        assert said.stream("result") == f"{result}\n"
    assert said.finished == Finished("ok")


@pytest.mark.parametrize("code", ["", "\n", "// nothing", "undefined", "let a", "setTimeout(() => {}, 1)", "void 0"])
async def test_no_result(node: ReplRuntime, code: str) -> None:
    said = await run(node, code)
    assert (said.text, said.finished) == ("", Finished("ok"))


async def test_state_lives_on(node: ReplRuntime, tmp_path: Path) -> None:
    (tmp_path / "own.js").write_text("module.exports = {word: 'own'};")
    await run(node, "const a = 1; let b = 2; class C { x = 3 }; function f() { return 4 }\nconst fs = require('fs')")
    await run(
        node, "const a = 10; let b = 20; class C { x = 30 }\nconst later = await new Promise(r => setTimeout(r, 5, 5))"
    )
    said = await run(node, "[a, b, new C().x, f(), later, typeof fs.readFileSync, require('./own').word].join(' ')")
    assert said.text == "'10 20 30 4 5 function own'\n"
    assert (await run(node, "__dirname")).text == f"'{tmp_path}'\n"


async def test_errors_have_their_true_lines(node: ReplRuntime) -> None:
    said = await run(node, "// one\nfunction inner() {\n  null.x;\n}\n\ninner();\n")
    assert said.finished == Finished("error", "TypeError")
    trace = said.stream("traceback")
    assert ".js:3:8)" in trace
    assert ".js:6:1" in trace
    assert "inspector" not in trace
    assert "node.js" not in trace


async def test_errors_after_an_await(node: ReplRuntime) -> None:
    said = await run(node, "const wait = () => new Promise(r => setTimeout(r, 1));\nawait wait();\nnull.x;")
    assert said.finished == Finished("error", "TypeError")
    assert ".js:3:6" in said.stream("traceback")


async def test_causes_and_codes(node: ReplRuntime) -> None:
    said = await run(node, "const e = new Error('outer', {cause: new Error('inner')}); e.code = 'X7'; throw e")
    trace = said.stream("traceback")
    assert "outer" in trace
    assert "inner" in trace
    assert "X7" in trace
    assert "inspector" not in trace


async def test_syntax_error(node: ReplRuntime) -> None:
    said = await run(node, "let fine = 1;\nlet q = ;\n")
    assert said.finished == Finished("error", "SyntaxError")
    assert said.text == "line 2\nlet q = ;\n        ^\nSyntaxError: Unexpected token ';'\n"


@pytest.mark.parametrize(("code", "shown"), [("throw 5", "Uncaught 5"), ("throw {a: 1}", "Uncaught { a: 1 }")])
async def test_thrown_things_that_are_no_errors(node: ReplRuntime, code: str, shown: str) -> None:
    said = await run(node, code)
    assert said.stream("traceback") == f"{shown}\n"
    assert said.finished == Finished("error", "exception")


async def test_exit_ends_the_cell_and_keeps_the_process(node: ReplRuntime) -> None:
    await run(node, "const kept = 1")
    pid = node.pid
    said = await run(node, "process.stdout.write('partial'); try { process.exit(3) } finally { console.log('no') }")
    assert (said.text, said.finished) == ("partial", Finished("error", "exit status 3"))
    said = await run(node, "setTimeout(() => { process.exit(4) }, 1); await new Promise(() => {})")
    assert said.finished == Finished("error", "exit status 4")
    assert (await run(node, "process.exit()")).finished == Finished("ok")
    assert (await run(node, "kept")).text == "1\n"
    assert node.pid == pid


async def test_callbacks_belong_to_the_cell(node: ReplRuntime) -> None:
    said = await run(node, "setTimeout(() => console.log('later'), 50); console.log('now')")
    assert (said.text, said.finished) == ("now\nlater\n", Finished("ok"))
    said = await run(node, "require('fs').readFile(process.execPath, (error, data) => console.log(data.length > 1000))")
    assert said.text == "true\n"


async def test_uncaught_errors(node: ReplRuntime) -> None:
    said = await run(node, "setTimeout(() => { throw new RangeError('boom') }, 1)")
    assert "Uncaught RangeError: boom" in said.stream("traceback")
    assert said.finished == Finished("error", "RangeError")
    said = await run(node, "Promise.reject(new TypeError('lost')); 5")
    assert "lost" in said.stream("traceback")
    assert said.finished == Finished("error", "TypeError")
    assert (await run(node, "Promise.reject(new TypeError('last'))")).finished == Finished("error", "TypeError")
    assert (await run(node, "6")).finished == Finished("ok")


async def test_imports(node: ReplRuntime, tmp_path: Path) -> None:
    (tmp_path / "own.mjs").write_text("export const word = 'named'; export default 'whole'; export { word as other };")
    said = await run(node, "import whole, { word, other as third } from './own.mjs';\n[whole, word, third]")
    assert said.text == "[ 'whole', 'named', 'named' ]\n"
    said = await run(node, "import * as all from './own.mjs'; import 'node:path'\n[Object.keys(all).length]")
    assert said.text == "[ 3 ]\n"
    said = await run(
        node, "const {default: d} = await import('./own.mjs'); const os = await import('os'); d + typeof os.EOL"
    )
    assert said.text == "'wholestring'\n"
    said = await run(node, "import {\n  word as w\n} from './own.mjs'\nnull.x")
    assert ".js:4:6" in said.text
    assert "ExperimentalWarning" not in said.text


async def test_imports_in_texts_are_left_alone(node: ReplRuntime) -> None:
    code = (
        "const s = `import('a') ${ {a: `import('b')`}.a } import('c')`; // import('d')\n"
        "/* import('e') */ const r = /import\\('f/.source, o = {import: x => x};\n"
        "[s, 'import(\"g\")', r, o.import('h'), 4 / 2 / 1].join(' ')"
    )
    said = await run(node, code)
    shown = said.text.strip().strip("\"'`").replace("\\", "")
    assert shown == "import('a') import('b') import('c') import(\"g\") import('f h 2"


async def test_input_is_answered(node: ReplRuntime) -> None:
    code = (
        "const lines = require('readline').createInterface({input: process.stdin, output: process.stdout});\n"
        "lines.question('name? ', name => { console.log('hi ' + name);\n"
        "  lines.question('age? ', age => { console.log(age); lines.close() }) })"
    )
    said = await run(node, code, ["Zoé", "7"])
    assert [(request.prompt, request.password) for request in said.requests] == [("name? ", False), ("age? ", False)]
    assert said.text == "name? \nhi Zoé\nage? \n7\n"
    code = (
        "const asked = require('readline/promises').createInterface({input: process.stdin, output: process.stdout});\n"
        "const given = await asked.question('more? '); asked.close(); given"
    )
    said = await run(node, code, ["yes"])
    assert said.text == "more? \n'yes'\n"


async def test_child_asks_for_input(node: ReplRuntime) -> None:
    code = "require('child_process').execSync(`printf 'q? '; read x; echo got $x`, {stdio: 'inherit'}); 1"
    said = await run(node, code, ["this"])
    assert [request.prompt for request in said.requests] == ["q? "]
    assert said.text == "q? \ngot this\n1\n"


async def test_slow_output_is_no_question(node: ReplRuntime) -> None:
    said = await run(node, "process.stdout.write('working… '); await new Promise(r => setTimeout(r, 700)); 'done'")
    assert said.requests == []
    assert said.text == "working… 'done'\n"


@pytest.mark.parametrize(
    "code",
    [
        "while (true) {}",
        "await new Promise(() => {})",
        "for (;;) { try { for (;;); } finally { continue } }",
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
        "require('child_process').execSync('sleep 1000')",
        "await new Promise(() => setInterval(() => { for (;;); }, 1))",
        "for (;;) await null",
        "for (;;) { await new Promise(r => setTimeout(r, 5)); process.stdout.write('.') }",
        "process.stdin.resume(); await new Promise(() => {})",
    ],
)
async def test_interrupt_keeps_the_state(node: ReplRuntime, code: str) -> None:
    await run(node, "const kept = 1")
    stopped, said = await stop(node, f"console.log('go'); {code}", "go\n")
    assert stopped
    assert said.finished == Finished("interrupted")
    said = await run(node, "kept + 1")
    assert said.stream("result") == "2\n"
    assert said.finished == Finished("ok")


async def test_interrupt_in_the_middle_of_much_output(node: ReplRuntime) -> None:
    stopped, said = await stop(node, "const kept = 1; for (;;) console.log('y'.repeat(100))", "y\n")
    assert stopped
    assert said.finished == Finished("interrupted")
    assert (await run(node, "kept")).stream("result") == "1\n"


async def test_closing_the_cell_early_interrupts_it(node: ReplRuntime) -> None:
    await run(node, "const kept = 1")
    cell = node.run("console.log('go'); for (;;);")
    await run_until(cell, "go\n")
    await cell.aclose()
    assert (await run(node, "kept")).text == "1\n"


async def test_death_is_told_and_the_next_run_starts_afresh(node: ReplRuntime) -> None:
    await run(node, "const gone = 1")
    said = await run(node, "console.log('last'); process.kill(process.pid, 'SIGKILL')")
    assert said.text.startswith("last\n")
    assert said.finished == Finished("died", "signal SIGKILL")
    assert (await run(node, "typeof gone")).text == "'undefined'\n"


async def test_much_output(node: ReplRuntime) -> None:
    said = await run(node, "console.log('x'.repeat(10_000_000)); console.log('end')")
    assert said.stream("stdout") == "x" * 10_000_000 + "\nend\n"


async def test_large_result_is_cut(node: ReplRuntime) -> None:
    said = await run(node, "Array.from({length: 100}, (_, i) => String(i).repeat(9000))")
    assert len(said.stream("result")) < 110_000
    assert "characters)" in said.stream("result")


async def test_environment_is_clean(node: ReplRuntime) -> None:
    said = await run(node, "Object.keys(process.env).filter(name => name.startsWith('OI_')).length")
    assert said.text == "0\n"


async def test_missing_node(tmp_path: Path) -> None:
    runtime = ReplRuntime(NODE, cwd=tmp_path, env={"PATH": str(tmp_path)})
    with pytest.raises(LanguageUnavailable) as caught:
        await runtime.start()
    assert "nodejs" in caught.value.remedy


async def test_node_that_does_not_start(tmp_path: Path) -> None:
    broken = tmp_path / "node"
    broken.write_text("#!/bin/sh\necho 'too old'\nexit 9\n")
    broken.chmod(0o755)
    runtime = ReplRuntime(NODE, cwd=tmp_path, env={"PATH": str(tmp_path)})
    with pytest.raises(KernelFailed, match="exit status 9"):
        await runtime.start()
    assert not runtime.alive
    await runtime.close()
