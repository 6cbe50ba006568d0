"""Chat documents: what is done in them. The code actions of plain clients call these commands."""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Coroutine
from typing import Any

from oi_lsp import protocol_documents as wire
from oi_lsp.editor import Editor
from oi_lsp.features.handlers import Handlers, Queries
from oi_lsp.fields import Nothing
from oi_lsp.structure import InvalidField

HANDLERS = Handlers()
QUERIES = Queries()


@HANDLERS.serves(wire.DocumentNew)
async def new(editor: Editor, params: wire.DocumentNew) -> wire.DocumentNewResult:
    """``oi.document.new``."""
    folder = params.folder or editor.host.cwd
    if not (os.path.isabs(folder) and await asyncio.to_thread(os.path.isdir, folder)):
        raise InvalidField("folder", "must be the absolute path of a directory that exists.")
    uri = await editor.chats.make(folder)
    editor.host.spawn(editor.chats.show(uri))
    return wire.DocumentNewResult(uri)


@HANDLERS.serves(wire.DocumentLoad)
async def load(editor: Editor, params: wire.DocumentLoad) -> Nothing:
    """``oi.document.load``."""
    editor.chats.find(params.uri)
    hosted = await editor.host.open(params.conversation_id)
    await editor.chats.load(params.uri, hosted.session)
    return Nothing()


@HANDLERS.serves(wire.DocumentSend)
def send(editor: Editor, params: wire.DocumentSend) -> wire.Started | Coroutine[Any, Any, wire.Started]:
    """``oi.document.send``."""
    chat = editor.chats.find(params.uri)
    return chat.send() if params.text is None else chat.say(params.text)


@HANDLERS.serves(wire.DocumentRun)
def run(editor: Editor, params: wire.DocumentRun) -> wire.Started:
    """``oi.document.run``."""
    return editor.chats.find(params.uri).run(params.block)


@HANDLERS.serves(wire.DocumentReject)
def reject(editor: Editor, params: wire.DocumentReject) -> Nothing:
    """``oi.document.reject``."""
    editor.chats.find(params.uri).reject(params.block, params.reason)
    return Nothing()


@HANDLERS.serves(wire.DocumentAnswer)
def answer(editor: Editor, params: wire.DocumentAnswer) -> Nothing:
    """``oi.document.answer``."""
    editor.chats.find(params.uri).answer(params.block)
    return Nothing()


@HANDLERS.serves(wire.DocumentStop)
def stop(editor: Editor, params: wire.DocumentStop) -> wire.DocumentStopResult:
    """``oi.document.stop``."""
    return wire.DocumentStopResult(editor.chats.find(params.uri).stop())


@HANDLERS.serves(wire.DocumentRemove)
def remove(editor: Editor, params: wire.DocumentRemove) -> Nothing:
    """``oi.document.remove``."""
    editor.chats.find(params.uri).remove(params.answer)
    return Nothing()
