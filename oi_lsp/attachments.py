"""What the person attaches to a message: files, pieces of them, texts of the editor's, images.

Reading a file blocks: in a thread.
"""

from __future__ import annotations

import base64
import os
import stat
from typing import TYPE_CHECKING

from lsprotocol import types

from oi_lsp.documents import Document, lsp_range
from oi_lsp.paths import path_of
from oi_lsp.protocol_settings import FileAttachment, Range, TextAttachment
from oi_lsp.structure import InvalidField

if TYPE_CHECKING:
    from oi_engine.messages import Message

TEXT_SIZE = 256 * 1024
"""Bytes of text that one attachment may have."""
FILE_SIZE = 16 * 1024 * 1024
"""Bytes of a file that is read at all: for an image, or for a piece of it."""

_IMAGES = ((b"\x89PNG\r\n\x1a\n", "base64.png"), (b"\xff\xd8\xff", "base64.jpeg"))
_OTHER_IMAGES = (b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*")


def from_text(given: TextAttachment, where: str) -> Message:
    """A text that the editor has, as a message. Raises ``InvalidField``."""
    return _text_message(given.title, given.text, "", f"{where}.text")


def from_file(given: FileAttachment, where: str, encoding: types.PositionEncodingKind) -> Message:
    """A file, or a piece of it (in the units of the encoding), as a message. Raises ``InvalidField``."""
    from oi_engine.messages import Message

    path = path_of(given.uri)
    if path is None:
        raise InvalidField(f"{where}.uri", "must be a file: URI of this machine.")
    data = read_file(path, FILE_SIZE, f"{where}.uri")
    for begin, form in _IMAGES:
        if data.startswith(begin) and given.range is None:
            return Message("user", "image", base64.b64encode(data).decode("ascii"), form)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        hint = " Images can be attached as PNG or JPEG." if data.startswith(_OTHER_IMAGES) else ""
        raise InvalidField(f"{where}.uri", f"is not a file of text in UTF-8.{hint}") from None
    title = path
    if given.range is not None:
        text = piece(text, given.range, f"{where}.range", encoding)
        first, last = given.range.start.line + 1, max(_last_line(given.range), given.range.start.line + 1)
        title += f" (line {first})" if first == last else f" (lines {first} to {last})"
    return _text_message(title, text, os.path.splitext(path)[1][1:], f"{where}.uri")


def read_file(path: str, limit: int, where: str) -> bytes:
    """The bytes of an ordinary file. Raises ``InvalidField``."""
    try:
        # Opening a pipe that nobody writes to would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InvalidField(where, "is not a file: a folder, or a device.")
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:  # ValueError: a null in the name
        reason = getattr(error, "strerror", None) or error
        raise InvalidField(where, f"cannot be read: {reason}.") from None
    if len(data) > limit:
        raise InvalidField(where, f"is larger than {limit:,} bytes, the most that is read.")
    return data


def piece(text: str, wanted: Range, where: str, encoding: types.PositionEncodingKind) -> str:
    """The part of a text that a range of LSP's means; what reaches over the end of a line or the text is cut there.

    Raises ``InvalidField``.
    """
    place = lsp_range(wanted, where)
    if place.end < place.start:
        raise InvalidField(where, "must end where it begins or later.")
    document = Document("", "", None, text, encoding)
    if place.start.line >= document.line_count:
        raise InvalidField(
            where, f"begins at line {place.start.line + 1}, and the file has {document.line_count}. Is it saved?"
        )
    return text[document.offset(place.start) : document.offset(place.end)]


def _last_line(wanted: Range) -> int:
    """The last line that a range has something of, counted from 1."""
    return wanted.end.line + 1 if wanted.end.character else wanted.end.line


def _text_message(title: str, text: str, language: str, where: str) -> Message:
    """A message of the type ``file``, its format ``text``: what it is, and the text in a fence."""
    from oi_engine.messages import Message
    from oi_engine.models.units import fenced

    size = len(text.encode())
    if size > TEXT_SIZE:
        problem = f"has {size:,} bytes of text; at most {TEXT_SIZE:,} are attached. Attach a piece of it."
        raise InvalidField(where, problem)
    if "\0" in text:
        raise InvalidField(where, "is not text.")
    return Message("user", "file", f"{title}\n\n{fenced(language, text)}", "text")
