"""The person's own files: what is run and asked from them, and what came of it."""

from __future__ import annotations

from lsprotocol import types

from oi_lsp import protocol_documents as wire
from oi_lsp.editor import Editor
from oi_lsp.features.handlers import Handlers, Queries

HANDLERS = Handlers()
QUERIES = Queries()


@HANDLERS.serves(wire.SelectionRun)
def run(editor: Editor, params: wire.SelectionRun) -> object:
    """``oi.selection.run``."""
    return editor.sources.run(params)


@HANDLERS.serves(wire.SelectionAsk)
def ask(editor: Editor, params: wire.SelectionAsk) -> object:
    """``oi.selection.ask``."""
    return editor.sources.ask(params)


@HANDLERS.serves(wire.DiagnosticExplain)
def explain(editor: Editor, params: wire.DiagnosticExplain) -> object:
    """``oi.diagnostic.explain``."""
    return editor.sources.explain(params)


@QUERIES.serves(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintOptions(resolve_provider=False))
def hints(editor: Editor, params: types.InlayHintParams) -> list[types.InlayHint]:
    """``textDocument/inlayHint``."""
    return editor.sources.hints(params.text_document.uri, params.range) if editor.equipped else []
