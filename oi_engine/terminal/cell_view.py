"""One block of code on the terminal: its panel, the line that runs, and what it printed."""

from __future__ import annotations

from attrs import define, field
from rich.text import Text

from oi_engine.safety.reveal import reveal
from oi_engine.terminal.code_colours import highlighted
from oi_engine.terminal.look import Look
from oi_engine.terminal.output_lines import OutputLines

OUTPUT_LIMIT = 500
"""Lines of one block's output that stay on the screen: half from its beginning, half from its end."""

LEAST_OUTPUT = 5
"""Rows that output gets under a panel while it runs; a panel that leaves fewer is printed for good beforehand."""


@define
class _Note:
    text: str
    style: str


@define
class CellView:
    """A code message and what answers it. ``message_id`` is the code message's; empty for output without code."""

    _look: Look
    message_id: str = ""
    language: str = ""
    edited: bool = False
    complete: bool = False
    active_line: int | None = None
    _code: list[str] = field(factory=list, init=False)
    _revealed: list[Text] = field(factory=list, init=False)
    _items: list[OutputLines | _Note] = field(factory=list, init=False)
    _panel_printed: bool = field(default=False, init=False)
    _drawn_panel: tuple[tuple[int | None, int] | None, list[str]] = field(factory=lambda: (None, []), init=False)

    @property
    def code(self) -> str:
        """The code so far."""
        return "".join(self._code)

    def add_code(self, text: str) -> None:
        """More of the code."""
        self._code.append(text)

    def rewrite(self) -> None:
        """The code comes once more, from its beginning; where its panel was printed for good, it stays so."""
        self._code.clear()
        self.complete = False

    def close_code(self) -> None:
        """The code is whole."""
        self._revealed = self._lines_of(self.code)
        self._drawn_panel = None, []
        self.complete = True

    def add_output(self, text: str) -> None:
        """More of what the program printed."""
        if not self._items or not isinstance(self._items[-1], OutputLines):
            self._items.append(OutputLines())
        last = self._items[-1]
        assert isinstance(last, OutputLines)
        last.feed(text)

    def add_note(self, text: str, style: str = "oi.note") -> None:
        """A word about the run: how it ended, where a picture is."""
        self._items.append(_Note(text, style))

    def too_tall_panel(self, rows: int) -> list[str]:
        """The panel, where it is too tall to be drawn anew within ``rows`` and must be printed now; once only."""
        if not self.complete or self._panel_printed:
            return []
        room = rows - LEAST_OUTPUT
        fits = len(self._revealed) <= room and len(self._panel()) <= room
        return [] if fits else self.take_panel()

    def take_panel(self) -> list[str]:
        """The panel, to be printed for good: it is not part of anything shown from here on."""
        panel = [] if self._panel_printed else self._panel()
        self._panel_printed = True
        return panel

    def live(self, rows: int, asked: str = "") -> list[str]:
        """At most ``rows`` rows: the panel with its active line, and the end of the output.

        ``asked``: what the program asks. Where it has printed that itself it is left out, as the question shows it.
        """
        if not self.complete:
            return self._unfinished_panel(rows)
        head = self._active_row() if self._panel_printed else self._panel(self.active_line)
        return [*head[:rows], *self._output_end(rows - len(head), asked)]

    def finished(self) -> list[str]:
        """Everything, for good. Output past ``OUTPUT_LIMIT`` lines loses its middle."""
        if not self.complete:
            self.close_code()
        lines = self.take_panel()
        for item in self._items:
            if isinstance(item, _Note):
                lines.extend(self._look.words(item.text, item.style))
            else:
                lines.extend(_without_middle(item.all()))
        return lines

    # --- the panel ---------------------------------------------------------------------------------------------

    def _lines_of(self, code: str) -> list[Text]:
        lines = highlighted(reveal(code).text, self.language).split("\n", allow_blank=True)
        return list(lines)

    def _title(self) -> str:
        name = self.language or "code"
        return f"{name} · as you edited it" if self.edited else name

    def _panel(self, active_line: int | None = None) -> list[str]:
        if not self.message_id:
            return []
        key = (active_line, self._look.width)
        if self._drawn_panel[0] != key:
            active = None if active_line is None else active_line - 1
            code = self._look.code(self._revealed, active)
            self._drawn_panel = key, [self._look.rule(self._title()), *code, self._look.rule()]
        return self._drawn_panel[1]

    def _unfinished_panel(self, rows: int) -> list[str]:
        """The last lines only: what came before is shown when the code is whole."""
        room = max(1, rows - 1)
        end = "".join(self._code[-_CHUNKS_LOOKED_AT:])[-room * self._look.width :]
        code = self._look.code(self._lines_of("\n".join(end.split("\n")[-room:])))
        return [self._look.rule(self._title()), *code[-room:]][:rows]

    def _active_row(self) -> list[str]:
        line = self.active_line
        if line is None or not 1 <= line <= len(self._revealed):
            return []
        numbered = Text.assemble((f"{line} ", "oi.note"), self._revealed[line - 1])
        return self._look.code([numbered], active=0)[:1]

    # --- the output --------------------------------------------------------------------------------------------

    def _output_end(self, rows: int, asked: str) -> list[str]:
        """The last rows of the output, however much there is."""
        found: list[str] = []
        for item in reversed(self._items):
            if len(found) >= rows:
                break
            if isinstance(item, _Note):
                found = [*self._look.words(item.text, item.style), *found]
            else:
                room = rows * self._look.width
                ends = [line[-room:] for line in item.last(rows)]
                if asked and item is self._items[-1] and item.current == asked:
                    ends.pop()
                found = [*(row for line in ends for row in self._look.words(line, "none")), *found]
        return found[-rows:] if rows > 0 else []


_CHUNKS_LOOKED_AT = 4000
"""Chunks of unfinished code that a frame looks at: more than fill any terminal."""


def _without_middle(lines: list[str]) -> list[str]:
    left_out = len(lines) - OUTPUT_LIMIT
    if left_out <= 0:
        return lines
    half = OUTPUT_LIMIT // 2
    return [*lines[:half], f"… {left_out} lines are left out here …", *lines[-half:]]
