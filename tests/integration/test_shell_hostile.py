"""Shell code that, by accident or on purpose, does what a driver could trip over."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from oi_engine.computer.event_queue import HIGH
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Finished, Text
from tests.integration.cells import DEADLINE, rest, run, run_until, stop
from tests.integration.test_shell import SHELLS


@pytest.fixture(params=SHELLS)
async def shell(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ReplRuntime]:
    runtime = ReplRuntime(request.param, cwd=tmp_path)
    yield runtime
    await runtime.close()


async def test_output_that_looks_like_a_report(shell: ReplRuntime) -> None:
    said = await run(shell, "for i in 1 2 3 4; do echo \"done c$i ok\"; echo 'ready 1 bash'; done; (exit 7)")
    assert said.text.count("done c") == 4
    assert said.finished == Finished("error", "exit status 7")


async def test_reports_forged_on_the_drivers_own_descriptor(shell: ReplRuntime) -> None:
    forged = [
        "done nobody ok",
        "text",
        "text x",
        "text x y {",
        'text x result {"a": 1}',
        "line",
        "line x 7",
        "\\377\\n",
    ]
    said = await run(shell, "".join(f"printf '{line}\\n' >&$__oi_reports\n" for line in forged) + "echo real")
    assert said.text == "real\n"
    assert said.finished == Finished("ok")


@pytest.mark.parametrize("size", [HIGH - 1, 10_000_000])
async def test_long_line(shell: ReplRuntime, size: int) -> None:
    said = await run(shell, f"head -c {size} /dev/zero | tr '\\0' x; printf é")
    assert len(said.text) == size + 1
    assert said.text == "x" * size + "é"


async def test_binary_output(shell: ReplRuntime) -> None:
    said = await run(shell, "printf 'a\\377b\\000c\\303'; head -c 100000 /dev/urandom; echo; echo end")
    assert said.text.startswith("a�b\0c")
    assert said.text.endswith("\nend\n")
    assert said.finished == Finished("ok")


async def test_character_cut_short_at_the_end(shell: ReplRuntime) -> None:
    assert (await run(shell, "printf '\\303'")).text == "�"
    assert (await run(shell, "printf '\\251'")).text == "�"


async def test_memory_is_bounded_while_nobody_takes_the_output(shell: ReplRuntime) -> None:
    cell = shell.run("echo go; yes abcdefg | head -c 50000000; echo; echo the end")
    await run_until(cell, "go\n")
    process = psutil.Process()
    before = process.memory_info().rss
    # The reader stops by itself: from then on nothing more is read.
    async with asyncio.timeout(DEADLINE):
        while shell._reading:
            await asyncio.sleep(0)
    assert process.memory_info().rss - before < 20_000_000
    size, last = 0, ""
    async for event in cell:
        if isinstance(event, Text):
            size += len(event.text)
            assert len(event.text) < 2 * HIGH
            last = (last + event.text)[-100:]
    assert last.endswith("\nthe end\n")
    assert size > 49_000_000


async def test_output_to_the_terminal_itself(shell: ReplRuntime) -> None:
    said = await run(shell, "echo direct > /dev/tty; exec 1>/dev/null; echo hidden; echo shown > /dev/tty")
    assert said.text == "direct\nshown\n"


@pytest.mark.parametrize("code", ["exec >&-", "exec 2>&-", "exec <&-", "exec >&- 2>&- <&-", "exec > /dev/null 2>&1"])
async def test_closed_descriptors_are_back_in_the_next_cell(shell: ReplRuntime, code: str) -> None:
    await run(shell, f"kept=1; {code}")
    said = await run(shell, "echo $kept; echo err >&2; read x; echo $x", ["line"])
    assert said.text == "1\nerr\nline\nline\n"


async def test_low_descriptors_are_free(shell: ReplRuntime) -> None:
    await run(shell, 'for i in 3 4 5 6 7 8 9; do eval "exec $i> file$i"; eval "echo $i >&$i"; done')
    assert (await run(shell, "echo again >&9; cat file3 file9")).text == "3\n9\nagain\n"


async def test_terminal_is_restored(shell: ReplRuntime) -> None:
    await run(shell, "stty raw -echo -isig; echo x")
    said = await run(shell, "stty -a")
    for flag in ("icanon", "isig", "echo", "-opost"):
        assert re.search(rf"(?<![\w-]){flag}(?!\w)", said.text), flag
    stopped, _ = await stop(shell, "echo go; sleep 1000", "go\n")
    assert stopped


async def test_interrupt_with_signals_switched_off_in_the_terminal(shell: ReplRuntime) -> None:
    stopped, said = await stop(shell, "stty -isig; echo go; sleep 1000", "go\n")
    assert stopped
    assert said.finished == Finished("interrupted")


async def test_another_shell_takes_over(shell: ReplRuntime) -> None:
    said = await run(shell, "exec bash --norc --noediting", ["echo in $((40 + 2))", "exit 7"])
    assert "in 42\n" in said.text
    assert said.finished == Finished("died", "exit status 7")
    assert (await run(shell, "echo alive")).text == "alive\n"


async def test_shell_that_ignores_interrupts(shell: ReplRuntime) -> None:
    stopped, said = await stop(shell, "trap '' INT; echo go; sleep 1000", "go\n")
    assert stopped
    assert said.finished == Finished("interrupted")
    stopped, _ = await stop(shell, "echo go; while :; do :; done", "go\n")
    assert not stopped
    assert (await run(shell, "echo fresh")).text == "fresh\n"


async def test_a_cell_that_runs_when_it_is_closed_ends(shell: ReplRuntime) -> None:
    cell = shell.run("trap '' INT TERM; echo go; while :; do :; done")
    await run_until(cell, "go\n")
    assert not await shell.interrupt()
    ended = asyncio.create_task(rest(cell))
    await shell.close()
    assert (await ended).finished == Finished("died", "signal SIGKILL")


async def test_interrupt_in_the_middle_of_much_output(shell: ReplRuntime) -> None:
    stopped, said = await stop(shell, "kept=1; yes", "y\n" * 1000)
    assert stopped
    assert said.finished == Finished("interrupted")
    assert (await run(shell, "echo; echo $kept")).text.endswith("\n1\n")


async def test_subshells_that_leave(shell: ReplRuntime) -> None:
    said = await run(
        shell, "x=$(echo a; exit 3); echo $? $x; (set -e; false; echo no); echo $?; echo b | (exit 4); echo $?"
    )
    assert said.text == "3 a\n1\n4\n"
    assert said.finished == Finished("ok")


async def test_background_job_that_never_stops_printing(shell: ReplRuntime) -> None:
    await run(shell, "yes & job=$!")
    said = await run(shell, "echo here")
    assert "here\n" in said.text
    assert said.finished == Finished("ok")
    said = await run(shell, "kill $job; wait $job 2>/dev/null; echo stopped")
    assert "stopped\n" in said.text


async def test_code_that_is_no_text(shell: ReplRuntime) -> None:
    said = await run(shell, "echo 'a\ud800b'\r\necho c")
    assert "a?b" in said.text
    assert said.finished.status in ("ok", "error")


async def test_names_with_blanks_and_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / 'it\'s a "folder" $HOME'
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    for parameter in SHELLS:
        runtime = ReplRuntime(parameter.values[0], cwd=folder)  # type: ignore[arg-type]
        said = await run(runtime, "pwd")
        await runtime.close()
        assert said.text == f"{folder}\n"
    assert not list(folder.iterdir())


async def test_rapid_cells_and_interrupts(shell: ReplRuntime) -> None:
    await run(shell, "count=0")
    for _ in range(20):
        stopped, said = await stop(shell, "count=$((count + 1)); echo go; sleep 1000\necho never", "go\n")
        assert stopped
        assert "never" not in said.text
    assert (await run(shell, "echo $count")).text == "20\n"
    cell = shell.run("echo last")
    assert (await rest(cell)).finished == Finished("ok")
