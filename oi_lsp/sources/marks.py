"""Lines of a document that something is shown at: they move with what is written above, and go when they are edited."""

from __future__ import annotations

from attrs import define

from oi_lsp.documents import Change


@define(eq=False)
class Mark:
    """Whole lines, from the beginning of the first (``start``) to the end of the last, before its line break."""

    start: int
    end: int
    gone: bool = False

    def shift(self, change: Change, text: str) -> None:
        """Move with a change; ``text`` is the document's after it."""
        if change.end <= self.start:
            self.start += change.delta
            self.end += change.delta
            self.gone = self.gone or not _begins_line(text, self.start)
        elif change.start < self.end or not _ends_line(text, self.end):
            self.gone = True

    def overlaps(self, start: int, end: int) -> bool:
        """Whether it has something of what lies between two offsets."""
        return self.start <= end and start <= self.end


def _begins_line(text: str, offset: int) -> bool:
    before = text[offset - 1 : offset] if offset else "\n"
    return before == "\n" or (before == "\r" and text[offset : offset + 1] != "\n")


def _ends_line(text: str, offset: int) -> bool:
    return text[offset : offset + 1] in ("", "\n", "\r")
