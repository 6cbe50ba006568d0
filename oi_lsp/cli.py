"""The command line: ``oi-lsp --stdio`` for editors, ``chat``, ``demo`` and ``doctor`` for people.

Nothing is imported at the top that the language server does not need: an editor waits for it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


_COMMANDS = ("chat", "demo", "doctor")
_NO_SETTINGS = ("question", "conversations", "profiles", "local_models")
_NO_LOCAL_MODELS = (
    "oi-lsp downloads no models. It uses those of Ollama, LM Studio and other servers: see `oi-lsp doctor`."
)
_LEVELS = ("debug", "info", "warning", "error")


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says. Answers the exit status; ends the process for ``--help`` and for bad flags."""
    from oi_engine.computer.container import keep_to_itself

    keep_to_itself()
    words = list(sys.argv[1:] if argv is None else argv)
    if words == ["--stdio"]:
        # What every editor starts: argparse and its parsing would be 10 ms of the wait.
        return _serve(None, "warning", None)
    if words and words[0] in _COMMANDS:
        arguments = _command_parser(words[0]).parse_args(words[1:])
        return _doctor(arguments) if words[0] == "doctor" else _chat(arguments, demo=words[0] == "demo")
    parser = _server_parser()
    arguments = parser.parse_args(words)
    if not arguments.stdio and arguments.tcp is None:
        parser.print_help()
        return 0
    return _serve(arguments.log_file, arguments.log_level, arguments.tcp)


# --- the language server ---------------------------------------------------------------------------------------


def _server_parser() -> argparse.ArgumentParser:
    import argparse

    from oi_engine.version import __version__

    parser = argparse.ArgumentParser(
        prog="oi-lsp",
        description="Open Interpreter in your editor: a language server that hosts an interpreter engine.",
        epilog="commands: `oi-lsp chat` talks in the terminal, `oi-lsp demo` shows how it works without any model, "
        "`oi-lsp doctor` says what is found on this machine. Each has its own --help.",
        allow_abbrev=False,
    )
    wire = parser.add_mutually_exclusive_group()
    wire.add_argument("--stdio", action="store_true", help="serve an editor on standard input and output")
    wire.add_argument("--tcp", metavar="PORT", type=_port, help="serve one editor on 127.0.0.1:PORT, for debugging")
    parser.add_argument("--log-file", metavar="PATH", help="write the log there (default: standard error)")
    parser.add_argument("--log-level", choices=_LEVELS, default="warning", help="how much is logged")
    parser.add_argument("--version", action="version", version=f"oi-lsp {__version__}")
    return parser


def _serve(log_file: str | None, level: str, port: int | None) -> int:
    from pathlib import Path

    from oi_engine.errors import OiError
    from oi_engine.logs import configure
    from oi_lsp.server import serve_stdio, serve_tcp

    try:
        configure(None if log_file is None else Path(log_file), level)
    except OiError as error:
        print(f"oi-lsp: {error}", file=sys.stderr)
        return 2
    return serve_stdio() if port is None else serve_tcp(port)


def _port(text: str) -> int:
    import argparse

    if not text.isdecimal() or not 0 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)


# --- the commands for people -----------------------------------------------------------------------------------


def _command_parser(command: str) -> argparse.ArgumentParser:
    import argparse

    described = {
        "chat": "Talk with a model that writes code; you look at it before it runs.",
        "demo": "The same as `oi-lsp chat`, with a script in place of a model: it needs no key and no network.",
        "doctor": "Say what is found on this machine, what is missing, and the command that adds it.",
    }
    parser = argparse.ArgumentParser(prog=f"oi-lsp {command}", description=described[command], allow_abbrev=False)
    if command == "doctor":
        parser.add_argument("--json", action="store_true", help="print the facts as JSON")
    else:
        _add_chat_options(parser)
    return parser


def _add_chat_options(parser: argparse.ArgumentParser) -> None:
    """The flags of Open Interpreter, by their documented names; with hyphens as well as with underscores."""
    import argparse

    def add(*names: str, **kind: object) -> None:
        hyphened = [name.replace("_", "-") for name in names if "_" in name]
        parser.add_argument(*names, *hyphened, **kind)  # type: ignore[arg-type]

    def add_switch(*names: str, **kind: object) -> None:
        add(*names, action="store_true", default=None, **kind)

    truth = argparse.BooleanOptionalAction
    parser.add_argument("question", nargs="?", help="answer this one question and leave")
    add_switch("--conversations", help="go on with a stored conversation, which you pick")
    add_switch("--profiles", help="show the folder of profiles, and leave")
    add("--model", "-m", help="the model, as LiteLLM names it")
    add("--temperature", "-t", type=float, help="randomness of the replies, 0 to 1")
    add("--context_window", "-c", type=int, metavar="TOKENS", help="tokens that the model can read")
    add("--max_tokens", "-x", type=int, metavar="TOKENS", help="tokens that the model may write in one reply")
    add("--max_output", "-xo", type=int, metavar="CHARS", help="characters of output that the model sees")
    add("--api_base", "-ab", metavar="URL", help="base URL of the provider's API")
    add("--api_key", "-ak", metavar="KEY", help="key for the provider's API (others on this machine may see it here)")
    add("--api_version", "-av", metavar="VERSION", help="version of the provider's API")
    add("--llm_supports_functions", "-lsf", action=truth, help="whether the model calls tools")
    add("--llm_supports_vision", "-lsv", action=truth, help="whether the model sees images")
    add_switch("--vision", "-vi", help="use gpt-4o, with images, unless --model names another")
    add_switch("--fast", "-f", help="use gpt-3.5-turbo, unless --model names another")
    add_switch("--local", "-l", help="use a model on this machine (see `oi-lsp doctor`), and be offline")
    add("--custom_instructions", "-ci", metavar="TEXT", help="added to the system message")
    add("--system_message", "-s", metavar="TEXT", help="replaces the system message")
    add_switch("--auto_run", "--yes", "-y", help="run code without asking")
    add(
        "--sandboxed",
        dest="auto_run",
        action="store_const",
        const="sandboxed",
        default=None,
        help="run code without asking, inside the sandbox alone",
    )
    add("--sandbox", choices=("off", "container", "workspace", "strict"), help="where code runs: see docs/security.md")
    add("--profile", "-p", metavar="NAME", help="the profile: a file of the profiles folder, or a path")
    add("--safe_mode", choices=("off", "ask", "auto"), help="whether code is scanned before it runs")
    add("--max_budget", "-b", type=float, metavar="USD", help="US dollars that the session may cost")
    add("--offline", action=truth, help="do nothing that needs the network; a named model that is not local is said")
    add_switch("--loop", help="keep the model going until it says that the task is done")
    add_switch("--multi_line", "-ml", help="take messages between two lines of ```")
    add_switch("--verbose", "-v", help="show the log in detail")
    without = "accepted, without effect here: says why and goes on"
    add_switch("--os", "-o", help=without)
    add_switch("--speak_messages", "-sm", help=without)
    add_switch("--disable_telemetry", help=without)
    add_switch("--local_models", help=without)
    from oi_engine.version import __version__

    parser.add_argument("--version", action="version", version=f"oi-lsp {__version__}")


def _chat(arguments: argparse.Namespace, *, demo: bool) -> int:
    import gc

    # On again once the prompt is there: collecting garbage is a tenth of the time until then, and finds none.
    gc.disable()
    try:
        return _chat_with(arguments, demo=demo)
    finally:
        gc.enable()


def _chat_with(arguments: argparse.Namespace, *, demo: bool) -> int:
    from oi_engine.terminal.main import ChatOptions, chat, show_profiles

    if arguments.profiles:
        return show_profiles()
    flags = _flags(arguments)
    if flags is None:
        return 2
    if arguments.local_models:
        print(f"oi-lsp: --local_models: {_NO_LOCAL_MODELS}", file=sys.stderr)
    return chat(ChatOptions(flags, arguments.question, demo, bool(arguments.conversations)))


def _flags(arguments: argparse.Namespace) -> dict[str, object] | None:
    """The flags in the shape of a profile; ``None`` where a value cannot be used. What has no effect is said."""
    from oi_engine.settings import Layer, resolve
    from oi_engine.settings.tree import find_setting

    given = {name: value for name, value in vars(arguments).items() if value is not None and name not in _NO_SETTINGS}
    for name in given:
        setting = find_setting(name)
        if setting is not None and setting.note:
            print(f"oi-lsp: --{name}: {setting.note}", file=sys.stderr)
    problems = [problem for problem in resolve([Layer("session", given)]).problems if problem.severity != "note"]
    for problem in problems:
        print(f"oi-lsp: {problem}", file=sys.stderr)
    return None if problems else given


def _doctor(arguments: argparse.Namespace) -> int:
    import asyncio

    from oi_engine.doctor import examine

    report = asyncio.run(examine())
    if arguments.json:
        import json

        print(json.dumps(report.to_dict(), indent=2, ensure_ascii=False))
    else:
        print(report.as_text())
    return 0 if report.healthy else 1


if __name__ == "__main__":
    sys.exit(main())
