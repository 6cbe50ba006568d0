"""The stream on a terminal with colours: what is whole is printed once, what is not is drawn anew under it."""

from __future__ import annotations

import time
from collections.abc import Callable

from attrs import define, field
from rich.text import Text

from oi_engine.messages import Chunk
from oi_engine.safety.sanitize import Sanitizer
from oi_engine.session.state import Snapshot, State
from oi_engine.stream import Entry
from oi_engine.terminal.ask import HELP
from oi_engine.terminal.cell_view import CellView
from oi_engine.terminal.gallery import Gallery
from oi_engine.terminal.look import Look
from oi_engine.terminal.markdown_stream import MarkdownStream
from oi_engine.terminal.renderer import Tone, unasked
from oi_engine.terminal.screen import Screen

QUIET = 0.3
"""Seconds without anything to show before a state is named."""

COUNTED = 3.0
"""Seconds after which the named state says how long it has lasted."""

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPINNER_STEP = 0.1
_WORDS: dict[State, str] = {"thinking": "thinking", "running": "running", "stopping": "stopping"}


@define
class RichRenderer:
    """Shows a session on a terminal. Reading the stream is cheap; ``draw`` costs what fits on the terminal."""

    _look: Look
    _screen: Screen
    _gallery: Gallery
    _clock: Callable[[], float] = time.monotonic
    _state: State = field(default="idle", init=False)
    _state_since: float = field(default=0.0, init=False)
    _heard_at: float = field(default=0.0, init=False)
    _prompt: str = field(default="", init=False)
    _done: list[str] = field(factory=list, init=False)
    _head: Chunk | None = field(default=None, init=False)
    _parts: list[str] = field(factory=list, init=False)
    _cleaner: Sanitizer = field(factory=Sanitizer, init=False)
    _prose: MarkdownStream | None = field(default=None, init=False)
    _cell: CellView | None = field(default=None, init=False)

    # --- what comes in -----------------------------------------------------------------------------------------

    def entry(self, entry: Entry) -> None:
        """Take the next entry of the stream."""
        self._heard_at = self._clock()
        chunk = entry.chunk
        if chunk.type == "confirmation":
            self._confirmation(chunk)
        elif words := unasked(chunk):
            self._note(words, chunk.parent)
        elif chunk.type == "error":
            self._leave_cell()
            self.say(str(chunk.content), "error")
        elif chunk.start:
            self._start(chunk)
        elif self._head is not None and chunk.end:
            self._end(self._head)
        elif self._head is not None:
            self._content(self._head, chunk)

    def state(self, snapshot: Snapshot) -> None:
        """Take the session's new state."""
        if snapshot.state != self._state:
            self._state, self._state_since = snapshot.state, self._clock()
            self._heard_at = self._state_since
        self._prompt = snapshot.input.prompt if snapshot.input else ""
        if snapshot.state != "running" and self._cell is not None:
            self._cell.active_line = None

    def say(self, text: str, tone: Tone = "note") -> None:
        """Show a word of the terminal's own."""
        mark = "> " if tone == "echo" else ""
        first, *rest = (mark + Sanitizer().feed(text)).split("\n")
        lines = self._look.words(first, f"oi.{tone}")
        for line in rest:
            lines += self._look.words(line, "oi.note" if tone == "title" else f"oi.{tone}")
        self._paragraph(lines)

    def tell(self, markdown: str) -> None:
        """Show Markdown of the terminal's own."""
        self._leave_prose()
        self._blocks([Sanitizer().feed(markdown)])

    def show_edit(self, code: str) -> None:
        """Show the edited code in a panel of its own; the proposed one stays above it."""
        cell = self._cell
        if cell is None:
            return
        self._leave_cell()
        self._cell = CellView(self._look, cell.message_id, cell.language, edited=True)
        self._cell.add_code(code)
        self._cell.close_code()

    # --- what goes out -----------------------------------------------------------------------------------------

    def draw(self) -> None:
        """Bring the terminal up to date."""
        rows = self._look.height - 1
        if self._cell is not None:
            self._paragraph(self._cell.too_tall_panel(rows - self._question_rows()))
        live = self._live(rows)
        finished = "".join(f"{line}\n" for line in self._done)
        self._done.clear()
        self._screen.draw(finished, live)

    def settle(self) -> None:
        """Print everything for good."""
        self._leave_cell()
        self._leave_prose()
        if self._done:
            self._done.append("")
        self._state = "idle"
        self.draw()

    def pause(self) -> None:
        """Draw once more without the state line, and show the cursor."""
        self.draw()
        self._screen.show_cursor()

    def resume(self) -> None:
        """Draw everything anew, under what others have written."""
        self._screen.forget()

    def hand_over(self) -> None:
        """Print the panel for good and leave nothing that would be drawn anew."""
        if self._cell is not None:
            self._paragraph(self._cell.take_panel())
        self.pause()

    # --- messages ----------------------------------------------------------------------------------------------

    def _start(self, chunk: Chunk) -> None:
        self._head = chunk
        self._parts = []
        self._cleaner = Sanitizer()
        if chunk.type == "code" and chunk.role != "computer":
            self._start_code(chunk)
        elif chunk.role == "assistant" and chunk.type != "review":
            self._leave_cell()
        if chunk.type == "message" and chunk.role == "assistant":
            self._prose = MarkdownStream()
        elif chunk.type == "console" and (self._cell is None or self._cell.message_id != (chunk.parent or "")):
            self._open_output(chunk.parent)

    def _content(self, head: Chunk, chunk: Chunk) -> None:
        if chunk.format == "active_line":
            if self._cell is not None:
                self._cell.active_line = int(chunk.content) if isinstance(chunk.content, str) else None
            return
        text = chunk.content if isinstance(chunk.content, str) else ""
        if head.type == "console" and self._cell is not None:
            self._cell.add_output(self._cleaner.feed(text))
        elif head.type == "code" and head.role != "computer" and self._cell is not None:
            # Code is not sanitized: whatever would be hidden is made visible where it is shown.
            self._cell.add_code(text)
        elif self._prose is not None and head.type == "message":
            self._blocks(self._prose.feed(self._cleaner.feed(text)))
        else:
            self._parts.append(text)

    def _end(self, head: Chunk) -> None:
        self._head = None
        if head.type == "message" and head.role == "assistant":
            self._leave_prose()
        elif head.type == "code" and head.role != "computer":
            if self._cell is not None:
                self._cell.close_code()
        elif head.type == "console":
            if self._cell is not None:
                self._cell.add_output(self._cleaner.finish())
        elif head.type == "message" and head.role == "computer":
            if head.recipient != "assistant":
                self._note("".join(self._parts), head.parent)
        elif head.role == "computer":
            self._picture(head, "".join(self._parts))

    def _start_code(self, chunk: Chunk) -> None:
        """A block of the model's, the person's own, or (with a parent) the person's edit of one."""
        edited = chunk.parent is not None
        cell = self._cell
        if edited and cell is not None and cell.edited and cell.message_id == chunk.parent:
            cell.rewrite()
            return
        self._leave_cell()
        self._cell = CellView(self._look, chunk.parent or chunk.id, chunk.format or "", edited=edited)

    def _confirmation(self, chunk: Chunk) -> None:
        """The code that is asked about stands last on the screen."""
        content = chunk.content
        if not isinstance(content, dict) or (self._cell is not None and self._cell.message_id == chunk.parent):
            return
        self._leave_cell()
        self._cell = CellView(self._look, chunk.parent or chunk.id, str(content.get("format", "")))
        self._cell.add_code(str(content.get("content", "")))
        self._cell.close_code()

    def _open_output(self, parent: str | None) -> None:
        if parent is None and self._cell is not None:
            return
        self._leave_cell()
        self._cell = CellView(self._look, complete=True)

    def _note(self, text: str, parent: str | None) -> None:
        if self._cell is not None and parent == self._cell.message_id:
            self._cell.add_note(Sanitizer().feed(text))
        else:
            self._leave_cell()
            self.say(text)

    def _picture(self, head: Chunk, content: str) -> None:
        try:
            path = self._gallery.save(head.type, head.format, content)
            text, style = f"{head.type} saved: {path}", "oi.echo"
        except (OSError, ValueError) as error:
            text, style = f"The {head.type} could not be saved: {error}", "oi.error"
        if self._cell is None:
            self._cell = CellView(self._look, complete=True)
        self._cell.add_note(text, style)

    # --- what is whole -----------------------------------------------------------------------------------------

    def _blocks(self, blocks: list[str]) -> None:
        for block in blocks:
            self._paragraph(self._look.prose(block))

    def _leave_prose(self) -> None:
        if self._prose is not None:
            rest = self._prose.feed(self._cleaner.finish()) + self._prose.finish()
            self._prose = None
            self._blocks(rest)

    def _leave_cell(self) -> None:
        if self._cell is not None:
            cell, self._cell = self._cell, None
            self._paragraph(cell.finished())

    def _paragraph(self, lines: list[str]) -> None:
        if lines:
            self._done.extend(["", *lines])

    # --- what is not -------------------------------------------------------------------------------------------

    def _live(self, rows: int) -> list[str]:
        asking = self._state in ("awaiting_approval", "awaiting_input")
        room = max(1, rows - (self._question_rows() if asking else 2))
        lines: list[str] = []
        if self._prose is not None:
            tail = self._prose.tail(room, self._look.width)
            lines = self._look.prose(tail)[-room:] if tail.strip() else []
        elif self._cell is not None:
            lines = self._cell.live(room, asked=self._prompt)
        elif self._head is not None and self._head.type == "reasoning":
            thought = Sanitizer().feed("".join(self._parts[-200:]))
            lines = self._look.words(thought.strip()[-3 * self._look.width :], "oi.note")[-3:]
        shown = ["", *lines] if lines else []
        return [*shown, *self._state_line(bool(lines))][-rows:]

    def _question_rows(self) -> int:
        """Rows to keep free for a question and the help on its answers."""
        return 3 + len(HELP) // self._look.width

    def _state_line(self, something_is_live: bool) -> list[str]:
        word = _WORDS.get(self._state)
        now = self._clock()
        if word is None or now - self._heard_at < QUIET:
            return []
        if self._state == "running" and self._cell is not None and self._cell.active_line is not None:
            return []
        if self._state == "thinking" and something_is_live and now - self._heard_at < COUNTED:
            return []
        lasted = now - self._state_since
        frame = _SPINNER[int(lasted / _SPINNER_STEP) % len(_SPINNER)]
        seconds = f" {int(lasted)} s" if lasted >= COUNTED else ""
        line = Text(f"{frame} {word}{seconds}", style="oi.note")
        line.truncate(self._look.width)
        return ["", *self._look.lines(line)]
