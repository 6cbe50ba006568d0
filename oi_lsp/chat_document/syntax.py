r"""The marks that a chat document is made of, and how words that look like one are kept from being one.

Lines end with ``\n``, ``\r\n`` or ``\r``, as for LSP and CommonMark. A *shadow* of a text has the same length and ends
every line with ``\n``, so that one search finds all lines and its offsets hold for the text.

Three things mean something in a document. In content that the server writes, each gets one backslash that the parser
takes away again, whatever number of backslashes was there before:

- a marker with the document's nonce: ``<!-- oi:7f3a\.u1 -->`` (everywhere, in code too);
- a heading of a section: ``\## You`` (in text outside of blocks);
- the id of a block: ``oi\=c1`` (in text, in a line that could open a fence).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal
from urllib.parse import quote, unquote

Newline = Literal["\n", "\r\n"]

BYTE_ORDER_MARK = "\ufeff"
VERSION = 1
"""Of the format."""
BLANK = " \t\r\n"
"""What text begins and ends without."""

HEADINGS = {"you": "## You", "assistant": "## Assistant"}
NUMBER_PREFIXES = {"you": "u", "assistant": "a"}

NONCE = re.compile(r"[A-Za-z0-9]{1,64}")
BLOCK_ID = re.compile(r"(?:^|[ \t])oi=([A-Za-z][A-Za-z0-9]{0,31}|-)(?![^ \t])")
"""In an info string: the id of a block, ``-`` for a block that belongs to none."""
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
"""In a shadow: a line that may open or close a fence. Groups: the run, and what follows it."""
HEADING = re.compile(r"^ {0,3}##[ \t]+(You|Assistant)[ \t]*(?:#+[ \t]*)?(?:<!--[^\n>]*-->[ \t]*)?$", re.MULTILINE)
"""In a shadow: the heading of a section without a marker of this document."""

_ESCAPED_HEADING = re.compile(r"^ {0,3}(\\)\\*##[ \t]+(?:You|Assistant)", re.MULTILINE)
_ESCAPED_ID = re.compile(r"oi\\*(\\)=")

RESERVED = frozenset(
    {"output", "note", "reasoning", "error", "question", "input", "file", "audio", "review", "message", "undo", "reset"}
)
"""First words of an info string that are no languages."""


def shadow_of(text: str) -> str:
    r"""``text`` with ``\n`` at the end of each line, of the same length (a ``\r\n`` becomes a space and a ``\n``)."""
    return text if "\r" not in text else text.replace("\r\n", " \n").replace("\r", "\n")


def newline_of(text: str) -> Newline:
    """The convention of a text: how its first line ends; a newline where there is none."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def marker(nonce: str, word: str) -> str:
    """The comment that marks a place of the document with this nonce."""
    return f"<!-- oi:{nonce}.{word} -->"


@lru_cache(maxsize=64)
def marker_pattern(nonce: str) -> re.Pattern[str]:
    """Finds the markers with this nonce in a shadow; group 1 is the word, group 2 its attributes."""
    return re.compile(rf"<!-- oi:{re.escape(nonce)}\.([a-z]{{1,8}}[0-9]{{0,9}})((?: [^\s<>]{{1,400}}){{0,8}}) -->")


@lru_cache(maxsize=64)
def _escaped_marker(nonce: str) -> re.Pattern[str]:
    return re.compile(rf"<!-- oi:{re.escape(nonce)}\\*(\\)\.")


def quoted(word: str) -> str:
    """Any text as one word of an info string or a marker."""
    return quote(word, safe="+#._-/", errors="replace")


def unquoted(word: str) -> str:
    """What ``quoted`` was given."""
    return unquote(word, errors="replace")


def quoted_language(language: str) -> str:
    """A language as the first word of an info string."""
    word = quoted(language)
    return f"%{ord(word[0]):02X}{word[1:]}" if word in RESERVED else word


def unescape_markers(content: str, nonce: str | None) -> str:
    """The content of a block as it was before ``MarkerEscape``."""
    if nonce is None or "\\." not in content:
        return content
    return _without(content, (found.start(1) for found in _escaped_marker(nonce).finditer(content)))


def unescape_text(text: str, nonce: str | None) -> str:
    """Text outside of blocks as it was before ``TextEscape``."""
    if "\\" not in text:
        return text
    shadow = shadow_of(text)
    gone = {found.start(1) for found in _ESCAPED_HEADING.finditer(shadow)}
    if "\\=" in text:
        for line in FENCE.finditer(shadow):
            gone.update(found.start(1) for found in _ESCAPED_ID.finditer(shadow, line.start(2), line.end()))
    if nonce is not None and "\\." in text:
        gone.update(found.start(1) for found in _escaped_marker(nonce).finditer(shadow))
    return _without(text, sorted(gone))


def _without(text: str, places: Iterable[int]) -> str:
    at, parts = 0, list[str]()
    for place in places:
        parts.append(text[at:place])
        at = place + 1
    return "".join([*parts, text[at:]])


class FenceState:
    """Which fence is open, line by line, as CommonMark has it outside of lists and quotations."""

    __slots__ = ("mark", "size")

    def __init__(self) -> None:
        self.mark, self.size = "", 0

    def opens(self, run: str, info: str) -> bool:
        """Whether such a line opens a fence where none is open."""
        return not (run[0] == "`" and "`" in info)

    def closes(self, run: str, info: str) -> bool:
        """Whether such a line closes the open fence."""
        return run[0] == self.mark and len(run) >= self.size and not info.strip(" \t")

    def feed(self, run: str, info: str) -> None:
        """Take the next line that matches ``FENCE``."""
        if self.mark:
            if self.closes(run, info):
                self.mark = ""
        elif self.opens(run, info):
            self.mark, self.size = run[0], len(run)
