"""The set-ups of editors/README.md, so that what people read is what is tested."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
README = ROOT / "editors" / "README.md"


def section(title: str) -> str:
    """The text under one heading of the second level. Raises ``LookupError``."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README.read_text(), re.MULTILINE | re.DOTALL)
    if found is None:
        raise LookupError(f"editors/README.md has no section {title!r}")
    return found[1]


def snippet(title: str) -> str:
    """The first fenced block under that heading."""
    found = re.search(r"^```\w+\n(.*?)^```", section(title), re.MULTILINE | re.DOTALL)
    if found is None:
        raise LookupError(f"the section {title!r} of editors/README.md has no block")
    return found[1]
