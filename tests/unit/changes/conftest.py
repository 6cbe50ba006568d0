"""A folder to work in, and what follows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oi_engine.changes.workspace import Limits, Workspace
from tests.unit.changes.recorded import Open


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "work"
    found.mkdir()
    return found


@pytest.fixture
def opened(tmp_path: Path, root: Path) -> Iterator[Open]:
    made: list[Workspace] = []

    def workspace(**limits: float) -> Workspace:
        made.append(Workspace(str(root), tmp_path / "stores", Limits(**limits)))  # type: ignore[arg-type]
        return made[-1]

    yield workspace
    for one in made:
        one.close()
