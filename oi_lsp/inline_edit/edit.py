"""One inline edit, from its request until the last of its hunks is decided and its document is closed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Literal, Protocol

from attrs import evolve

from oi_engine.edits.alignment import Change
from oi_engine.edits.ask import Asking
from oi_engine.edits.proposal import Proposal, Shown
from oi_engine.errors import EditError, HunkError, OiError
from oi_engine.models.budget import dollars
from oi_engine.models.model import Notice, Usage
from oi_lsp import documents
from oi_lsp.client import Progress
from oi_lsp.documents import Document
from oi_lsp.inline_edit.pens import Pen
from oi_lsp.paced import Paced

log = logging.getLogger(__name__)

PACE = 0.1
"""Seconds between two looks at what has arrived; more where a look takes long."""

_REST = 10
"""So many times as long as a look took, the next one is put off: streaming leaves the event loop to others."""

Spawn = Callable[[Coroutine[Any, Any, object]], "asyncio.Task[None]"]


class Owner(Protocol):
    """Who is told what becomes of an edit."""

    def on_news(self, edit: InlineEdit) -> None:
        """Something is not as it was: a hunk, its place, the stage of the edit. Called often."""

    def on_spent(self, edit: InlineEdit, usage: Usage) -> None:
        """The model's reply has cost something."""

    def on_trouble(self, edit: InlineEdit, problem: str) -> None:
        """Something did not come about that the person wanted."""

    def on_streamed(self, edit: InlineEdit) -> None:
        """The model's reply is over."""


class InlineEdit:
    """A proposal in a document, the reply that it comes from, and the hunks that are to be written."""

    def __init__(
        self, edit_id: str, title: str, document: Document, proposal: Proposal, pen: Pen, owner: Owner, spawn: Spawn
    ) -> None:
        self.id = edit_id
        self.title = title
        self.document = document
        self.stage: Literal["streaming", "complete", "failed"] = "streaming"
        self.comment = ""
        self.error = ""
        self.cost: float | None = None
        self.over = False
        self._proposal = proposal
        self._pen = pen
        self._owner = owner
        self._spawn = spawn
        self._changes: list[Change] = []
        self._wanted: list[str] = []
        self._wants_all = False
        self._writing: asyncio.Task[None] | None = None
        self._rejected_all = False
        self._asking: asyncio.Task[None] | None = None
        self._reply: Asking | None = None
        self._ends = [document.subscribe(self._on_change), proposal.subscribe(lambda _: owner.on_news(self))]

    # --- what it is at -----------------------------------------------------------------------------------------

    @property
    def proposal(self) -> Proposal:
        """The hunks, as they are in the document as it is now."""
        self._catch_up()
        return self._proposal

    @property
    def hunks(self) -> tuple[Shown, ...]:
        """The hunks that there are, those that wait to be written as pending; none once it is over."""
        if self.over:
            return ()
        left = set(self.open)
        return tuple(
            evolve(hunk, state="pending") if hunk.state == "proposed" and hunk.id not in left else hunk
            for hunk in self.proposal.hunks
        )

    @property
    def open(self) -> list[str]:
        """The ids of the hunks that wait for a decision."""
        return [] if self.over or self._wants_all else [each for each in self.proposal.open if each not in self._wanted]

    @property
    def settled(self) -> bool:
        """Whether nothing is left to happen, unless the person undoes something."""
        return self.stage != "streaming" and self._writing is None and not self.open

    # --- the model ---------------------------------------------------------------------------------------------

    def ask(self, get: Callable[[], Coroutine[Any, Any, Asking]], progress: Progress) -> None:
        """Have the model write what is proposed, as far as ``progress`` shows it."""
        self._asking = self._spawn(self._ask(get, progress))
        # Not in the task, which may be cancelled before it begins.
        self._asking.add_done_callback(lambda _: progress.end(self._summary()))

    def stop(self) -> bool:
        """End the model's reply; what has arrived stays. Answers whether one was under way."""
        if self.stage != "streaming":
            return False
        self._take_in()
        self.stage = "complete"
        if self._asking is not None:
            self._asking.cancel()
        self._owner.on_news(self)
        return True

    async def _ask(self, get: Callable[[], Coroutine[Any, Any, Asking]], progress: Progress) -> None:
        problem = "The server's log has more."
        try:
            self._reply = await get()
            await self._stream(self._reply, progress)
            problem = ""
        except OiError as error:
            problem = str(error)
        except asyncio.CancelledError:
            self.stage = "complete"
            raise
        finally:
            self._ended(problem)

    async def _stream(self, asking: Asking, progress: Progress) -> None:
        loop = asyncio.get_running_loop()

        def look() -> None:
            began = loop.time()
            self._take_in()
            progress.report(self._summary())
            looks.pace = max(PACE, _REST * (loop.time() - began))

        looks = Paced(PACE, look)
        try:
            async with contextlib.aclosing(asking.run()) as events:
                async for event in events:
                    if isinstance(event, Usage):
                        self.cost = self.cost if event.cost is None else (self.cost or 0.0) + event.cost
                        self._owner.on_spent(self, event)
                    elif isinstance(event, Notice):
                        progress.report(event.text)
                    else:
                        looks.ask()
        finally:
            looks.cancel()

    def _take_in(self) -> None:
        """Propose what has arrived by now."""
        if self._reply is not None:
            self.comment = self._reply.comment
            self.proposal.update(self._reply.replacement, complete=self._reply.complete)

    def _ended(self, problem: str) -> None:
        if self.stage == "streaming":
            self._take_in()
            self.stage, self.error = ("failed" if problem else "complete"), problem
            self._owner.on_streamed(self)
        self._owner.on_news(self)

    def _summary(self) -> str:
        count = len(self.hunks)
        changes = "1 change" if count == 1 else f"{count or 'no'} changes"
        return changes if self.cost is None else f"{changes}, {dollars(self.cost)}"

    # --- the person --------------------------------------------------------------------------------------------

    def accept(self, hunk_id: str | None = None) -> int:
        """Have a hunk written, or all that are open. Answers how many are left open. Raises ``HunkError``."""
        self._rejected_all = False
        if hunk_id is None:
            self._wants_all = bool(self.open)
        elif hunk_id in self.open:
            self._wanted.append(hunk_id)
        elif hunk_id not in self._wanted and not self._wants_all:
            self.proposal.accept(hunk_id)  # which says why it cannot be
        if self._writing is None and (self._wanted or self._wants_all):
            self._writing = self._spawn(self._write())
        self._owner.on_news(self)
        return len(self.open)

    def reject(self, hunk_id: str | None = None) -> int:
        """Have a hunk not written, or none that is left, and the model stopped. Answers how many are left open.

        Raises ``HunkError``.
        """
        if hunk_id is None:
            self._rejected_all, self._wants_all = True, False
            self._wanted.clear()
            self.stop()
            for hunk in self.hunks:
                if hunk.state in ("proposed", "stale"):
                    self.proposal.reject(hunk.id)
        else:
            self.proposal.reject(hunk_id)
            self._wanted = [each for each in self._wanted if each != hunk_id]
        self._owner.on_news(self)
        return len(self.open)

    # --- the document ------------------------------------------------------------------------------------------

    def supersede(self) -> None:
        """Another edit takes its place; what is being written is still seen through."""
        self._wanted.clear()
        self._wants_all = False
        self.stop()
        self.proposal.supersede()
        self._owner.on_news(self)

    def close(self) -> None:
        """Nothing more is wanted of it: its document is closed, or another edit has taken its place."""
        self.stop()
        self.over = True
        if self._writing is not None:
            self._writing.cancel()
        for end in self._ends:
            end()
        self._ends.clear()
        self._owner.on_news(self)

    async def _write(self) -> None:
        tried: set[str] = set()
        try:
            while (hunk_id := self._next(tried)) is not None:
                tried.add(hunk_id)
                with contextlib.suppress(HunkError):  # it no longer fits, and is shown as such
                    await self._pen.write(self, hunk_id)
                self._wanted = [each for each in self._wanted if each != hunk_id]
        except EditError as error:
            self._owner.on_trouble(self, str(error))
        finally:
            self._wanted.clear()
            self._wants_all = False
            self._writing = None
            if self._rejected_all:
                # While something is written, what has arrived is not proposed yet.
                self.reject()
            self._owner.on_news(self)

    def _next(self, tried: set[str]) -> str | None:
        """The hunk to write next: those that were asked for one by one come first."""
        if self._wanted:
            return self._wanted[0]
        found = self.proposal.open if self._wants_all else ()
        return next((each for each in found if each not in tried), None)

    def _on_change(self, _: Document, change: documents.Change) -> None:
        # All changes of one notification are taken in together: they may be one step.
        if not self._changes:
            asyncio.get_running_loop().call_soon(self._catch_up)
        self._changes.append(Change(change.start, change.end, change.text))

    def _catch_up(self) -> None:
        changes, self._changes = self._changes, []
        if changes:
            self._proposal.changed(*changes)
            self._owner.on_news(self)
