"""The editor at the other end: what it has open, which folders, what it can be asked and told."""

from __future__ import annotations

import os

from lsprotocol import types

from oi_lsp.client import Client
from oi_lsp.diagnostics import Diagnostics
from oi_lsp.documents import Documents
from oi_lsp.host import SessionHost
from oi_lsp.offers import Offers
from oi_lsp.paths import path_of


class Editor:
    """What all that acts on documents works with."""

    def __init__(self, host: SessionHost, client: Client) -> None:
        self.host = host
        self.client = client
        self.documents = Documents()
        self.offers = Offers()
        self.diagnostics = Diagnostics(client.publish)
        self.folders: tuple[str, ...] = ()

    def begin(self, params: types.InitializeParams, encoding: types.PositionEncodingKind | str | None) -> None:
        """Take in what the client says of itself."""
        self.client.meet(params)
        self.documents.encoding = types.PositionEncodingKind(encoding or types.PositionEncodingKind.Utf16)
        self.host.encoding = self.documents.encoding
        uris = [folder.uri for folder in params.workspace_folders or []] or (
            [params.root_uri] if params.root_uri else []
        )
        paths = [path_of(uri) for uri in uris] or [params.root_path]
        self.change_folders([path for path in paths if path], [])

    def change_folders(self, added: list[str], removed: list[str]) -> None:
        """The client has other workspace folders; kernels start in the first."""
        kept = [folder for folder in self.folders if folder not in removed]
        self.folders = (*kept, *(folder for folder in added if folder not in kept and os.path.isdir(folder)))
        self.host.cwd = self.folders[0] if self.folders else ""

    @property
    def streams_into_documents(self) -> bool:
        """Whether text may be written into a document while the person types in it."""
        wanted = self.host.engine.settings.chat_document.stream
        # Eglot's idea of the document is behind by its idle time, and nothing tells how long that is.
        return wanted if wanted is not None else not self.client.name.startswith("Eglot")

    def inform(self, text: str) -> None:
        """Tell the person something."""
        self.client.show_message(types.MessageType.Info, text)

    def complain(self, text: str) -> None:
        """Tell the person what went wrong."""
        self.client.show_message(types.MessageType.Error, text)
