"""``oi-lsp demo`` as a person meets it: a real terminal (tmux), real kernels, what the screen shows.

tmux tells nothing of what happens on a screen, so it is asked until the awaited text is there or a deadline passes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from attrs import define, field

DEADLINE = 60.0
"""Seconds after which a screen that does not show what it should is a failure; generous for a loaded machine."""

MARK = "OI_LSP_E2E"
"""Environment variable by which the processes of one test are known."""

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


def until(condition: Callable[[], bool], what: Callable[[], str]) -> None:
    """Ask again and again until it is so. Fails with ``what`` after the deadline."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


@define
class Terminal:
    """A tmux of its own with one window, in which a command runs."""

    folder: Path
    name: str = field(factory=lambda: f"oi-{uuid.uuid4().hex[:12]}")

    def start(self, command: str, **variables: str) -> None:
        given = {
            MARK: self.name,
            "HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": os.getcwd(),
            **variables,
        }
        settings = [part for key, value in given.items() for part in ("-e", f"{key}={value}")]
        # Without this the screen would be gone with the command.
        keep = ["set-option", "-g", "remain-on-exit", "on", ";"]
        size = ["-x", "80", "-y", "40"]
        # tmux itself now and then misses the exit status of a command whose terminal closes before it has ended.
        noted = f"{command}; echo $? > {shlex.quote(str(self._status))}"
        self._tmux("-u", "-f", "/dev/null", *keep, "new-session", "-d", *size, *settings, noted)

    def keys(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def say(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)
        self.keys("Enter")

    def screen(self) -> str:
        """All that was ever on the screen and still is."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    def until(self, text: str, times: int = 1) -> str:
        until(lambda: self.screen().count(text) >= times, lambda: f"no {text!r} in:\n{self.screen()}")
        return self.screen()

    def until_prompt(self) -> str:
        """Wait for an empty input line at the end of the screen."""
        until(lambda: self.screen().rstrip("\n ").endswith("\n>"), lambda: f"no prompt in:\n{self.screen()}")
        return self.screen()

    def until_ended(self) -> int:
        """Wait for the command's end. Answers its exit status."""
        until(lambda: self._status.exists() and self._status.read_text() != "", lambda: f"there:\n{self.screen()}")
        return int(self._status.read_text())

    def processes(self) -> list[psutil.Process]:
        """What runs on behalf of this test, tmux itself not counted."""
        found = []
        for process in psutil.process_iter():
            try:
                ours = process.environ().get(MARK) == self.name and process.status() != psutil.STATUS_ZOMBIE
            except psutil.Error:
                continue
            if ours and not process.name().startswith("tmux"):
                found.append(process)
        return found

    def stop(self) -> None:
        subprocess.run(["tmux", "-L", self.name, "kill-server"], check=False, capture_output=True)
        # What the window's command started ends by itself; it must be gone before the folder is.
        until(lambda: not self.processes(), lambda: f"left behind: {self.processes()}")

    @property
    def _status(self) -> Path:
        return self.folder / "exit-status"

    def _tmux(self, *arguments: str) -> str:
        ran = subprocess.run(["tmux", "-L", self.name, *arguments], capture_output=True, text=True, check=True)
        return ran.stdout


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def editor(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Makes an editor that puts other code in place of what it is given, the next time that it is called."""
    script = tmp_path / "editor"
    script.write_text(f'#!/bin/sh\ncat {shlex.quote(str(tmp_path / "edited"))} > "$1"\n')
    script.chmod(0o700)

    def set_up(code: str) -> dict[str, str]:
        (tmp_path / "edited").write_text(code)
        return {"VISUAL": str(script)}

    return set_up


def command(*words: str) -> str:
    return shlex.join([sys.executable, "-m", "oi_lsp", *words])


def test_ask_approve_see_the_output_and_leave(terminal: Terminal) -> None:
    terminal.start(command("demo"))
    terminal.until_prompt()
    terminal.say("make a mistake")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("y")
    terminal.until("KeyError")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("y")
    terminal.until("3.2\n")
    screen = terminal.until_prompt()
    assert screen.count("── python ──") == 2
    assert "Run this?" not in screen
    assert "thinking" not in screen
    assert terminal.processes() != []
    terminal.keys("C-d")
    assert terminal.until_ended() == 0
    until(lambda: not terminal.processes(), lambda: f"left behind: {terminal.processes()}")


@pytest.mark.parametrize(
    ("said", "awaited", "key"),
    [
        ("", "\n>", ""),
        ("hello", "Run this?", ""),
        ("run something long", "still counting: 1", "y"),
        ("ask me something", "What is your name?", "y"),
    ],
    ids=["at the prompt", "at the question", "while code runs", "while a program asks"],
)
def test_when_the_terminal_is_gone_nothing_stays(terminal: Terminal, said: str, awaited: str, key: str) -> None:
    terminal.start(command("demo"))
    terminal.until_prompt()
    if said:
        terminal.say(said)
        terminal.until("Run this?")
    if key:
        terminal.keys(key)
    terminal.until(awaited)
    assert terminal.processes() != []
    terminal.stop()
    assert terminal.processes() == []


def test_other_keys_repeat_the_question_and_no_gives_a_reason(terminal: Terminal) -> None:
    terminal.start(command("demo"))
    terminal.until_prompt()
    terminal.say("make a mistake")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("x")
    terminal.until("y: run it")
    terminal.keys("n")
    terminal.until("Why not?")
    terminal.say("not today")
    screen = terminal.until("As you like")
    assert "not today" in screen
    assert "KeyError" not in screen


def test_edit_then_approve_runs_the_edit(terminal: Terminal, editor: Callable[[str], dict[str, str]]) -> None:
    terminal.start(command("demo"), **editor("print(6 * 7)\n"))
    terminal.until_prompt()
    terminal.say("make a mistake")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("e")
    terminal.until("as you edited it")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("y")
    terminal.until("\n42\n")
    screen = terminal.until_prompt()
    assert screen.index("cocoa") < screen.index("as you edited it") < screen.index("\n42\n")


def test_always_does_not_ask_again_for_the_same_code(terminal: Terminal) -> None:
    terminal.start(command("demo"))
    terminal.until_prompt()
    terminal.say("which files are here?")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("a")
    terminal.until("That was the shell", times=1)
    terminal.until_prompt()
    terminal.say("which files are here?")
    terminal.until("That was the shell", times=2)
    terminal.until("It ran without a question. You approved it always, in this session.")


def test_ctrl_c_stops_a_loop_and_variables_live_on(terminal: Terminal, editor: Callable[[str], dict[str, str]]) -> None:
    terminal.start(command("demo"), **editor("kept = 41\nprint('loops')\nwhile True: pass\n"))
    terminal.until_prompt()
    terminal.say("make a mistake")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("e")
    terminal.until("as you edited it")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("y")
    terminal.until("▶ while True: pass")
    terminal.keys("C-c")
    terminal.until("variables are kept")
    assert "▶" not in terminal.until_prompt()
    editor("print(kept + 1)\n")
    terminal.say("make a mistake")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("e")
    terminal.until("as you edited it", times=2)
    terminal.until("Run this? y/n/e/a")
    terminal.keys("y")
    terminal.until("\n42\n")


def test_a_program_that_asks_is_answered_and_a_password_is_not_shown(
    terminal: Terminal, editor: Callable[[str], dict[str, str]]
) -> None:
    code = "from getpass import getpass\nname = input('Who? ')\nword = getpass('Word: ')\nprint(name, len(word))\n"
    terminal.start(command("demo"), **editor(code))
    terminal.until_prompt()
    terminal.say("make a mistake")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("e")
    terminal.until("as you edited it")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("y")
    terminal.until("\nWho?")
    terminal.say("Ada")
    terminal.until("\nWord:")
    terminal.say("swordfish")
    assert "swordfish" not in terminal.until("Ada 9")


def test_ctrl_c_at_the_prompt_says_how_to_leave(terminal: Terminal) -> None:
    terminal.start(command("demo"))
    terminal.until_prompt()
    terminal.keys("C-c")
    terminal.until("Ctrl-D leaves; so does Ctrl-C once more.")
    terminal.until_prompt()
    terminal.keys("C-c")
    assert terminal.until_ended() == 0


def test_a_terminal_that_can_do_nothing_gets_plain_questions(terminal: Terminal) -> None:
    terminal.start(f"TERM=dumb {command('demo')}")
    terminal.until_prompt()
    terminal.say("make a mistake")
    terminal.until("Run this? y/n/e/a")
    terminal.say("what?")
    terminal.until("y: run it")
    terminal.say("n")
    terminal.until("Why not?")
    terminal.say("")
    screen = terminal.until("As you like")
    assert "```python" in screen


def test_magic_commands_are_completed_and_run_in_the_session_s_shell(terminal: Terminal) -> None:
    terminal.start(command("demo"))
    terminal.until_prompt()
    terminal.say("%% cd / && kept=41")
    terminal.until("── shell ──")
    terminal.until_prompt()
    terminal.say("%% echo $((kept + 1)) in $PWD")
    terminal.until("\n42 in /\n")
    terminal.until_prompt()
    terminal.keys("%", "h", "e", "Tab")
    terminal.until("> %help")
    terminal.keys("Enter")
    assert "save_message" in terminal.until("%jupyter")
    terminal.until_prompt()
    terminal.say("%rest")
    terminal.until("Did you mean %reset?")


def test_a_stored_conversation_is_picked_and_goes_on(terminal: Terminal) -> None:
    data = {"XDG_DATA_HOME": str(terminal.folder / "data")}
    # The screen is cleared in between, so that what is awaited of the second is not there from the first.
    again = command("demo", "--conversations")
    terminal.start(f"{command('demo')}; printf '\\033[H\\033[2J\\033[3Jagain\\n'; {again}", **data)
    terminal.until_prompt()
    terminal.say("make a mistake")
    for _ in range(2):
        terminal.until("Run this? y/n/e/a")
        terminal.keys("y")
        until(lambda: "Run this?" not in terminal.screen(), terminal.screen)
    terminal.until("3.2\n")
    terminal.until_prompt()
    terminal.say("%reset")
    terminal.until("begins anew")
    terminal.until_prompt()
    terminal.say("which files are here?")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("n")
    terminal.until("Why not?")
    terminal.say("")
    terminal.until_prompt()
    terminal.keys("C-d")
    listed = terminal.until("Which one?")
    assert listed.index("which files are here?") < listed.index("make a mistake")
    terminal.keys("Down", "Enter")
    shown = terminal.until_prompt()
    assert "> make a mistake\n" in shown
    assert "\n3.2\n" in shown
    assert "Which one?" not in shown
    terminal.say("make a mistake")
    terminal.until("with new kernels")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("n")
    terminal.until("Why not?")
    terminal.say("")
    terminal.until("As you like")
    terminal.until_prompt()
    terminal.keys("C-d")
    assert terminal.until_ended() == 0


def test_a_signal_to_end_while_a_conversation_is_picked_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    data = {"XDG_DATA_HOME": str(terminal.folder / "data")}
    before, after = terminal.folder / "before", terminal.folder / "after"
    first, second = command("demo", "make a mistake"), command("demo", "--conversations")
    terminal.start(f"echo | {first} > /dev/null; stty -g > {before}; {second}; stty -g > {after}", **data)
    terminal.until("Which one?")
    (picking,) = [process for process in terminal.processes() if "--conversations" in process.cmdline()]
    picking.terminate()
    assert terminal.until_ended() == 0
    assert before.read_text() == after.read_text() != ""
    assert picking.pid not in [process.pid for process in terminal.processes()]


def test_a_conversation_is_picked_by_number_from_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert "No conversation is stored yet" in run("demo", "--conversations", given="1\n", folder=tmp_path).stderr
    run("demo", "--yes", "make a mistake", folder=tmp_path)
    ran = run("demo", "--conversations", given="1\n%undo\n", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "  1. " in ran.stdout
    assert "> make a mistake\n" in ran.stdout
    assert "```output\n3.2\n```" in ran.stdout
    assert "is taken back" in ran.stdout


def run(*words: str, given: str = "", folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_STATE_HOME": str(folder), "COLUMNS": "40"}
    return subprocess.run(
        [sys.executable, "-m", "oi_lsp", *words],
        input=given,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env=environment,
        check=False,
    )


def test_piped_messages_with_yes(tmp_path: Path) -> None:
    ran = run("demo", "--yes", given="plot a sine wave\nmake a mistake\n", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "\x1b" not in ran.stdout
    assert "> plot a sine wave\n" in ran.stdout
    assert "```output\n3.2\n```" in ran.stdout
    (picture,) = tmp_path.rglob("*.png")
    assert f"image saved: {picture}" in ran.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert ran.stderr == ""


def test_piped_messages_without_yes_run_nothing(tmp_path: Path) -> None:
    ran = run("demo", given="make a mistake\n", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "--yes runs code without asking" in ran.stdout
    assert "KeyError" not in ran.stdout


def test_one_question_is_answered_and_that_is_all(tmp_path: Path) -> None:
    ran = run("demo", "--yes", "make a mistake", given="this is not read\n", folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("I look up a price.\n")
    assert "not read" not in ran.stdout


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    words = command("demo", "--yes", "make a mistake")
    ran = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{words} | head -n 1"],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("I look up a price.\n", "")


def test_an_empty_question_is_refused(tmp_path: Path) -> None:
    ran = run("demo", " ", folder=tmp_path)
    assert ran.returncode == 2
    assert ran.stderr == "oi-lsp: The question is empty. Write what you want done.\n"


def test_a_failed_turn_is_the_exit_status(tmp_path: Path) -> None:
    ran = run("chat", "--model", "openai/none", "--api_base", "http://127.0.0.1:9", "hello", folder=tmp_path)
    assert ran.returncode == 1
    assert "Error: " in ran.stdout
