"""The stream as plain text, for a pipe, a file or a terminal that can do nothing: Markdown without any control."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from attrs import define, field

from oi_engine.messages import Chunk
from oi_engine.safety.reveal import reveal
from oi_engine.safety.sanitize import Sanitizer
from oi_engine.session.state import Snapshot
from oi_engine.stream import Entry
from oi_engine.terminal.gallery import Gallery
from oi_engine.terminal.output_lines import OutputLines
from oi_engine.terminal.renderer import Tone, unasked

_MARKS: dict[Tone, str] = {"note": "", "warning": "Warning: ", "error": "Error: ", "echo": "> ", "title": ""}


@define
class PlainRenderer:
    """Writes a session line by line, each line when it is whole; nothing is written twice or taken back."""

    _file: TextIO
    _gallery: Gallery
    _reader_gone: Callable[[], object] = lambda: None
    _head: Chunk | None = field(default=None, init=False)
    _parts: list[str] = field(factory=list, init=False)
    _lines: OutputLines = field(factory=OutputLines, init=False)
    _cleaner: Sanitizer = field(factory=Sanitizer, init=False)
    _shown: tuple[str, str, str] = field(default=("", "", ""), init=False)
    _in_output: bool = field(default=False, init=False)
    _something_written: bool = field(default=False, init=False)

    def entry(self, entry: Entry) -> None:
        """Take the next entry of the stream."""
        chunk = entry.chunk
        if chunk.type == "confirmation":
            self._confirmation(chunk)
        elif words := unasked(chunk):
            self.say(words)
        elif chunk.type == "error":
            self.say(str(chunk.content), "error")
        elif chunk.start:
            self._start(chunk)
        elif self._head is not None and chunk.end:
            self._end(self._head)
            self._head = None
        elif self._head is not None and chunk.format != "active_line":
            self._content(self._head, chunk.content if isinstance(chunk.content, str) else "")

    def state(self, snapshot: Snapshot) -> None:
        """Plain text does not show states."""

    def say(self, text: str, tone: Tone = "note") -> None:
        """Show a word of the terminal's own."""
        self._close_output()
        self._blank()
        self._write(_MARKS[tone] + Sanitizer().feed(text))

    def tell(self, markdown: str) -> None:
        """Show Markdown of the terminal's own, as it is written."""
        self.say(markdown)

    def show_edit(self, code: str) -> None:
        """Show the code as the person edited it."""
        message_id, language, _ = self._shown
        self._show_code(message_id, language, code)

    def draw(self) -> None:
        """All that is whole was written when it came."""

    def settle(self) -> None:
        """Write what was not whole."""
        self._close_output()

    def pause(self) -> None:
        """All that is whole was written; a line that is not may be the question itself, which the asker writes."""

    def hand_over(self) -> None:
        """Let everything be seen."""
        self.settle()

    def resume(self) -> None:
        """Nothing is ever drawn over."""

    # --- messages ----------------------------------------------------------------------------------------------

    def _start(self, chunk: Chunk) -> None:
        self._head = chunk
        self._parts = []
        self._cleaner = Sanitizer()
        if chunk.type != "console":
            self._close_output()
        if chunk.type == "message" and chunk.role == "assistant":
            self._blank()

    def _content(self, head: Chunk, text: str) -> None:
        if head.type == "console":
            self._output(self._cleaner.feed(text))
        elif head.type == "message" and head.role == "assistant":
            self._lines.feed(self._cleaner.feed(text))
            self._write(*self._lines.take_finished())
        else:
            self._parts.append(text)

    def _end(self, head: Chunk) -> None:
        content = "".join(self._parts)
        if head.type == "message" and head.role == "assistant":
            self._lines.feed(self._cleaner.finish())
            self._rest()
        elif head.type == "console":
            self._output(self._cleaner.finish())
        elif head.type == "code" and head.role != "computer":
            self._show_code(head.parent or head.id, head.format or "", content)
        elif head.role == "computer" and head.type == "message":
            if head.recipient != "assistant":
                self.say(content)
        elif head.role == "computer":
            self._picture(head, content)

    def _confirmation(self, chunk: Chunk) -> None:
        content = chunk.content
        if isinstance(content, dict):
            self._show_code(chunk.parent or "", str(content.get("format", "")), str(content.get("content", "")))

    def _show_code(self, message_id: str, language: str, code: str) -> None:
        """Show a block, unless it is the one that was shown last: the gate asks about what stands right above."""
        if self._shown == (message_id, language, code):
            return
        self._shown = (message_id, language, code)
        self._close_output()
        self._blank()
        self._write(f"```{language}", *reveal(code).text.removesuffix("\n").split("\n"), "```")

    def _output(self, text: str) -> None:
        if not text:
            return
        if not self._in_output:
            self._blank()
            self._write("```output")
            self._in_output = True
        self._lines.feed(text)
        self._write(*self._lines.take_finished())

    def _close_output(self) -> None:
        if self._in_output:
            self._rest()
            self._write("```")
            self._in_output = False

    def _picture(self, head: Chunk, content: str) -> None:
        try:
            self.say(f"{head.type} saved: {self._gallery.save(head.type, head.format, content)}")
        except (OSError, ValueError) as error:
            self.say(f"The {head.type} could not be saved: {error}", "error")

    # --- lines -------------------------------------------------------------------------------------------------

    def _rest(self) -> None:
        if self._lines.current:
            self._lines.feed("\n")
        self._write(*self._lines.take_finished())

    def _blank(self) -> None:
        if self._something_written:
            self._put("\n")

    def _write(self, *lines: str) -> None:
        if lines:
            self._something_written = True
            self._put("".join(f"{line}\n" for line in lines))

    def _put(self, text: str) -> None:
        try:
            self._file.write(text)
            self._file.flush()
        except BrokenPipeError:
            self._reader_gone()
