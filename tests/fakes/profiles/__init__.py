"""What real editors say of themselves in ``initialize``, for tests that play them in raw JSON-RPC.

Each file is one JSON object: ``obtained`` (how, and from which version), ``clientInfo`` (absent where the editor sends
none) and ``capabilities``, as the editor sent them. ``python -m tests.e2e.editors.record_profiles`` writes anew those
of the editors that ``.ci/editors`` fetches.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
NAMES: tuple[str, ...] = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))
"""The profiles there are: ``neovim``, ``vscode``, …"""


def profile(name: str) -> dict[str, Any]:
    """The ``initialize`` parameters ``clientInfo`` and ``capabilities`` of one editor. Raises ``FileNotFoundError``."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    del found["obtained"]
    return found
