"""Ruby in a real ruby."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oi_engine.computer.drivers.ruby import RUBY
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Finished
from oi_engine.errors import LanguageUnavailable
from tests.integration.cells import run, run_until, stop

pytestmark = pytest.mark.skipif(shutil.which("ruby") is None, reason="ruby is not installed")


@pytest.fixture
async def ruby(tmp_path: Path) -> AsyncIterator[ReplRuntime]:
    runtime = ReplRuntime(RUBY, cwd=tmp_path)
    yield runtime
    await runtime.close()


async def test_output_result_and_end(ruby: ReplRuntime) -> None:
    said = await run(ruby, "puts 'grüße 🐚'; warn 'err'; [1, 2].map { |x| x + 1 }")
    assert said.stream("stdout") == "grüße 🐚\nerr\n"
    assert said.stream("result") == "=> [2, 3]\n"
    assert said.finished == Finished("ok")


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("'text'", '=> "text"\n'),
        ("def f; end", "=> :f\n"),
        ("x = 5", "=> 5\n"),
        ("x = 'y' * 500", f'=> "{"y" * 99}…\n'),
        ("x = (1..500).to_a; 1", "=> 1\n"),
        ("false", "=> false\n"),
        ('"\\xff"', '=> "\\xFF"\n'),
        ("class C; def inspect; raise 'no'; end; end; C.new", "=> (a value that cannot be shown: RuntimeError)\n"),
    ],
)
async def test_results(ruby: ReplRuntime, code: str, result: str) -> None:
    said = await run(ruby, code)
    assert (said.text, said.finished) == (result, Finished("ok"))


@pytest.mark.parametrize("code", ["", "\n", "# nothing", "nil", "class D; end"])
async def test_no_result(ruby: ReplRuntime, code: str) -> None:
    said = await run(ruby, code)
    assert (said.text, said.finished) == ("", Finished("ok"))


async def test_state_lives_on(ruby: ReplRuntime, tmp_path: Path) -> None:
    (tmp_path / "own.rb").write_text("OWN = 'own'\n")
    await run(ruby, "a = 1; @b = 2; $c = 3; D = 4\ndef e; 5; end\nrequire_relative 'own'")
    assert (await run(ruby, "[a, @b, $c, D, e, OWN].join ' '")).text == '=> "1 2 3 4 5 own"\n'
    assert (await run(ruby, "local_variables")).text == "=> [:a]\n"
    assert (await run(ruby, "puts 'main' if __FILE__ == $0")).text == "main\n"


async def test_errors_have_their_true_lines(ruby: ReplRuntime) -> None:
    said = await run(ruby, "# one\ndef inner\n  raise 'boom'\nend\n\ninner\n")
    assert said.finished == Finished("error", "RuntimeError")
    first, second = said.stream("traceback").splitlines()
    assert ".rb:3:in " in first
    assert "boom (RuntimeError)" in first
    assert ".rb:6:in " in second


async def test_causes(ruby: ReplRuntime) -> None:
    said = await run(ruby, "begin\n  raise 'inner'\nrescue\n  raise ArgumentError, 'outer'\nend")
    assert said.finished == Finished("error", "ArgumentError")
    trace = said.stream("traceback")
    assert "outer" in trace
    assert "inner" in trace
    assert "ruby.rb" not in trace


async def test_syntax_error(ruby: ReplRuntime) -> None:
    said = await run(ruby, "x = 1\nx = )\n")
    assert said.finished == Finished("error", "SyntaxError")
    assert ".rb:2: " in said.text
    assert "ruby.rb" not in said.text


async def test_exit_ends_the_cell_and_keeps_the_process(ruby: ReplRuntime) -> None:
    await run(ruby, "kept = 1")
    pid = ruby.pid
    said = await run(ruby, "begin; exit 3; ensure; puts 'cleared'; end\nputs 'no'")
    assert (said.text, said.finished) == ("cleared\n", Finished("error", "exit status 3"))
    assert (await run(ruby, "exit")).finished == Finished("ok")
    said = await run(ruby, "abort 'bye'")
    assert (said.text, said.finished) == ("bye\n", Finished("error", "exit status 1"))
    assert (await run(ruby, "kept")).text == "=> 1\n"
    assert ruby.pid == pid


async def test_input_is_answered(ruby: ReplRuntime) -> None:
    said = await run(ruby, "print 'name? '\nname = gets.chomp\nputs \"hi #{name}\"\n$stdin.read", ["Zoé", "a", "\x04"])
    assert said.requests[0].prompt == "name? "
    assert said.text == 'name? Zoé\nhi Zoé\na\n=> "a\\n"\n'
    said = await run(ruby, "require 'io/console'; print 'secret? '; $stdin.noecho(&:gets)", ["tell"])
    assert [(request.prompt, request.password) for request in said.requests] == [("secret? ", True)]
    assert said.stream("result") == '=> "tell\\n"\n'
    said = await run(ruby, "system(\"printf 'q? '; read x; echo got $x\"); nil", ["this"])
    assert said.text == "q? this\ngot this\n"


async def test_lines_are_told(ruby: ReplRuntime) -> None:
    said = await run(ruby, "x = 1\n\nx = gets\n\nx", ["go"])
    assert said.lines in ([3, None], [])


@pytest.mark.parametrize(
    "code",
    [
        "loop {}",
        "sleep",
        "loop { begin; sleep 1; rescue Exception; end }",
        "begin; loop {}; ensure; loop {}; end",
        "system('sleep 1000'); loop {}",
        "gets",
        "Thread.new { loop {} }.join",
        "loop { puts 'y' }",
    ],
)
async def test_interrupt_keeps_the_state(ruby: ReplRuntime, code: str) -> None:
    await run(ruby, "kept = 1")
    stopped, said = await stop(ruby, f"puts 'go'\n{code}", "go\n")
    assert stopped
    assert said.finished == Finished("interrupted")
    assert (await run(ruby, "kept + 1")).stream("result") == "=> 2\n"


async def test_a_program_hears_of_its_interrupt(ruby: ReplRuntime) -> None:
    stopped, said = await stop(ruby, "begin; puts 'go'; loop {}; rescue Interrupt; puts 'cleared'; end", "go\n")
    assert stopped
    assert said.text == "cleared\n"


async def test_closing_the_cell_early_interrupts_it(ruby: ReplRuntime) -> None:
    await run(ruby, "kept = 1")
    cell = ruby.run("puts 'go'; loop {}")
    await run_until(cell, "go\n")
    await cell.aclose()
    assert (await run(ruby, "kept")).text == "=> 1\n"


async def test_forked_children_leave_the_driver_alone(ruby: ReplRuntime) -> None:
    said = await run(ruby, "pid = fork\nif pid\n  Process.wait pid\n  puts 'parent'\nelse\n  puts 'child'\nend")
    assert (said.text, said.finished) == ("child\nparent\n", Finished("ok"))
    assert (await run(ruby, "ENV.keys.grep(/^OI_/)")).text == "=> []\n"


async def test_death_is_told_and_the_next_run_starts_afresh(ruby: ReplRuntime) -> None:
    said = await run(ruby, "gone = 1\nputs 'last'\nexit! 4")
    assert (said.text, said.finished) == ("last\n", Finished("died", "exit status 4"))
    assert (await run(ruby, "defined? gone")).text == ""


async def test_large_result_is_cut(ruby: ReplRuntime) -> None:
    said = await run(ruby, "'x' * 1_000_000")
    assert len(said.stream("result")) < 110_000
    assert "characters)" in said.stream("result")


async def test_missing_ruby(tmp_path: Path) -> None:
    runtime = ReplRuntime(RUBY, cwd=tmp_path, env={"PATH": str(tmp_path)})
    with pytest.raises(LanguageUnavailable) as caught:
        await runtime.start()
    assert "ruby" in caught.value.remedy
