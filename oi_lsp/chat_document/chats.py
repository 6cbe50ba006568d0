"""The chat documents that there are: found by their URI, made anew, kept when the client closes one."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from oi_lsp import protocol_documents as wire
from oi_lsp.chat_document.chat import DocumentChat
from oi_lsp.chat_document.frame import new_document
from oi_lsp.chat_document.on_disk import OnDisk
from oi_lsp.documents import Document
from oi_lsp.offers import Offer, Place
from oi_lsp.paths import is_inside, path_of
from oi_lsp.structure import InvalidField

if TYPE_CHECKING:
    from oi_engine.session.session import Session
    from oi_lsp.editor import Editor

log = logging.getLogger(__name__)

SUFFIX = ".oi.md"
ARRIVAL = 5.0
"""Seconds that a client which says that it shows a document has to say that it opened it."""


class Chats:
    """The chat documents of one client."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._chats: dict[str, DocumentChat] = {}
        self._sessions: dict[str, Session] = {}
        self._arrivals: dict[str, asyncio.Event] = {}
        self._making = asyncio.Lock()
        self._asked = 0
        editor.documents.on_open(self._opened)
        editor.documents.on_save(self._saved)
        editor.documents.on_close(self._closed)

    def get(self, uri: str) -> DocumentChat | None:
        """The chat document of that URI, if there is one."""
        return self._chats.get(uri)

    def find(self, uri: str) -> DocumentChat:
        """The chat document of that URI. Raises ``InvalidField``, and ``OiError`` where what is in it is unknown."""
        from oi_engine.errors import OiError

        chat = self._chats.get(uri)
        if chat is None:
            raise InvalidField("uri", f"is no chat document ({SUFFIX}) that is open.")
        if not chat.document.known:
            raise OiError("A change of this document could not be read.", "Close it and open it again.")
        return chat

    async def load(self, uri: str, session: Session) -> None:
        """Have a stored conversation go on in a document, but not in two. Raises as ``find``."""
        from oi_engine.errors import OiError

        chat = self.find(uri)
        others = (each for each in self._chats.values() if each.session is session and each is not chat)
        if (other := next(others, None)) is not None:
            raise OiError("This conversation goes on in another document.", f"It is {other.document.uri}.")
        for closed in [name for name, kept in self._sessions.items() if kept is session]:
            del self._sessions[closed]
        await chat.load(session)

    async def make(self, folder: str) -> str:
        """Write a new chat document into a folder. Answers its URI. Raises ``OSError``."""
        return (await asyncio.to_thread(_written, Path(folder))).as_uri()

    async def show(self, uri: str) -> DocumentChat:
        """Have the client open a chat document; where it does not, go on in the file."""
        arrival = self._arrivals.setdefault(uri, asyncio.Event())
        try:
            if uri not in self._chats and await self._editor.client.show_document(uri, focus=False):
                async with asyncio.timeout(ARRIVAL):
                    await arrival.wait()
        except TimeoutError:
            log.info("The client did not open %s.", uri)
        finally:
            self._arrivals.pop(uri, None)
        if uri not in self._chats:
            path = path_of(uri) or ""
            on_disk = await OnDisk.open(Path(path), uri)
            if uri not in self._chats:
                self._chats[uri] = DocumentChat(self._editor, on_disk.document, on_disk)
                self._editor.inform(f"The answer is written to {path}.")
        return self._chats[uri]

    def near(self, uri: str) -> DocumentChat | None:
        """The chat document for what is asked in a file: the one of its workspace folder that was used last.

        ``None`` also while somebody waits in ``beside``: what is asked then comes after what they ask, by ``beside``.
        """
        return None if self._asked else self._near(uri)

    def _near(self, uri: str) -> DocumentChat | None:
        folder = self._folder_of(uri)
        for chat in sorted(self._chats.values(), key=lambda chat: chat.used, reverse=True):
            if is_inside(path_of(chat.document.uri) or folder, folder):
                return chat
        return None

    async def beside(self, uri: str) -> DocumentChat:
        """The same, or a new one where there is none. Raises ``OiError`` where none can be made."""
        from oi_engine.errors import OiError

        self._asked += 1
        try:
            async with self._making:  # who asks meanwhile gets the one that is being made
                return self._near(uri) or await self.show(await self.make(self._folder_of(uri)))
        except OSError as error:
            problem = f"No chat document can be written into {self._folder_of(uri)}: {error.strerror or error}."
            raise OiError(problem, f"Open one from elsewhere, a file that ends in {SUFFIX}.") from None
        finally:
            self._asked -= 1

    def _folder_of(self, uri: str) -> str:
        path = path_of(uri) or ""
        folder = next((folder for folder in self._editor.folders if path and is_inside(path, folder)), "")
        return folder or (os.path.dirname(path) if path else self._editor.host.cwd or os.getcwd())

    def _opened(self, document: Document) -> None:
        if not document.uri.endswith(SUFFIX):
            return
        if document.uri in self._chats:
            # It is being written to on disk: the client gets it when that is over, and has the file's text by then.
            self._editor.host.spawn(self._taken_over(document))
        else:
            self._take(document)
        if (arrival := self._arrivals.get(document.uri)) is not None:
            arrival.set()

    async def _taken_over(self, document: Document) -> None:
        chat = self._chats[document.uri]
        await chat.idle()
        if not document.closed and self._chats.get(document.uri) is chat:
            self._end(chat)
            self._take(document)

    def _take(self, document: Document) -> None:
        session = self._sessions.pop(document.uri, None)
        self._chats[document.uri] = DocumentChat(self._editor, document, self._editor.client, session)

    def _end(self, chat: DocumentChat) -> None:
        """Close a chat, and keep its session with its kernels for when the document is opened again."""
        del self._chats[chat.document.uri]
        session = chat.close()
        if session is not None:
            self._sessions[chat.document.uri] = session

    def _saved(self, document: Document) -> None:
        chat = self._chats.get(document.uri)
        if chat is not None:
            chat.saved()

    def _closed(self, document: Document) -> None:
        chat = self._chats.get(document.uri)
        if chat is not None and chat.document is document:
            self._end(chat)

    def offers(self, place: Place) -> Iterator[Offer]:
        chat = self._chats.get(place.document.uri)
        if chat is not None:
            yield from chat.offers(place)
        elif place.document.uri.startswith("file:") and not self._editor.host.streams:
            # Those that stream have a panel of their own.
            yield Offer("New chat", "oi.document.new", wire.DocumentNew(), place.start, place.end, lens=False)


def _written(folder: Path) -> Path:
    today = date.today().isoformat()  # noqa: DTZ011 -- the person's own day
    number = 1
    while True:
        path = folder / f"chat-{today}{f'-{number}' if number > 1 else ''}{SUFFIX}"
        try:
            with path.open("xb") as file:
                file.write(new_document(secrets.token_hex(2)).encode())
        except FileExistsError:
            number += 1
        else:
            return path
