"""One chat document and the session that goes on in it.

The document is the conversation. What the person writes, edits and removes in it counts: before each message the
session is brought in step with what the document says by then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from attrs import evolve
from lsprotocol import types

from oi_lsp import protocol_documents as wire
from oi_lsp.anchors import Anchor
from oi_lsp.chat_document.answers import Answers, Spot
from oi_lsp.chat_document.chat_offers import Now, allowable, offers_of
from oi_lsp.chat_document.conversation import gist, section_messages, told, told_of_new_kernels, unsent
from oi_lsp.chat_document.document import ChatDocument, Part
from oi_lsp.chat_document.escape import escaped
from oi_lsp.chat_document.framing import Framed, Framing
from oi_lsp.chat_document.parse import parse
from oi_lsp.chat_document.pictures import Pictures
from oi_lsp.chat_document.places import Place as At
from oi_lsp.chat_document.remarks import Known, Remarks, Waiting, of_problem, same
from oi_lsp.chat_document.spots import again, below, beside
from oi_lsp.chat_document.status import Status
from oi_lsp.client import Progress
from oi_lsp.document_writer import DocumentWriter, Edits, Unwritten
from oi_lsp.documents import Document
from oi_lsp.offers import Offer, Place
from oi_lsp.paths import is_inside, path_of

if TYPE_CHECKING:
    from oi_engine.approval import Proposal
    from oi_engine.messages import Chunk, Message
    from oi_engine.session.review import Reviewing
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
        self._framing = Framing(self._writer, lambda: self.parsed)
        self._answers = Answers(self._writer, self._settle, self._on_block, self._on_word, holds_lines=shown)
        self._status = Status(document.uri, editor.host.outbox.wake, lambda: self._answers.unended) if shown else None
        self._parsed: ChatDocument | None = None
        self._remarks = Remarks(document, lambda: self.parsed, self._waiting, self._show_remarks)
        self._denied: dict[str, dict[str, Any]] = {}
        self._shown: Snapshot | None = None
        self._progress: Progress | None = None
        self._sent: Anchor | None = None
        # Whether the person was told, since they last sent something, that they undo what was written.
        self._undone = False
        # Whether what comes in the stream is what the document says already.
        self._quoting = False
        self._ends: list[Callable[[], None]] = []
        if session is not None:
            self._follow(session)
        if not document.text.strip():
            self._framing.framed()
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
        self._refuse_another()
        framed = self._framing.framed()
        parsed, section = framed.document, unsent(framed.document)
        assert section is not None
        session = self._in_step(parsed)
        said = [each for each in section_messages(parsed, section, self._pictures.read) if each.type in SENDABLE]
        is_last = section.start == parsed.sections[-1].start  # until the answer's heading is there, and the next one
        begins = framed.place(section.start)
        if is_last and self._writer.behind and self._sent is not None and begins < self._sent.offset:
            raise OiError("This is sent already.", "Its answer is on its way into the document.")
        if not said:
            raise OiError(
                "There is code under the last heading, and no word to the model.", "Write what is to be done."
            )
        self._undone = False
        spot = below(self._writer, framed, section, self._pictures.save)
        self._sent = spot.places[At.APPEND]
        return self._started(session, self._answers.ask(spot, lambda: self._perform(session, said)))

    async def say(self, text: str) -> wire.Started:
        """Put text under the last heading, and send it. Raises ``OiError``."""
        from oi_engine.errors import OiError

        if not text.strip():
            raise OiError("There is nothing to send.", "Write something.")
        self._refuse_another()
        await self._writer.written()
        framed = self._framing.framed()
        await self._put(framed, escaped(text, framed.document.nonce or "").rstrip())
        return self.send()

    def _refuse_another(self) -> None:
        from oi_engine.errors import OiError

        if self._answers.waiting:
            raise OiError("A message waits already.", "Send this one when that has its answer, or take Stop.")

    async def load(self, session: Session) -> None:
        """Write the conversation of a session, which goes on here from now on. Raises ``OiError``."""
        from oi_engine.errors import OiError

        await self._writer.written()
        if self.session is not None or any(not section.blank for section in self.parsed.sections):
            raise OiError("This document has a conversation already.", "Load the stored one into a new document.")
        chunks = [entry.chunk for entry in session.stream.entries_after(0)]
        self._answers.load(chunks, self._beside())
        self._follow(session)

    def run(self, block: str) -> wire.Started:
        """Run a block as it stands in the document: a proposed one, or one again. Raises ``OiError``."""
        from oi_engine.errors import OiError

        part = self._block(block)
        if not part.complete:
            raise OiError("The end of this block is missing.", "Add the fence that closes it, then run it.")
        code = self.parsed.unix(part.content)
        session = self._in_step(self.parsed)
        self._denied.pop(part.id or "", None)
        waiting = self._waiting()
        if waiting is not None and waiting.block == part.id:
            self._answers.edited(waiting.block)
            return wire.Started(session.id, session.approve(waiting.proposal.id, code), queued=False)
        parsed = evolve(self.parsed, nonce=self._framing.framed().document.nonce)
        spot = again(self._writer, parsed, part, self._pictures.save)
        return self._started(session, self._answers.ask(spot, lambda: session.run(part.language or "", code)))

    def reject(self, block: str, reason: str) -> None:
        """Do not run a proposed block. Raises ``OiError``."""
        self._session().reject(self._proposed(self._block(block)).id, reason)

    def scan(self, block: str) -> None:
        """Have a proposed block looked at, as it stands in the document. Raises ``OiError``."""
        part = self._block(block)
        proposal, code = self._proposed(part), self.parsed.unix(part.content)
        reviewing = self._session().scan(proposal.id, None if same(proposal.cell.code, code) else code)
        self._editor.host.spawn(self._scanned(reviewing, proposal, code))

    async def _scanned(self, reviewing: Reviewing, proposal: Proposal, code: str) -> None:
        review = await reviewing
        waiting = self._waiting()
        if waiting is not None and waiting.proposal.id == proposal.id:
            self._remarks.scanned(waiting.block, Known(code, review.remarks))
            self._on_block()

    def _proposed(self, part: Part) -> Proposal:
        waiting = self._waiting()
        if waiting is None or waiting.block != part.id:
            from oi_engine.errors import UnknownProposal

            raise UnknownProposal("This block waits for no decision.", "It may have been decided already.")
        return waiting.proposal

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
        session, spot = self._in_step(self.parsed), self._beside()
        return self._used(self._answers.ask(spot, lambda: session.run(language, code)))

    def ask_for(self, said: Sequence[Message]) -> Ticket:
        """Ask the model something from elsewhere, written into sections of their own as well."""
        session, spot = self._in_step(self.parsed), self._beside()
        return self._used(self._answers.ask(spot, lambda: session.send(said)))

    async def draft(self, text: str) -> int:
        """Put text where the person writes next. Answers the offset behind it, once it is there."""
        return await self._put(self._framing.framed(), text + "\n\n")

    async def _put(self, framed: Framed, text: str) -> int:
        """Put text below what the person wrote last. Answers the offset behind it, once it is there.

        What is empty there is used, but for one line: else it would grow with each text.
        """
        document = framed.document
        last, newline = document.sections[-1], document.newline
        rest = document.text[last.append_at : last.end]
        empty = 0 if framed.shift else (len(rest) - len(rest.lstrip(newline))) // len(newline)
        used = min(2, max(0, empty - 1))
        anchor = self._writer.anchor(framed.place(last.append_at + used * len(newline)))
        self._writer.insert(anchor, f"{newline * (2 - used)}{text.replace(chr(10), newline)}")
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
            said = told(parsed, self._pictures.read)
            if gist(said) != gist(session.messages):
                self._quoting = True
                try:
                    session.rewrite(said)
                finally:
                    self._quoting = False
                if fresh and any(message.type == "console" for message in said):
                    session.preface = told_of_new_kernels
        return session

    def _perform(self, session: Session, said: Sequence[Message]) -> Ticket:
        from oi_engine.magic import commands

        if len(said) == 1 and said[0].type == "message":
            done = commands.perform(said[0].text, session, self._editor.host.engine)
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
        self._answers.follow(entry, self._beside)
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
            self._on_block()
            self._show_progress(snapshot.state)

    def _on_block(self) -> None:
        """What waits for the person is another block, or all of it is there."""
        self._editor.client.refresh_code_lenses()
        self._remarks.news()
        self._show_status()

    def _on_word(self, block: str, chunk: Chunk) -> None:
        """The stream has something of a block for programs."""
        form = chunk.content
        if not isinstance(form, dict) or self.session is None:
            return
        if chunk.format == "unasked":
            code = next((each.text for each in self.session.messages if each.id == chunk.parent), "")
            self._remarks.ran_unasked(block, Known.of_words(code, form["words"]))
        elif chunk.format == "denied":
            self._denied[block] = form
            self._editor.client.refresh_code_lenses()

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

    def _settle(self, spot: Spot) -> None:
        """A turn is over and in the document."""
        if self._sent in spot.anchors:
            self._sent = None
        self._publish()
        self._remarks.news()

    # --- the document ------------------------------------------------------------------------------------------

    def _block(self, block: str) -> Part:
        from oi_engine.errors import OiError

        found = self.parsed.block(block)
        if found is None:
            raise OiError(f"There is no block {block} in this document.", "It may have been removed.")
        return found

    def _beside(self) -> Spot:
        """A place for what is not asked in the document."""
        return beside(self._framing, self._pictures.save)

    def _now(self) -> Now:
        session = self.session
        if session is None:
            return Now(self.document.uri)
        snapshot, answers, waiting = session.snapshot, self._answers, self._waiting()
        return Now(
            self.document.uri,
            busy=snapshot.state != "idle",
            proposed=waiting.block if waiting else None,
            may_scan=lambda code: waiting is not None and self._remarks.may_scan(waiting, code),
            denied={block: allowable(session, form) for block, form in self._denied.items()},
            asked=answers.questions.get(snapshot.input.id) if snapshot.input else None,
            waiting=answers.waiting,
            runs=lambda language: session.computer.naming.canonical(language) is not None,
        )

    def _waiting(self) -> Waiting | None:
        """The block that waits for a decision, once it is in the document."""
        proposal = self.session.snapshot.proposal if self.session is not None else None
        block = self._answers.proposals.get(proposal.id) if proposal is not None else None
        if self.session is None or proposal is None or block is None:
            return None
        return Waiting(block, proposal, self.session.settings.safe_mode)

    def _show_remarks(self, found: Sequence[types.Diagnostic]) -> None:
        self._editor.diagnostics.set("remarks", self.document.uri, found)

    def _publish(self) -> None:
        """Show what is wrong with the document."""
        found = [of_problem(self.document, each) for each in self.parsed.problems]
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
        self._remarks.close()
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
        elif not self._undone:
            self._editor.inform(
                "You undid a piece of an answer: with your next message the model is told what is left."
            )
        self._undone = True
        self._writer.resume()

    def _is_in_answer(self, offset: int) -> bool:
        sections = [section for section in self.parsed.sections if section.start < offset]
        return bool(sections) and sections[-1].kind == "assistant"

    def on_closed(self, unwritten: list[Unwritten]) -> None:
        """The conversation is in the history; what was not written is not in the file."""
