"""How many columns and rows text takes on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


def columns_of(line: str) -> int:
    """The columns that a line takes, colours and links not counted."""
    from rich.cells import cell_len

    return cell_len(_CONTROL.sub("", line))


def rows_of(lines: Iterable[str], width: int) -> int:
    """The rows that lines take on a terminal of ``width`` columns that wraps them."""
    return sum(max(1, -(-columns_of(line) // max(1, width))) for line in lines)
