"""What magic commands write to files and read from them."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Literal
from uuid import uuid4

import platformdirs

from oi_engine.errors import OiError
from oi_engine.history.export import to_json, to_markdown, to_notebook
from oi_engine.history.importing import read_messages
from oi_engine.history.recorder import title_of
from oi_engine.messages import Message
from oi_engine.session.session import Session

MESSAGES = "messages.json"
LOADED = "This conversation was loaded from a file: its code did not run here, so its variables are not there."

_STEM = 40
"""Characters of the name that an export is given."""


async def save_messages(session: Session, path: str, *, overwrite: bool) -> str:
    """Write the messages as the documented JSON. Raises ``OiError``, ``OSError``."""
    target = _path(session, path or MESSAGES)
    messages = tuple(session.messages)
    text = await asyncio.to_thread(to_json, messages)
    await asyncio.to_thread(_write, target, text, overwrite)
    return f"Saved {len(messages):,} messages: {quoted(str(target))}"


async def load_messages(session: Session, path: str) -> str:
    """Go on with the messages of a file. Raises ``OiError``, ``OSError``."""
    source = _path(session, path or MESSAGES)
    messages = await asyncio.to_thread(_read, source)
    session.rewrite(messages)
    if any(message.type == "console" for message in messages):
        session.preface = lambda: [Message("computer", "message", LOADED)]
    return f"Loaded {len(messages):,} messages: {quoted(str(source))}"


async def export(session: Session, ending: Literal["md", "ipynb"], path: str, *, overwrite: bool) -> str:
    """Write the conversation as Markdown or as a notebook; without ``path`` under a new name in the Downloads folder.

    Raises ``OiError``, ``OSError``.
    """
    messages = tuple(session.messages)
    if not messages:
        raise OiError("There is nothing to export yet.")
    title = session.title or title_of(messages)
    text = await asyncio.to_thread(lambda: to_markdown(messages, title) if ending == "md" else to_notebook(messages))
    if path:
        target = _path(session, path)
        await asyncio.to_thread(_write, target, text, overwrite)
    else:
        target = await asyncio.to_thread(_write_anew, _stem(title), ending, text)
    return f"Exported: {quoted(str(target))}"


def quoted(text: str) -> str:
    """Text in Markdown, as code: on one line, and with nothing in it that Markdown would read."""
    line = " ".join(text.split())
    mark = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return f"{mark} {line} {mark}" if "`" in line else f"`{line}`"


def _path(session: Session, path: str) -> Path:
    """A path as the person wrote it: from the session's folder, perhaps with ``~`` or in quotes."""
    bare = path[1:-1] if len(path) > 1 and path[0] == path[-1] and path[0] in "'\"" else path
    return Path(session.cwd, os.path.expanduser(bare))


def _write(path: Path, text: str, overwrite: bool) -> None:
    data = text.encode("utf-8", "replace")
    if not overwrite:
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError as error:
            raise OiError(f"{path} is there already.", "Name another, or put ! behind the command's name.") from error
        return
    # Written whole beside it first: a disk that is full costs nothing that was there.
    aside = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        aside.write_bytes(data)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def _write_anew(stem: str, ending: str, text: str) -> Path:
    downloads = platformdirs.user_downloads_path()
    folder = downloads if downloads.is_dir() else Path.home()
    number = 1
    while True:
        path = folder / f"{stem}{f'-{number}' if number > 1 else ''}.{ending}"
        try:
            with path.open("xb") as file:
                file.write(text.encode("utf-8", "replace"))
        except FileExistsError:
            number += 1
        else:
            return path


def _stem(title: str) -> str:
    words = re.sub(r"[^\w]+", "-", title.lower())[:_STEM].strip("-_")
    return words or "conversation"


def _read(path: Path) -> list[Message]:
    try:
        return read_messages(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise OiError(f"{path} is not text in UTF-8.", "Choose a file of messages, or a notebook.") from error
