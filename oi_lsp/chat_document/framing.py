"""A chat document with its front matter, also while that is on its way into the client's text.

Until it is there, places in the document as it will be are other places in the text as it is, and what goes between the
front matter and the person's heading has to be kept apart from both.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

from attrs import define, field, frozen

from oi_lsp.anchors import Anchor
from oi_lsp.chat_document.document import ChatDocument
from oi_lsp.chat_document.frame import frame, with_edits
from oi_lsp.chat_document.parse import parse
from oi_lsp.document_writer import DocumentWriter


@frozen
class Framed:
    """``document`` is as it will be, ``shift`` how much longer it is, before what the person wrote, than it is now.

    ``least`` is where the person's own begins now.
    """

    document: ChatDocument
    shift: int = 0
    least: int = 0

    def place(self, offset: int) -> int:
        """Where it is now what will be at ``offset``; what is to be written, it stands behind."""
        return max(offset - self.shift, self.least)


@define(eq=False)
class Framing:
    """Frames one document. ``read`` answers what it says now."""

    writer: DocumentWriter
    read: Callable[[], ChatDocument]
    _nonce: str = ""
    _begun: list[Anchor] = field(factory=list)
    """Where the front matter and the rest of the frame were to be written."""

    def framed(self) -> Framed:
        """The document with its frame, which is written where it is missing."""
        now = self.read()
        if now.nonce is not None:
            return Framed(now)
        written = not any(map(self.writer.waits_at, self._begun))
        if written:
            self._nonce = secrets.token_hex(2)
        edits = frame(now, self._nonce)
        if written:
            self._begun = [self.writer.anchor(edit.at) for edit in edits]
            for anchor, edit in zip(self._begun, edits, strict=True):
                self.writer.insert(anchor, edit.text, whole=True)
            self.writer.flush()
        text = with_edits(now.text, edits)
        return Framed(parse(text), len(text) - len(now.text), edits[-1].at)

    def below_front_matter(self) -> Anchor:
        """A place between the front matter and the first heading, behind all that were asked for before."""
        heading = self._begun[-1] if self._begun else None
        if heading is not None and self.writer.waits_at(heading):
            return self.writer.anchor_before(heading)
        return self.writer.anchor(self.read().front_matter[1])
