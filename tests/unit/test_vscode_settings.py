"""The VS Code extension's settings against those of the engine: no workspace sets one, and each leads somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from oi_engine.settings.tree import all_settings
from oi_engine.settings.values import fit

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
PACKAGE = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
SETTINGS: dict[str, dict[str, Any]] = PACKAGE["contributes"]["configuration"]["properties"]
OF_THE_EXTENSION = {"oi-lsp.path", "oi-lsp.settings"}
"""Which program is the server, and a whole profile."""


def led_to() -> dict[str, str]:
    """The engine's setting that each of the extension's is handed on as."""
    source = (EXTENSION / "src" / "server" / "settings.ts").read_text(encoding="utf-8")
    return {f"oi-lsp.{ours}": theirs for ours, theirs in re.findall(r'\["(\w+)", "([\w.]+)"\]', source)}


def test_no_workspace_sets_any_of_them() -> None:
    open_to_workspaces = [name for name, it in SETTINGS.items() if it.get("scope") not in ("machine", "application")]
    assert not open_to_workspaces
    restricted = PACKAGE["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert sorted(restricted) == sorted(SETTINGS)


def test_each_leads_to_a_setting_of_the_engine_that_takes_its_values() -> None:
    assert set(led_to()) | OF_THE_EXTENSION == set(SETTINGS)
    for ours, theirs in led_to().items():
        setting = all_settings()[theirs]
        values = SETTINGS[ours].get("enum", [SETTINGS[ours]["default"]])
        assert [fit(value, setting) for value in values] == values, ours


def test_no_other_setting_is_read() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (EXTENSION / "src").rglob("*.ts")]
    sections = {name for source in sources for name in re.findall(r"getConfiguration\(([^)]*)\)", source)}
    assert sections == {"SECTION", "", '"editor"'}, "ours, the theme's, and whether a screen reader is used"
    assert sum(source.count("getConfiguration()") for source in sources) == 1, "the colours of the theme"
