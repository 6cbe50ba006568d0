"""What a person must know of a block before they decide, as diagnostics on it: for any client of LSP.

While a block waits, that is what the scanner and the policy say of the text that was proposed, each at its line, and
what is hard to see in the text as it stands: invisible characters, look-alikes, long lines. Of a block that ran without
a question it is what let it run. All of it is of one text: it goes when the block is edited, and comes back with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from attrs import frozen
from lsprotocol import types

from oi_engine.approval import Proposal, Remark
from oi_engine.safety.reveal import reveal
from oi_lsp.chat_document.document import ChatDocument, Part, Problem
from oi_lsp.documents import Document
from oi_lsp.paced import Paced

if TYPE_CHECKING:
    from oi_lsp.documents import Change

PAUSE = 0.2
"""Seconds at least between two times that the diagnostics are made."""
_REST = 10
"""So many times as long as making them took, the next time is put off: a long document leaves the loop to others."""

NOT_SCANNED = Remark("Not scanned yet: take Scan to have it looked at first.")
_EDITED = "You edited this since it was scanned: what is said of it below is of the text before. "
EDITED_AUTO = Remark(f"{_EDITED}It is scanned again before it runs; take Scan to know at once.")
EDITED_ASK = Remark(f"{_EDITED}Take Scan to have it looked at again.")

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
_SOURCE = "oi-lsp"


@frozen
class Waiting:
    """A block that waits for a decision, and what ``safe_mode`` is."""

    block: str
    proposal: Proposal
    safe_mode: str


@frozen
class Known:
    """What is known of a block that has this very text."""

    code: str
    remarks: tuple[Remark, ...] = ()

    @classmethod
    def of_words(cls, code: str, words: str) -> Known:
        """One thing, of the whole of it."""
        return cls(code, (Remark(words),))


class Remarks:
    """Shows what is known of the blocks of one chat document, and follows the document's changes.

    ``parsed`` answers the document as it is now, ``waiting`` what waits in it; ``show`` has the client show these
    diagnostics, and no others of these.
    """

    def __init__(
        self,
        document: Document,
        parsed: Callable[[], ChatDocument],
        waiting: Callable[[], Waiting | None],
        show: Callable[[Sequence[types.Diagnostic]], None],
    ) -> None:
        self._document = document
        self._parsed, self._waiting = parsed, waiting
        self._show = show
        self._scanned: dict[str, Known] = {}
        self._unasked: dict[str, Known] = {}
        self._shown: list[types.Diagnostic] = []
        self._paced = Paced(PAUSE, self._draw)
        self._end = document.subscribe(self._changed)

    def scanned(self, block: str, known: Known) -> None:
        """The person had a block scanned as it stood in the document."""
        self._scanned[block] = known

    def ran_unasked(self, block: str, known: Known) -> None:
        """A block was run without a question."""
        self._unasked[block] = known
        self.news()

    def news(self) -> None:
        """Something is not as it was: what waits, say. It is shown soon."""
        self._paced.ask()

    def may_scan(self, waiting: Waiting, code: str) -> bool:
        """Whether a scan would tell of the block's text, ``code``, what is not said yet."""
        return waiting.safe_mode != "off" and not of_text(waiting, code, self._scanned.get(waiting.block))[1]

    def close(self) -> None:
        """Show nothing any longer."""
        self._end()
        self._paced.cancel()
        self._show([])

    def _changed(self, document: Document, change: Change) -> None:
        if self._shown or self._unasked or self._waiting() is not None:
            self.news()

    def _draw(self) -> None:
        began = monotonic()
        found = list(diagnostics(self._document, self._parsed(), self._waiting(), self._scanned, self._unasked))
        if found != self._shown:
            self._shown = found
            self._show(found)
        self._paced.pace = max(PAUSE, _REST * (monotonic() - began))


def diagnostics(
    document: Document,
    parsed: ChatDocument,
    waiting: Waiting | None,
    scanned: Mapping[str, Known],
    unasked: Mapping[str, Known],
) -> Iterator[types.Diagnostic]:
    """What is known of the blocks. By their ids: those that the person had ``scanned``, as they were then, and those
    that ran ``unasked``, without a question."""
    for part in parsed.parts():
        if part.kind != "code" or part.id is None:
            continue
        if waiting is not None and part.id == waiting.block:
            text = Text(document, parsed, part)
            yield from text.remarks(of_text(waiting, text.code, scanned.get(part.id))[0])
            yield from text.hidden()
        elif (known := unasked.get(part.id)) is not None and same(known.code, parsed.unix(part.content)):
            yield from Text(document, parsed, part).remarks(known.remarks, types.DiagnosticSeverity.Hint)


def of_text(waiting: Waiting, code: str, scanned: Known | None) -> tuple[tuple[Remark, ...], bool]:
    """What is to be said of the block that waits with this text, and whether the scanner has looked at that text."""
    proposal, mode = waiting.proposal, waiting.safe_mode
    if same(proposal.cell.code, code):
        to_be_scanned = mode != "off" and not proposal.reviewed
        return (*proposal.remarks, *([NOT_SCANNED] if to_be_scanned else [])), proposal.reviewed
    if scanned is not None and same(scanned.code, code):
        return scanned.remarks, True
    if mode == "off":
        return (), False
    edited = EDITED_AUTO if mode == "auto" else EDITED_ASK
    return (edited if proposal.reviewed else NOT_SCANNED,), False


class Text:
    """The text of one block, and where in the document its characters stand."""

    def __init__(self, document: Document, parsed: ChatDocument, part: Part) -> None:
        self.code = parsed.unix(part.content)
        self._document = document
        self._part = part
        raw = parsed.text[part.content_start : part.content_end]
        self._places = None if raw == self.code else _places(raw, self.code)

    def remarks(
        self, remarks: Sequence[Remark], severity: types.DiagnosticSeverity | None = None
    ) -> Iterator[types.Diagnostic]:
        """Remarks at their lines, those of the whole at the line that opens the block."""
        for remark in remarks:
            place = self._line(remark.line) if remark.line is not None else None
            yield _diagnostic(
                place or self._document.range(self._part.start, self._part.info_end),
                remark.message,
                severity or _SEVERITIES[remark.severity],
                remark.rule or None,
            )

    def hidden(self) -> Iterator[types.Diagnostic]:
        """What the eye would miss in it, at each place."""
        for finding in reveal(self.code).found:
            for start, end in finding.places:
                words = f"{finding.what}."
                yield _diagnostic(self.range(start, end), words, types.DiagnosticSeverity.Warning, finding.kind)

    def range(self, start: int, end: int) -> types.Range:
        """The place in the document of what stands between two offsets of the code."""
        return self._document.range(
            self._offset(start), self._offset(end - 1) + 1 if end > start else self._offset(end)
        )

    def _offset(self, at: int) -> int:
        return self._part.content_start + (at if self._places is None else self._places[at])

    def _line(self, number: int) -> types.Range | None:
        """What stands in a line of the code, from 1; ``None`` where there is no such line."""
        lines = self.code.split("\n")
        if not 1 <= number <= len(lines):
            return None
        line = lines[number - 1]
        start = sum(len(each) + 1 for each in lines[: number - 1])
        indent = len(line) - len(line.lstrip())
        return self.range(start + (indent if line.strip() else 0), start + len(line.rstrip()))


def same(one: str, other: str) -> bool:
    """Whether two texts are the same code; a document may have given its lines other ends."""
    return one == other or one.replace("\r\n", "\n") == other.replace("\r\n", "\n")


def _places(raw: str, content: str) -> list[int]:
    r"""Where each character of a block's content, and its end, stands in the text that it was read from.

    That has more characters: backslashes that keep words from being marks, and the ``\r`` of its lines' ends.
    """
    places, at = [], 0
    for char in content:
        at = raw.index(char, at)
        places.append(at)
        at += 1
    return [*places, at]


def _diagnostic(
    place: types.Range, words: str, severity: types.DiagnosticSeverity, code: str | None
) -> types.Diagnostic:
    # What the words quote may hide something as well.
    return types.Diagnostic(place, reveal(words).text, severity=severity, code=code, source=_SOURCE)


def of_problem(document: Document, problem: Problem) -> types.Diagnostic:
    """What is wrong with the document itself."""
    place = document.range(problem.start, problem.end)
    return types.Diagnostic(place, problem.message, severity=types.DiagnosticSeverity.Warning, source=_SOURCE)
