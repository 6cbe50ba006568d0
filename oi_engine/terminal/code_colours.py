"""Code in colours, on the terminal's own background."""

from __future__ import annotations

from rich.text import Text

CODE_THEME = "ansi_dark"
GUTTER = 2
"""Columns left of code: the place of the active line's mark."""

# The lexers' names differ from the languages' only here.
_LEXERS = {"shell": "bash", "react": "jsx", "applescript": "applescript", "r": "r"}


def highlighted(code: str, language: str) -> Text:
    """Code in the colours of its language, or plain where no lexer is known for it."""
    from rich.syntax import Syntax  # slow to import, and the prompt does not wait for it

    text = Syntax(code, _LEXERS.get(language, language), theme=CODE_THEME).highlight(code)
    text.rstrip()
    text.no_wrap = None
    return text
