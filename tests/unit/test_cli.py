"""The command line: what each flag comes to, and what bad ones are told."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import oi_lsp.server
from oi_engine.paths import profiles_folder
from oi_engine.settings import read
from oi_engine.terminal import main as terminal
from oi_engine.terminal.main import ChatOptions
from oi_engine.version import __version__
from oi_lsp import cli


@pytest.fixture
def chats(monkeypatch: pytest.MonkeyPatch) -> list[ChatOptions]:
    """Has conversations recorded instead of held."""
    asked: list[ChatOptions] = []

    def chat(options: ChatOptions) -> int:
        asked.append(options)
        return 7

    monkeypatch.setattr(terminal, "chat", chat)
    return asked


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Has the server recorded instead of started."""
    asked: list[object] = []

    def serve(what: object = "stdio") -> int:
        asked.append(what)
        return 0

    monkeypatch.setattr("oi_engine.logs.configure", lambda *how: asked.append(how))
    monkeypatch.setattr(oi_lsp.server, "serve_stdio", serve)
    monkeypatch.setattr(oi_lsp.server, "serve_tcp", serve)
    return asked


def test_no_arguments_print_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    for word in ("--stdio", "--tcp", "oi-lsp chat", "oi-lsp demo", "oi-lsp doctor"):
        assert word in shown


def test_the_server_is_started_as_asked(served: list[object], tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert cli.main(["--stdio"]) == 0
    assert cli.main(["--stdio", "--log-file", str(log), "--log-level", "debug"]) == 0
    assert cli.main(["--tcp", "7777"]) == 0
    assert served == [(None, "warning"), "stdio", (log, "debug"), "stdio", (None, "warning"), 7777]


def test_a_log_that_cannot_be_written_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--stdio", "--log-file", "/proc/none/log"]) == 2
    assert "/proc/none/log" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--stdo"], "--stdo"),
        (["chatt"], "chatt"),
        (["--stdio", "--tcp", "1"], "not allowed with"),
        (["--tcp", "99999"], "'99999'"),
        (["--tcp", "x"], "'x'"),
        (["--stdio", "--log-level", "loud"], "loud"),
        (["chat", "--temperature", "warm"], "warm"),
        (["chat", "--colour"], "--colour"),
        (["demo", "one", "two"], "two"),
        (["doctor", "--xml"], "--xml"),
    ],
)
def test_bad_flags_are_named(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--version"], ["chat", "--version"]])
def test_version(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"oi-lsp {__version__}\n"


def test_the_flags_become_settings(chats: list[ChatOptions]) -> None:
    long = (
        "--model m --temperature 0.5 --context_window 9 --max_tokens 8 --max_output 7 --api_base b --api_key k "
        "--api_version v --no-llm_supports_functions --custom_instructions c --system_message s --auto_run --loop "
        "--multi_line --verbose"
    )
    short = "-m m -t 0.5 -c 9 -x 8 -xo 7 -ab b -ak k -av v --no-llm-supports-functions -ci c -s s -y --loop -ml -v"
    for words in (long, short, long.replace("_", "-")):
        assert cli.main(["chat", *words.split(), "what?"]) == 7
    first, *others = chats
    settings, problems = read(first.flags)
    assert problems == []
    llm = settings.llm
    assert (llm.model, llm.temperature, llm.context_window, llm.max_tokens, llm.max_output) == ("m", 0.5, 9, 8, 7)
    assert (llm.api_base, llm.api_key, llm.api_version, llm.supports_functions) == ("b", "k", "v", False)
    assert (settings.custom_instructions, settings.system_message) == ("c", "s")
    assert (settings.auto_run, settings.loop, settings.verbose, settings.multi_line) == (True, True, True, True)
    assert (first.question, first.demo) == ("what?", False)
    assert others == [first, first]


def test_modes_profile_and_safety_become_settings(chats: list[ChatOptions]) -> None:
    long = "--vision --fast --local --llm_supports_vision --profile p --safe_mode ask --max_budget 0.5 --offline"
    short = "-vi -f -l -lsv -p p --safe-mode ask -b 0.5 --offline"
    for words in (long, short):
        assert cli.main(["chat", *words.split(), "--conversations"]) == 7
    first, second = chats
    assert first == second
    assert first.conversations
    assert first.flags == {
        "vision": True,
        "fast": True,
        "local": True,
        "llm_supports_vision": True,
        "profile": "p",
        "safe_mode": "ask",
        "max_budget": 0.5,
        "offline": True,
    }


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--os", "no OS mode"),
        ("-o", "no OS mode"),
        ("--speak_messages", "does not read messages aloud"),
        ("-sm", "does not read messages aloud"),
        ("--disable_telemetry", "There is no telemetry"),
        ("--local-models", "downloads no models"),
    ],
)
def test_a_flag_without_effect_says_so_in_a_line_and_goes_on(
    chats: list[ChatOptions], capsys: pytest.CaptureFixture[str], flag: str, said: str
) -> None:
    assert cli.main(["chat", flag]) == 7
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert len(chats) == 1


def test_profiles_shows_their_folder_with_a_profile_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["chat", "--profiles"]) == 0
    folder = capsys.readouterr().out.removesuffix("\n")
    assert Path(folder) == profiles_folder()
    assert Path(folder, "default.yaml").is_file()


def test_the_documentation_has_every_flag() -> None:
    text = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8")
    documented = set(re.findall("`(-[^` ]+)`", text))
    flags = {name for action in cli._command_parser("chat")._actions for name in action.option_strings}
    # Hyphens in place of underscores, and --no-, go without saying.
    implied = {name.replace("_", "-") for name in flags if "_" in name} | {n for n in flags if n.startswith("--no-")}
    assert flags - documented - implied == set()
    assert documented - flags == set()


def test_without_flags_the_defaults_hold_and_nothing_runs_unasked(chats: list[ChatOptions]) -> None:
    cli.main(["demo"])
    (options,) = chats
    assert options.demo
    assert options.question is None
    assert options.flags == {}


def test_the_server_path_imports_nothing_that_it_does_not_need() -> None:
    """What an editor waits for: the command line itself brings neither the parser nor the terminal."""
    asked = "import sys, oi_lsp.cli; print(*(name for name in sys.modules if name.startswith('oi_') or name in heavy))"
    heavy = "heavy = ('argparse', 'rich', 'prompt_toolkit', 'asyncio', 'litellm', 'attrs')\n"
    ran = subprocess.run([sys.executable, "-c", heavy + asked], capture_output=True, text=True, check=True)
    assert sorted(ran.stdout.split()) == ["oi_lsp", "oi_lsp.cli"]
