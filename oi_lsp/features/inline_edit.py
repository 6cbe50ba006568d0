"""Inline edits: begun, accepted, rejected, stopped. The code actions of plain clients call these commands."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from oi_lsp import protocol_documents as wire
from oi_lsp.document_tools import DocumentTools
from oi_lsp.features.handlers import Handlers, Queries

HANDLERS = Handlers()
QUERIES = Queries()


@HANDLERS.serves(wire.SelectionEdit)
def edit(tools: DocumentTools, params: wire.SelectionEdit) -> Coroutine[Any, Any, wire.SelectionEditResult]:
    """``oi.selection.edit``: answered when the disk has been looked at; the range is for the document as it is now."""
    return tools.edits.begin(params)


@HANDLERS.serves(wire.EditAccept)
def accept(tools: DocumentTools, params: wire.EditAccept) -> wire.EditRemaining:
    """``oi.edit.accept``."""
    return wire.EditRemaining(tools.edits.find(params.edit_id).accept(params.hunk_id))


@HANDLERS.serves(wire.EditReject)
def reject(tools: DocumentTools, params: wire.EditReject) -> wire.EditRemaining:
    """``oi.edit.reject``."""
    return wire.EditRemaining(tools.edits.find(params.edit_id).reject(params.hunk_id))


@HANDLERS.serves(wire.EditStop)
def stop(tools: DocumentTools, params: wire.EditStop) -> wire.EditStopResult:
    """``oi.edit.stop``."""
    return wire.EditStopResult(tools.edits.find(params.edit_id).stop())
