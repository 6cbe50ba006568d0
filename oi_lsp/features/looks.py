"""What a live kernel tells of the code under the cursor. Each looks for half a second at most."""

from __future__ import annotations

from lsprotocol import types

from oi_lsp.document_tools import DocumentTools
from oi_lsp.features.handlers import Handlers, Queries

HANDLERS = Handlers()
QUERIES = Queries()

_COMPLETIONS = types.CompletionOptions(trigger_characters=[".", "[", "%"], resolve_provider=False)


@QUERIES.serves(types.TEXT_DOCUMENT_HOVER, types.HoverOptions())
def hover(tools: DocumentTools, params: types.HoverParams) -> object:
    """``textDocument/hover``."""
    document = tools.editor.documents.get(params.text_document.uri)
    return tools.looking.hover(document, params.position) if document is not None and tools.ready else None


@QUERIES.serves(types.TEXT_DOCUMENT_COMPLETION, _COMPLETIONS)
def complete(tools: DocumentTools, params: types.CompletionParams) -> object:
    """``textDocument/completion``."""
    document = tools.editor.documents.get(params.text_document.uri)
    return tools.looking.complete(document, params.position) if document is not None and tools.ready else None
