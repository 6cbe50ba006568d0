"""Shell code in real shells: what is the same in bash and zsh, then what bash alone promises."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oi_engine.computer.driver import Driver
from oi_engine.computer.drivers.shell import BASH, ZSH
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Finished
from oi_engine.errors import LanguageUnavailable, SessionBusy, UnknownInput
from tests.integration.cells import rest, run, run_until, stop

SHELLS = [
    pytest.param(BASH, id="bash"),
    pytest.param(ZSH, id="zsh", marks=pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")),
]


@pytest.fixture(params=SHELLS)
async def shell(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ReplRuntime]:
    driver: Driver = request.param
    runtime = ReplRuntime(driver, cwd=tmp_path)
    yield runtime
    await runtime.close()


@pytest.fixture
async def bash(tmp_path: Path) -> AsyncIterator[ReplRuntime]:
    runtime = ReplRuntime(BASH, cwd=tmp_path)
    yield runtime
    await runtime.close()


async def test_output_and_end(shell: ReplRuntime) -> None:
    said = await run(shell, "echo out; echo err >&2\nprintf 'grüße 🐚'")
    assert said.text == "out\nerr\ngrüße 🐚"
    assert said.finished == Finished("ok")


async def test_state_lives_on(shell: ReplRuntime, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    await run(shell, "cd sub; word='a b'; export GIVEN=1\ngreet() {\n  echo \"hello $1\"\n}\nalias shout='echo LOUD'")
    await run(shell, "declare -A table; table[key]=value\nset -- one two")
    said = await run(shell, "pwd; echo \"$word\"; greet you; shout\necho ${table[key]}; sh -c 'echo $GIVEN'; echo $2")
    assert said.text == f"{tmp_path / 'sub'}\na b\nhello you\nLOUD\nvalue\n1\ntwo\n"


@pytest.mark.parametrize("code", ["", "\n", "# a comment", "   \n\t\n# é\n"])
async def test_nothing_to_do(shell: ReplRuntime, code: str) -> None:
    said = await run(shell, code)
    assert (said.text, said.finished) == ("", Finished("ok"))


async def test_exit_status_is_reported(shell: ReplRuntime) -> None:
    assert (await run(shell, "false")).finished == Finished("error", "exit status 1")
    assert (await run(shell, "sh -c 'exit 42'")).finished == Finished("error", "exit status 42")
    assert (await run(shell, "true")).finished == Finished("ok")


async def test_exit_ends_the_cell_and_keeps_the_shell(shell: ReplRuntime) -> None:
    await run(shell, "kept=1")
    pid = shell.pid
    said = await run(shell, "leave() { for i in 1 2; do exit 3; done; }\necho before; leave; echo no\necho never")
    assert (said.text, said.finished) == ("before\n", Finished("error", "exit status 3"))
    said = await run(shell, "(exit 4); echo $? $kept; exit 0; echo no")
    assert (said.text, said.finished) == ("4 1\n", Finished("ok"))
    assert (await run(shell, "false || exit 5")).finished == Finished("error", "exit status 5")
    assert shell.pid == pid


async def test_errexit_ends_the_cell_only(shell: ReplRuntime) -> None:
    await run(shell, "kept=1")
    pid = shell.pid
    said = await run(shell, "f() { false; echo no; }\nset -e\nfalse || echo yes\nif false; then :; fi\nf\necho never")
    assert (said.text, said.finished) == ("yes\n", Finished("error", "exit status 1"))
    said = await run(shell, "false; echo $kept")
    assert (said.text, said.finished) == ("1\n", Finished("ok"))
    said = await run(shell, "set -eo pipefail; (false; echo no) || true; false | cat; echo never")
    assert (said.text, said.finished) == ("no\n", Finished("error", "exit status 1"))
    assert shell.pid == pid


async def test_unset_variables_under_nounset(shell: ReplRuntime) -> None:
    said = await run(shell, "set -u\necho $missing_one")
    assert "missing_one" in said.text
    assert said.finished.status == "error"
    assert (await run(shell, "set +u; echo alive")).text == "alive\n"


async def test_syntax_error(shell: ReplRuntime) -> None:
    said = await run(shell, "echo fine\nif true; then\n  echo (")
    assert said.finished.status == "error"
    assert "cell" in said.text
    assert (await run(shell, "echo alive")).text == "alive\n"


async def test_here_document_and_no_last_newline(shell: ReplRuntime) -> None:
    said = await run(shell, "x=5\ncat <<EOF\none $x\nEOF\ncat <<'EOF'\ntwo $x\nEOF")
    assert (said.text, said.finished) == ("one 5\ntwo $x\n", Finished("ok"))


async def test_active_lines(shell: ReplRuntime) -> None:
    said = await run(shell, "sleep 0.1\n\n\nsleep 0.1\nsleep 0.1")
    assert said.lines == [1, 4, 5, None]


async def test_read_is_answered(shell: ReplRuntime) -> None:
    said = await run(shell, "printf 'Name? '\nread name\necho \"hello $name\"", ["Zoé $HOME 'x'"])
    assert [request.prompt for request in said.requests] == ["Name? "]
    assert said.taken == 1
    assert said.text == "Name? Zoé $HOME 'x'\nhello Zoé $HOME 'x'\n"


async def test_child_asks_for_input_and_password(shell: ReplRuntime) -> None:
    code = "import getpass\nprint('got', input('first? '))\nprint('got', getpass.getpass('secret? '))"
    said = await run(shell, f'python3 -c "{code}"', ["one", "tw\x16o"])
    assert [(request.prompt, request.password) for request in said.requests] == [("first? ", False), ("secret? ", True)]
    assert "got one\n" in said.text
    assert "got tw\x16o\n" in said.text


async def test_end_of_input(shell: ReplRuntime) -> None:
    said = await run(shell, "cat; echo end", ["line", "\x04"])
    assert said.text == "line\nline\nend\n"


async def test_answer_where_nobody_asks(shell: ReplRuntime) -> None:
    with pytest.raises(UnknownInput):
        shell.answer("x")
    await run(shell, "true")
    with pytest.raises(UnknownInput):
        shell.answer("x")


async def test_typed_ahead_is_forgotten(shell: ReplRuntime) -> None:
    await run(shell, "read one", ["first\nsecond"])
    said = await run(shell, "read two; echo $one $two", ["third"])
    assert said.text == "third\nfirst third\n"


async def test_background_job_does_not_hold_the_cell(shell: ReplRuntime, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    said = await run(shell, "(cat gate; echo late) &\necho now")
    assert "now\n" in said.text
    assert "late" not in said.text
    said = await run(shell, "echo open > gate; wait; echo waited")
    assert "open\nlate\n" in said.text
    assert said.finished == Finished("ok")


@pytest.mark.parametrize(
    "code",
    [
        "echo go; while :; do :; done",
        "echo go; sleep 1000\necho never",
        "f() { sleep 1000; echo never; }\necho go; f\necho never",
        "echo go; x=$(sleep 1000)",
        "echo go; sleep 1000 | cat; echo never",
        "echo go; for i in 1 2 3; do sleep 1000; done",
        "echo go; read line; echo never",
        "(echo go; sleep 1000; echo never); echo never",
    ],
)
async def test_interrupt_keeps_the_state(shell: ReplRuntime, code: str) -> None:
    await run(shell, "kept=1")
    stopped, said = await stop(shell, code, "go\n")
    assert stopped
    assert said.finished == Finished("interrupted")
    assert "never" not in said.text
    assert (await run(shell, "echo $kept")).text == "1\n"


async def test_child_that_ignores_the_interrupt(shell: ReplRuntime) -> None:
    await run(shell, "kept=1")
    code = "import signal, time; signal.signal(2, signal.SIG_IGN); print('go', flush=True); time.sleep(1000)"
    stopped, said = await stop(shell, f'python3 -c "{code}"\necho never', "go\n")
    assert stopped
    assert said.finished == Finished("interrupted")
    assert "never" not in said.text
    assert (await run(shell, "echo $kept")).text == "1\n"


async def test_interrupt_at_rest(shell: ReplRuntime) -> None:
    assert await shell.interrupt()
    await run(shell, "x=1")
    assert await shell.interrupt()
    assert (await run(shell, "echo $x")).text == "1\n"


async def test_closing_the_cell_early_interrupts_it(shell: ReplRuntime) -> None:
    await run(shell, "kept=1")
    cell = shell.run("echo go; sleep 1000")
    await run_until(cell, "go\n")
    await cell.aclose()
    assert (await run(shell, "echo $kept")).text == "1\n"


async def test_death_is_told_and_the_next_run_starts_afresh(shell: ReplRuntime) -> None:
    await run(shell, "gone=1")
    said = await run(shell, "echo last; kill -9 $$")
    assert said.text == "last\n"
    assert said.finished == Finished("died", "signal SIGKILL")
    assert not shell.alive
    assert (await run(shell, "echo new$gone")).text == "new\n"


async def test_one_cell_at_a_time(shell: ReplRuntime) -> None:
    cell = shell.run("echo go; read x")
    await run_until(cell, "go\n")
    with pytest.raises(SessionBusy):
        await run(shell, "echo no")
    assert await shell.interrupt()
    assert (await rest(cell)).finished == Finished("interrupted")


def _left(folder: Path) -> str:
    return (folder / "left").read_text()


async def test_close_leaves_nothing(tmp_path: Path) -> None:
    runtime = ReplRuntime(BASH, cwd=tmp_path)
    said = await run(runtime, "trap 'echo bye > left' EXIT\nsleep 1000 & echo $!; setsid sleep 1000 & echo $!")
    # ``setsid`` may have forked and be done already, which the shell reports.
    pids = [int(line) for line in said.text.splitlines() if line.isdigit()]
    await runtime.close()
    assert len(pids) == 2
    assert not {str(pid) for pid in pids} & set(os.listdir("/proc"))
    assert _left(tmp_path) == "bye\n"
    await runtime.close()


async def test_no_descriptor_is_lost(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        runtime = ReplRuntime(BASH, cwd=tmp_path)
        await run(runtime, "true")
        await runtime.close()
    assert len(os.listdir("/proc/self/fd")) == before


async def test_missing_shell(tmp_path: Path) -> None:
    runtime = ReplRuntime(BASH, cwd=tmp_path, env={"PATH": str(tmp_path)})
    with pytest.raises(LanguageUnavailable) as caught:
        await runtime.start()
    assert "apt-get install bash" in caught.value.remedy


async def test_pagers_do_not_wait(bash: ReplRuntime) -> None:
    said = await run(bash, 'echo $TERM $PAGER $GIT_PAGER; echo text | "$PAGER"; tput cols 2> /dev/null; stty size')
    assert said.text.startswith("dumb cat cat\ntext\n")
    assert said.text.endswith("40 120\n")


async def test_status_of_the_last_cell_is_the_first_of_the_next(bash: ReplRuntime) -> None:
    await run(bash, "(exit 9)")
    assert (await run(bash, "echo $?")).text == "9\n"


async def test_traps_of_the_person(bash: ReplRuntime) -> None:
    said = await run(bash, "trap 'echo bye $word' EXIT; word=now; exit 2")
    assert (said.text, said.finished) == ("bye now\n", Finished("error", "exit status 2"))
    said = await run(
        bash, "trap 'echo failed $?' ERR; f() { false; true; }; f; (exit 6); true; trap - ERR; false; true"
    )
    assert said.text == "failed 6\n"
    said = await run(bash, "trap 'echo failed' ERR; set -e; false; echo never")
    assert (said.text, said.finished) == ("failed\n", Finished("error", "exit status 1"))
    said = await run(bash, "trap - ERR; trap 'echo caught' INT; kill -INT $$; exit 3")
    assert (said.text, said.finished) == ("caught\n", Finished("error", "exit status 3"))
    assert (await run(bash, "trap -p INT; trap - INT")).text == "trap -- 'echo caught' SIGINT\n"
    assert (await run(bash, "trap 'echo \"[$BASH_COMMAND]\"' DEBUG; true; trap - DEBUG")).text.startswith("[true]\n")
    assert (await run(bash, "sleep 0.1\nsleep 0.1")).lines == [1, 2, None]


async def test_traces_show_the_cell_alone(bash: ReplRuntime) -> None:
    await run(bash, "set -x")
    said = await run(bash, "echo one\nx=2")
    assert said.text == "++ echo one\none\n++ x=2\n"


async def test_hot_loop_drops_the_active_line(bash: ReplRuntime) -> None:
    said = await run(bash, "for ((i = 0; i < 20000; i++)); do\n  x=$i\n  y=$i\ndone\necho $x")
    assert said.text == "19999\n"
    assert said.finished == Finished("ok")


async def test_cancelling_the_start_leaves_nothing(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    runtime = ReplRuntime(BASH, cwd=tmp_path)
    task = asyncio.create_task(runtime.start())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await runtime.close()
    assert len(os.listdir("/proc/self/fd")) == before
