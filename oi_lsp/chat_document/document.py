"""What a chat document says, as data. All offsets are in characters of its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from attrs import field, frozen

from oi_lsp.chat_document.syntax import BLANK, Newline

Speaker = Literal["you", "assistant"]
Kind = Literal[
    "text",
    "code",
    "edited",
    "rich",
    "output",
    "image",
    "note",
    "reasoning",
    "error",
    "question",
    "input",
    "file",
    "audio",
    "review",
    "message",
    "undo",
    "reset",
]
"""``edited``: code as the person changed it elsewhere before it ran; ``rich``: HTML or JavaScript that a program shows;
``question``: what a program asks, and ``input``: where the answer is written; ``message``: any other LMC message."""


@frozen
class Problem:
    """Something about a document that its reader should know: where, and in a sentence what it is and what to do."""

    start: int
    end: int
    message: str


@frozen
class Part:
    """One piece of a section.

    ``content`` is what the part says, to the byte: the text between ``content_start`` and ``content_end`` without the
    backslashes that keep it from being read as marks; of an image, the address. ``id`` is that of a code block or an
    input (``None`` where it has none, or is a copy of another), and of what belongs to a code block the id of that
    block. ``written_id`` is what stands in the document. ``complete`` is false where the closing fence is missing: what
    stands in such a block should not be run.
    """

    kind: Kind
    start: int
    end: int
    content_start: int
    content_end: int
    content: str
    id: str | None = None
    written_id: str | None = None
    language: str | None = None
    attributes: Mapping[str, str] = field(factory=dict)
    complete: bool = True
    info_end: int = 0
    """Of a block: the end of its opening line, where more can be said of it."""


@frozen
class Section:
    """What one side says. ``number`` is ``None`` where the heading has no marker, or a copy of one.

    From ``start`` to ``body`` is the heading (empty where a section was found without one), from ``body`` to
    ``body_end`` what is said, ``tail`` is the offset of the marker that ends an answer, ``end`` is after it.
    ``append_at`` is behind the last thing that stands in it, or behind the heading.
    """

    kind: Speaker
    number: int | None
    start: int
    body: int
    body_end: int
    end: int
    append_at: int
    parts: tuple[Part, ...]
    tail: int | None = None

    @property
    def blank(self) -> bool:
        """Whether nothing is said in it."""
        return not self.parts


@frozen
class Span:
    """A piece of the document: the kind of a part, ``front matter``, ``heading``, ``marker`` or ``space``."""

    kind: str
    start: int
    end: int


@frozen
class ChatDocument:
    """A whole document. ``nonce`` is ``None`` where none was found: the file is new, or no chat document yet."""

    text: str = field(repr=False)
    nonce: str | None
    newline: Newline
    front_matter: tuple[int, int]
    sections: tuple[Section, ...]
    problems: tuple[Problem, ...]
    markers: tuple[tuple[int, int], ...] = ()
    """Of messages that begin or end between two parts."""

    @property
    def answer(self) -> Section | None:
        """The last answer, if there is one."""
        return next((section for section in reversed(self.sections) if section.kind == "assistant"), None)

    @property
    def tail(self) -> int | None:
        """The offset of the last answer's tail marker."""
        answer = self.answer
        return answer.tail if answer else None

    @property
    def next_number(self) -> int:
        """A number that no section has."""
        return 1 + max((section.number or 0 for section in self.sections), default=0)

    @property
    def next_block(self) -> int:
        """A number that no block's id ends in."""
        found = (part.written_id or "" for part in self.parts())
        return 1 + max((_number(written) for written in found), default=0)

    def parts(self) -> Iterator[Part]:
        """The parts of all sections, in order."""
        for section in self.sections:
            yield from section.parts

    def block(self, block_id: str) -> Part | None:
        """The code block, or the input, with this id."""
        own = ("code", "input")
        return next((part for part in self.parts() if part.id == block_id and part.kind in own), None)

    def unix(self, content: str) -> str:
        r"""Content with ``\n`` at the end of its lines, if the document's convention is another; else as it is."""
        return content if self.newline == "\n" else content.replace("\r\n", "\n")

    def spans(self) -> Iterator[Span]:
        """The whole text in pieces, in order and without a gap; ``space`` is blank."""
        found = [Span("front matter", *self.front_matter), *(Span("marker", *place) for place in self.markers)]
        for section in self.sections:
            found.append(Span("heading", section.start, section.body))
            found.extend(Span(part.kind, part.start, part.end) for part in section.parts)
            if section.tail is not None:
                found.append(Span("marker", section.tail, section.end))
        at = 0
        for span in sorted((span for span in found if span.start < span.end), key=lambda span: span.start):
            if at < span.start:
                yield Span("space", at, span.start)
            yield span
            at = span.end
        if at < len(self.text):
            yield Span("space", at, len(self.text))


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without the blank lines that it begins with and the blank space that it ends with; empty if blank.

    The indentation of the first line that is not blank is kept.
    """
    piece = text[start:end]
    rest = piece.lstrip(BLANK)
    if not rest:
        return start, start
    lead = piece[: len(piece) - len(rest)]
    indent = len(lead) - 1 - max(lead.rfind("\n"), lead.rfind("\r"))
    return start + len(lead) - indent, start + len(piece.rstrip(BLANK))


def _number(written: str) -> int:
    digits = written.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return int(digits[:9]) if digits.isdecimal() and digits.isascii() else 0
