"""A chat document that the client does not have open: its text is in the file, and edits are made there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from lsprotocol import types

from oi_lsp.client import Applied, DocumentEdit, EditAnswer, Refused
from oi_lsp.documents import Document


class OnDisk:
    """Stands in for the client: what it is asked to change in ``document``, it changes in the file.

    What somebody else writes into the file meanwhile is taken into ``document`` as the client's changes would be.
    """

    def __init__(self, path: Path, document: Document) -> None:
        self.document = document
        self._path = path
        self._written = document.text

    @classmethod
    async def open(cls, path: Path, uri: str) -> OnDisk:
        """The file as it is now. Raises ``OSError``; ``UnicodeDecodeError`` for a file that is not UTF-8."""
        text = await asyncio.to_thread(_read, path)
        return cls(path, Document(uri, "markdown", 0, text, types.PositionEncodingKind.Utf32))

    async def apply_edit(self, label: str, document_edits: Sequence[DocumentEdit], time: float = 0.0) -> EditAnswer:
        """Make the edits. ``label`` and ``time`` are for clients that a person looks at."""
        document = self.document
        try:
            there = await asyncio.to_thread(_read, self._path)
        except (OSError, UnicodeDecodeError) as error:
            return Refused(f"{self._path} cannot be read: {error}")
        if there != self._written:
            self._written = there
            document.version = (document.version or 0) + 1
            document.replace_all(there)
            return Refused("The file was changed by somebody else.")
        for edit in document_edits:
            if isinstance(edit, types.TextDocumentEdit):
                self._apply(edit)
        text = document.text
        try:
            await asyncio.to_thread(_write, self._path, text)
        except OSError as error:
            # The text is in the document, and in the file with the next edit that can be written.
            return Refused(f"{self._path} cannot be written: {error}")
        self._written = text
        return Applied()

    def _apply(self, edit: types.TextDocumentEdit) -> None:
        version = (self.document.version or 0) + 1
        # Ranges of one edit are those of the text before it, so that the last one goes first.
        for change in sorted(edit.edits, key=lambda each: (each.range.start.line, each.range.start.character))[::-1]:
            if isinstance(change, types.TextEdit):
                part = types.TextDocumentContentChangePartial(text=change.new_text, range=change.range)
                self.document.apply(part, version)


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _write(path: Path, text: str) -> None:
    # Whole beside it first, so that whoever reads it never sees half.
    aside = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        aside.write_bytes(text.encode("utf-8", "replace"))
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
