"""How an accepted hunk gets to where it belongs: into a document that is open, or to the disk as a new file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from attrs import frozen
from lsprotocol import types

from oi_engine.edits.alignment import Change
from oi_engine.edits.proposal import HunkState, Proposal, Shown, Write
from oi_engine.edits.targets import may_create
from oi_engine.errors import EditError
from oi_lsp.client import EDIT_TIME, Applied, DocumentEdit, EditAnswer, NoAnswer, Refused
from oi_lsp.documents import Document

LABEL = "Open Interpreter"

TRIES = 5
"""How often an edit is asked for that the client refuses because the document has just changed."""


@frozen
class Times:
    """How long the client is waited for, in seconds."""

    answer: float = EDIT_TIME
    echo: float = 10.0
    """For the change, when the client says that it has made the edit."""
    settling: float = 1.0
    """For the change that made the client refuse."""
    grace: float = 1.0
    """For the answer, when the change has come; some clients never answer."""


class Edits(Protocol):
    """Where edits are asked for: the ``Client``."""

    async def apply_edit(self, label: str, document_edits: Sequence[DocumentEdit], time: float = ...) -> EditAnswer:
        """Have the client change documents."""


class Target(Protocol):
    """The edit that a hunk is of."""

    @property
    def proposal(self) -> Proposal:
        """Its hunks, as they are in the document as the client has it now."""


class Pen(Protocol):
    """Writes one hunk at a time."""

    async def write(self, target: Target, hunk_id: str) -> None:
        """Accept a hunk and see it written. Raises ``EditError`` (``HunkError``) where that does not come about."""


class DocumentPen:
    """Writes into one open document by ``workspace/applyEdit``: one edit, and so one undo step, for each hunk.

    What the document says afterwards tells whether it was written; it is not asked for twice without the client having
    refused, and nothing is waited for without end.
    """

    def __init__(self, document: Document, client: Edits, times: Times | None = None) -> None:
        self._document = document
        self._client = client
        self._times = times or Times()
        self._lock = asyncio.Lock()

    async def write(self, target: Target, hunk_id: str) -> None:
        """Write a hunk. Raises ``EditError``, ``HunkError``."""
        async with self._lock:
            refused: Refused | None = None
            for _ in range(TRIES):
                refused = await self._try(target, hunk_id)
                if refused is None:
                    return
            assert refused is not None
            raise _not_written(refused.reason)

    async def _try(self, target: Target, hunk_id: str) -> Refused | None:
        """Ask for the edit once. Answers the refusal where it may be asked for again, as the document has changed."""
        proposal, before = target.proposal, self._document.text
        write = proposal.accept(hunk_id)
        with _Decision(proposal, hunk_id) as decided:
            asked = asyncio.ensure_future(self._ask(write, before))
            try:
                waits: set[asyncio.Future[Any]] = {asked, decided}
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                if decided.done():
                    await asyncio.wait({asked}, timeout=self._times.grace)
                elif (refused := await self._after(asked.result(), target, hunk_id, decided, before)) is not None:
                    return refused
                if decided.result() != "accepted":
                    raise _not_written("The document was changed there.")
                return None
            finally:
                asked.cancel()
                proposal.refused(hunk_id)

    async def _ask(self, write: Write, before: str) -> EditAnswer:
        document = self._document
        if not document.known or document.text is not before or before[write.start : write.end] != write.expected:
            return Refused("The document is not as it was.")
        identifier = types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version)
        edit = types.TextEdit(document.range(write.start, write.end), write.text)
        edits = [types.TextDocumentEdit(identifier, [edit])]
        return await self._client.apply_edit(LABEL, edits, self._times.answer)

    async def _after(
        self, answer: EditAnswer, target: Target, hunk_id: str, decided: asyncio.Future[HunkState], before: str
    ) -> Refused | None:
        proposal = target.proposal
        match answer:
            case Refused():
                proposal.refused(hunk_id)
                if not answer.known or not await self._changes(before):
                    raise _not_written(answer.reason)
                return answer
            case Applied():
                proposal.applied(hunk_id)
                await asyncio.wait({decided}, timeout=self._times.echo)
                if not decided.done():
                    raise _not_written("It says that it did, but the document is as it was.")
            case NoAnswer():
                raise _not_written("It does not answer.")
        return None

    async def _changes(self, before: str) -> bool:
        """Whether the document is another than before, or soon will be."""
        changed = asyncio.Event()
        end = self._document.subscribe(lambda *_: changed.set())
        try:
            if self._document.text == before:
                async with asyncio.timeout(self._times.settling):
                    await changed.wait()
        except TimeoutError:
            return False
        finally:
            end()
        return True


class _Decision:
    """A future that has the state of a hunk when that is no longer pending."""

    def __init__(self, proposal: Proposal, hunk_id: str) -> None:
        self._future: asyncio.Future[HunkState] = asyncio.get_running_loop().create_future()

        def listen(shown: Sequence[Shown]) -> None:
            states = [hunk.state for hunk in shown if hunk.id == hunk_id and hunk.state != "pending"]
            if states and not self._future.done():
                self._future.set_result(states[0])

        self._end = proposal.subscribe(listen)

    def __enter__(self) -> asyncio.Future[HunkState]:
        return self._future

    def __exit__(self, *_: object) -> None:
        self._end()
        self._future.cancel()


class FilePen:
    """Writes a new file, if there is none by then; then shows it."""

    def __init__(self, path: Path, folders: Sequence[Path], show: Callable[[], object]) -> None:
        self._path = path
        self._folders = folders
        self._show = show

    async def write(self, target: Target, hunk_id: str) -> None:
        """Write the file. Raises ``EditError``, ``HunkError``."""
        proposal = target.proposal
        write = proposal.accept(hunk_id)
        try:
            await asyncio.to_thread(self._create, write.text)
            proposal.changed(Change(write.start, write.end, write.text))
        except OSError as error:
            raise EditError(f"{self._path} could not be written: {error.strerror or error}.") from error
        finally:
            proposal.refused(hunk_id)
        self._show()

    def _create(self, text: str) -> None:
        with may_create(self._path, self._folders).open("xb") as file:
            file.write(text.encode(errors="replace"))


def _not_written(reason: str) -> EditError:
    return EditError(f"The editor did not make the change: {reason}", "Try again.")
