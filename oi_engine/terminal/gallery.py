"""Pictures and pages that a program makes, as files: a terminal shows their names."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from attrs import define, field

_SUFFIXES = {
    "base64.png": ".png",
    "base64.jpeg": ".jpg",
    "base64.jpg": ".jpg",
    "base64.gif": ".gif",
    "svg": ".svg",
    "html": ".html",
    "javascript": ".js",
}


@define
class Gallery:
    """Saves what one session shows into ``folder``, which is made when the first thing is saved (mode 0700)."""

    folder: Path
    _saved: int = field(default=0, init=False)

    def save(self, kind: str, form: str | None, content: str) -> Path:
        """Write one picture or page and say where. ``form`` is the LMC format, such as ``base64.png``.

        Raises ``OSError`` where it cannot be written and ``ValueError`` where the content is not base64.
        """
        form = form or ""
        if form == "path":
            return Path(content)
        data = _decoded(content) if form.startswith("base64") else content.encode("utf-8", "replace")
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._saved += 1
        path = self.folder / f"{kind}-{self._saved}{_SUFFIXES.get(form, '.txt')}"
        path.write_bytes(data)
        return path


def _decoded(content: str) -> bytes:
    try:
        return base64.b64decode(content)
    except binascii.Error as error:
        raise ValueError(f"The picture's data is damaged: {error}.") from error
