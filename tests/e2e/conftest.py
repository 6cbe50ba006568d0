"""Fixtures that modules of tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.inline_edits import Started, started


@pytest.fixture
def proposing(tmp_path: Path) -> Started:
    """An editor with a server whose model proposes edits: some replies of its own."""
    return started(tmp_path)
