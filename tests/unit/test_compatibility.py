"""docs/compatibility.md is what the code has, and has a row for all that Open Interpreter's documentation names."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml
from attrs import frozen

import oi_engine
from oi_engine import AsyncInterpreter, OpenInterpreter
from oi_engine.api.hub import hub
from oi_engine.computer.languages import LANGUAGES, language
from oi_engine.magic.commands import COMMANDS
from oi_engine.messages import RECIPIENTS, ROLES, TYPES
from oi_engine.settings.tree import all_settings, find_setting
from oi_lsp import cli

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compatibility.md"
BESIDE = [parent / "shared" / "reference" for parent in ROOT.parents]
REFERENCE = next((folder for folder in BESIDE if folder.is_dir()), None)

STATES = ("same", "better", "not here")


@frozen
class Row:
    """One row: ``names`` are those in its first column of names, without backticks."""

    section: str
    kind: str
    names: tuple[str, ...]
    state: str
    how: str


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    """The engine's thread, where an attribute was looked at, ends with these tests."""
    yield
    hub().close()


@cache
def rows() -> list[Row]:
    found = []
    section = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if len(cells) >= 3 and cells[-2] in STATES:
            kind = cells[0] if len(cells) == 4 else ""
            names = tuple(re.findall(r"`([^`]+)`", cells[-3]))
            found.append(Row(section, kind, names, cells[-2], cells[-1]))
    return found


def named(section: str, *kinds: str) -> set[str]:
    return {name for row in rows() if row.section == section and row.kind in (kinds or ("",)) for name in row.names}


SETTINGS, FLAGS, PYTHON = "Settings and profile keys", "Terminal flags", "Python"
MESSAGES, MAGIC, RUNS, VARIABLES = "Messages and chunks", "Magic commands", "Languages", "Environment variables"
ISOLATION = "Isolation"


# --- the page and the code -------------------------------------------------------------------------------------


@cache
def flags() -> frozenset[str]:
    """Every flag of `oi-lsp chat`."""
    parser: argparse.ArgumentParser = cli._command_parser("chat")
    return frozenset(flag for action in parser._actions for flag in action.option_strings)


def is_python(name: str) -> bool:
    """Whether a name of the Python table is there: a class, an attribute, a parameter of ``chat``."""
    if call := re.fullmatch(r"chat\((\w+).*\)", name):
        return call[1] in OpenInterpreter.chat.__annotations__
    first, _, rest = name.partition(".")
    found: object = OpenInterpreter() if first == "interpreter" else getattr(oi_engine, first, None)
    for part in rest.split(".") if rest else ():
        found = getattr(found, part, None)
        if found is None and part != "completions":
            return False
    return found is not None or name.endswith("completions")


def is_message(row: Row) -> bool:
    (name,) = row.names
    known = {"role": ROLES, "type": TYPES, "recipient": RECIPIENTS}
    if row.kind in known:
        return name in known[row.kind]
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "oi_engine").rglob("*.py"))
    return f'"{name}"' in source or f"{name}:" in source


def runs(name: str) -> bool:
    return language(name) is not None


def is_docker(name: str) -> bool:
    """Whether a command of Docker's is one that is delivered, or that the page about it gives."""
    places = ("docs/docker/oi-lsp-docker", "docs/docker.md")
    return any(" ".join(name.split()[:2]) in (ROOT / place).read_text(encoding="utf-8") for place in places)


CHECKS: dict[str, Callable[[Row], bool]] = {
    SETTINGS: lambda row: all(name == "version" or find_setting(name) is not None for name in row.names),
    FLAGS: lambda row: set(row.names) <= flags(),
    PYTHON: lambda row: all(is_python(name) for name in row.names),
    MESSAGES: is_message,
    MAGIC: lambda row: all(name[1:] in COMMANDS for name in row.names),
    RUNS: lambda row: all(runs(name) for name in row.names),
    VARIABLES: lambda row: True,
    ISOLATION: lambda row: all(is_docker(name) for name in row.names),
}


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.section}-{row.kind}-{row.names[0]}")
def test_what_is_there_is_there(row: Row) -> None:
    if row.state != "not here":
        assert CHECKS[row.section](row), f"the page says {row.state} of {row.names}, and it is not there"
    if row.state in ("better", "not here"):
        assert row.how, "what differs is to be said"


def test_the_page_has_no_name_twice() -> None:
    names = [(row.section, row.kind, name) for row in rows() for name in row.names if row.section != VARIABLES]
    assert len(names) == len(set(names))
    assert {row.section for row in rows()} == set(CHECKS)


def test_what_has_no_effect_is_not_called_the_same() -> None:
    for row in rows():
        setting = find_setting(row.names[0]) if row.section == SETTINGS else None
        if setting is not None and setting.note and "telemetry" not in setting.note:
            assert row.state == "not here", f"{row.names[0]}: {setting.note}"


def test_every_setting_of_the_documentation_is_a_setting_here() -> None:
    own = {"computer.python", "computer.shell", "computer.env_allow", "profile", "run_code", "safe_review", "sandbox"}
    groups = ("chat_document.", "changes.", "policy.", "sandbox_limits.")
    own |= {name for name in all_settings() if name.startswith(groups)}
    assert set(all_settings()) - own <= named(SETTINGS), "a setting without a row"


# --- the page and the documentation ----------------------------------------------------------------------------


def pages() -> dict[str, str]:
    if REFERENCE is None:
        pytest.skip("Open Interpreter's documentation is not beside the checkout (../shared/reference)")
    return {
        path.relative_to(REFERENCE).as_posix(): path.read_text(encoding="utf-8") for path in REFERENCE.rglob("*.md*")
    }


_FENCE = re.compile(r"^\s*```ya?ml\b[^\n]*\n(.*?)^\s*```", re.MULTILINE | re.DOTALL | re.IGNORECASE)


def profile_keys(text: str) -> Iterator[str]:
    """The keys of the profiles that a page shows, dotted."""
    for block in _FENCE.findall(text):
        for key, value in (yaml.safe_load(block) or {}).items():
            if isinstance(value, dict):
                yield from (f"{key}.{inner}" for inner in value)
            else:
                yield str(key)


def test_every_documented_key_has_a_row() -> None:
    documented = {key for text in pages().values() for key in profile_keys(text)}
    table = pages()["docs/usage/terminal/settings.mdx"]
    documented |= set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))
    assert len(documented) > 40
    assert documented <= named(SETTINGS)


def test_every_documented_flag_has_a_row() -> None:
    documented: set[str] = set()
    for line in "\n".join(pages().values()).splitlines():
        for rest in re.findall(r"\binterpreter((?:\s+(?:--?[\w-]+|\"[^\"]*\"|<[^>]*>|[\w./:@$-]+))+)", line):
            documented |= set(re.findall(r"(?<!\S)--?[a-zA-Z][\w-]*", rest))
        documented |= set(re.findall(r"`(--?[a-z][\w-]*)`", line))
    assert len(documented) > 50
    assert documented <= named(FLAGS)


def test_every_documented_attribute_has_a_row() -> None:
    documented = set()
    for text in pages().values():
        documented |= set(re.findall(r"\binterpreter\.((?:[a-zA-Z_]\w*)(?:\.[a-zA-Z_]\w*)*)", text))
    # Addresses, and what is a method of a part that has a row.
    documented = {
        ".".join(name.split(".")[: 2 if name.startswith(("computer.", "llm.")) else 1]) for name in documented
    }
    documented -= {"com", "git", "server"}
    known = {name.removeprefix("interpreter.") for name in named(PYTHON)} | named(SETTINGS)
    assert len(documented) > 60
    assert documented <= known
    assert {"AsyncInterpreter", "OpenInterpreter", "AsyncInterpreter.server"} <= named(PYTHON)


def test_every_documented_message_has_a_row() -> None:
    everything = "\n".join(pages().values())
    table = pages()["docs/protocols/lmc-messages.mdx"]
    kinds = re.findall(r"^(\w+)\|([\w.]+)\|.*\|", table, re.MULTILINE)
    types = {kind for kind, _ in kinds} | set(re.findall(r"\"type\": \"([a-z]+)\"", everything))
    formats = {form for _, form in kinds} | set(re.findall(r"\"format\": \"([\w.]+)\"", everything))
    roles = set(re.findall(r"\"role\": \"([a-z]+)\"", everything))
    assert types - {"Type"} <= named(MESSAGES, "type")
    assert formats - {"None", "Format"} <= named(MESSAGES, "format")
    # `system` is OpenAI's, in an example for its package.
    assert roles - {"system"} <= named(MESSAGES, "role")


def test_every_documented_magic_command_has_a_row() -> None:
    documented = set(re.findall(r"^\s*(?:- |• |> )`?(%%?[a-z_]*)", "\n".join(pages().values()), re.MULTILINE))
    assert len(documented) > 10
    assert documented <= named(MAGIC)


def test_every_language_has_a_row() -> None:
    documented = set(re.findall(r"^code\|(\w+)\|", pages()["docs/protocols/lmc-messages.mdx"], re.MULTILINE))
    assert documented <= named(RUNS)
    assert {each.name for each in LANGUAGES} == named(RUNS)
    assert AsyncInterpreter.__mro__[1] is OpenInterpreter.__mro__[1], "both have the same settings"
