"""Images on their way to a model: read, recognised by their first bytes, measured by their headers.

Nothing is decoded here. Providers' limits are kept in the worker (``shrink``), which can make an image smaller.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
import struct
from pathlib import Path

from attrs import frozen

from oi_engine.messages import Message

MAX_BYTES = 20_000_000
"""A larger file is not read."""


@frozen
class Picture:
    """An image that a model can be sent; ``data`` is base64, the size in pixels where the header tells it."""

    kind: str
    data: str
    width: int | None = None
    height: int | None = None

    @property
    def url(self) -> str:
        """The image as a data URL, as OpenAI's API takes it."""
        return f"data:image/{self.kind};base64,{self.data}"


def load(message: Message, cwd: str) -> Picture | str:
    """The image of a message of type ``image``, or why there is none, in a sentence. Reads the file of a path."""
    if message.format == "path":
        path = Path(cwd, os.path.expanduser(message.text.strip()))
        raw = _read(path)
        name = f"The image {message.text.strip()}"
    else:
        raw = _decoded(message.text)
        name = "The image"
    if isinstance(raw, str):
        return f"{name} {raw}"
    kind = kind_of(raw)
    if kind is None:
        return f"{name} is no PNG, JPEG, GIF or WebP."
    return Picture(kind, base64.b64encode(raw).decode(), *size_of(raw))


def kind_of(raw: bytes) -> str | None:
    """``png``, ``jpeg``, ``gif`` or ``webp``, by the first bytes; ``None`` for anything else."""
    if raw.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if raw.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if raw.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    return "webp" if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP" else None


def size_of(raw: bytes) -> tuple[int, int] | tuple[None, None]:
    """Width and height in pixels as the header of a PNG, GIF or JPEG has them."""
    try:
        if raw.startswith(b"\x89PNG"):
            # https://www.w3.org/TR/png-3/#11IHDR: the first part.
            width, height = struct.unpack(">II", raw[16:24])
            return width, height
        if raw.startswith(b"GIF8"):
            width, height = struct.unpack("<HH", raw[6:10])
            return width, height
        return _size_of_jpeg(raw)
    except struct.error:
        return None, None


def _size_of_jpeg(raw: bytes) -> tuple[int, int] | tuple[None, None]:
    """From segment to segment (ITU T.81, B.1.1.4) to the one that begins the frame."""
    at = 2
    while raw[at : at + 1] == b"\xff":
        marker, length = struct.unpack(">BH", raw[at + 1 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", raw[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None, None


def _read(path: Path) -> bytes | str:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            return "is not a file."
        if about.st_size > MAX_BYTES:
            return f"has {about.st_size / 1e6:.0f} MB; at most {MAX_BYTES // 1_000_000} MB are read."
        return path.read_bytes()
    except OSError as error:
        return f"cannot be read: {error.strerror or error}."
    except ValueError:
        return "has a path that cannot be."


def _decoded(text: str) -> bytes | str:
    # Notebooks and some programs wrap or prefix it.
    data = text.partition("base64,")[2] if text.startswith("data:") else text
    if len(data) > MAX_BYTES * 4 // 3 + 4:
        return f"is too large; at most {MAX_BYTES // 1_000_000} MB are taken."
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):
        return "is not valid base64."
