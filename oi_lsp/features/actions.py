"""Code actions and code lenses: answered at once, from what is known."""

from __future__ import annotations

from lsprotocol import types

from oi_lsp.editor import Editor
from oi_lsp.features.handlers import Queries
from oi_lsp.offers import KINDS, Place

QUERIES = Queries()

_ACTIONS = types.CodeActionOptions(code_action_kinds=list(KINDS), resolve_provider=False)


@QUERIES.serves(types.TEXT_DOCUMENT_CODE_ACTION, _ACTIONS)
def actions(editor: Editor, params: types.CodeActionParams) -> list[types.CodeAction]:
    """``textDocument/codeAction``."""
    document = editor.documents.get(params.text_document.uri)
    if document is None or not document.known:
        return []
    start, end = document.span(params.range)
    place = Place(document, start, end, tuple(params.context.diagnostics))
    return editor.offers.actions(place, params.context.only)


@QUERIES.serves(types.CODE_ACTION_RESOLVE)
def resolve(_: Editor, action: types.CodeAction) -> types.CodeAction:
    """``codeAction/resolve``, which some clients send though nothing is left to be said."""
    return action


@QUERIES.serves(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
def lenses(editor: Editor, params: types.CodeLensParams) -> list[types.CodeLens]:
    """``textDocument/codeLens``."""
    document = editor.documents.get(params.text_document.uri)
    return [] if document is None or not document.known else editor.offers.lenses(document)
