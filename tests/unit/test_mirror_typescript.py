"""The protocol as the VS Code extension has it is what the protocol's files say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from oi_engine.version import __version__
from oi_lsp import protocol
from oi_lsp.mirrors import typescript

EXTENSION = typescript.PATH.parent.parent


def test_the_file_is_up_to_date() -> None:
    assert typescript.PATH.read_text(encoding="utf-8") == typescript.render(), "run: make docs"


def test_it_has_every_command_and_notification_and_each_type_once() -> None:
    text = typescript.render()
    for command in protocol.COMMANDS:
        assert f'"{command.name}": [{command.params.__name__}, {command.result.__name__}];' in text
    assert all(f'"{each.method}": {each.params.__name__};' in text for each in protocol.NOTIFICATIONS)
    declared = [line.split()[2] for line in text.splitlines() if line.startswith(("export interface", "export type"))]
    assert len(declared) == len(set(declared))


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        (str | None, "string"),
        (tuple[int, ...], "number[]"),
        (str | tuple[protocol.LmcMessage, ...], "string | LmcMessage[]"),
        (tuple[str | int, ...], "(string | number)[]"),
        (bool | Literal["session", "here"], 'boolean | "session" | "here"'),
        (dict[str, Any], "Record<string, unknown>"),
        (Any, "unknown"),
        (protocol.Proposal, "Proposal"),
    ],
)
def test_types(wanted: object, name: str) -> None:
    assert typescript.type_name(wanted) == name


def test_check_tells_an_old_file_and_writing_mends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "protocol.ts"
    path.write_text("old")
    monkeypatch.setattr(typescript, "PATH", path)
    assert typescript.main(["--check"]) == 1
    assert typescript.main([]) == 0
    assert typescript.main(["--check"]) == 0


def test_the_extensions_versions_are_exact_and_its_lock_says_no_place() -> None:
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((EXTENSION / "package-lock.json").read_text(encoding="utf-8"))
    assert all(version[0].isdigit() for version in package["devDependencies"].values())
    assert not [name for name, entry in lock["packages"].items() if "resolved" in entry]
    assert lock["packages"][""]["version"] == package["version"] == __version__
