"""R in a real R."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from oi_engine.computer.drivers.r import R
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Finished
from oi_engine.errors import LanguageUnavailable
from tests.integration.cells import rest, run, run_until, stop

pytestmark = pytest.mark.skipif(shutil.which("R") is None, reason="R is not installed")


@pytest.fixture
async def r(tmp_path: Path) -> AsyncIterator[ReplRuntime]:
    runtime = ReplRuntime(R, cwd=tmp_path)
    yield runtime
    await runtime.close()


async def test_output_values_and_end(r: ReplRuntime) -> None:
    said = await run(r, "x <- 3; x * 2\ncat('grüße 🐚\\n'); message('err'); invisible(5)\nc(a = 'b')")
    assert said.text == '[1] 6\ngrüße 🐚\nerr\n  a \n"b" \n'
    assert said.finished == Finished("ok")
    assert (await run(r, "x + 1; .Last.value")).text == "[1] 4\n[1] 4\n"


@pytest.mark.parametrize("code", ["", "\n", "# nothing", "x <- 1", "invisible(1)", "f <- function() 1"])
async def test_no_value(r: ReplRuntime, code: str) -> None:
    said = await run(r, code)
    assert (said.text, said.finished) == ("", Finished("ok"))


async def test_values_are_printed_by_their_own_methods(r: ReplRuntime) -> None:
    code = "print.foo <- function(x, ...) cat('a foo\\n')\nstructure(1, class = 'foo')"
    assert (await run(r, code)).text == "a foo\n"
    assert (await run(r, "setClass('P', representation(x = 'numeric')); new('P', x = 1)")).text == (
        'An object of class "P"\nSlot "x":\n[1] 1\n\n'
    )
    assert (await run(r, "data.frame(a = 1:2, b = c('x', 'y'))")).text == "  a b\n1 1 x\n2 2 y\n"


async def test_errors_have_their_true_lines(r: ReplRuntime) -> None:
    said = await run(r, "# one\ninner <- function(a) {\n  stop('boom')\n}\n\nouter <- function() inner(1)\nouter()\n")
    assert said.finished == Finished("error", "simpleError")
    first, *places = said.stream("traceback").splitlines()
    assert first == "Error in inner(1) : boom"
    assert [place.rpartition("#")[2] for place in places] == ["3", "6", "7"]
    said = await run(r, "1\n\nlog('a')")
    assert said.text.splitlines()[-1].endswith(".R#3")


async def test_syntax_error(r: ReplRuntime) -> None:
    said = await run(r, "x <- 1\nx <- )\n")
    assert said.finished == Finished("error", "syntax error")
    assert ".R:2:6: unexpected ')'" in said.stream("traceback")


async def test_deep_recursion_is_an_error(r: ReplRuntime) -> None:
    said = await run(r, "kept <- 1; f <- function(n) f(n + 1)\nf(1)")
    assert said.finished.status == "error"
    assert "infinite recursion" in said.text
    assert (await run(r, "kept")).text == "[1] 1\n"


async def test_warnings_are_told(r: ReplRuntime) -> None:
    said = await run(r, "f <- function() warning('inside')\nf()\nas.integer('a')")
    assert said.text == "Warning in f() : inside\nWarning: NAs introduced by coercion\n[1] NA\n"
    assert (await run(r, "options(warn = 2)\nwarning('w')")).finished.status == "error"


async def test_quit_ends_the_cell_and_keeps_the_process(r: ReplRuntime) -> None:
    await run(r, "kept <- 1")
    pid = r.pid
    said = await run(r, "tryCatch(quit(status = 3), finally = cat('cleared\\n'))\ncat('no')")
    assert (said.text, said.finished) == ("cleared\n", Finished("error", "exit status 3"))
    assert (await run(r, "q()")).finished == Finished("ok")
    assert (await run(r, "kept")).text == "[1] 1\n"
    assert r.pid == pid


async def test_input_is_answered(r: ReplRuntime) -> None:
    said = await run(r, "name <- readline('name? ')\ncat('hi', name)\ninvisible(readline())", ["Zoé", "more"])
    assert [request.prompt for request in said.requests] == ["name? ", "hi Zoé"]
    assert said.text == "name? Zoé\nhi Zoémore\n"
    said = await run(r, "readLines('stdin', n = 1)", ["a line"])
    assert said.text == 'a line\n[1] "a line"\n'
    said = await run(r, "scan(n = 1, quiet = TRUE)", ["7"])
    assert said.text.endswith("[1] 7\n")


async def test_lines_are_told(r: ReplRuntime, tmp_path: Path) -> None:
    said = await run(r, "x <- 1\n\nreadline('? ')\nx", ["go"])
    assert set(said.lines) <= {1, 3, 4, None}
    assert 3 in said.lines
    assert said.lines[-1] is None


@pytest.mark.parametrize(
    "code",
    [
        "repeat {}",
        "Sys.sleep(1000)",
        "repeat try(stop('x'), silent = TRUE)",
        "system('sleep 1000'); repeat {}",
        "readline('? ')",
        "readLines('stdin')",
        "repeat cat('y\\n')",
    ],
)
async def test_interrupt_keeps_the_state(r: ReplRuntime, code: str) -> None:
    await run(r, "kept <- 1")
    stopped, said = await stop(r, f"cat('go\\n')\n{code}", "go\n")
    assert stopped
    assert said.finished == Finished("interrupted")
    assert (await run(r, "kept + 1")).text.endswith("[1] 2\n")


async def test_interrupt_runs_what_must_be_run(r: ReplRuntime) -> None:
    stopped, said = await stop(r, "tryCatch({ cat('go\\n'); repeat {} }, finally = cat('cleared\\n'))", "go\n")
    assert stopped
    assert said.text == "cleared\n"


async def test_what_a_cell_redefines_does_not_reach_the_driver(r: ReplRuntime) -> None:
    await run(r, "cat <- 1; c <- 2; print <- function(...) stop('no'); paste0 <- 3; sink('/dev/null')")
    assert (await run(r, "closeAllConnections(); 5")).text == "[1] 5\n"
    await run(r, "rm(list = ls())")
    assert (await run(r, "stop('still told')")).stream("traceback").startswith("Error: still told\n")


async def test_children_are_not_driven(r: ReplRuntime) -> None:
    said = await run(r, "system('env | grep -c ^OI_; Rscript -e 1+1')")
    assert said.text == "0\n[1] 2\n"


async def test_start_up_files_of_the_folder_are_not_read(r: ReplRuntime, tmp_path: Path) -> None:
    (tmp_path / ".Rprofile").write_text("sneaked <- 1\n")
    (tmp_path / ".Renviron").write_text("SNEAKED=1\n")
    assert (await run(r, "exists('sneaked'); Sys.getenv('SNEAKED')")).text == '[1] FALSE\n[1] ""\n'


async def test_death_is_told_and_the_next_run_starts_afresh(r: ReplRuntime) -> None:
    cell = r.run("gone <- 1; cat('go\\n'); tools::pskill(Sys.getpid(), 9); Sys.sleep(1000)")
    await run_until(cell, "go\n")
    assert (await rest(cell)).finished == Finished("died", "signal SIGKILL")
    assert (await run(r, "exists('gone')")).text == "[1] FALSE\n"


async def test_missing_r(tmp_path: Path) -> None:
    runtime = ReplRuntime(R, cwd=tmp_path, env={"PATH": str(tmp_path)})
    with pytest.raises(LanguageUnavailable) as caught:
        await runtime.start()
    assert "r-base-core" in caught.value.remedy
