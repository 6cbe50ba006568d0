"""How much the fuzzer does."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests import fuzz
from tests.fuzz.fuzzing import PLANNED


def test_there_are_100_000_different_inputs() -> None:
    """Each test fails by itself where it does fewer than it says here."""
    for module in iter_modules(fuzz.__path__):
        import_module(f"{fuzz.__name__}.{module.name}")
    assert sum(PLANNED.values()) >= 100_000, PLANNED
