"""How the hunks of an edit look in a client: code actions and lenses, diagnostics, and the state for shims."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from oi_engine.edits.lines import split_lines
from oi_engine.edits.proposal import Shown
from oi_engine.safety.reveal import reveal
from oi_lsp import protocol_documents as wire
from oi_lsp.documents import Document
from oi_lsp.inline_edit.comments import OiComment
from oi_lsp.inline_edit.edit import InlineEdit
from oi_lsp.offers import QUICK, Offer, Place
from oi_lsp.protocol_settings import Position, Range
from oi_lsp.structure import shortened

LINES = 8
"""Lines of the new text that a diagnostic shows at most."""

WIDTH = 200
"""Characters of each that it shows at most."""

_INFORMATION, _WARNING = types.DiagnosticSeverity.Information, types.DiagnosticSeverity.Warning


def what(hunk: Shown) -> str:
    """What a hunk does, in words."""
    old, new = len(split_lines(hunk.old)), len(split_lines(hunk.new))
    if not old:
        return f"{_lines(new)} more"
    if not new:
        return f"{_lines(old)} less"
    return f"{_lines(old)} {'becomes' if old == 1 else 'become'} {new}"


def spot(document: Document, hunk: Shown) -> tuple[int, int] | None:
    """The offsets where a hunk is shown: its lines without the last line break, or the line that it goes before.

    What goes to the end of the document is shown at its last line.
    """
    if hunk.start is None or hunk.end is None:
        return None
    first = document.line_at(hunk.start)
    last = document.line_at(hunk.end - 1) if hunk.end > hunk.start else first
    if hunk.start == hunk.end == len(document.text) and document.line_span(first)[0] == hunk.start:
        first = last = max(0, first - 1)
    return document.line_span(first)[0], document.line_span(last)[1]


def offers_of(edit: InlineEdit) -> Iterator[Offer]:
    """What can be done with an edit: rejecting before accepting, as some clients suggest the first."""
    hunks = [hunk for hunk in edit.hunks if hunk.state == "proposed"]
    spots = [(hunk, place) for hunk in hunks if (place := spot(edit.document, hunk)) is not None]
    for hunk, place in spots:
        reject, accept = wire.EditReject(edit.id, hunk.id), wire.EditAccept(edit.id, hunk.id)
        yield Offer(f"Reject: {what(hunk)}", "oi.edit.reject", reject, *place, QUICK)
        yield Offer(f"Accept: {what(hunk)}", "oi.edit.accept", accept, *place, QUICK)
    start, end = edit.proposal.range
    at = spots[0][1][0] if spots else start
    start, end = min(start, at), max(end, at)
    if len(spots) > 1:
        count = len(spots)
        yield Offer(
            f"Reject all {count} changes", "oi.edit.reject", wire.EditReject(edit.id), start, end, QUICK, lens_at=at
        )
        yield Offer(
            f"Accept all {count} changes", "oi.edit.accept", wire.EditAccept(edit.id), start, end, QUICK, lens_at=at
        )
    if edit.stage == "streaming":
        yield Offer("Stop this edit", "oi.edit.stop", wire.EditStop(edit.id), start, end, QUICK, lens_at=at)


def offer_of(comment: OiComment, place: Place) -> Offer:
    """What an ``oi:`` comment asks for: for the selection, where more is selected than the comment, else its block."""
    document, start, end = place.document, comment.block_start, comment.block_end
    if not place.is_whole and (place.start < comment.start or place.end > comment.end) and place.start < place.end:
        start, end = min(place.start, comment.start), max(place.end, comment.end)
    params = wire.SelectionEdit(document.uri, comment.instruction, _range(document, start, end))
    return Offer(
        title_of(comment.instruction), "oi.selection.edit", params, comment.start, comment.end, lens_at=comment.start
    )


def diagnostics_of(edit: InlineEdit) -> Iterator[types.Diagnostic]:
    """What would be there, as a diagnostic on each hunk: for clients that cannot draw it."""
    document = edit.document
    for hunk in edit.hunks:
        place = spot(document, hunk) if hunk.state in ("proposed", "pending") else None
        if place is not None:
            yield types.Diagnostic(
                document.range(*place),
                _message(edit, hunk),
                severity=_WARNING if reveal(hunk.new).found else _INFORMATION,
                source="oi-lsp",
            )


def state_of(edit: InlineEdit) -> wire.EditState:
    """An edit as the wire has it."""
    document = edit.document
    return wire.EditState(
        edit_id=edit.id,
        uri=document.uri,
        state=edit.stage,
        hunks=tuple(_hunk(document, hunk) for hunk in edit.hunks),
        version=document.version,
        comment=edit.comment or None,
        error=edit.error or None,
        cost=edit.cost,
    )


def preview(text: str) -> str:
    """The first lines of a text, how many more there are, and what in all of it the eye would miss."""
    revealed = reveal(text)
    lines = split_lines(revealed.text)
    shown = [line.rstrip("\r\n") for line in lines[:LINES]]
    shown = [line if len(line) <= WIDTH else f"{line[:WIDTH]}…" for line in shown]
    if len(lines) > LINES:
        shown.append(f"… and {_lines(len(lines) - LINES)} more")
    shown += [finding.message for finding in revealed.found[:LINES]]
    if len(revealed.found) > LINES:
        shown.append(f"… and {len(revealed.found) - LINES} more of this kind")
    return "\n".join(shown)


def title_of(instruction: str) -> str:
    """What an edit is called."""
    return f"Edit: {shortened(' '.join(instruction.split()))}"


def _message(edit: InlineEdit, hunk: Shown) -> str:
    place = ""
    if not hunk.old:
        after = hunk.start == len(edit.document.text)
        place = ", after this line" if after else ", before this line"
    # Not the instruction, which may be long: where a client has one line for it all, the new text is what matters.
    head = f"Edit: {what(hunk)}{place}"
    return f"{head}\n{preview(hunk.new)}" if hunk.new else head


def _hunk(document: Document, hunk: Shown) -> wire.EditHunk:
    place = None
    if hunk.start is not None and hunk.end is not None:
        place = _range(document, hunk.start, hunk.end)
    return wire.EditHunk(hunk.id, hunk.state, hunk.old, hunk.new, place)  # type: ignore[arg-type]  # never superseded


def _range(document: Document, start: int, end: int) -> Range:
    found = document.range(start, end)
    return Range(Position(found.start.line, found.start.character), Position(found.end.line, found.end.character))


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"
