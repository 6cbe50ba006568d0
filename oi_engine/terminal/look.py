"""How things look on a terminal: Markdown, code, rules. Colours are those of the terminal's own palette.

What draws Markdown is imported when it is first needed, since the prompt does not wait for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TextIO

from attrs import frozen
from rich.console import Console, RenderableType
from rich.text import Text
from rich.theme import Theme

from oi_engine.terminal.code_colours import GUTTER

_TRAILING_BLANKS = re.compile(r" +$")
_THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.item.bullet": "none",
        "markdown.item.number": "none",
        "markdown.link": "cyan",
        "markdown.link_url": "blue",
        "oi.rule": "bright_black",
        "oi.title": "bold default",
        "oi.note": "bright_black",
        "oi.echo": "bold",
        "oi.warning": "yellow",
        "oi.error": "red",
        "oi.active": "bold green",
    }
)


def make_console(file: TextIO) -> Console:
    """A console that writes with the colours that ``file``'s terminal has (``NO_COLOR`` and ``TERM`` count)."""
    return Console(file=file, theme=_THEME, highlight=False, soft_wrap=False)


@frozen
class Look:
    """Turns what is to be shown into lines of text with colours, as wide as the terminal is now."""

    console: Console

    @property
    def width(self) -> int:
        """The terminal's columns."""
        return max(1, self.console.size.width)

    @property
    def height(self) -> int:
        """The terminal's rows."""
        return max(1, self.console.size.height)

    def lines(self, shown: RenderableType) -> list[str]:
        """What is to be shown, line by line."""
        with self.console.capture() as captured:
            self.console.print(shown)
        return [_TRAILING_BLANKS.sub("", line) for line in captured.get().removesuffix("\n").split("\n")]

    def prose(self, markdown: str) -> list[str]:
        """Markdown, without the blank lines that rich puts around some blocks: the space between them is not theirs."""
        from oi_engine.terminal.prose import Prose

        lines = self.lines(Prose(markdown))
        shown = [at for at, line in enumerate(lines) if line.strip()]
        return lines[shown[0] : shown[-1] + 1] if shown else []

    def words(self, text: str, style: str) -> list[str]:
        """Plain words in a style, wrapped."""
        return self.lines(Text(text, style=style, overflow="fold"))

    def rule(self, title: str = "") -> str:
        """A line across the terminal, its title at the left."""
        line = Text("── " if title else "", style="oi.rule")
        if title:
            line.append(title, style="oi.title").append(" ", style="oi.rule")
        line.append("─" * max(0, self.width - line.cell_len), style="oi.rule")
        line.truncate(self.width)
        return self.lines(line)[0]

    def code(self, lines: Sequence[Text], active: int | None = None) -> list[str]:
        """Lines of code, each behind its gutter; ``active`` (from 0) carries the mark. Long lines wrap, none is cut."""
        room = max(1, self.width - GUTTER)
        rows = []
        for number, line in enumerate(lines):
            mark = ("▶ ", "oi.active") if number == active else ("  ", "")
            spaced = line.copy()
            spaced.expand_tabs(8)
            for row in spaced.wrap(self.console, room, overflow="fold") or [Text()]:
                rows.append(Text.assemble(mark, row, overflow="ignore", no_wrap=True))
                mark = ("↳ ", "oi.note")
        return self.lines(Text("\n").join(rows)) if rows else []
