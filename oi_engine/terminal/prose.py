"""Markdown on a terminal. Slow to import: see ``look``, which does when it is first needed."""

from __future__ import annotations

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding

from oi_engine.terminal.code_colours import CODE_THEME, GUTTER, highlighted


class _LeftHeading(Heading):
    """A heading at the left, every level alike."""

    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _PlainCodeBlock(CodeBlock):
    """Quoted code: indented, on the terminal's own background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = highlighted(str(self.text).rstrip(), self.lexer_name)
        yield Padding(code, (0, 0, 0, GUTTER))


class Prose(Markdown):
    """Markdown in which tags are text: what a model writes must not vanish."""

    elements = {  # noqa: RUF012 -- as rich declares it
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _PlainCodeBlock,
        "code_block": _PlainCodeBlock,
    }

    def __init__(self, source: str) -> None:
        super().__init__("", code_theme=CODE_THEME, hyperlinks=False)
        parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
        self.parsed = parser.parse(source)
