"""A conversation as a Jupyter notebook (nbformat 4.5), that runs and that can be read back.

Words are Markdown cells. A block that ran is a code cell for the Python kernel, as it ran, after the person's edits,
with what it left as outputs; other languages run by a cell magic, each cell in a process of its own (a ``cd`` does not
last as it did in the session). A block that was declined or not run is Markdown: what nobody approved does not become
something that *Run all* runs. A cell that ended with an error is tagged ``raises-exception`` (Jupyter's tag: going on
is right), so that the whole notebook runs.

Each cell says in ``metadata.oi_lsp.messages`` which messages it holds: their heads, and ``at``, the place of each.
Their content is what the cell shows, so that a changed cell is read back changed; where the cell does not show it to
the letter, it is with the head. Markdown and HTML that would run or load something are not shown as such.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from oi_engine.history.export.harmless import is_harmless_html
from oi_engine.history.export.markdown import headline, prose, shown
from oi_engine.history.export.script import SHELLS
from oi_engine.history.export.steps import Placed, Run, failure, steps
from oi_engine.messages import Message

KEY = "oi_lsp"
_MAGIC = {
    "javascript": "%%script --no-raise-error node\n",
    "ruby": "%%script --no-raise-error ruby\n",
    "r": "%%script --no-raise-error Rscript -\n",
    "powershell": "%%script --no-raise-error pwsh -NoProfile -Command -\n",
    "applescript": "%%script --no-raise-error osascript\n",
    "html": "%%html\n",
    **dict.fromkeys(SHELLS, "%%bash --no-raise-error\n"),
    "python": "",
}
_HEADINGS = {("user", "message"): "#### You\n\n", ("computer", "message"): "#### Note\n\n"}
_TYPE_HEADINGS = {"reasoning": "#### Thinking\n\n", "review": "#### Review\n\n"}
_MIMES = {
    ("image", "base64"): "image/png",
    ("image", "base64.png"): "image/png",
    ("image", "base64.jpeg"): "image/jpeg",
    ("code", "html"): "text/html",
}
_PLAIN = "text/plain"
_LEFT_OUT = "<HTML that may run or load something is not shown>"

Cell = dict[str, Any]
Entry = dict[str, Any]


def to_notebook(messages: Iterable[Message], title: str = "") -> str:
    """The conversation as the text of an ``.ipynb`` file."""
    cells = [_markdown(headline(title), [])] if title else []
    for step in steps(messages):
        if isinstance(step, Run):
            cells.extend(_run(step))
        else:
            cells.append(_word(step.placed))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        KEY: {"title": title},
    }
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def contents(cell: Cell, entries: list[Entry]) -> list[str | None]:
    """The content of the messages that a cell says it holds, as the cell shows it; ``None`` for what is not shown."""
    source = joined(cell.get("source", ""))
    if cell.get("cell_type") != "code":
        return [source.removeprefix(heading(entry)) for entry in entries]
    codes = [entry for entry in entries if is_code(entry)]
    outputs = entries[len(codes) :]
    shown_code = [source.removeprefix(magic(code.get("format")) or "") for code in codes]
    shown_outputs = _outputs_shown(groups(cell.get("outputs", [])), outputs)
    return [*shown_code, *([None] * len(outputs) if shown_outputs is None else shown_outputs)]


def is_code(entry: Entry) -> bool:
    """Whether an entry is the source of a code cell."""
    return bool(entry["type"] == "code" and entry["role"] != "computer")


def groups(outputs: Iterable[dict[str, Any]]) -> list[str | dict[str, Any]]:
    """A cell's outputs: what was printed (streams and errors that follow one another, as one text), and bundles."""
    found: list[str | dict[str, Any]] = []
    for output in outputs:
        kind = output.get("output_type")
        if kind in ("stream", "error"):
            text = joined(output.get("text", "")) if kind == "stream" else joined(output.get("traceback", []), "\n")
            if found and isinstance(found[-1], str):
                found[-1] += text
            else:
                found.append(text)
        elif isinstance(output.get("data"), dict):
            found.append(output["data"])
    return found


def joined(text: object, between: str = "") -> str:
    """A text of nbformat: one, or its lines."""
    return between.join(map(str, text)) if isinstance(text, list) else str(text)


def heading(head: Entry) -> str:
    """What stands above a message's text in its cell."""
    return _HEADINGS.get((head["role"], head["type"]), "") or _TYPE_HEADINGS.get(head["type"], "")


def magic(language: str | None) -> str | None:
    """The first line of a cell in a language; ``None`` where no cell of a Python kernel runs it."""
    return _MAGIC.get((language or "").lower())


def mime(head: Entry) -> str:
    """The media type of a message among outputs."""
    return _MIMES.get((head["type"], head.get("format") or ""), _PLAIN)


def _word(placed: Placed) -> Cell:
    message = placed.message
    if message.type in ("message", "review", "reasoning") and isinstance(message.content, str):
        source = heading(message.to_dict()) + prose(message.content)
    else:
        source = "\n\n".join(shown(message))
    return _markdown(source, [placed])


def _run(run: Run) -> Iterator[Cell]:
    first = magic(run.language)
    if run.language == "html" and not is_harmless_html(run.final.text):
        first = None
    codes = [run.code] if run.edit is None else [run.code, run.edit]
    if run.ran and first is not None and run.final.text.strip():
        cell: Cell = {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "source": first + run.final.text,
            "outputs": [output for placed in run.outputs for output in _outputs(placed.message)],
        }
        if run.language == "python" and failure(run.printed) is not None:
            cell["metadata"]["tags"] = ["raises-exception"]
        yield _labelled(cell, [*codes, *run.outputs])
    else:
        for placed in [*codes, *run.outputs]:
            yield _word(placed)
    for note in run.notes:
        yield _word(note)


def _outputs(message: Message) -> Iterator[dict[str, Any]]:
    if message.type != "console":
        kind = mime(message.to_dict())
        data = {kind: message.text, _PLAIN: f"<{message.type}>"} if kind != _PLAIN else {_PLAIN: message.text}
        if kind == "text/html" and not is_harmless_html(message.text):
            data = {_PLAIN: _LEFT_OUT}
        yield {"output_type": "display_data", "data": data, "metadata": {}}
        return
    text = message.text
    error = failure(text)
    printed = text if error is None else text[: error.start]
    if printed:
        yield {"output_type": "stream", "name": "stdout", "text": printed}
    if error is not None:
        yield {
            "output_type": "error",
            "ename": error.name,
            "evalue": error.words,
            "traceback": text[error.start :].split("\n"),
        }


def _markdown(source: str, held: list[Placed]) -> Cell:
    return _labelled({"cell_type": "markdown", "metadata": {}, "source": source}, held)


def _labelled(cell: Cell, held: list[Placed]) -> Cell:
    """Say in the cell which messages it holds."""
    entries: list[Entry] = []
    for placed in held:
        head = placed.message.to_dict()
        del head["content"]
        entries.append({**head, "at": placed.at})
    for entry, placed, content in zip(entries, held, contents(cell, entries), strict=True):
        if content != placed.message.content:
            entry["content"] = placed.message.content
    cell["metadata"][KEY] = {"messages": entries}
    return cell


def _outputs_shown(found: list[str | dict[str, Any]], entries: list[Entry]) -> list[str] | None:
    """The content of each of ``entries`` among the outputs, if the outputs are just theirs."""
    shows: list[str] = []
    left = list(reversed(found))
    for entry in entries:
        group = left[-1] if left else None
        if entry["type"] == "console":
            shows.append(group if isinstance(group, str) else "")
        elif isinstance(group, dict) and mime(entry) in group:
            shows.append(joined(group[mime(entry)]))
        else:
            return None
        if isinstance(group, str) or entry["type"] != "console":
            left = left[:-1]
    return None if left else shows
