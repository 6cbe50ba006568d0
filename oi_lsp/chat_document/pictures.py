"""Images of a chat document: files in a folder beside it, to which the document links."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Callable, Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from oi_lsp.attachments import FILE_SIZE
from oi_lsp.paths import is_inside

_ENDINGS = {"base64.png": "png", "base64.jpeg": "jpg"}


class Pictures:
    """The images of one document. ``spawn`` has a file written that nobody waits for."""

    def __init__(self, document: str | None, spawn: Callable[[Coroutine[Any, Any, object]], object]) -> None:
        self._folder = None if document is None else Path(document).parent
        self._name = "" if document is None else f"{Path(document).name.removesuffix('.oi.md')}.files"
        self._scratch: TemporaryDirectory[str] | None = None
        self._spawn = spawn

    def save(self, form: str, content: str) -> str:
        """Have an image (base64) written. Answers the address to link to.

        The images of a document without a file are in a folder of the person's own that is gone with this server; the
        address is their path.
        """
        ending = _ENDINGS.get(form)
        if ending is None:
            return ""
        if self._folder is None:
            self._scratch = TemporaryDirectory(prefix="oi-pictures-", ignore_cleanup_errors=True)
            self._folder = Path(self._scratch.name).parent
            self._name = self._scratch.name
        address = f"{self._name}/{uuid4().hex[:12]}.{ending}"
        self._spawn(asyncio.to_thread(_write, self._folder / address, content))
        return address

    def close(self) -> None:
        """The document is closed: images that no file of the person's links to are deleted."""
        if self._scratch is not None:
            self._spawn(asyncio.to_thread(self._scratch.cleanup))
            self._folder = self._scratch = None

    def read(self, address: str) -> tuple[str, str] | None:
        """The LMC format and the content of an image that the document links to: of one that was saved here the data,
        of another in the document's folder its path. Nothing for any other: whoever wrote the document may have
        linked to any file of the person's.
        """
        if self._folder is None or "\0" in address:
            return None
        path = self._folder / address
        if not is_inside(str(path), str(self._folder)):
            return None
        form = next((form for form, ending in _ENDINGS.items() if address.endswith(f".{ending}")), None)
        ours = form is not None and Path(address).parent == Path(self._name)
        if form is None or not ours or not path.is_file() or path.stat().st_size > FILE_SIZE:
            return "path", str(path)
        return form, base64.b64encode(path.read_bytes()).decode("ascii")


def _write(path: Path, content: str) -> None:
    try:
        data = base64.b64decode(content, validate=True)
    except binascii.Error:
        return
    path.parent.mkdir(exist_ok=True)
    if not path.parent.is_symlink():  # it could lead anywhere
        path.write_bytes(data)
