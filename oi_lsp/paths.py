"""Files that the client names."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit


def path_of(uri: str) -> str | None:
    """The path that a ``file:`` URI of this machine stands for; nothing for another URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:  # a bracket in the wrong place
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    if os.name == "nt":
        path = path.lstrip("/")
    return path or None


def is_inside(path: str, folder: str) -> bool:
    """Whether a path lies in a folder, wherever links in either lead."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
