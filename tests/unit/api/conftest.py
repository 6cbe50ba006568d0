"""What a test of the Python API starts, and ends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oi_engine import OpenInterpreter
from oi_engine.api.hub import hub
from tests.unit.api.rig import Make, Model, Tiny


@pytest.fixture(autouse=True)
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test starts ends with it, and its profiles and conversations are its own."""
    for kind in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    yield
    hub().close()


@pytest.fixture
def tiny() -> type[Tiny]:
    class Fresh(Tiny):
        ran: list[str] = []  # noqa: RUF012 -- the class is made anew for each test
        stopped = threading.Event()

    return Fresh


@pytest.fixture
def make(tiny: type[Tiny]) -> Iterator[Make]:
    made: list[OpenInterpreter] = []

    def make(*replies: str | Exception, **settings: Any) -> tuple[OpenInterpreter, Model]:
        interpreter, model = OpenInterpreter(), Model(*replies)
        interpreter.llm.completions = model
        interpreter.computer.languages = [tiny]
        for name, value in settings.items():
            setattr(interpreter, name, value)
        made.append(interpreter)
        return interpreter, model

    yield make
    for interpreter in made:
        interpreter.close()
