"""The person's own files: what is run and asked from them, and what came of it."""

from __future__ import annotations

from lsprotocol import types

from oi_lsp import protocol_documents as wire
from oi_lsp.document_tools import DocumentTools
from oi_lsp.features.handlers import Handlers, Queries

HANDLERS = Handlers()
QUERIES = Queries()


@HANDLERS.serves(wire.SelectionRun)
def run(tools: DocumentTools, params: wire.SelectionRun) -> object:
    """``oi.selection.run``."""
    return tools.sources.run(params)


@HANDLERS.serves(wire.SelectionAsk)
def ask(tools: DocumentTools, params: wire.SelectionAsk) -> object:
    """``oi.selection.ask``."""
    return tools.sources.ask(params)


@HANDLERS.serves(wire.DiagnosticExplain)
def explain(tools: DocumentTools, params: wire.DiagnosticExplain) -> object:
    """``oi.diagnostic.explain``."""
    return tools.sources.explain(params)


@QUERIES.serves(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintOptions(resolve_provider=False))
def hints(tools: DocumentTools, params: types.InlayHintParams) -> list[types.InlayHint]:
    """``textDocument/inlayHint``."""
    return tools.sources.hints(params.text_document.uri, params.range) if tools.ready else []
