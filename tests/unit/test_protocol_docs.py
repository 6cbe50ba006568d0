"""docs/protocol.md is what the protocol's file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from oi_lsp import docs, protocol


def test_the_page_is_up_to_date() -> None:
    assert docs.PATH.read_text(encoding="utf-8") == docs.render(), "run: python -m oi_lsp.docs"


def test_it_names_every_command_notification_and_error() -> None:
    page = docs.render()
    names = [command.name for command in protocol.COMMANDS] + [each.method for each in protocol.NOTIFICATIONS]
    assert all(f"### `{name}`" in page for name in names)
    assert all(f"| {int(code)} | `{code.name}` |" in page for code in protocol.ErrorCode)


def test_every_type_that_a_field_has_is_on_the_page() -> None:
    page = docs.render()
    assert all(f"### `{name}`" in page for name in ("Proposal", "Input", "Queued", "Usage", "SessionInfo", "ErrorData"))


def test_check_tells_an_old_page_and_writing_mends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "protocol.md"
    path.write_text("old")
    monkeypatch.setattr(docs, "PATH", path)
    assert docs.main(["--check"]) == 1
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0
