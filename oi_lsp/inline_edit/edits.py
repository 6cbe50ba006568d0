"""The inline edits of one client: begun, found, shown in every document that they are in, and let go of."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from oi_engine.edits.alignment import Change
from oi_engine.edits.ask import Passage, whole_lines
from oi_engine.edits.proposal import Proposal
from oi_engine.edits.targets import may_create, may_edit
from oi_engine.errors import EditError, EditRefused
from oi_engine.models.model import Usage
from oi_lsp import protocol_documents as wire
from oi_lsp.documents import Document, lsp_range
from oi_lsp.inline_edit.comments import oi_comments
from oi_lsp.inline_edit.edit import InlineEdit
from oi_lsp.inline_edit.feed import EditFeed
from oi_lsp.inline_edit.pens import DocumentPen, FilePen, Pen
from oi_lsp.inline_edit.shown import diagnostics_of, offer_of, offers_of, preview, title_of
from oi_lsp.offers import Offer, Place
from oi_lsp.paced import Paced
from oi_lsp.paths import path_of
from oi_lsp.structure import InvalidField

if TYPE_CHECKING:
    from oi_engine.session.session import Session
    from oi_lsp.editor import Editor

KEPT = 20
"""So many edits whose hunks are all decided are followed, so that an undo is seen; the oldest are forgotten first."""

DRAWING = 0.2
"""Seconds at least between two times that a document's diagnostics are made."""

_CHAT = ".oi.md"
_OWNER = "edits"


class Edits:
    """The inline edits of one client."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._edits: dict[str, InlineEdit] = {}
        self._feeds: dict[str, EditFeed] = {}
        self._pens: dict[Document, DocumentPen] = {}
        self._draws: dict[Document, Paced] = {}
        self._offered: dict[Document, object] = {}
        self._noted: dict[Document, object] = {}
        self._sessions: dict[str, Session] = {}
        self._ids = count(1)
        self._spent = 0.0
        editor.documents.on_close(self._closed)

    def find(self, edit_id: str) -> InlineEdit:
        """The edit with that id. Raises ``EditError``."""
        edit = self._edits.get(edit_id)
        if edit is None:
            raise EditError(f"There is no edit {edit_id} (any more).", "Ask for it again.")
        return edit

    # --- beginning ---------------------------------------------------------------------------------------------

    def begin(self, params: wire.SelectionEdit) -> Coroutine[Any, Any, wire.SelectionEditResult]:
        """Begin an edit, once the disk has been looked at. Where it is meant is settled when this is called.

        Raises ``InvalidField``, ``UnknownSession``, ``SessionBusy``, and when awaited ``EditRefused``.
        """
        if not params.instruction.strip():
            raise InvalidField("instruction", "is empty.")
        session = None if params.session_id is None else self._editor.host.live(params.session_id)
        document = self._editor.documents.get(params.uri)
        if document is None:
            return self._begin_new(params, session)
        if not document.known:
            raise EditRefused("What the editor has in this document is not known.", "Close it, and open it again.")
        text = document.text
        start, end = (0, len(text)) if params.range is None else document.span(lsp_range(params.range))
        return self._begin_in(document, Proposal("", text, start, end), params, session)

    async def _begin_in(
        self, document: Document, meant: Proposal, params: wire.SelectionEdit, session: Session | None
    ) -> wire.SelectionEditResult:
        await asyncio.to_thread(_check, params.uri, self._folders)
        if document.closed:
            raise EditRefused("The document was closed.", "Open it again.")
        # The person may have gone on typing meanwhile.
        if document.text != meant.text:
            meant.changed(Change(0, len(meant.text), document.text))
        start, end = whole_lines(document.text, *meant.range)
        for edit in self._of(document):
            if _overlap(edit.proposal.range, (start, end)):
                edit.supersede()
        pen = self._pens.setdefault(document, DocumentPen(document, self._editor.client))
        return self._asked(document, (start, end), pen, params, session)

    async def _begin_new(self, params: wire.SelectionEdit, session: Session | None) -> wire.SelectionEditResult:
        path = await asyncio.to_thread(_new_file, params.uri, self._folders)
        document = Document(params.uri, path.suffix.removeprefix("."), None, "", self._editor.documents.encoding)
        pen = FilePen(path, self._folders, lambda: self._editor.host.spawn(self._show(params.uri)))
        return self._asked(document, (0, 0), pen, params, session)

    async def _show(self, uri: str) -> None:
        if not await self._editor.client.show_document(uri):
            self._editor.inform(f"The new file is {path_of(uri)}.")

    def _asked(
        self, document: Document, place: tuple[int, int], pen: Pen, params: wire.SelectionEdit, session: Session | None
    ) -> wire.SelectionEditResult:
        host, edit_id = self._editor.host, f"e{next(self._ids)}"
        title = title_of(params.instruction)
        proposal = Proposal(edit_id, document.text, *place)
        edit = self._edits[edit_id] = InlineEdit(edit_id, title, document, proposal, pen, self, host.spawn)
        if session is not None:
            self._sessions[edit_id] = session
        if host.speaks:
            self._feeds[edit_id] = EditFeed(edit, host.outbox.wake)
        passage = Passage(document.text, *place, params.instruction, document.language_id, self._name(params.uri))
        progress = self._editor.client.progress(title, edit.stop)
        edit.ask(lambda: host.engine.edit(passage, session, spent=self._spent), progress)
        self.on_news(edit)
        return wire.SelectionEditResult(edit_id)

    @property
    def _folders(self) -> list[Path]:
        return [Path(folder) for folder in self._editor.folders]

    def _name(self, uri: str) -> str:
        path = path_of(uri) or ""
        within = next((folder for folder in self._editor.folders if Path(path).is_relative_to(folder)), None)
        return os.path.relpath(path, within) if within else os.path.basename(path)

    # --- what becomes of them (edit.Owner) ---------------------------------------------------------------------

    def on_news(self, edit: InlineEdit) -> None:
        """Have it drawn, and told to the client."""
        document = edit.document
        if edit.id in self._feeds:
            self._feeds[edit.id].news()
        if not document.closed:
            self._draws.setdefault(document, Paced(DRAWING, partial(self._draw, document))).ask()

    def on_spent(self, edit: InlineEdit, usage: Usage) -> None:
        """Count it, for the session or for all edits that have none."""
        session = self._sessions.get(edit.id)
        if session is not None:
            session.count(usage)
        else:
            self._spent += usage.cost or 0.0

    def on_trouble(self, edit: InlineEdit, problem: str) -> None:
        """Say it."""
        self._editor.complain(problem)

    def on_streamed(self, edit: InlineEdit) -> None:
        """Say what came of it, where the client is not told by notifications."""
        if self._editor.host.speaks:
            return
        if edit.error:
            self._editor.complain(edit.error)
        elif not edit.hunks:
            self._editor.inform("\n\n".join(filter(None, (f"{edit.title}: nothing is to be changed.", edit.comment))))
        else:
            if edit.comment:
                self._editor.inform(edit.comment)
            if self._is_new(edit.document):
                self._editor.host.spawn(self._offer_file(edit))

    async def _offer_file(self, edit: InlineEdit) -> None:
        """A new file has no document in which something could be shown: ask."""
        path, text = path_of(edit.document.uri), "".join(hunk.new for hunk in edit.hunks)
        answer = await self._editor.client.show_message_request(
            types.MessageType.Info, f"Create {path}?\n{preview(text)}", ("Reject", "Create")
        )
        if answer == "Create":
            edit.accept()
        elif answer == "Reject":
            edit.reject()
        else:
            self._editor.inform(f"A new file waits to be created, {path}: send oi.edit.accept for {edit.id}.")

    # --- showing them ------------------------------------------------------------------------------------------

    def _draw(self, document: Document) -> None:
        """Show the edits of a document as they are, and let go of those in which nothing can happen any more."""
        self._tidy(document)
        if self._is_new(document):
            return
        edits = self._of(document)
        if not self._editor.host.speaks:
            found = [each for edit in edits for each in diagnostics_of(edit)]
            told = [(each.range, each.message) for each in found]
            if told != self._noted.get(document, []):
                self._noted[document] = told
                self._editor.diagnostics.set(_OWNER, document.uri, found)
        offered = [(edit.id, edit.stage, edit.open) for edit in edits]
        if offered != self._offered.get(document, []):
            self._offered[document] = offered
            self._editor.client.refresh_code_lenses()

    def _tidy(self, document: Document) -> None:
        # A new file has no undo.
        undoable = () if self._is_new(document) else ("accepted", "stale")
        settled = [edit for edit in self._of(document) if edit.settled]
        kept = [edit for edit in settled if any(hunk.state in undoable for hunk in edit.hunks)]
        for edit in settled:
            if edit not in kept[-KEPT:]:
                self._let_go(edit)
        if self._is_new(document) and not self._of(document):
            self._draws.pop(document, None)

    def _let_go(self, edit: InlineEdit) -> None:
        edit.close()
        self._edits.pop(edit.id, None)
        self._feeds.pop(edit.id, None)
        self._sessions.pop(edit.id, None)

    def _closed(self, document: Document) -> None:
        for edit in self._of(document):
            self._let_go(edit)
        self._pens.pop(document, None)
        self._offered.pop(document, None)
        if self._noted.pop(document, None):
            self._editor.diagnostics.set(_OWNER, document.uri, [])
        draw = self._draws.pop(document, None)
        if draw is not None:
            draw.cancel()

    def _of(self, document: Document) -> list[InlineEdit]:
        return [edit for edit in self._edits.values() if edit.document is document]

    def _is_new(self, document: Document) -> bool:
        """Whether it is no document of the client's, but a file that may be written."""
        return self._editor.documents.get(document.uri) is not document

    def offers(self, place: Place) -> Iterator[Offer]:
        edits = self._of(place.document)
        for edit in edits:
            yield from offers_of(edit)
        if place.document.uri.endswith(_CHAT):
            return
        taken = [edit.proposal.range for edit in edits if not edit.settled]
        for comment in oi_comments(place.document, place.start, place.end):
            if not any(_overlap(each, (comment.block_start, comment.block_end)) for each in taken):
                yield offer_of(comment, place)


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two ranges have a character in common, or are empty at one place."""
    return one == other or (one[0] < other[1] and other[0] < one[1])


def _check(uri: str, folders: list[Path]) -> None:
    """See whether a document that is open may be edited. In a thread. Raises ``EditRefused``."""
    if uri.startswith("untitled:"):
        return
    path = _path(uri)
    if os.path.lexists(path):
        may_edit(path, folders)
    else:
        may_create(path, folders)


def _new_file(uri: str, folders: list[Path]) -> Path:
    """The file that a document that is not open will be. In a thread. Raises ``EditRefused``."""
    path = _path(uri)
    if os.path.lexists(path):
        may_edit(path, folders)
        raise EditRefused(f"{path} is not open in the editor.", "Open it first.")
    may_create(path, folders)
    return path


def _path(uri: str) -> Path:
    path = path_of(uri)
    if path is None:
        raise EditRefused(f"{uri} is no file on this machine.", "Save it as one first.")
    return Path(path)
