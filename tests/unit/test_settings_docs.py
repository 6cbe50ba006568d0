"""docs/settings.md is what the source says."""

from __future__ import annotations

from pathlib import Path

from oi_engine.settings.docs import markdown
from oi_engine.settings.tree import all_settings

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_is_up_to_date() -> None:
    assert DOCS.read_text(encoding="utf-8") == markdown(), "run `make docs`"


def test_every_setting_has_its_entry() -> None:
    page = markdown()
    for setting in all_settings().values():
        assert page.count(f"### `{setting.name}`\n") == 1
        assert f"`{setting.environment}`" in page
        assert setting.doc in page
