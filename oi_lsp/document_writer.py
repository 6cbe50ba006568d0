"""Writes into a document that the client has open, while the person may be writing in it too.

One edit is in flight at a time, for the version that the client gave last. What tells whether it was made is the
change that the client sends of it, not the client's answer: some say that they have made an edit that they have not,
some answer nothing. Nothing is sent again only because time has passed, and nothing is ever deleted in order to repair.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Sequence
from typing import Protocol

from attrs import frozen
from lsprotocol import types

from oi_lsp.anchors import Anchor, Anchors, Piece, Written
from oi_lsp.client import EDIT_TIME, DocumentEdit, EditAnswer, NoAnswer, Refused
from oi_lsp.differences import parts
from oi_lsp.documents import Change, Document
from oi_lsp.echoes import Sighting, is_distinct, sighting
from oi_lsp.writes import Flight, Job
from oi_lsp.writes import Outcome as Outcome

PACE = 0.1
"""Seconds for which a line that is not ended is held, so that one undo of the person's takes back more than a word."""

PATIENCE = 30.0
"""Seconds after which an edit that the client neither refused nor sent back is said to be stuck."""

SETTLING = 1.0
"""Seconds to wait for what made the client refuse an edit."""

REFUSALS = 5
"""After so many in a row, with no change between them, the writer is stuck."""

GRACE = 1.0
"""Seconds that an answer is waited for when the edit has been seen; after that, answers are not waited for."""

_UNKNOWN = "What the editor has in this document is unknown. Close it and open it again."
_BREAK = re.compile("\r\n|\r|\n")


class Edits(Protocol):
    """Where edits are asked for: the ``Client``."""

    async def apply_edit(self, label: str, document_edits: Sequence[DocumentEdit], time: float = ...) -> EditAnswer:
        """Have the client change documents."""


@frozen
class Unwritten:
    """Text that is not in the document. Where it was ``sent``, the client may yet have taken it."""

    anchor: Anchor
    text: str
    sent: bool = False


class Owner(Protocol):
    """Who is told what becomes of the text. What is called must neither wait nor fail."""

    def on_stuck(self, reason: str) -> None:
        """The client does not make the edits. They go on when it changes the document; ``close`` hands them back."""

    def on_misplaced(self, text: str, start: int, end: int) -> None:
        """The client has put text where it does not belong; it is left there, from ``start`` to ``end``."""

    def on_undone(self, text: str, unwritten: list[Unwritten]) -> None:
        """The person has undone text that was written. Nothing more is written until ``resume``."""

    def on_closed(self, unwritten: list[Unwritten]) -> None:
        """The client has closed the document; the writer has ended."""


class DocumentWriter:
    """Writes into one document, until that is closed or ``close`` is called. Must be made where the event loop runs.

    With ``buffered``, text is held until ``flush``: for clients in which an edit is not safe while the person types.
    """

    def __init__(
        self,
        document: Document,
        client: Edits,
        owner: Owner,
        *,
        label: str = "Open Interpreter",
        buffered: bool = False,
        pace: float = PACE,
        patience: float = PATIENCE,
    ) -> None:
        self.document = document
        self.stuck = ""
        self.stopped = False
        self._client = client
        self._owner = owner
        self._label = label
        self._pace = float("inf") if buffered else pace
        self._patience = patience
        self._anchors = Anchors()
        self._written = Written()
        self._jobs: list[Job] = []
        self._flight: Flight | None = None
        self._newline = document.newline
        self._text = document.text
        self._change_count = 0
        self._refusals = 0
        self._mute = False
        self._closed = False
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._ends = [document.subscribe(self._on_change), document.on_close(self._on_close)]
        self._task: asyncio.Task[None] = asyncio.get_running_loop().create_task(self._run())

    # --- what its owner asks -----------------------------------------------------------------------------------

    def anchor(self, offset: int) -> Anchor:
        """A place to write at."""
        return self._anchors.add(offset)

    def anchor_after(self, other: Anchor) -> Anchor:
        """A place to write at behind all that is written at another one, what waits to be written there included."""
        return self._anchors.add_after(other)

    def anchor_before(self, other: Anchor) -> Anchor:
        """A place to write at before all that waits to be written at another one."""
        return self._anchors.add_before(other)

    def waits_at(self, anchor: Anchor) -> bool:
        """Whether something is to be written at an anchor that has not been seen in the document."""
        flight = self._flight
        in_flight = flight.jobs if flight is not None and flight.seen is None else []
        return any(job.first is anchor for job in [*self._jobs, *(job for job, _ in in_flight)])

    def release(self, anchor: Anchor) -> None:
        """Follow an anchor no longer; nothing may be waiting to be written at it."""
        self._anchors.remove(anchor)

    def insert(self, anchor: Anchor, text: str, *, whole: bool = False) -> None:
        """Write text at an anchor, which is after it then. Ignored once stopped or closed.

        What is due at one place is one edit. With ``whole``, the line that the text ends in is not held for its end.
        """
        if not text or self.stopped or self._closed:
            return
        due = self._now() + (0 if whole and self._pace != float("inf") else self._pace)
        for job in reversed(self._jobs):
            if job.done is not None:
                break
            if job.first is anchor:
                job.text += text
                job.due = min(job.due, due)
                self._wake.set()
                return
        self._queue(Job(anchor, anchor, text, due))

    def replace(self, first: Anchor, last: Anchor, text: str, expected: str) -> asyncio.Future[Outcome]:
        """Put text in the place of what is between two anchors, in one edit, if that is as expected by then.

        The first anchor is before the text then, the last one after it. What was to be inserted before goes first. An
        undo of the person's, which stops insertions, does not stop it.
        """
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        if self._closed:
            done.set_result(Outcome.UNWRITTEN)
            return done
        if self._pace != float("inf"):
            self.flush()
        self._queue(Job(first, last, text, 0, expected, done))
        return done

    def flush(self) -> None:
        """Hold nothing back of what was inserted up to now."""
        for job in self._jobs:
            job.due = 0
        self._wake.set()

    @property
    def behind(self) -> bool:
        """Whether text was to be inserted that has not been seen in the document."""
        flight = self._flight
        in_flight = flight is not None and not flight.replaces and flight.seen is None
        return in_flight or any(job.done is None for job in self._jobs)

    async def written(self) -> bool:
        """Wait until nothing waits to be written, or nothing will be for now. Answers whether all of it is written."""
        await self._idle.wait()
        return not (self._jobs or self._flight or self.stopped or self._closed)

    def resume(self) -> None:
        """Write again after the person's undo has stopped it."""
        self.stopped = False

    def close(self) -> list[Unwritten]:
        """End. Answers what has not been written, in order."""
        self._closed = True
        for end in self._ends:
            end()
        self._task.cancel()
        unwritten = self._take_back()
        for job in self._jobs:
            job.settle(Outcome.UNWRITTEN)
        self._jobs.clear()
        if self._flight is not None:
            self._flight.asked.cancel()
            self._flight.settle(Outcome.UNWRITTEN if self._flight.seen is None else Outcome.WRITTEN)
            self._flight = None
        self._look_whether_idle()
        return unwritten

    # --- what the client says ----------------------------------------------------------------------------------

    def _on_change(self, document: Document, change: Change) -> None:
        before, self._text = self._text, document.text
        self._change_count += 1
        self._wake.set()
        if self.stuck == _UNKNOWN:
            self.stuck = ""
            self._look_whether_idle()
        flight = self._flight
        places = [] if flight is None or flight.seen is not None else self._anchors.copies()
        seen = None if flight is None or flight.seen is not None else self._look(flight, before, change)
        if flight is not None and seen is not None:
            flight.seen, flight.as_typed = seen, places
            self._land(flight, seen, before, change)
            self._shift(places, before, change)
            return
        undone = self._written.undone(before, self._text, change)
        for part in reversed(parts(before, change)):
            self._anchors.shift(part)
            self._written.shift(part)
        if flight is not None:
            self._shift(flight.as_typed, before, change)
        if undone is not None:
            self.stopped = True
            self._owner.on_undone(undone, self._take_back())

    @staticmethod
    def _shift(places: list[tuple[Anchor, Anchor]], before: str, change: Change) -> None:
        for part in reversed(parts(before, change)) if places else ():
            for _, place in places:
                place.shift(part)

    def _look(self, flight: Flight, before: str, change: Change) -> Sighting | None:
        """Whether a change is the edit in flight."""
        if self._text == flight.result:
            # Whatever came before in pieces: this is our edit and nothing else.
            for anchor, offset in flight.anchors:
                anchor.offset = offset
            return Sighting(flight.start, flight.start + len(flight.text))
        if flight.replaces:
            return None
        return sighting(before, self._text, change, flight.start, flight.text)

    def _land(self, flight: Flight, seen: Sighting, before: str, change: Change) -> None:
        """The edit in flight is in the document: move what is after it."""
        typed = change if not seen.right else seen.typed
        for part in reversed(parts(before, typed)) if typed is not None else ():
            self._anchors.shift(part)
            self._written.shift(part)
        if not seen.right:
            return
        end = seen.start + len(flight.old)
        self._written.shift(Change(seen.start, end, self._text[seen.start : seen.end], change.version))
        flight.piece = Piece(seen.start, seen.end, self._text[seen.start : seen.end], flight.old)
        self._written.add(flight.piece)
        if flight.replaces:
            job = flight.jobs[0][0]
            self._anchors.replace(job.first, job.last, seen.start, end, seen.end - seen.start)
        else:
            anchors = [job.first for job, _ in flight.jobs]
            self._anchors.insert(anchors, seen.start, flight.ends(flight.piece.text))

    def _on_close(self, _: Document) -> None:
        self._owner.on_closed(self.close())

    # --- one edit after another --------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            now = self._now()
            if self._jobs and not self.document.known:
                self._report_stuck(_UNKNOWN)
                await self._woken(None)
                continue
            job = min(self._jobs, key=lambda job: job.next_due, default=None)
            if job is None or job.next_due > now:
                await self._woken(None if job is None or job.waits_for_flush else job.due - now)
                continue
            ready = next(job for job in self._jobs if job.next_due <= now)
            flight = self._launch(self._together(ready, now))
            if flight is not None:
                await self._follow(flight)

    def _together(self, ready: Job, now: float) -> list[Job]:
        """What goes into one edit with a job, itself included: what is inserted at the same place, in order."""
        if ready.done is not None:
            return [ready]
        insertions = itertools.takewhile(lambda job: job.done is None, self._jobs)
        here = [job for job in insertions if job.first.offset == ready.first.offset and not job.waits_for_flush]
        here.sort(key=lambda job: self._anchors.rank(job.first))
        last = max(place for place, job in enumerate(here) if job.next_due <= now)
        for job in here[:last]:
            job.due = 0  # a line that is not ended, but something is due that comes behind it
        return here[: last + 1]

    def _launch(self, jobs: list[Job]) -> Flight | None:
        """Ask the client for an edit; not where the text to replace is not as expected."""
        now, first = self._now(), jobs[0]
        cut = []
        for job in jobs:
            raw, job.text = job.cut(now)
            job.due = now + self._pace
            if not job.text:
                self._jobs.remove(job)
            self._move_out_of_line_end(job.first)
            cut.append((job, _BREAK.sub(self._newline, raw)))
        start, end = first.first.offset, max(first.first.offset, first.last.offset)
        text, old = "".join(piece for _, piece in cut), self._text[start:end]
        if first.done is not None and (old != first.expected or old == text):
            first.settle(Outcome.WRITTEN if old == first.expected else Outcome.CHANGED)
            self._look_whether_idle()
            return None
        result = self._text[:start] + text + self._text[end:]
        flight = Flight(cut, text, old, result, self._anchors.offsets(), self._change_count, now)
        identifier = types.OptionalVersionedTextDocumentIdentifier(self.document.uri, self.document.version)
        edit = types.TextEdit(self.document.range(start, end), text)
        work = self._client.apply_edit(self._label, [types.TextDocumentEdit(identifier, [edit])], EDIT_TIME)
        flight.asked = asyncio.ensure_future(work)
        flight.asked.add_done_callback(self._answered)
        self._flight = flight
        return flight

    def _move_out_of_line_end(self, anchor: Anchor) -> None:
        """There is no position between CR and LF."""
        anchor.offset = self.document.offset(self.document.position(anchor.offset))

    def _answered(self, asked: asyncio.Future[EditAnswer]) -> None:
        if not asked.cancelled() and not isinstance(asked.result(), NoAnswer):
            self._mute = False
        self._wake.set()

    async def _follow(self, flight: Flight) -> None:
        """See an edit through: until it is in the document, or is known not to be and waits for its next turn."""
        answer = await self._answer(flight)
        if not isinstance(answer, Refused):
            await self._echo(flight)
        self._flight = None
        if flight.seen is not None and not (isinstance(answer, Refused) and self._is_chance(flight, flight.seen)):
            self._refusals, self.stuck = 0, ""
            self._look_whether_idle()
            flight.settle(Outcome.WRITTEN)
            if not flight.seen.right:
                self._owner.on_misplaced(flight.text, flight.seen.start, flight.seen.end)
            return
        if flight.piece is not None:  # the person typed just that
            self._written.forget(flight.piece)
            for anchor, place in flight.as_typed:
                anchor.offset = place.offset
        self._put_back(flight)
        if isinstance(answer, Refused):
            await self._after_refusal(flight, answer)

    @staticmethod
    def _is_chance(flight: Flight, seen: Sighting) -> bool:
        """Whether it may well be the person who wrote what was seen."""
        return not seen.right or seen.typed is not None or not is_distinct(flight.text)

    async def _answer(self, flight: Flight) -> EditAnswer:
        seen_at: float | None = None
        while not flight.asked.done():
            wait = None
            if flight.seen is not None:
                seen_at = self._now() if seen_at is None else seen_at
                wait = 0 if self._mute else seen_at + GRACE - self._now()
                if wait <= 0:
                    self._mute = True
                    return NoAnswer()
            await self._woken(wait)
        return flight.asked.result()

    async def _echo(self, flight: Flight) -> None:
        """Wait for the first change since the edit was sent, however long that takes."""
        until = flight.sent + self._patience
        while flight.seen is None and flight.change_count == self._change_count:
            left = until - self._now()
            if left <= 0 and not self.stuck:
                self._report_stuck("The editor has taken text for this document and does not say what became of it.")
            await self._woken(left if left > 0 else None)

    async def _after_refusal(self, flight: Flight, answer: Refused) -> None:
        """Wait for the change that made the client refuse, and for any change where it refuses everything."""
        until = self._now() + SETTLING
        while flight.change_count == self._change_count and not self.stuck:
            left = until - self._now()
            if left <= 0 or not answer.known:
                self._refusals += 1
                break
            await self._woken(left)
        else:
            self._refusals = 0
        if self._refusals >= REFUSALS or not answer.known:
            self._report_stuck(f"The editor does not change this document: {answer.reason}")
        while self.stuck and flight.change_count == self._change_count and self._jobs:
            await self._woken(None)

    def _report_stuck(self, reason: str) -> None:
        if not self.stuck:
            self.stuck = reason
            self._look_whether_idle()
            self._owner.on_stuck(reason)

    # --- what waits --------------------------------------------------------------------------------------------

    def _queue(self, job: Job) -> None:
        self._jobs.append(job)
        self._wake.set()
        self._look_whether_idle()

    def _look_whether_idle(self) -> None:
        waiting = bool(self._jobs) or self._flight is not None
        if waiting and not (self.stuck or self._closed):
            self._idle.clear()
        else:
            self._idle.set()

    def _put_back(self, flight: Flight) -> None:
        """What was not written goes first; its owner has it already where the writer was stopped meanwhile."""
        if flight.given_back:
            self._look_whether_idle()
            return
        for job, piece in reversed(flight.jobs):
            job.text = piece + job.text
            job.due = 0
            if job not in self._jobs:
                self._jobs.insert(0, job)

    def _take_back(self) -> list[Unwritten]:
        """What was to be inserted and has not been seen in the document; it waits no longer."""
        flight = self._flight
        sent = []
        if flight is not None and flight.seen is None and not flight.replaces:
            flight.given_back = True
            sent = [Unwritten(job.first, piece, sent=True) for job, piece in flight.jobs]
        held = [job for job in self._jobs if job.done is None]
        self._jobs = [job for job in self._jobs if job.done is not None]
        self._look_whether_idle()
        return sent + [Unwritten(job.first, job.text) for job in held]

    async def _woken(self, wait: float | None) -> None:
        """Wait until something has happened, or for so many seconds."""
        self._wake.clear()
        try:
            async with asyncio.timeout(wait):
                await self._wake.wait()
        except TimeoutError:
            pass

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
