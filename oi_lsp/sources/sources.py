"""What can be done with the person's own files: run a piece, ask about it, have a problem explained.

In a plain client that goes to the chat document beside the file; a client that shows chunks gets it in a session.
"""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from oi_engine.errors import OiError
from oi_lsp import protocol_documents as wire
from oi_lsp.attachments import FILE_SIZE, read_file
from oi_lsp.chat_document.chats import SUFFIX, Chats
from oi_lsp.documents import Document, lsp_range
from oi_lsp.offers import QUICK, Offer, Place
from oi_lsp.paths import path_of
from oi_lsp.protocol_settings import Position, Range
from oi_lsp.sources.pieces import Piece, piece_of, reach
from oi_lsp.sources.quotes import explanation, quote
from oi_lsp.sources.results import Results, Run
from oi_lsp.structure import InvalidField, shortened

if TYPE_CHECKING:
    from oi_engine.messages import Message
    from oi_engine.session.session import Session
    from oi_engine.session.state import Ticket
    from oi_lsp.chat_document.chat import DocumentChat
    from oi_lsp.editor import Editor

Soon = wire.SelectionStarted | Coroutine[Any, Any, wire.SelectionStarted]
"""An answer, or the work that it takes where the file has to be read first."""

OWNER = "results"
PROBLEMS = 5
"""The most problems at one place that are offered to be explained."""
_LANGUAGE_IDS = {"shellscript": "shell"}
"""Names that editors have for a language and nobody else."""


class Sources:
    """The person's own files, as far as code of them is run or asked about."""

    def __init__(self, editor: Editor, chats: Chats) -> None:
        self._editor = editor
        self._chats = chats
        self._results: dict[str, Results] = {}
        self._sessions: dict[str, Session] = {}
        editor.documents.on_close(self._closed)

    # --- what the person does ----------------------------------------------------------------------------------

    def run(self, params: wire.SelectionRun) -> Soon:
        """Run a piece of a file. Raises ``InvalidField``, ``OiError``."""
        return self._with(params, lambda document: self._run(document, params))

    def ask(self, params: wire.SelectionAsk) -> Soon:
        """Ask the model about a piece of a file, or have the person write the question. Raises as ``run``."""
        return self._with(params, lambda document: self._ask(document, params))

    def explain(self, params: wire.DiagnosticExplain) -> Soon:
        """Ask the model to explain a problem in a file. Raises as ``run``."""
        return self._with(params, lambda document: self._explain(document, params))

    def hints(self, uri: str, wanted: types.Range) -> list[types.InlayHint]:
        """What came of runs, at the ends of the lines in a range."""
        results = self._results.get(uri)
        return results.hints(wanted) if results is not None else []

    # --- what others ask ---------------------------------------------------------------------------------------

    def language(self, document: Document) -> str | None:
        """The language of a document, if code of it can be run here."""
        suffix = os.path.splitext(path_of(document.uri) or document.uri)[1][1:]
        for name in (_LANGUAGE_IDS.get(document.language_id, document.language_id), suffix):
            if name and (found := self._editor.host.engine.runnable(name)) is not None:
                return found
        return None

    def session(self, uri: str) -> Session | None:
        """The session that runs the code of a file, where there is one."""
        host, session = self._editor.host, self._sessions.get(uri)
        if session is not None and host.is_open(session.id):
            return session
        if host.streams:
            return host.live(host.last_run) if host.last_run is not None and host.is_open(host.last_run) else None
        chat = self._chats.near(uri)
        return chat.session if chat is not None else None

    # --- running -----------------------------------------------------------------------------------------------

    def _run(self, document: Document, params: wire.SelectionRun) -> wire.SelectionStarted:
        language = self.language(document)
        if language is None:
            raise OiError("Code of this file's language cannot be run here.", "oi-lsp doctor says what is missing.")
        piece = piece_of(document, *_span(document, params.range), dedent=language == "python")
        if piece.blank:
            raise OiError("There is no code in this selection.", "Select some, or put the cursor on a line of code.")
        if params.session_id is not None or self._editor.host.streams:
            session = self._session(params.session_id)
            return self._follow(document, piece, session, session.run(language, piece.code))
        chat = self._chats.near(document.uri)
        if chat is not None:
            ticket = chat.run_for(language, piece.code)
            assert chat.session is not None
            return self._follow(document, piece, chat.session, ticket)
        run = self._shown_at(document, piece)
        self._editor.host.spawn(self._run_beside(document, language, piece, run))
        return wire.SelectionStarted()

    async def _run_beside(self, document: Document, language: str, piece: Piece, run: Run | None) -> None:
        session: Session | None = None
        try:
            chat = await self._chats.beside(document.uri)
            ticket = chat.run_for(language, piece.code)
            session = chat.session
        finally:
            if session is None and run is not None and (results := self._results.get(document.uri)) is not None:
                results.end(run)
        assert session is not None
        self._follow(document, piece, session, ticket, run)

    def _follow(
        self, document: Document, piece: Piece, session: Session, ticket: Ticket, run: Run | None = None
    ) -> wire.SelectionStarted:
        """Show what comes of a run in its file."""
        if self._editor.documents.get(document.uri) is document:
            self._sessions[document.uri] = session
        self._editor.host.last_run = session.id
        run = run or self._shown_at(document, piece)
        if run is not None and not document.closed:
            self._results[document.uri].follow(run, session, ticket.turn_id)
        return wire.SelectionStarted(session.id, ticket.turn_id, ticket.queued)

    def _shown_at(self, document: Document, piece: Piece) -> Run | None:
        """Where the results of a piece are shown: nowhere, where the client does not have the file open."""
        if self._editor.documents.get(document.uri) is not document:
            return None
        results = self._results.get(document.uri)
        if results is None:
            show = partial(self._editor.diagnostics.set, OWNER, document.uri)
            results = Results(document, show, self._editor.client.refresh_inlay_hints)
            self._results[document.uri] = results
        return results.begin(piece)

    def _session(self, session_id: str | None) -> Session:
        host = self._editor.host
        return host.for_runs() if session_id is None else host.live(session_id)

    # --- asking ------------------------------------------------------------------------------------------------

    def _ask(self, document: Document, params: wire.SelectionAsk) -> wire.SelectionStarted:
        language = self.language(document) or document.language_id
        quoted = quote(document, *_span(document, params.range), language, self._editor.folders)
        if params.instruction.strip():
            return self._send(document.uri, f"{params.instruction.strip()}\n\n{quoted}", params.session_id)
        if params.session_id is not None or self._editor.host.streams:
            raise InvalidField("instruction", "must say what to ask.")
        self._editor.host.spawn(self._draft(document.uri, quoted))
        return wire.SelectionStarted()

    def _explain(self, document: Document, params: wire.DiagnosticExplain) -> wire.SelectionStarted:
        language = self.language(document) or document.language_id
        start, end = _span(document, params.range)
        said = explanation(document, start, end, params.message, language, self._editor.folders)
        return self._send(document.uri, said, params.session_id)

    def _send(self, uri: str, text: str, session_id: str | None) -> wire.SelectionStarted:
        from oi_engine.messages import Message

        said = [Message("user", "message", text)]
        if session_id is not None or self._editor.host.streams:
            session = self._session(session_id)
            ticket = session.send(said)
            return wire.SelectionStarted(session.id, ticket.turn_id, ticket.queued)
        chat = self._chats.near(uri)
        if chat is None:
            self._editor.host.spawn(self._send_beside(uri, said))
            return wire.SelectionStarted()
        ticket = chat.ask_for(said)
        self._editor.host.spawn(self._editor.client.show_document(chat.document.uri, focus=False))
        return wire.SelectionStarted(chat.session.id if chat.session else None, ticket.turn_id, ticket.queued)

    async def _send_beside(self, uri: str, said: list[Message]) -> None:
        (await self._chats.beside(uri)).ask_for(said)

    async def _draft(self, uri: str, text: str) -> None:
        """Put the text where the person writes next, and take them there."""
        chat: DocumentChat = await self._chats.beside(uri)
        at = chat.document.position(await chat.draft(text))
        await self._editor.client.show_document(chat.document.uri, types.Range(at, at))

    # --- what is offered ---------------------------------------------------------------------------------------

    def offers(self, place: Place) -> Iterator[Offer]:
        """What takes nothing away comes first: some clients suggest the first."""
        document, uri = place.document, place.document.uri
        if uri.endswith(SUFFIX) or not uri.startswith("file:"):
            return
        offer = partial(Offer, start=place.start, end=place.end, lens=False)
        where = _wire_range(document.range(place.start, place.end))
        runs = self.language(document) is not None
        if document.text[slice(*reach(document, place.start, place.end))].strip():
            if not self._editor.host.streams:  # a client with a panel of its own asks there
                yield offer("Ask about selection", "oi.selection.ask", wire.SelectionAsk(uri, where))
            if runs:
                yield offer("Run selection", "oi.selection.run", wire.SelectionRun(uri, where))
        if runs and document.text.strip():
            yield offer("Run file", "oi.selection.run", wire.SelectionRun(uri))
        found = {each.message: each for each in place.diagnostics if not _is_own_note(each)}
        for each in list(found.values())[:PROBLEMS]:
            asked = wire.DiagnosticExplain(uri, _wire_range(each.range), each.message)
            title = f"Explain: {shortened(' '.join(each.message.split()))}"
            yield offer(title, "oi.diagnostic.explain", asked, kind=QUICK)

    # --- small things ------------------------------------------------------------------------------------------

    def _with(
        self,
        params: wire.SelectionRun | wire.SelectionAsk | wire.DiagnosticExplain,
        act: Callable[[Document], wire.SelectionStarted],
    ) -> Soon:
        """Do something with a file as the editor has it, else as it is on disk."""
        uri = params.uri
        if params.session_id is not None:
            self._editor.host.live(params.session_id)
        if uri.endswith(SUFFIX):
            raise InvalidField("uri", "is a chat document: write in it, and take Send.")
        document = self._editor.documents.get(uri)
        return act(document) if document is not None else self._read_and(uri, act)

    async def _read_and(self, uri: str, act: Callable[[Document], wire.SelectionStarted]) -> wire.SelectionStarted:
        path = path_of(uri)
        if path is None:
            raise InvalidField("uri", "must be open in the editor, or a file: URI of this machine.")
        data = await asyncio.to_thread(read_file, path, FILE_SIZE, "uri")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidField("uri", "is not a file of text in UTF-8.") from None
        return act(Document(uri, "", None, text, self._editor.documents.encoding))

    def _closed(self, document: Document) -> None:
        self._sessions.pop(document.uri, None)
        results = self._results.pop(document.uri, None)
        if results is not None:
            results.close()


def _span(document: Document, wanted: Range | None) -> tuple[int, int]:
    """The offsets of a range, or of all. Raises ``InvalidField``."""
    if wanted is None:
        return 0, len(document.text)
    return document.span(lsp_range(wanted))


def _wire_range(given: types.Range) -> Range:
    start, end = (Position(each.line, each.character) for each in (given.start, given.end))
    return Range(start, end)


def _is_own_note(shown: types.Diagnostic) -> bool:
    """Whether this server only notes something, such as what an edit would change: there is no problem to explain."""
    return shown.source == "oi-lsp" and shown.severity == types.DiagnosticSeverity.Information
