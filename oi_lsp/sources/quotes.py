"""What is said of a piece of a file, in Markdown: to the person, who goes on writing, and to the model."""

from __future__ import annotations

import os
from collections.abc import Iterable

from oi_lsp.documents import Document
from oi_lsp.paths import is_inside, path_of
from oi_lsp.sources.pieces import reach

AROUND = 10
"""Lines above and below a problem that are told with it."""


def quote(document: Document, start: int, end: int, language: str, folders: Iterable[str]) -> str:
    """A selection, with its file and its lines."""
    from oi_engine.models.units import fenced

    start, end = reach(document, start, end)
    first, last = document.line_at(start), document.line_at(end)
    return f"From {_place(document, first, last, folders)}:\n\n{fenced(language, _unix(document.text[start:end]))}"


def explanation(document: Document, start: int, end: int, message: str, language: str, folders: Iterable[str]) -> str:
    """A request to explain a problem, with the code around."""
    from oi_engine.models.units import fenced

    first, last = document.line_at(start), document.line_at(end)
    above, below = max(first - AROUND, 0), min(last + AROUND, document.line_count - 1)
    code = _unix(document.text[document.line_span(above)[0] : document.line_span(below)[1]])
    said = "\n".join(f"> {line}" for line in message.splitlines())
    where = _place(document, first, last, folders)
    return (
        f"Explain this problem in {where}, and how to solve it:\n\n{said}\n\n"
        f"The code from line {above + 1} to {below + 1}:\n\n{fenced(language, code)}"
    )


def _place(document: Document, first: int, last: int, folders: Iterable[str]) -> str:
    path = path_of(document.uri) or document.uri
    folder = next((folder for folder in folders if is_inside(path, folder)), None)
    name = os.path.relpath(os.path.realpath(path), os.path.realpath(folder)) if folder else os.path.basename(path)
    return f"`{name}`, " + (f"line {first + 1}" if first == last else f"lines {first + 1} to {last + 1}")


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
