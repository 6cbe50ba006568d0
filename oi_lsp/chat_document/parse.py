"""Reads a chat document, whatever became of it.

Two steps, each one pass. The markers with the document's nonce are found first: they are boundaries wherever they
stand, inside an open fence too, whatever their heading says. What lies between two of them is read line by line with
CommonMark's fences: headings without a marker count outside of fences only, and a fence whose info string has an id is
a block. A block's opening line ends a fence that was left open before it, if it could have closed that one.

A marker is only mentioned, and no boundary, where a quotation mark (``>``) or a backtick stands before it on its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, cast

from attrs import define, field

from oi_lsp.chat_document.document import ChatDocument, Kind, Part, Problem, Section, Speaker, trimmed
from oi_lsp.chat_document.syntax import (
    BLOCK_ID,
    BYTE_ORDER_MARK,
    FENCE,
    HEADING,
    RESERVED,
    VERSION,
    FenceState,
    Newline,
    marker_pattern,
    newline_of,
    shadow_of,
    unescape_markers,
    unescape_text,
    unquoted,
)

_FRONT_MATTER = 4096
"""Characters that front matter may have."""
_PROBLEMS = 100
"""Problems that are noted: of a document that has more, all of them are of no use to anybody."""

_MARKED_HEADING = re.compile(r"^ {0,3}## (?:You|Assistant) <!-- oi:([A-Za-z0-9]{1,64})\.[ua][0-9]{1,9} -->", re.M)
_SECTION_BEGINS = re.compile(r"^ {0,3}##[ \t]|<!-- oi:", re.M)
_OI_LINE = re.compile(r"^oi:[ \t]*([0-9]{1,9})[ \t]+([A-Za-z0-9]{1,64})[ \t]*$", re.M)
_FRONT_OPENS = re.compile(r"---[ \t]*\n")
_FRONT_CLOSES = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.M)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_HEADING_BEFORE = re.compile(r"#{2,6}[ \t]{0,8}(?:You|Assistant)\Z")
_GLUED_FENCE = re.compile(r"^ {0,3}`{3,}(?=#{2,6}[ \t])")
_SPACES = re.compile(r"[ \t]*")
_NO_ADDRESS = re.compile(r"[\s()]")
_LINES = re.compile(f"{FENCE.pattern}|{HEADING.pattern}", re.M)


def parse(text: str) -> ChatDocument:
    """Read a document. Never raises; linear in the length of ``text``."""
    newline = newline_of(text)
    shadow = shadow_of(text)
    if text.startswith(BYTE_ORDER_MARK):
        shadow = f"\n{shadow[1:]}"  # so that a line begins behind it
    reader = _Reader(text, shadow, newline)
    nonce, front = reader.front_matter()
    reader.nonce = nonce
    reader.read(front[1])
    return ChatDocument(
        text,
        nonce,
        newline,
        front,
        tuple(reader.sections),
        tuple(sorted(reader.problems, key=lambda problem: problem.start)),
        tuple(reader.markers),
    )


class _Info(NamedTuple):
    """What an opening line says of its block."""

    kind: Kind
    written_id: str
    language: str | None
    attributes: Mapping[str, str]


class _Block(NamedTuple):
    """A block whose opening line was read."""

    info: _Info
    start: int
    info_end: int
    content_start: int


@define
class _Reader:
    text: str
    shadow: str
    newline: Newline
    nonce: str | None = None
    sections: list[Section] = field(factory=list)
    problems: list[Problem] = field(factory=list)
    markers: list[tuple[int, int]] = field(factory=list)
    _kind: Speaker | None = None  # None: no section is open
    _number: int | None = None
    _start: int = 0
    _body: int = 0
    _parts: list[Part] = field(factory=list)
    _text_from: int = 0
    _fence: FenceState = field(factory=FenceState)
    _block: _Block | None = None
    _opened_at: tuple[int, int] = (0, 0)
    _closing_line: tuple[int, int] = (0, 0)  # of the plain fence that closed last
    _ids: set[str] = field(factory=set)
    _numbers: set[tuple[Speaker, int]] = field(factory=set)

    # --- front matter ------------------------------------------------------------------------------------------

    def front_matter(self) -> tuple[str | None, tuple[int, int]]:
        """The nonce, and where the front matter is; what is wrong with it is noted."""
        start = 1 if self.text.startswith(BYTE_ORDER_MARK) else 0
        head = self.shadow[start : start + _FRONT_MATTER]
        begins = _SECTION_BEGINS.search(head)
        head = head[: begins.start()] if begins else head
        opening = _FRONT_OPENS.match(head)
        found = _OI_LINE.search(head)
        if found and not opening and head[: found.start()].strip():
            found = None
        after = found.end() if found else opening.end() - 1 if opening else 0  # before the end of a line
        closing = _FRONT_CLOSES.search(head, after)
        if closing and _BLANK_LINE.search(head, after, closing.end()):
            closing = None
        whole = opening is not None and closing is not None
        end = closing.end() if closing and (opening or found) else found.end() if found else 0
        place = (start, start + end)
        return self._nonce(found, whole, place), (0, start + end)

    def _nonce(self, found: re.Match[str] | None, whole: bool, place: tuple[int, int]) -> str | None:
        written = found[2] if found else None
        if found and int(found[1]) != VERSION:
            self._problem(
                *place, f"This document says that it is of version {found[1]}; version {VERSION} is understood."
            )
        if written and not whole:
            self._problem(*place, f"The front matter is damaged: put `oi: 1 {written}` between two lines `---`.")
        if written and marker_pattern(written).search(self.shadow):
            return written
        marked = _MARKED_HEADING.search(self.shadow)
        if marked is None:
            return written
        self._problem(
            *place, f"The first line `oi: 1 {marked[1]}` is missing or changed: put it between two lines `---` on top."
        )
        return marked[1]

    # --- markers -----------------------------------------------------------------------------------------------

    def read(self, at: int) -> None:
        """Read all that comes after the front matter."""
        begin = at
        if self.nonce is not None:
            looked_at, mentions = at, False  # where the last marker ended, and whether it was no boundary
            for found in marker_pattern(self.nonce).finditer(self.shadow, at):
                line_start = self.shadow.rfind("\n", looked_at, found.start()) + 1 or looked_at
                before = self.shadow[line_start : found.start()]
                # A fence that lost the end of its line stands before a heading; other backticks quote the marker.
                quotes = before.lstrip(" \t").startswith(">") or "`" in _GLUED_FENCE.sub("", before, count=1)
                mentions = quotes or (mentions and line_start == looked_at)
                looked_at = found.end()
                place = None if mentions else self._boundary(found, before)
                if place is None:
                    words = "This marker means nothing where it stands and is taken as text. It can be removed."
                    self._problem(*found.span(), words)
                    continue
                place = max(place, begin)
                self._lines(begin, place)
                self._at_marker(found, place)
                spaces = _SPACES.match(self.shadow, found.end())
                begin = self._text_from = spaces.end() if spaces else found.end()
        self._lines(begin, len(self.shadow))
        self._flush(len(self.shadow))
        if self._kind is None and not self.sections:
            self._begin("you", None, at, at)
        self._end_section(len(self.shadow))

    def _boundary(self, found: re.Match[str], before: str) -> int | None:
        """Where the heading, the image or the mark begins that a marker belongs to; None if it is no boundary.

        ``before`` is what stands before it on its line.
        """
        line_start = found.start() - len(before)
        word = found[1].rstrip("0123456789")
        if word == "image":
            link = _link(before)
            return line_start + link[0] if link else None
        if word in ("u", "a"):
            # A line that lost its end stands before the heading.
            words = before.rstrip(" \t")
            heading = _HEADING_BEFORE.search(words, max(0, len(words) - 32))
            if heading:
                return line_start + heading.start()
            if words.lstrip(" \t").startswith("#") or words.strip(" \t") in ("", "You", "Assistant"):
                return line_start
        return found.start() if word in ("u", "a", "tail", "next", "closed") else None

    def _at_marker(self, found: re.Match[str], place: int) -> None:
        word = found[1].rstrip("0123456789")
        end = found.end()
        if word == "closed":
            self._text_ends(*self._closing_line, place)
        self._flush(place)
        if word in ("u", "a"):
            kind: Speaker = "you" if word == "u" else "assistant"
            self._end_section(place)
            self._begin(kind, self._numbered(kind, found), place, end)
        elif word == "image":
            self._ensure_section(place)
            link = _link(self.shadow[place : found.start()]) or (0, 0, 0)
            start, stop = place + link[1], place + link[2]
            attributes = _attributes(found[2])
            of = attributes.get("of")
            content = unquoted(self.text[start:stop])
            self._parts.append(Part("image", place, end, start, stop, content, of, of, None, attributes))
        elif word == "tail" and self._kind == "assistant":
            self._end_section(end, tail=place)
        else:
            if word == "tail":
                self._problem(place, end, "This marker ends an answer, and stands outside of one. Remove it.")
            self.markers.append((place, end))

    def _numbered(self, kind: Speaker, found: re.Match[str]) -> int | None:
        digits = found[1].lstrip("ua")
        number = int(digits) if digits else 0
        if not digits or (kind, number) in self._numbers:
            problem = "This heading is a copy of another, or has no number. Remove the comment behind it."
            self._problem(found.start(), found.end(), problem)
            return None
        self._numbers.add((kind, number))
        return number

    # --- lines -------------------------------------------------------------------------------------------------

    def _lines(self, start: int, end: int) -> None:
        """Read what lies between two boundaries. The last text of it is left for ``_flush``."""
        self._text_from = start
        self._closing_line = (start, start)
        self._fence = FenceState()
        for line in _LINES.finditer(self.shadow, start, end):
            if line[1] is None:
                if not self._fence.mark:
                    self._unmarked(line)
            else:
                self._fence_line(line, end)
        if self._block is not None:
            self._close_block(end, None)
        elif self._fence.mark:
            self._problem(*self._opened_at, "This fence is never closed. Add a line that ends it.")

    def _unmarked(self, line: re.Match[str]) -> None:
        self._flush(line.start())
        self._end_section(line.start())
        kind: Speaker = "you" if line[3] == "You" else "assistant"
        if self.nonce is not None:
            words = (
                "This heading has no marker. It begins a section all the same; if it should not, put `\\` before it."
            )
            self._problem(line.start(), line.end(), words)
        self._text_from = line.start() + len(line[0].rstrip(" \t"))
        self._begin(kind, None, line.start(), self._text_from)

    def _fence_line(self, line: re.Match[str], limit: int) -> None:
        run, info = line[1], line[2]
        fence = self._fence
        if not fence.mark:
            if fence.opens(run, info):
                self._open(line, limit)
        elif fence.closes(run, info):
            fence.mark = ""
            if self._block is not None:
                self._close_block(line.start(), line)
            else:
                self._closing_line = (line.start(), line.end(1))
        elif run[0] == fence.mark and len(run) >= fence.size and "oi=" in info and _info(info):
            if self._block is not None:
                self._close_block(line.start(), None)
            else:
                self._problem(*self._opened_at, "This fence is never closed; the next block ends it.")
            self._open(line, limit)

    def _open(self, line: re.Match[str], limit: int) -> None:
        run, info = line[1], line[2]
        self._fence.mark, self._fence.size = run[0], len(run)
        self._opened_at = line.span()
        said = _info(info) if "oi=" in info else None
        if said is None:
            return
        self._flush(line.start())
        self._ensure_section(line.start())
        info_end = line.end() - len(info) + len(info.rstrip(" \t"))
        self._block = _Block(said, line.start(), info_end, min(line.end() + 1, limit))

    def _close_block(self, at: int, closing: re.Match[str] | None) -> None:
        block = self._block
        if block is None:
            return
        self._block = None
        info = block.info
        start, stop, end = block.content_start, max(at, block.content_start), at
        if closing is not None:
            end = closing.end(1)
            if info.kind != "output" or "no-final-newline" in info.attributes:
                both = self.newline == "\r\n" and self.text.startswith("\r\n", stop - 2)
                stop = max(start, stop - (2 if both else 1))
        else:
            self._problem(*self._opened_at, "The closing fence of this block is missing. Add it where the block ends.")
            stop = max(start, trimmed(self.text, start, stop)[1])
            end = max(stop, block.info_end)
        content = unescape_markers(self.text[start:stop], self.nonce)
        self._parts.append(
            Part(
                info.kind,
                block.start,
                end,
                start,
                stop,
                content,
                self._identified(block),
                info.written_id,
                info.language,
                info.attributes,
                closing is not None,
                block.info_end,
            )
        )
        self._text_from = end

    def _identified(self, block: _Block) -> str | None:
        kind, written_id, *_ = block.info
        if written_id == "-":
            return None
        if kind in ("code", "input"):
            if written_id in self._ids:
                words = f"This block is a copy of {written_id}: it counts as another, without an id."
                self._problem(block.start, block.info_end, words)
                return None
            self._ids.add(written_id)
        return written_id

    def _problem(self, start: int, end: int, message: str) -> None:
        if len(self.problems) < _PROBLEMS:
            self.problems.append(Problem(start, end, message))

    # --- sections and text -------------------------------------------------------------------------------------

    def _begin(self, kind: Speaker, number: int | None, start: int, body: int) -> None:
        self._kind, self._number, self._start, self._body, self._parts = kind, number, start, body, []

    def _ensure_section(self, at: int) -> None:
        """What stands before the first heading, or below the end of an answer, is the person's."""
        if self._kind is None:
            if self.sections:
                self._problem(at, at, "Your heading `## You` is missing above this.")
            self._begin("you", None, at, at)

    def _end_section(self, end: int, *, tail: int | None = None) -> None:
        if self._kind is not None:
            body_end = end if tail is None else tail
            begins, append_at = trimmed(self.text, self._body, body_end)
            append_at = append_at if begins < append_at else self._body
            place = (self._start, self._body, body_end, end, append_at)
            self.sections.append(Section(self._kind, self._number, *place, tuple(self._parts), tail))
        self._kind, self._parts = None, []

    def _text_ends(self, line: int, line_end: int, at: int) -> None:
        """The plain fence that closed just before ``at`` was closed by the server: it is not part of the text."""
        if line >= self._text_from and line < line_end and not self.shadow[line_end:at].strip():
            self._flush(line)
            self._text_from = at
            self.markers.append((line, line_end))

    def _flush(self, end: int) -> None:
        """The text that was read ends here."""
        start, stop = trimmed(self.text, self._text_from, end)
        self._text_from = end
        if start < stop:
            self._ensure_section(start)
            content = unescape_text(self.text[start:stop], self.nonce)
            self._parts.append(Part("text", start, stop, start, stop, content))


@lru_cache(maxsize=1024)
def _info(info: str) -> _Info | None:
    """What an info string says, if it has an id."""
    found = BLOCK_ID.search(info)
    if found is None:
        return None
    words = info[: found.start()].split(maxsplit=1)
    attributes = _attributes(info[found.end() :])
    kind: Kind = "rich" if "shown" in attributes else "edited" if "edited" in attributes else "code"
    first = words[0] if words else ""
    if first in RESERVED:
        return _Info(cast(Kind, first), found[1], None, attributes)
    return _Info(kind, found[1], unquoted(first) or None, attributes)


def _attributes(words: str) -> Mapping[str, str]:
    pairs = (word.partition("=") for word in words.split(maxsplit=32)[:32])
    return {name: unquoted(value) for name, _, value in pairs if name}


def _link(before: str) -> tuple[int, int, int] | None:
    """The link to an image that a text ends with: where it begins, and where its address begins and ends."""
    words = before.rstrip(" \t")
    middle = words.rfind("](")
    start = words.rfind("![", 0, middle) if middle > 0 else -1
    end = len(words) - 1
    if start < 0 or not words.endswith(")") or _NO_ADDRESS.search(words, middle + 2, end):
        return None
    return start, middle + 2, end
