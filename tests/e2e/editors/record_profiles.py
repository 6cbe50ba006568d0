"""Writes what the editors that are there say in ``initialize`` to tests/fakes/profiles.

Run as ``python -m tests.e2e.editors.record_profiles``.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.e2e.editors.conftest import DRIVEN
from tests.e2e.editors.editor import SCRIPTED, Editor
from tests.fakes.profiles import FOLDER


def record(kind: type[Editor], folder: Path) -> dict[str, object]:
    """Start the editor on a chat document, and leave it. Answers the profile."""
    file = folder / "workspace" / "notes.oi.md"
    file.parent.mkdir()
    file.write_text("a line\n")
    editor = kind(folder)
    try:
        editor.start(file, SCRIPTED)
        (message,) = editor.said("client", lambda message: message.get("method") == "initialize")
        editor.close()
    finally:
        editor.stop()
    said = {key: message["params"][key] for key in ("clientInfo", "capabilities") if key in message["params"]}
    return {"obtained": f"recorded from {editor.version()} with the set-up of editors/README.md", **said}


def main() -> None:
    for kind in DRIVEN:
        with tempfile.TemporaryDirectory(prefix="oi-profile-") as folder:
            found = record(kind, Path(folder))
        (FOLDER / f"{kind.__name__.lower()}.json").write_text(f"{json.dumps(found, indent=1)}\n")


if __name__ == "__main__":
    main()
