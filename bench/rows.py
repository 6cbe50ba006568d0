"""What a benchmark answers."""

from __future__ import annotations

from collections.abc import Sequence

Row = tuple[str, float, float | None, str, str]
"""Name; measured; the baseline measured in the same run, where there is one; unit; the target in words."""


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which ``percent`` of them lie; the nearest one, none made up."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]
