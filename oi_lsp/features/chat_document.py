"""Chat documents: what is done in them. The code actions of plain clients call these commands."""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Coroutine
from typing import Any

from oi_lsp import protocol_documents as wire
from oi_lsp.document_tools import DocumentTools
from oi_lsp.features.handlers import Handlers, Queries
from oi_lsp.fields import Nothing
from oi_lsp.structure import InvalidField

HANDLERS = Handlers()
QUERIES = Queries()


@HANDLERS.serves(wire.DocumentNew)
async def new(tools: DocumentTools, params: wire.DocumentNew) -> wire.DocumentNewResult:
    """``oi.document.new``."""
    folder = params.folder or tools.editor.host.cwd
    if not (os.path.isabs(folder) and await asyncio.to_thread(os.path.isdir, folder)):
        raise InvalidField("folder", "must be the absolute path of a directory that exists.")
    uri = await tools.chats.make(folder)
    tools.editor.host.spawn(tools.chats.show(uri))
    return wire.DocumentNewResult(uri)


@HANDLERS.serves(wire.DocumentLoad)
async def load(tools: DocumentTools, params: wire.DocumentLoad) -> Nothing:
    """``oi.document.load``."""
    tools.chats.find(params.uri)
    hosted = await tools.editor.host.open(params.conversation_id)
    await tools.chats.load(params.uri, hosted.session)
    return Nothing()


@HANDLERS.serves(wire.DocumentSend)
def send(tools: DocumentTools, params: wire.DocumentSend) -> wire.Started | Coroutine[Any, Any, wire.Started]:
    """``oi.document.send``."""
    chat = tools.chats.find(params.uri)
    return chat.send() if params.text is None else chat.say(params.text)


@HANDLERS.serves(wire.DocumentRun)
def run(tools: DocumentTools, params: wire.DocumentRun) -> wire.Started:
    """``oi.document.run``."""
    return tools.chats.find(params.uri).run(params.block)


@HANDLERS.serves(wire.DocumentReject)
def reject(tools: DocumentTools, params: wire.DocumentReject) -> Nothing:
    """``oi.document.reject``."""
    tools.chats.find(params.uri).reject(params.block, params.reason)
    return Nothing()


@HANDLERS.serves(wire.DocumentScan)
def scan(tools: DocumentTools, params: wire.DocumentScan) -> Nothing:
    """``oi.document.scan``."""
    tools.chats.find(params.uri).scan(params.block)
    return Nothing()


@HANDLERS.serves(wire.DocumentAnswer)
def answer(tools: DocumentTools, params: wire.DocumentAnswer) -> Nothing:
    """``oi.document.answer``."""
    tools.chats.find(params.uri).answer(params.block)
    return Nothing()


@HANDLERS.serves(wire.DocumentStop)
def stop(tools: DocumentTools, params: wire.DocumentStop) -> wire.DocumentStopResult:
    """``oi.document.stop``."""
    return wire.DocumentStopResult(tools.chats.find(params.uri).stop())


@HANDLERS.serves(wire.DocumentRemove)
def remove(tools: DocumentTools, params: wire.DocumentRemove) -> Nothing:
    """``oi.document.remove``."""
    tools.chats.find(params.uri).remove(params.answer)
    return Nothing()
