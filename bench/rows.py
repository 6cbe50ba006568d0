"""What a benchmark answers."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen


@frozen
class Row:
    """One number: ``baseline`` is measured in the same run; ``target`` is in words."""

    name: str
    measured: float
    baseline: float | None
    unit: str
    target: str = ""


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which ``percent`` of them lie; the nearest one, none made up."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]
