"""``oi:`` comments: what a person wants edited, written beside it, as in ``# oi: vectorise this loop``.

The comment stands alone on its line, or after code. In ``/* … */``, ``<!-- … -->`` and ``(* … *)`` the instruction may
go on for some lines. What the comment is about, its *block*, is found by indentation alone, in any language:

- A comment after code is about its line, and about the lines below that are deeper than it.
- One on a line of its own is about what comes next (blank lines skipped): that line, and all below it up to a line that
  is indented less, or a blank line that what follows is not deeper than the first. A bracket that closes, or a word
  such as ``else`` and ``end``, goes on with what is above it. Where what comes next is indented less than the comment,
  the comment is about the place where it stands.

The comment is part of its block, so that the edit takes it away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

from oi_lsp.documents import Document

LONGEST = 20
"""Lines of a comment that are read at most."""

_OPENER = re.compile(r"(?<!\S)(?P<mark>#+|//+!?|--+|;+|%+|/\*+|<!--+|\(\*+)[ \t]*oi:[ \t]+")
_CLOSERS = {"/*": re.compile(r"\*+/"), "<!": re.compile("-->"), "(*": re.compile(r"\*+\)")}
_GOES_ON = re.compile(r"[)\]}]|</|(?:else|elif|elsif|elseif|except|finally|catch|rescue|ensure|end|fi|done|esac)\b")
_TAB = 8


@frozen
class OiComment:
    """An instruction, where its comment is, and the block that it is about; offsets of the document."""

    instruction: str
    start: int
    end: int
    block_start: int
    block_end: int


def oi_comments(document: Document, start: int, end: int) -> Iterator[OiComment]:
    """The ``oi:`` comments on the lines from one offset to another."""
    text = document.text
    first, last = document.line_at(start), document.line_at(end)
    # A comment of several lines may have begun above.
    low, high = document.line_span(max(0, first - LONGEST))[0], document.line_span(last)[1]
    at = text.find("oi:", low, high)
    while at >= 0:
        begin, stop = document.line_span(document.line_at(at))
        found = _OPENER.search(text, begin, stop)
        comment = _comment(document, found) if found else None
        if comment is not None and comment.end >= document.line_span(first)[0]:
            yield comment
        at = text.find("oi:", stop, high)


def _comment(document: Document, found: re.Match[str]) -> OiComment | None:
    line = document.line_at(found.start())
    begin, stop = document.line_span(line)
    closer, last = _CLOSERS.get(found["mark"][:2]), line
    words = document.text[found.end() : stop]
    if closer is not None:
        limit = document.line_span(min(line + LONGEST, document.line_count) - 1)[1]
        closed = closer.search(document.text, found.end(), limit)
        if closed is not None:
            words, last = document.text[found.end() : closed.start()], document.line_at(closed.start())
    instruction = " ".join(filter(None, (each.strip().lstrip("*").strip() for each in words.splitlines())))
    if not instruction:
        return None
    alone = not document.text[begin : found.start()].strip()
    end = document.line_span(last)[1]
    until = _last_line(document, line, last, alone=alone)
    return OiComment(instruction, begin, end, begin, document.line_span(until)[1])


def _last_line(document: Document, line: int, last: int, *, alone: bool) -> int:
    """The last line of the block of a comment on the lines ``line`` to ``last``."""
    own = _depth(document, line) or 0
    base: int | None = None if alone else own + 1
    after_blank = False
    for number in range(last + 1, document.line_count):
        depth = _depth(document, number)
        if depth is None:
            after_blank = True
            continue
        if base is None:
            base = depth if depth >= own else own + 1
        elif alone and after_blank and depth == base and not _goes_on(document, number):
            break
        if depth < base:
            break
        last, after_blank = number, False
    return last


def _depth(document: Document, line: int) -> int | None:
    """How far a line is indented, in columns; ``None`` for a blank one."""
    begin, end = document.line_span(line)
    text = document.text[begin:end].expandtabs(_TAB)
    return len(text) - len(text.lstrip()) if text.strip() else None


def _goes_on(document: Document, line: int) -> bool:
    begin, end = document.line_span(line)
    return _GOES_ON.match(document.text[begin:end].lstrip()) is not None
