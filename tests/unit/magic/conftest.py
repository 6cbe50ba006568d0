"""Rigs that are closed when a test is over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.scripted import Step
from tests.unit.magic.rig import MakeRig, Rig


@pytest.fixture
async def make_rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MakeRig]:
    monkeypatch.setenv("HOME", str(tmp_path))
    made: list[Rig] = []

    def make(*replies: list[Step]) -> Rig:
        made.append(Rig(tmp_path, *replies))
        return made[-1]

    yield make
    for rig in made:
        await rig.session.close()
        await rig.engine.close()
