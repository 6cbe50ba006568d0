"""What acts on documents, put together: chats, the person's own files, inline edits, and looks into live kernels."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oi_lsp.chat_document.chats import Chats
    from oi_lsp.editor import Editor
    from oi_lsp.inline_edit.edits import Edits
    from oi_lsp.sources.looking import Looking
    from oi_lsp.sources.sources import Sources


class DocumentTools:
    """Each of them, once they are ``ready``: what plain queries are answered with before is nothing."""

    chats: Chats
    edits: Edits
    sources: Sources
    looking: Looking

    def __init__(self, editor: Editor) -> None:
        self.editor = editor
        self.ready = False

    async def load(self) -> None:
        """Get them. They take a while to be imported, and ``initialize`` is answered before."""
        chats = await asyncio.to_thread(import_module, "oi_lsp.chat_document.chats")
        sources = await asyncio.to_thread(import_module, "oi_lsp.sources.sources")
        looking = await asyncio.to_thread(import_module, "oi_lsp.sources.looking")
        edits = await asyncio.to_thread(import_module, "oi_lsp.inline_edit.edits")
        self.chats = chats.Chats(self.editor)
        self.sources = sources.Sources(self.editor, self.chats)
        self.looking = looking.Looking(self.editor, self.chats, self.sources)
        self.edits = edits.Edits(self.editor)
        # What is offered first is shown first.
        for tool in (self.edits, self.sources, self.chats):
            self.editor.offers.add(tool.offers)
        self.ready = True
