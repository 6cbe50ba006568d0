"""What came of runs, shown in the file that the code is from: hints at the ends of lines, and where it failed.

Output is shown at the line that wrote it where the runtime tells which that was, else the last of it at the last line
that ran. What is shown at a line goes when that is edited, or runs again, or when the document is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from attrs import define, field
from lsprotocol import types

from oi_lsp.documents import Change, Document
from oi_lsp.sources.marks import Mark
from oi_lsp.sources.pieces import Piece

if TYPE_CHECKING:
    from oi_engine.messages import Chunk
    from oi_engine.session.session import Session
    from oi_engine.session.state import Snapshot
    from oi_engine.stream import Entry

PAUSE = 0.1
"""Seconds between two times that new output is shown."""
KEPT = 2_000
"""Characters of a line's output that are kept."""
HINT = 80
"""Characters of a hint."""


@define(eq=False)
class Written:
    """What a line has written, at its mark."""

    mark: Mark
    tail: str = ""
    cut: bool = False
    picture: bool = False

    def add(self, text: str) -> None:
        """Take more of it; of much, the end is kept."""
        whole = self.tail + text
        self.cut = self.cut or len(whole) > KEPT
        self.tail = whole[-KEPT:]

    @property
    def label(self) -> str:
        """Its last line, shortened."""
        lines = [line for line in self.tail.split("\n") if line.strip()]
        text = lines[-1].strip() if lines else "[image]" if self.picture else ""
        more = "… " if len(lines) > 1 or self.cut else ""
        return f"{more}{text if len(text) <= HINT else text[: HINT - 1] + '…'}" if text else ""


@define(eq=False)
class Failed:
    """Where code failed: within its mark, from ``start`` to ``end`` (characters from the beginning of the mark)."""

    mark: Mark
    start: int
    end: int
    name: str
    message: str


@define(eq=False)
class Run:
    """One run of a piece of the document, from when it is asked for until its turn is over."""

    piece: Piece
    lines: list[Mark]
    shown: dict[int, Written] = field(factory=dict)
    tells_lines: bool = False
    rest: str = ""

    def take(self, chunk: Chunk) -> bool:
        """Take what is new in the stream. Answers whether that is something to show."""
        picture = chunk.type == "image" and chunk.has_content
        if not picture and not (chunk.format == "output" and isinstance(chunk.content, str)):
            return False
        text = "" if picture else str(chunk.content)
        if chunk.line is None:
            self.rest = (self.rest + text)[-KEPT:]
            return False
        self.tells_lines = True
        written = self._at(chunk.line)
        if written is None:
            return False
        written.add(text)
        written.picture = written.picture or picture
        return True

    def finish(self) -> None:
        """It is over: where nothing is known of lines, all that was written is the last one's."""
        if self.rest.strip() and not self.tells_lines:
            written = self._at(len(self.piece.code.rstrip().split("\n")))
            if written is not None:
                written.add(self.rest)

    def _at(self, line: int) -> Written | None:
        if not 1 <= line <= len(self.lines):
            return None
        return self.shown.setdefault(line, Written(self.lines[line - 1]))


class Results:
    """What is shown in one document.

    ``show`` is called with its diagnostics, ``refresh`` when there are other hints.
    """

    def __init__(
        self, document: Document, show: Callable[[list[types.Diagnostic]], None], refresh: Callable[[], None]
    ) -> None:
        self.document = document
        self._show = show
        self._refresh = refresh
        self._runs: list[Run] = []
        self._written: list[Written] = []
        self._failed: list[Failed] = []
        self._ends: dict[Run, Callable[[], None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._new_problems = self._new_hints = False
        self._unsubscribe = document.subscribe(self._changed)

    def begin(self, piece: Piece) -> Run:
        """A run of a piece is asked for: what is shown at its lines goes, and they are followed from now on."""
        spans = [self.document.line_span(line) for line in range(piece.first, piece.last + 1)]
        run = Run(piece, [Mark(*span) for span in spans])
        start, end = spans[0][0], spans[-1][1]
        for other in self._runs:
            for mark in other.lines:
                mark.gone = mark.gone or mark.overlaps(start, end)
        for mark in self._marks():
            mark.gone = mark.gone or mark.overlaps(start, end)
        self._runs.append(run)
        self._new_problems = self._new_hints = True
        self._tell()
        return run

    def follow(self, run: Run, session: Session, turn_id: str) -> None:
        """Show what comes of a run in this turn."""
        begun = False

        def on_entry(entry: Entry) -> None:
            if entry.turn_id != turn_id:
                return
            if entry.chunk.type == "status":
                self.end(run)
            elif (entry.chunk.failure is not None and self._fail(run, entry.chunk.failure)) or run.take(entry.chunk):
                self._new_hints = True
                self._tell_soon()

        def on_state(snapshot: Snapshot) -> None:
            nonlocal begun
            begun = begun or snapshot.turn_id == turn_id
            if not begun and all(each.turn_id != turn_id for each in snapshot.queue):
                self.end(run)  # it was stopped before its turn came

        ends = (session.stream.subscribe(on_entry), session.on_state(on_state))

        def unsubscribe() -> None:
            for end in ends:
                end()

        self._ends[run] = unsubscribe
        on_state(session.snapshot)

    def end(self, run: Run) -> None:
        """A run is over, or did not come about."""
        if run not in self._runs:
            return
        run.finish()
        self._runs.remove(run)
        self._written += run.shown.values()
        end = self._ends.pop(run, None)
        if end is not None:
            end()
        self._new_hints = True
        self._tell()

    def hints(self, wanted: types.Range) -> list[types.InlayHint]:
        """The hints in a range, at the ends of their lines."""
        start, end = self.document.span(wanted)
        return [
            self._hint(mark, label, tip) for mark, label, tip in self._hints() if label and start <= mark.end <= end + 1
        ]

    def close(self) -> None:
        """Show nothing any longer."""
        self._unsubscribe()
        if self._timer is not None:
            self._timer.cancel()
        for end in self._ends.values():
            end()
        self._ends.clear()
        self._runs.clear()
        self._show([])

    def _marks(self) -> list[Mark]:
        """Of what ended runs have left, and of failures."""
        return [*(each.mark for each in self._written), *(each.mark for each in self._failed)]

    # --- what is shown -----------------------------------------------------------------------------------------

    def _all_written(self) -> Iterator[Written]:
        yield from self._written
        for run in self._runs:
            yield from run.shown.values()

    def _hints(self) -> Iterator[tuple[Mark, str, str]]:
        failed = {(each.mark.start, each.mark.end): each.name for each in self._failed if not each.mark.gone}
        for written in self._all_written():
            if not written.mark.gone:
                name = failed.pop((written.mark.start, written.mark.end), "")
                yield written.mark, "  ".join(filter(None, (written.label, name))), written.tail
        for failure in self._failed:
            if name := failed.pop((failure.mark.start, failure.mark.end), ""):
                yield failure.mark, name, ""

    def _hint(self, mark: Mark, label: str, tip: str) -> types.InlayHint:
        from oi_engine.models.units import fenced

        tooltip = types.MarkupContent(types.MarkupKind.Markdown, fenced("", tip)) if tip.strip() else None
        return types.InlayHint(self.document.position(mark.end), f"→ {label}", tooltip=tooltip, padding_left=True)

    def _fail(self, run: Run, failure: dict[str, Any]) -> bool:
        """Take where the code failed. Answers whether that is a place that is still there."""
        run.tells_lines = True  # what else is written is the traceback
        line, last = failure["line"], failure.get("end_line") or failure["line"]
        if not 1 <= line <= last <= len(run.lines):
            return False
        marks = run.lines[line - 1 : last]
        if any(mark.gone for mark in marks):
            return False
        text = self.document.text
        start, end = marks[0].start, marks[-1].end
        head = text[start : marks[0].end]
        at = len(head) - len(head.lstrip())
        until = len(text[start:end].rstrip())
        if (column := failure.get("column")) is not None:
            at = min(run.piece.column(line, column), len(head))
            if (end_column := failure.get("end_column")) is not None:
                until = min(marks[-1].start + run.piece.column(last, end_column), end) - start
        self._new_problems = True
        self._failed.append(Failed(Mark(start, end), at, max(at, until), failure["name"], failure.get("message", "")))
        return True

    def _diagnostic(self, failed: Failed) -> types.Diagnostic:
        place = self.document.range(failed.mark.start + failed.start, failed.mark.start + failed.end)
        words = f"{failed.name}: {failed.message}" if failed.message else failed.name
        return types.Diagnostic(place, words, severity=types.DiagnosticSeverity.Error, source="oi-lsp")

    def _changed(self, document: Document, change: Change) -> None:
        marks = [*self._marks(), *(mark for run in self._runs for mark in run.lines)]
        if not marks:
            return
        places = [(each.mark.start, each.mark.gone) for each in self._failed]
        count = sum(not each.mark.gone for each in self._all_written())
        for mark in marks:
            mark.shift(change, document.text)
        # The client asks for hints anew when it has moved them itself, but it knows not of those that are gone.
        self._new_problems |= places != [(each.mark.start, each.mark.gone) for each in self._failed]
        self._new_hints |= count != sum(not each.mark.gone for each in self._all_written())
        if self._new_problems or self._new_hints:
            # When the event loop comes round: one message of the client's may hold several changes.
            self._tell_soon(0)

    def _tell_soon(self, pause: float = PAUSE) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None and self._timer.when() > loop.time() + pause:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_later(pause, self._tell)

    def _tell(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._written = [each for each in self._written if not each.mark.gone]
        self._failed = [each for each in self._failed if not each.mark.gone]
        if self._new_problems:
            self._show([self._diagnostic(each) for each in self._failed])
        if self._new_hints:
            self._refresh()
        self._new_problems = self._new_hints = False
