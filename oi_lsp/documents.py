"""The text documents that the client has open, as it has them.

What the client says of them (``didOpen``, ``didChange``, ``didSave``, ``didClose``) is the only source, and it is taken
in one content change at a time. Offsets are characters of Python's text; positions are LSP's: a line and the units of
the position encoding that was negotiated, lines ending with CR LF, LF or CR. pygls has a mirror of its own, which
splits lines at characters that LSP does not know and counts units character by character in Python.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from attrs import field, frozen
from lsprotocol import types

from oi_lsp.protocol_settings import Range
from oi_lsp.structure import InvalidField

log = logging.getLogger(__name__)

Unsubscribe = Callable[[], None]
_BREAK = re.compile("\r\n|\n|\r")
_T = TypeVar("_T")


def lsp_range(given: Range, where: str = "range") -> types.Range:
    """The range that a command of ours was given. Raises ``InvalidField``."""
    try:
        return types.Range(*(types.Position(end.line, end.character) for end in (given.start, given.end)))
    except ValueError:
        raise InvalidField(where, "must count lines and characters from 0, and to less than 2**31.") from None


@frozen
class Change:
    """One change as it was applied: ``text`` now is where ``start`` to ``end`` was.

    ``start`` and ``end`` are offsets in the text before. What a replacement has in common with what it replaces, at
    its head and at its tail, is not part of it.
    """

    start: int
    end: int
    text: str
    version: int | None

    @property
    def delta(self) -> int:
        """By how much the text grew."""
        return len(self.text) - (self.end - self.start)


@frozen
class _Listeners(Generic[_T]):
    """Who is called with what happens."""

    _all: list[Callable[[_T], None]] = field(factory=list)

    def add(self, listener: Callable[[_T], None]) -> Unsubscribe:
        def end() -> None:
            if listener in self._all:
                self._all.remove(listener)

        self._all.append(listener)
        return end

    def call(self, event: _T) -> None:
        for listener in list(self._all):
            try:
                listener(event)
            except Exception:  # whoever listens, the mirror goes on being what the client has
                log.exception("A listener to the client's documents failed.")


class Document:
    """One open document. ``version`` is the client's number for its text, ``None`` where it gives none.

    ``closed`` is set when the client closed it; what opens under the same URI later is another ``Document``. ``known``
    is False while a change is missing: then ``text`` is not what the client has, until it sends all of it.
    """

    def __init__(
        self,
        uri: str,
        language_id: str,
        version: int | None,
        text: str,
        encoding: types.PositionEncodingKind | str = types.PositionEncodingKind.Utf16,
    ) -> None:
        self.uri = uri
        self.language_id = language_id
        self.version = version
        self.encoding = types.PositionEncodingKind(encoding)
        self.closed = False
        self.known = True
        self._text = text
        self._lines = _LineStarts(text)
        self._changed = _Listeners[tuple[Document, Change]]()
        self._ended = _Listeners[Document]()

    @property
    def text(self) -> str:
        """What is in the document."""
        return self._text

    @property
    def newline(self) -> str:
        """How its first line ends; LF where it has but one line."""
        found = _BREAK.search(self._text)
        return found[0] if found else "\n"

    @property
    def line_count(self) -> int:
        """How many lines it has: one more than line breaks."""
        return len(self._lines)

    def line_span(self, line: int) -> tuple[int, int]:
        """Where a line (counted from 0, and there is one) begins, and where it ends before its line break."""
        begin, end = self._lines[line], len(self._text)
        if line + 1 < len(self._lines):
            end = self._lines[line + 1] - 1
            if end > begin and self._text[end - 1 : end + 1] == "\r\n":
                end -= 1
        return begin, end

    def line_at(self, offset: int) -> int:
        """The line in which an offset lies; what is out of range counts as the first or the last."""
        return self._lines.line_at(offset)

    def offset(self, position: types.Position) -> int:
        """Where a position lies. After the end of a line it is that end, after the last line the end of the text.

        Within a character it is before that character.
        """
        if position.line >= len(self._lines):
            return len(self._text)
        begin, end = self.line_span(position.line)
        # Each character has at least one unit.
        return begin + _characters(self._text[begin : min(end, begin + position.character)], position.character, self)

    def position(self, offset: int) -> types.Position:
        """The position of an offset; one out of range is the start or the end, one within CR LF is before it."""
        line = self.line_at(offset)
        begin, end = self.line_span(line)
        return types.Position(line, _units(self._text[begin : max(begin, min(offset, end))], self.encoding))

    def span(self, range: types.Range) -> tuple[int, int]:  # noqa: A002 -- as LSP calls it
        """The start and the end of a range; sorted, as some clients give a selection from its end."""
        one, other = self.offset(range.start), self.offset(range.end)
        return min(one, other), max(one, other)

    def range(self, start: int, end: int) -> types.Range:
        """The range from one offset to another."""
        return types.Range(self.position(start), self.position(end))

    def subscribe(self, listener: Callable[[Document, Change], None]) -> Unsubscribe:
        """Have a listener called after each change, when ``text`` has it already. Answers how to end that.

        Where the client sends several changes at once, ``version`` is that of the last while the first is told: a
        listener must not ask the client for an edit at once, but when the event loop comes round.
        """
        return self._changed.add(lambda event: listener(*event))

    def on_close(self, listener: Callable[[Document], None]) -> Unsubscribe:
        """Have a listener called when the client closes this document. Answers how to end that."""
        return self._ended.add(listener)

    def apply(self, change: types.TextDocumentContentChangeEvent, version: int | None) -> None:
        """Take in one content change of the client's."""
        self.version = version
        if not isinstance(change, types.TextDocumentContentChangePartial):
            self.replace_all(change.text)
        elif self.known:
            self._replace(*self.span(change.range), change.text)

    def replace_all(self, text: str) -> None:
        """Take in what the client says is the whole text."""
        was_known, self.known = self.known, True
        if not was_known and text == self._text:
            self._changed.call((self, Change(0, 0, "", self.version)))
        self._replace(0, len(self._text), text)

    def lose(self) -> None:
        """A change could not be taken in: what the client has is unknown until it sends all of it."""
        self.known = False

    def close(self) -> None:
        """The client has closed it."""
        self.closed = True
        self._ended.call(self)

    def _replace(self, start: int, end: int, text: str) -> None:
        old = self._text[start:end]
        if old and text:
            head = common_head(old, text)
            tail = common_tail(old[head:], text[head:])
            start, end, text = start + head, end - tail, text[head : len(text) - tail]
        if start == end and not text:
            return
        self._text = self._text[:start] + text + self._text[end:]
        self._lines.replace(start, end, len(text), self._text)
        self._changed.call((self, Change(start, end, text, self.version)))


class Documents:
    """The documents that are open; ``encoding`` is for those that open from now on."""

    def __init__(self, encoding: types.PositionEncodingKind | str = types.PositionEncodingKind.Utf16) -> None:
        self.encoding = types.PositionEncodingKind(encoding)
        self._open: dict[str, Document] = {}
        self._opened, self._closed, self._saved = (_Listeners[Document]() for _ in range(3))

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._open.values()))

    def get(self, uri: str) -> Document | None:
        """The document that is open under a URI, which is compared as the client writes it."""
        return self._open.get(uri)

    def open(self, params: types.DidOpenTextDocumentParams) -> None:
        """A document was opened; one that was open under its URI is closed first."""
        item = params.text_document
        self._forget(item.uri)
        document = Document(item.uri, item.language_id, item.version, item.text, self.encoding)
        self._open[item.uri] = document
        self._opened.call(document)

    def change(self, params: types.DidChangeTextDocumentParams) -> None:
        """A document was changed: each content change is applied to what the one before made of the text."""
        document = self._known(params.text_document.uri, "change")
        if document is None:
            return
        document.version = version = params.text_document.version
        try:
            for change in params.content_changes:
                document.apply(change, version)
        except Exception:  # whatever it was, the text is not the client's any longer
            log.exception("A change of %s could not be taken in.", document.uri)
            document.lose()

    def lose(self, uri: str | None) -> None:
        """A notification of a document's could not be read; of which, is unknown where there is no URI.

        Such a document is ``known`` again when the client sends its whole text or opens it again.
        """
        for document in self if uri is None else filter(None, [self._open.get(uri)]):
            log.warning("What the client has in %s is unknown from now on.", document.uri)
            document.lose()

    def save(self, params: types.DidSaveTextDocumentParams) -> None:
        """A document was saved; where its text comes along, that is what it holds."""
        document = self._known(params.text_document.uri, "save")
        if document is None:
            return
        if params.text is not None:
            document.replace_all(params.text)
        self._saved.call(document)

    def close(self, params: types.DidCloseTextDocumentParams) -> None:
        """A document was closed."""
        if self._known(params.text_document.uri, "close") is not None:
            self._forget(params.text_document.uri)

    def on_open(self, listener: Callable[[Document], None]) -> Unsubscribe:
        """Have a listener called with each document that is opened. Answers how to end that."""
        return self._opened.add(listener)

    def on_close(self, listener: Callable[[Document], None]) -> Unsubscribe:
        """Have a listener called with each document that is closed. Answers how to end that."""
        return self._closed.add(listener)

    def on_save(self, listener: Callable[[Document], None]) -> Unsubscribe:
        """Have a listener called with each document that is saved. Answers how to end that."""
        return self._saved.add(listener)

    def _known(self, uri: str, what: str) -> Document | None:
        document = self._open.get(uri)
        if document is None:
            log.warning("Ignored the %s of a document that is not open: %s", what, uri)
        return document

    def _forget(self, uri: str) -> None:
        document = self._open.pop(uri, None)
        if document is not None:
            document.close()
            self._closed.call(document)


class _LineStarts:
    """Where the lines of a text begin, with a gap where it was changed last, so that the next change there is cheap.

    Before the gap an offset is kept, after it the distance from the text's end (the last line first).
    """

    def __init__(self, text: str) -> None:
        self._head = [0, *(found.end() for found in _BREAK.finditer(text))]
        self._tail: list[int] = []
        self._length = len(text)

    def __len__(self) -> int:
        return len(self._head) + len(self._tail)

    def __getitem__(self, line: int) -> int:
        behind = line - len(self._head)
        return self._head[line] if behind < 0 else self._length - self._tail[-1 - behind]

    def line_at(self, offset: int) -> int:
        distance = self._length - offset
        if self._tail and distance <= self._tail[-1]:
            return len(self) - 1 - bisect_left(self._tail, distance)
        return max(bisect_right(self._head, offset) - 1, 0)

    def replace(self, start: int, end: int, size: int, text: str) -> None:
        """What was from ``start`` to ``end`` now has ``size`` characters; ``text`` is the whole text after that."""
        head, tail = self._head, self._tail
        # CR and LF make one line break where they meet, so that a change counts for a line that begins at its edge.
        first = max(start, 1)
        while head[-1] >= first:
            tail.append(self._length - head.pop())
        while tail and self._length - tail[-1] < first:
            head.append(self._length - tail.pop())
        while tail and self._length - tail[-1] <= end:
            tail.pop()
        self._length = len(text)
        begin = max(start - 1, 0)
        ends = (begin + found.end() for found in _BREAK.finditer(text[begin : start + size + 1]))
        head.extend(offset for offset in ends if first <= offset <= start + size)


def _units(text: str, encoding: types.PositionEncodingKind) -> int:
    """How many units of the encoding a text takes."""
    if encoding is types.PositionEncodingKind.Utf32 or text.isascii():
        return len(text)
    if encoding is types.PositionEncodingKind.Utf8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _characters(text: str, units: int, document: Document) -> int:
    """How many whole characters of a text fit into so many units."""
    if document.encoding is types.PositionEncodingKind.Utf32 or text.isascii():
        return min(len(text), units)
    codec, width = ("utf-8", 1) if document.encoding is types.PositionEncodingKind.Utf8 else ("utf-16-le", 2)
    encoded = text.encode(codec, "surrogatepass")
    if units * width >= len(encoded):
        return len(text)
    cut = units * width
    if width == 1:
        while encoded[cut] & 0xC0 == 0x80:
            cut -= 1
    elif cut and encoded[cut + 1] & 0xFC == 0xDC and encoded[cut - 1] & 0xFC == 0xD8:
        cut -= width
    return len(encoded[:cut].decode(codec, "surrogatepass"))


def common_head(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_tail(one: str, other: str) -> int:
    """How many characters two texts end with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
