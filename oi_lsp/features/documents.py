"""What the client says of its documents and folders, and of what it shows of them."""

from __future__ import annotations

from lsprotocol import types

from oi_lsp.editor import Editor
from oi_lsp.features.handlers import Queries
from oi_lsp.paths import path_of

QUERIES = Queries()


@QUERIES.serves(types.TEXT_DOCUMENT_DID_OPEN)
def opened(editor: Editor, params: types.DidOpenTextDocumentParams) -> None:
    """``textDocument/didOpen``."""
    editor.documents.open(params)


@QUERIES.serves(types.TEXT_DOCUMENT_DID_CHANGE)
def changed(editor: Editor, params: types.DidChangeTextDocumentParams) -> None:
    """``textDocument/didChange``."""
    editor.documents.change(params)


@QUERIES.serves(types.TEXT_DOCUMENT_DID_SAVE)
def saved(editor: Editor, params: types.DidSaveTextDocumentParams) -> None:
    """``textDocument/didSave``."""
    editor.documents.save(params)


@QUERIES.serves(types.TEXT_DOCUMENT_DID_CLOSE)
def closed(editor: Editor, params: types.DidCloseTextDocumentParams) -> None:
    """``textDocument/didClose``."""
    editor.documents.close(params)


@QUERIES.serves(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
def folders_changed(editor: Editor, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """``workspace/didChangeWorkspaceFolders``."""
    added, removed = ([path_of(folder.uri) for folder in each] for each in (params.event.added, params.event.removed))
    editor.change_folders([path for path in added if path], [path for path in removed if path])


@QUERIES.serves(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
def progress_cancelled(editor: Editor, params: types.WorkDoneProgressCancelParams) -> None:
    """``window/workDoneProgress/cancel``."""
    editor.client.cancel_progress(params)
