"""One chat document and the session that goes on in it.

The document is the conversation. What the person writes, edits and removes in it counts: before each message the
session is brought in step with what the document says by then.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from attrs import evolve
from lsprotocol import types

from oi_lsp import protocol_documents as wire
from oi_lsp.anchors import Anchor
from oi_lsp.chat_document.answers import Answers
from oi_lsp.chat_document.chat_offers import Now, offers_of
from oi_lsp.chat_document.conversation import messages, section_messages, unsent
from oi_lsp.chat_document.document import ChatDocument, Part, Problem
from oi_lsp.chat_document.escape import escaped
from oi_lsp.chat_document.frame import Edit, frame
from oi_lsp.chat_document.parse import parse
from oi_lsp.chat_document.pictures import Pictures
from oi_lsp.chat_document.places import Place as At
from oi_lsp.chat_document.spots import again, below, beside
from oi_lsp.chat_document.status import Status
from oi_lsp.client import Progress
from oi_lsp.document_writer import DocumentWriter, Edits, Unwritten
from oi_lsp.documents import Document
from oi_lsp.offers import Offer, Place
from oi_lsp.paths import is_inside, path_of
from oi_lsp.protocol import CodeScan

if TYPE_CHECKING:
    from oi_engine.messages import Message
    from oi_engine.session.session import Session
    from oi_engine.session.state import Snapshot, State, Ticket
    from oi_engine.stream import Entry
    from oi_lsp.editor import Editor

UNDONE = "The person undid, in the document, a piece of what was being written."
_DOING = {
    "thinking": "The model answers.",
    "awaiting_approval": "Code waits for Run or Reject.",
    "running": "Code runs.",
    "awaiting_input": "A program waits for an answer.",
    "stopping": "Stopping.",
}
SENDABLE = ("message", "image", "file", "audio")


class DocumentChat:
    """A chat document, open in the client or on disk alone."""

    def __init__(self, editor: Editor, document: Document, client: Edits, session: Session | None = None) -> None:
        self.document = document
        self.used = monotonic()
        self.session: Session | None = None
        self._editor = editor
        self._pictures = Pictures(path_of(document.uri), editor.host.spawn)
        self._writer = DocumentWriter(document, client, self, buffered=not editor.streams_into_documents)
        shown = editor.host.speaks and not editor.host.streams
        self._answers = Answers(self._writer, self._settle, self._on_block, holds_lines=shown)
        self._status = Status(document.uri, editor.host.outbox.wake, lambda: self._answers.unended) if shown else None
        self._parsed: ChatDocument | None = None
        self._shown: Snapshot | None = None
        self._progress: Progress | None = None
        self._sent: Anchor | None = None
        # Whether what comes in the stream is what the document says already.
        self._quoting = False
        self._ends: list[Callable[[], None]] = []
        if session is not None:
            self._follow(session)
        if not document.text.strip():
            self._frame(self.parsed)
        else:
            self._publish()

    @property
    def parsed(self) -> ChatDocument:
        """What the document says now."""
        if self._parsed is None or self._parsed.text is not self.document.text:
            self._parsed = parse(self.document.text)
        return self._parsed

    # --- what the person does ----------------------------------------------------------------------------------

    def send(self) -> wire.Started:
        """Send what is written under the last heading. Raises ``OiError``."""
        from oi_engine.errors import OiError

        if unsent(self.parsed) is None:
            raise OiError("There is nothing to send.", "Write under the last heading `## You`.")
        if self._answers.waiting:
            raise OiError("A message waits already.", "Send this one when that has its answer, or take Stop.")
        parsed, shift = self._framed()
        section = unsent(parsed)
        assert section is not None
        session = self._in_step(parsed)
        said = [each for each in section_messages(parsed, section) if each.type in SENDABLE]
        is_last = section.start == parsed.sections[-1].start  # until the answer's heading is there, and the next one
        if is_last and self._writer.behind and self._sent is not None and section.start - shift < self._sent.offset:
            raise OiError("This is sent already.", "Its answer is on its way into the document.")
        if not said:
            raise OiError(
                "There is code under the last heading, and no word to the model.", "Write what is to be done."
            )
        spot = below(self._writer, parsed, section, shift, self._pictures.save)
        self._sent = spot.places[At.APPEND]
        return self._started(session, self._answers.ask(spot, lambda: self._perform(session, said)))

    async def say(self, text: str) -> wire.Started:
        """Put text under the last heading, and send it. Raises ``OiError``."""
        from oi_engine.errors import OiError

        if not text.strip():
            raise OiError("There is nothing to send.", "Write something.")
        if self._answers.waiting:
            raise OiError("A message waits already.", "Send this one when that has its answer, or take Stop.")
        await self._writer.written()
        await self.draft(escaped(text, self._framed()[0].nonce or ""))
        return self.send()

    async def load(self, session: Session) -> None:
        """Write the conversation of a session, which goes on here from now on. Raises ``OiError``."""
        from oi_engine.errors import OiError

        await self._writer.written()
        if self.session is not None or any(not section.blank for section in self.parsed.sections):
            raise OiError("This document has a conversation already.", "Load the stored one into a new document.")
        parsed, shift = self._framed()
        chunks = [entry.chunk for entry in session.stream.entries_after(0)]
        self._answers.load(chunks, beside(self._writer, parsed, shift, self._pictures.save))
        self._follow(session)

    def run(self, block: str) -> wire.Started:
        """Run a block as it stands in the document: a proposed one, or one again. Raises ``OiError``."""
        from oi_engine.errors import OiError

        part = self._block(block)
        if not part.complete:
            raise OiError("The end of this block is missing.", "Add the fence that closes it, then run it.")
        code = self.parsed.unix(part.content)
        session = self._in_step(self.parsed)
        proposal = session.snapshot.proposal
        if proposal is not None and part.id is not None and self._answers.proposals.get(proposal.id) == part.id:
            self._answers.edited(part.id)
            return wire.Started(session.id, session.approve(proposal.id, code), queued=False)
        spot = again(self._writer, self.parsed, part, self._pictures.save)
        return self._started(session, self._answers.ask(spot, lambda: session.run(part.language or "", code)))

    def reject(self, block: str, reason: str) -> None:
        """Do not run a proposed block. Raises ``OiError``."""
        session, part = self._session(), self._block(block)
        proposal = session.snapshot.proposal
        if proposal is None or self._answers.proposals.get(proposal.id) != part.id:
            from oi_engine.errors import UnknownProposal

            raise UnknownProposal("This block waits for no decision.", "It may have been decided already.")
        session.reject(proposal.id, reason)

    def answer(self, block: str) -> None:
        """Give the waiting program the line that is written in its input block. Raises ``OiError``."""
        from oi_engine.errors import UnknownInput

        session, part = self._session(), self._block(block)
        asked = session.snapshot.input
        if asked is None or self._answers.questions.get(asked.id) != part.id:
            raise UnknownInput("No program waits for this.", "It may have ended, or been answered already.")
        session.answer(asked.id, self.parsed.unix(part.content).rstrip("\n"))
        if asked.password:
            first, last = (self._writer.anchor(at) for at in (part.content_start, part.content_end))
            self._writer.replace(first, last, "(not kept)", self.document.text[part.content_start : part.content_end])

    def stop(self) -> bool:
        """Stop whatever goes on. What waited stays in the document, unsent."""
        if self._answers.waiting:
            self._sent = None
        self._answers.forget_waiting()
        return self._session().stop().stopped

    def remove(self, number: int) -> None:
        """Take an answer out of the document. Raises ``OiError``."""
        from oi_engine.errors import OiError

        found = [each for each in self.parsed.sections if each.kind == "assistant" and each.number == number]
        if not found:
            raise OiError(f"There is no answer {number} in this document.")
        start, end = found[0].start, found[0].end
        first, last = self._writer.anchor(start), self._writer.anchor(end)
        self._writer.replace(first, last, "", self.document.text[start:end])

    def run_for(self, language: str, code: str) -> Ticket:
        """Run code of the person's from elsewhere; it and what comes of it are written into sections of their own."""
        parsed, shift = self._framed()
        session = self._in_step(parsed)
        spot = beside(self._writer, parsed, shift, self._pictures.save)
        return self._used(self._answers.ask(spot, lambda: session.run(language, code)))

    def ask_for(self, said: Sequence[Message]) -> Ticket:
        """Ask the model something from elsewhere, written into sections of their own as well."""
        parsed, shift = self._framed()
        session = self._in_step(parsed)
        spot = beside(self._writer, parsed, shift, self._pictures.save)
        return self._used(self._answers.ask(spot, lambda: session.send(said)))

    async def draft(self, text: str) -> int:
        """Put text where the person writes next. Answers the offset behind it, once it is there."""
        parsed, shift = self._framed()
        last = parsed.sections[-1]
        anchor = self._writer.anchor(last.append_at - shift)
        newline = parsed.newline
        self._writer.insert(anchor, f"{newline * 2}{text.replace(chr(10), newline)}{newline * 2}")
        self._writer.flush()
        await self._writer.written()
        return anchor.offset

    def offers(self, place: Place) -> Iterator[Offer]:
        """What can be done in the document."""
        yield from offers_of(self.parsed, self._now())

    # --- the session -------------------------------------------------------------------------------------------

    def _session(self) -> Session:
        if self.session is None:
            self._follow(self._new_session())
        assert self.session is not None
        return self.session

    @property
    def folder(self) -> str:
        """Where its code runs: the workspace folder that it lies in, else its own; "" where nothing is known."""
        path = path_of(self.document.uri)
        inside = [each for each in self._editor.folders if path and is_inside(path, each)]
        return inside[0] if inside else os.path.dirname(path) if path else self._editor.host.cwd

    def _new_session(self) -> Session:
        path = path_of(self.document.uri)
        title = Path(path).name.removesuffix(".oi.md") if path else ""
        return self._editor.host.new(cwd=self.folder or None, title=title).session

    def _follow(self, session: Session) -> None:
        self.session = session
        self._ends = [session.stream.subscribe(self._on_entry), session.on_state(self._on_state)]

    def _in_step(self, parsed: ChatDocument) -> Session:
        """The session, with the conversation that the document says.

        While an answer is still being written, the document does not say yet what the session knows.
        """
        fresh = self.session is None
        session = self._session()
        if session.snapshot.state == "idle" and (fresh or not self._writer.behind):
            said = self._conversation(parsed)
            if _gist(said) != _gist(session.messages):
                self._quoting = True
                try:
                    session.rewrite(said)
                finally:
                    self._quoting = False
                if fresh and any(message.type == "console" for message in said):
                    self._new_kernels(session)
        return session

    @staticmethod
    def _new_kernels(session: Session) -> None:
        from oi_engine.history.restore import REOPENED
        from oi_engine.messages import Message

        session.preface = lambda: [Message("computer", "message", REOPENED)]

    def _conversation(self, parsed: ChatDocument) -> list[Message]:
        """What the document says but for magic commands, which no model gets."""
        from oi_engine.magic import parse as parse_magic

        sections, skipped = [], False
        for section in parsed.sections:
            if section.kind == "you":
                skipped = len(section.parts) == 1 and parse_magic(section.parts[0].content) is not None
            if not skipped:
                sections.append(section)
        return messages(evolve(parsed, sections=tuple(sections)), self._pictures.read)

    def _perform(self, session: Session, said: Sequence[Message]) -> Ticket:
        from oi_engine import magic

        if len(said) == 1 and said[0].type == "message":
            done = magic.perform(said[0].text, session, self._editor.host.engine)
            if done is not None:
                return done
        return session.send(said)

    def _started(self, session: Session, ticket: Ticket) -> wire.Started:
        self._used(ticket)
        return wire.Started(session.id, ticket.turn_id, ticket.queued)

    def _used(self, ticket: Ticket) -> Ticket:
        self.used = monotonic()
        return ticket

    def _on_entry(self, entry: Entry) -> None:
        if self._quoting:
            return
        self._answers.follow(entry, lambda: beside(self._writer, self.parsed, 0, self._pictures.save))
        if self._status is not None:
            self._status.follow(entry.chunk, self._answers.block_of(entry.chunk))
        if entry.chunk.type == "error":
            self._editor.complain(str(entry.chunk.content))

    def _on_state(self, snapshot: Snapshot) -> None:
        before, self._shown = self._shown, snapshot
        if snapshot.input is not None:
            self._answers.question(snapshot.input)
        self._show_status()
        if before is None or (before.state, before.proposal, before.input) != (
            snapshot.state,
            snapshot.proposal,
            snapshot.input,
        ):
            self._editor.client.refresh_code_lenses()
            self._show_progress(snapshot.state)

    def _on_block(self) -> None:
        self._editor.client.refresh_code_lenses()
        self._show_status()

    def _show_status(self) -> None:
        if self._status is None or self.session is None:
            return
        now, answers = self.session.snapshot, self._answers
        proposed = answers.proposals.get(now.proposal.id) if now.proposal is not None else None
        asked = answers.questions.get(now.input.id) if now.input is not None else None
        self._status.show(self.session.id, now, proposed, asked)

    def _show_progress(self, state: State) -> None:
        """While a turn is under way; where the client shows it, the person may stop the turn there."""
        if state != "idle":
            self._progress = self._progress or self._editor.client.progress("Open Interpreter", self.stop)
            self._progress.report(_DOING[state])
        elif self._progress is not None:
            self._progress.end()
            self._progress = None

    def _settle(self) -> None:
        """A turn is over and in the document."""
        self._publish()

    # --- the document ------------------------------------------------------------------------------------------

    def _block(self, block: str) -> Part:
        from oi_engine.errors import OiError

        found = self.parsed.block(block)
        if found is None:
            raise OiError(f"There is no block {block} in this document.", "It may have been removed.")
        return found

    def _framed(self) -> tuple[ChatDocument, int]:
        """The document as it will be with its front matter, and how much longer that is than it is now."""
        parsed = self.parsed
        if parsed.nonce is not None:
            return parsed, 0
        return self._frame(parsed)

    def _frame(self, parsed: ChatDocument) -> tuple[ChatDocument, int]:
        edits = frame(parsed, secrets.token_hex(2))
        for edit in edits:
            self._writer.insert(self._writer.anchor(edit.at), edit.text)
        self._writer.flush()
        framed = parse(_with(self.document.text, edits))
        return framed, len(framed.text) - len(self.document.text)

    def _now(self) -> Now:
        session = self.session
        if session is None:
            return Now(self.document.uri)
        snapshot, answers = session.snapshot, self._answers
        return Now(
            self.document.uri,
            busy=snapshot.state != "idle",
            proposed=answers.proposals.get(snapshot.proposal.id) if snapshot.proposal else None,
            scan=self._scan_of(session),
            asked=answers.questions.get(snapshot.input.id) if snapshot.input else None,
            waiting=answers.waiting,
            runs=lambda language: session.computer.naming.canonical(language) is not None,
        )

    @staticmethod
    def _scan_of(session: Session) -> CodeScan | None:
        proposal = session.snapshot.proposal
        asks = proposal is not None and session.settings.safe_mode == "ask" and not proposal.findings
        return CodeScan(session.id, proposal.id) if proposal is not None and asks else None

    def _publish(self) -> None:
        """Show what is wrong with the document."""
        found = [_diagnostic(self.document, each) for each in self.parsed.problems]
        self._editor.diagnostics.set("chat document", self.document.uri, found)

    def saved(self) -> None:
        """The person saved the document."""
        self._publish()
        if self._editor.host.engine.settings.chat_document.send_on_save and unsent(self.parsed) is not None:
            self.send()

    async def idle(self) -> None:
        """Wait until no turn is under way and all is written."""
        if self.session is not None:
            await self.session.idle()
        await self._writer.written()

    def close(self) -> Session | None:
        """The client has closed the document: its turn is stopped. Answers the session, for when it opens again."""
        for end in self._ends:
            end()
        if self.session is not None:
            self.session.stop()
        self._show_progress("idle")
        if self._status is not None:
            self._editor.host.outbox.forget(self._status)
        self._answers.close()
        self._writer.close()
        self._pictures.close()
        self._editor.diagnostics.set("chat document", self.document.uri, [])
        return self.session

    # --- what becomes of what is written (document_writer.Owner) ---------------------------------------------------

    def on_stuck(self, reason: str) -> None:
        """Say so; it goes on when the client changes the document."""
        self._editor.complain(reason)

    def on_misplaced(self, text: str, start: int, end: int) -> None:
        """Say where it is; it is never repaired by deleting."""
        line = self.document.position(start).line + 1
        self._editor.complain(f"The editor put a piece of the answer into the wrong place, at line {line}. Move it.")

    def on_undone(self, text: str, unwritten: list[Unwritten]) -> None:
        """The person undid what was written: stop, and say so."""
        if self.session is not None and self.session.snapshot.state != "idle":
            self._answers.undone(self._is_in_answer)
            self.session.stop(UNDONE)
            self._editor.inform("You undid a piece of the answer, so it was stopped.")
        self._writer.resume()

    def _is_in_answer(self, offset: int) -> bool:
        sections = [section for section in self.parsed.sections if section.start < offset]
        return bool(sections) and sections[-1].kind == "assistant"

    def on_closed(self, unwritten: list[Unwritten]) -> None:
        """The conversation is in the history; what was not written is not in the file."""


def _gist(messages: Sequence[Message]) -> list[tuple[str, str, str]]:
    """What messages come to where it matters whether a session and its document say the same.

    Code that the person edited in place is what they made of it; blank space around a text, and the data of an image,
    have other forms in a document.
    """
    edits = {each.parent: each.text for each in messages if each.type == "code" and each.role == "user" and each.parent}
    gist: list[tuple[str, str, str]] = []
    for each in messages:
        if each.type == "code" and each.role == "user" and each.parent:
            continue
        text = "" if each.type == "image" else edits.get(each.id, each.text).strip()
        if text or each.type in ("image", "console"):
            gist.append((each.role, each.type, text))
    return gist


def _with(text: str, edits: Sequence[Edit]) -> str:
    for edit in sorted(edits, key=lambda each: each.at, reverse=True):
        text = text[: edit.at] + edit.text + text[edit.at :]
    return text


def _diagnostic(document: Document, problem: Problem) -> types.Diagnostic:
    place = document.range(problem.start, problem.end)
    return types.Diagnostic(place, problem.message, severity=types.DiagnosticSeverity.Warning, source="oi-lsp")
