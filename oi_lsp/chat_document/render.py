"""Writes the stream of a session into a chat document, by insertions alone: nothing is ever taken out or replaced.

A block is written with its closing fence at once and filled from within, so that the document is well formed at every
moment. Where its content holds a run of backticks that would close it, both fences are lengthened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from attrs import define, field

from oi_lsp.chat_document.conversation import ROLES, SECTION_ROLES
from oi_lsp.chat_document.document import ChatDocument, Speaker
from oi_lsp.chat_document.escape import BlockEscape, ConsoleLines, Newlines, TextEscape
from oi_lsp.chat_document.frame import heading
from oi_lsp.chat_document.places import Insertion, Place
from oi_lsp.chat_document.syntax import BLANK, Newline, marker, quoted, quoted_language

if TYPE_CHECKING:
    from oi_engine.messages import Chunk

SaveImage = Callable[[str, str], str]
"""Takes an image's LMC format and content (base64) and answers the address to link to. It must not block."""

_COMMANDS = {
    "undo": "The last request and all that came of it were taken back.",
    "reset": "The conversation began anew here; what stands above is not part of it.",
}
_RICH = ("code", "computer")
_QUESTION = 2_000
"""The most characters that a program's question has."""

_ADDRESS = "/:._~-+,@#=&?;!$"


@define
class Renderer:
    """Feeds a session's chunks, in order, into one document.

    It begins at the end of an answer (``Place.APPEND``), in the section of ``speaker``. ``next_block`` and
    ``next_number`` are free for ids of blocks and numbers of sections (``ChatDocument`` knows them). Messages that the
    document holds already, because the person wrote them there, are not to be fed: ``adopt`` the code among them.
    """

    nonce: str
    save_image: SaveImage
    next_block: int = 1
    next_number: int = 1
    newline: Newline = "\n"
    speaker: Speaker | None = "assistant"
    after_text: bool = False
    """Whether the section ends with text, so that more text has to be told from it."""
    _blocks: dict[str, str] = field(factory=dict, init=False)
    _in_place: set[str] = field(factory=set, init=False)
    _out: list[Insertion] = field(factory=list, init=False)
    _writer: _Writer | None = field(default=None, init=False)
    _silent: _ConsoleWriter | None = field(default=None, init=False)
    _newlines_at_end: int = field(default=0, init=False)
    _number: int | None = field(default=None, init=False)
    _next_speaker: Speaker | None = field(default=None, init=False)  # whose section begins with the next part

    @classmethod
    def following(cls, document: ChatDocument, save_image: SaveImage) -> Renderer:
        """One that goes on at the end of the document's last answer. Raises ``ValueError`` where there is none."""
        answer = document.answer
        if document.nonce is None or answer is None:
            raise ValueError("The document has no answer to go on with.")
        ends_with_text = bool(answer.parts) and answer.parts[-1].kind == "text"
        return cls(
            document.nonce,
            save_image,
            document.next_block,
            document.next_number,
            document.newline,
            after_text=ends_with_text,
        )

    # --- what a server asks for --------------------------------------------------------------------------------

    @property
    def blocks(self) -> Mapping[str, str]:
        """The id in the document of each code message in the stream, by the message's id."""
        return self._blocks

    def adopt(self, message_id: str, block_id: str) -> None:
        """The code message is a block that the document holds: what answers it names that block."""
        self._blocks[message_id] = block_id

    def edited_in_place(self, block_id: str) -> None:
        """The block in the document is as the person edited it: its edited form in the stream is not written."""
        self._in_place.add(block_id)

    def feed(self, chunk: Chunk) -> list[Insertion]:
        """What goes into the document because of the next chunk."""
        self._settle(chunk)
        if chunk.type == "status":
            self._end()
            if self.speaker == "you":
                self._enter("assistant")
        elif chunk.type in ("error", "command"):
            self._end()
            self._standalone(chunk)
        elif chunk.type == "confirmation":
            self._end()
        elif chunk.start:
            self._end()
            self._writer = self._begin(chunk)
        elif chunk.end:
            self._end()
        elif self._writer is not None and isinstance(chunk.content, str) and chunk.format != "active_line":
            self._writer.feed(chunk.content)
        return self._taken()

    def flush(self) -> list[Insertion]:
        """Output whose line has not ended, for when nothing more is to be expected soon."""
        if self._writer is not None:
            self._writer.flush()
        return self._taken()

    @property
    def unended(self) -> str:
        """Output whose line has not ended."""
        return self._writer.unended if self._writer is not None else ""

    def question(self, prompt: str, *, password: bool = False) -> tuple[str, list[Insertion]]:
        """A program asks for a line: the id of the input block that the person answers in, and what goes in.

        What the program prints afterwards comes below. A question that the output ends with is not said again.
        """
        self._settle()
        shown = self._writer.interrupt() if self._writer is not None else ""
        input_id = self._new_id("i")
        if not shown.endswith(prompt):
            self.whole_block("question", input_id, prompt)
        self.whole_block("input", input_id, "", " password" if password else "")
        return input_id, self._taken()

    def finish(self) -> list[Insertion]:
        """The stream broke off: end what is being written."""
        self._end()
        self._settle()
        return self._taken()

    def undone(self) -> None:
        """A piece of what was written is gone: end what is being written, and begin what comes on a line of its own."""
        self._end()
        self._out.clear()
        self._newlines_at_end = 0

    # --- which form a message has ------------------------------------------------------------------------------

    def _begin(self, head: Chunk) -> _Writer:
        parent = self._blocks.get(head.parent or "")
        if head.type == "code" and head.role == "user" and parent in self._in_place and parent is not None:
            self._in_place.discard(parent)
            return _Writer(self)
        edit = head.type == "code" and head.role == "user" and head.parent is not None
        if not edit:
            self._enter("you" if head.role == "user" else "assistant", lazily=True)
        side = self._side
        plain = head.format is None and head.recipient is None and head.parent is None
        if head.type == "message" and plain and head.role == SECTION_ROLES[side]:
            return _TextWriter(self)
        if head.type == "console":
            return _ConsoleWriter(self, head.parent, parent or "-", self._said(head, "computer"))
        if head.type == "image":
            default = "computer" if side == "assistant" else "user"
            return _ImageWriter(self, head, f" of={parent or '-'}" + self._said(head, default))
        return self._block(head, parent, edit)

    def _block(self, head: Chunk, parent: str | None, edit: bool) -> _Writer:
        if head.type == "code":
            word = quoted_language(head.format or "")
            if edit or head.role == "computer":
                kind = "edited" if edit else "rich"
                flag = " edited" if edit else " shown"
                return _BlockWriter(self, word, parent or "-", flag + self._said(head, ROLES[kind]))
            block_id = self._new_id("c")
            if head.id:
                self._blocks[head.id] = block_id
            return _BlockWriter(self, word, block_id, self._said(head, SECTION_ROLES[self._side]))
        note = head.type == "message" and head.role == "computer"
        word = "note" if note else head.type
        form = f" format={quoted(head.format)}" if head.format is not None else ""
        said = self._said(head, ROLES.get(word, SECTION_ROLES[self._side]))
        return _BlockWriter(self, word, parent or "-", said + form)

    def _said(self, head: Chunk, role: str) -> str:
        """The attributes that tell how a message differs from what its form says."""
        said = f" role={head.role}" if head.role != role else ""
        return said + (f" to={head.recipient}" if head.recipient else "")

    def _standalone(self, chunk: Chunk) -> None:
        words = chunk.content if isinstance(chunk.content, str) else ""
        if chunk.type == "error":
            self._enter("assistant")
            self.whole_block("error", "-", words)
        elif words in _COMMANDS:
            self._enter("assistant")
            self.whole_block(words, "-", _COMMANDS[words])

    # --- what writers write with -------------------------------------------------------------------------------

    @property
    def _side(self) -> Speaker:
        return self._next_speaker or self.speaker or "assistant"

    @property
    def follows_text(self) -> bool:
        """Whether text, if it came now, would have to be told from text before it."""
        return self.after_text and self._next_speaker is None

    def put(self, place: Place, text: str, sets: tuple[tuple[Place, int], ...] = ()) -> None:
        """Insert text; what goes to the same place is one insertion."""
        last = self._out[-1] if self._out else None
        if last is not None and last.place == place and not last.sets and not sets:
            self._out[-1] = Insertion(place, last.text + text)
        elif text:
            self._out.append(Insertion(place, text, sets))

    def part(self) -> str:
        """What comes before a new part: the heading of its section where it changes, and a blank line."""
        if self._next_speaker is not None:
            self._enter(self._next_speaker)
        gap = self.newline * max(0, 2 - self._newlines_at_end)
        self._newlines_at_end = 0
        return gap

    def text_ends(self, newlines: int) -> None:
        """Text ended, with so many line ends."""
        self.after_text = True
        self._newlines_at_end = newlines

    def open_block(self, word: str, block_id: str, attributes: str, *, lines: bool = False) -> None:
        """Write an empty block. With ``lines``, what goes into it ends with a newline."""
        before = self.part()
        info = f"{word} oi={block_id}{attributes}" if word else f"oi={block_id}{attributes}"
        first = len(before) + 3
        body = first + len(info) + len(self.newline)
        text = f"{before}```{info}{self.newline}{'' if lines else self.newline}```"
        self.put(Place.APPEND, text, ((Place.FENCE, first), (Place.INFO, first + len(info)), (Place.BODY, body)))
        self.after_text = False

    def whole_block(self, word: str, block_id: str, content: str, attributes: str = "") -> None:
        """Write a block that is known whole."""
        writer = _BlockWriter(self, word, block_id, attributes)
        writer.feed(content)

    def _enter(self, speaker: Speaker, *, lazily: bool = False) -> None:
        self._next_speaker = None
        if self.speaker == speaker:
            return
        if lazily:
            self._next_speaker = speaker
            return
        if speaker == "you" or self._number is None:
            self._number = self.next_number
            self.next_number += 1
        self.speaker, self.after_text = speaker, False
        before = self.part()
        self.put(Place.APPEND, before + heading(self.nonce, speaker, self._number))

    def _new_id(self, prefix: str) -> str:
        self.next_block += 1
        return f"{prefix}{self.next_block - 1}"

    def _end(self) -> None:
        if self._writer is not None:
            self._writer.end()
            if isinstance(self._writer, _ConsoleWriter) and self._writer.silent:
                self._silent = self._writer
            self._writer = None

    def _settle(self, then: Chunk | None = None) -> None:
        """Say that a program printed nothing, unless what comes next is what it showed instead."""
        silent, self._silent = self._silent, None
        if silent is None:
            return
        shown = then is not None and then.start and (then.type == "image" or (then.type, then.role) == _RICH)
        if not (shown and then is not None and then.parent == silent.parent):
            silent.open_empty()

    def _taken(self) -> list[Insertion]:
        taken, self._out = self._out, []
        return taken


class _Writer:
    """Writes one message. This one writes nothing."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def feed(self, text: str) -> None:
        """The next piece of the content."""

    def flush(self) -> None:
        """Write what waits for more."""

    @property
    def unended(self) -> str:
        """What waits for the end of its line, as it would be shown."""
        return ""

    def interrupt(self) -> str:
        """Something else comes in between. Answers what output ends with."""
        return ""

    def end(self) -> None:
        """The message is whole."""


class _TextWriter(_Writer):
    """Text, without the blank lines that it begins with; none at all where it is blank."""

    def __init__(self, renderer: Renderer) -> None:
        super().__init__(renderer)
        self._escape = TextEscape(renderer.nonce)
        self._newlines = Newlines(renderer.newline)
        self._lead: str | None = ""  # blank so far
        self._last = ""

    def feed(self, text: str) -> None:
        if self._lead is not None:
            text = self._lead + text
            rest = text.lstrip(BLANK)
            lead = text[: len(text) - len(rest)]
            indent = lead[1 + max(lead.rfind("\n"), lead.rfind("\r")) :]
            if not rest:
                self._lead = indent
                return
            self._lead = None
            text = indent + rest
            renderer = self._renderer
            if renderer.follows_text:
                renderer.put(Place.APPEND, renderer.part() + marker(renderer.nonce, "next"))
            renderer.put(Place.APPEND, renderer.part())
        self._write(self._escape.feed(text))

    def end(self) -> None:
        if self._lead is not None:
            return
        self._write(self._escape.finish())
        renderer = self._renderer
        lines = len(self._last) - len(self._last.rstrip("\n"))
        if self._escape.open_fence:
            newline = renderer.newline
            closing = ("" if lines else newline) + self._escape.open_fence + newline + marker(renderer.nonce, "closed")
            renderer.put(Place.APPEND, closing)
            lines = 0
        renderer.text_ends(lines)

    def _write(self, text: str) -> None:
        if text:
            self._renderer.put(Place.APPEND, self._newlines.feed(text))
            self._last = (self._last + text)[-2:]


class _BlockWriter(_Writer):
    """A block, to the byte."""

    def __init__(self, renderer: Renderer, word: str, block_id: str, attributes: str, *, lines: bool = False) -> None:
        super().__init__(renderer)
        self._escape = BlockEscape(renderer.nonce)
        self._newlines = Newlines(renderer.newline)
        self._size = 3
        renderer.open_block(word, block_id, attributes, lines=lines)

    def feed(self, text: str) -> None:
        written = self._newlines.feed(self._escape.feed(text))
        if self._escape.needs > self._size:
            more = "`" * (self._escape.needs - self._size)
            self._size = self._escape.needs
            self._renderer.put(Place.APPEND, more)
            self._renderer.put(Place.FENCE, more)
        self._renderer.put(Place.BODY, written)

    def open_end(self) -> None:
        """The content so far ends without a newline, and is to be read so."""
        newline = self._renderer.newline
        self._renderer.put(Place.BODY, newline, ((Place.BODY, 0),))
        self._renderer.put(Place.INFO, " no-final-newline")


class _ConsoleWriter(_Writer):
    """Output: a block once there is some. Where there is none, the renderer decides whether that is said."""

    def __init__(self, renderer: Renderer, parent: str | None, block_id: str, attributes: str) -> None:
        super().__init__(renderer)
        self.parent = parent
        self._lines = ConsoleLines()
        self._block_id, self._attributes = block_id, attributes
        self._block: _BlockWriter | None = None
        self._opened = self._open_ended = False
        self._tail = ""

    def feed(self, text: str) -> None:
        self._write(self._lines.feed(text))

    def flush(self) -> None:
        self._write(self._lines.take())

    @property
    def unended(self) -> str:
        return self._lines.waiting

    def interrupt(self) -> str:
        self.flush()
        shown = self._tail
        self._block, self._lines, self._open_ended, self._tail = None, ConsoleLines(), False, ""
        return shown

    def end(self) -> None:
        self.flush()

    @property
    def silent(self) -> bool:
        """Whether nothing was written of it."""
        return not self._opened

    def open_empty(self) -> None:
        """Write that there was no output."""
        self._open()

    def _open(self) -> _BlockWriter:
        more = " more" if self._opened else ""
        self._opened = True
        return _BlockWriter(self._renderer, "output", self._block_id, more + self._attributes, lines=True)

    def _write(self, text: str) -> None:
        if not text:
            return
        if self._block is None:
            self._block = self._open()
        self._block.feed(text)
        self._tail = (self._tail + text)[-_QUESTION:]
        if not text.endswith("\n") and not self._open_ended:
            self._open_ended = True
            self._block.open_end()


class _ImageWriter(_Writer):
    """An image: a link to where it was saved."""

    def __init__(self, renderer: Renderer, head: Chunk, attributes: str) -> None:
        super().__init__(renderer)
        self._head, self._attributes = head, attributes
        self._parts: list[str] = []

    def feed(self, text: str) -> None:
        self._parts.append(text)

    def end(self) -> None:
        from urllib.parse import quote

        renderer, content = self._renderer, "".join(self._parts)
        form = self._head.format or "base64"
        address = content if form == "path" else renderer.save_image(form, content)
        link = f"![image]({quote(address, safe=_ADDRESS, errors='replace')})"
        before = renderer.part()
        renderer.put(Place.APPEND, f"{before}{link} {marker(renderer.nonce, 'image' + self._attributes)}")
        renderer.after_text = False
