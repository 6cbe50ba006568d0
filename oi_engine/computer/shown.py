"""Languages that are shown instead of run: HTML as the page that it is, React as its source.

To render React, libraries have to be loaded from the network, which a page in an editor must not do. So the source is
shown, in a page without any script, and the model is told.
"""

from __future__ import annotations

import html
from collections.abc import AsyncGenerator

from oi_engine.computer.runtime import Finished, Rich, RunEvent, Text
from oi_engine.errors import UnknownInput

_SAID = {
    "html": "The page is shown to the person.",
    "react": "The source is shown to the person. It was not rendered: that would load React from the network. "
    "For something to look at, write one HTML page that needs nothing from elsewhere.",
}


class ShownRuntime:
    """Shows its cells; see ``Runtime``. ``language``: ``html`` or ``react``."""

    def __init__(self, language: str) -> None:
        self._language = language

    @property
    def alive(self) -> bool:
        """Always: there is no process."""
        return True

    async def start(self) -> None:
        """Nothing has to be started."""

    async def run(self, code: str) -> AsyncGenerator[RunEvent, None]:
        """Show a cell, and say so."""
        yield Rich("code", "html", code if self._language == "html" else _page(code))
        yield Text(f"{_SAID[self._language]}\n", "result")
        yield Finished()

    def answer(self, text: str) -> None:
        """Raises ``UnknownInput``: nothing waits."""
        raise UnknownInput("No program waits for input.")

    async def interrupt(self) -> bool:
        """Nothing runs that would have to stop."""
        return True

    async def close(self) -> None:
        """There is nothing to end."""


def _page(source: str) -> str:
    return f"<!doctype html>\n<meta charset=utf-8>\n<pre><code>{html.escape(source)}</code></pre>\n"
