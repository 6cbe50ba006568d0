"""Commands about stored conversations. All of them read or write the disk, off the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from oi_engine.errors import OiError
from oi_lsp import protocol_history as wire
from oi_lsp.features.handlers import Handlers
from oi_lsp.fields import TEXT_LIMIT, LmcMessage, Nothing
from oi_lsp.host import SessionHost
from oi_lsp.paths import is_inside
from oi_lsp.structure import InvalidField

if TYPE_CHECKING:
    from oi_engine.history.store import Conversation, Hit
    from oi_engine.messages import Message

HANDLERS = Handlers()

MOST = 500
"""The most rows or messages of one answer."""
LARGEST_IMPORT = 4 * TEXT_LIMIT
"""Bytes of a file that is imported: as much as a text of the most characters can have."""


@HANDLERS.serves(wire.HistoryList)
async def list_stored(host: SessionHost, params: wire.HistoryList) -> wire.HistoryListResult:
    """``oi.history.list``."""
    from oi_engine.history.store import Conversation

    _check_limit(params.limit)
    after = None
    if params.after is not None:
        updated_at, _, conversation_id = params.after.partition(" ")
        after = Conversation(conversation_id, updated_at=updated_at)
    found = await host.library.use(lambda store: store.page(params.limit + 1, after))
    page = found[: params.limit]
    following = f"{page[-1].updated_at} {page[-1].id}" if len(found) > len(page) else None
    return wire.HistoryListResult(tuple(_stored(host, conversation) for conversation in page), following)


@HANDLERS.serves(wire.HistorySearch)
async def search(host: SessionHost, params: wire.HistorySearch) -> wire.HistorySearchResult:
    """``oi.history.search``."""
    _check_limit(params.limit)
    hits = await host.library.use(lambda store: store.search(params.query, params.limit))
    return wire.HistorySearchResult(tuple(_hit(host, hit) for hit in hits))


@HANDLERS.serves(wire.HistoryRead)
async def read(host: SessionHost, params: wire.HistoryRead) -> wire.HistoryReadResult:
    """``oi.history.read``."""
    _check_limit(params.limit)
    if not 0 <= params.skip < 2**31:
        raise InvalidField("skip", "must be a number of messages.")
    await host.engine.flush(params.conversation_id)
    found = await host.library.use(lambda store: store.messages_tail(params.conversation_id, params.limit, params.skip))
    return wire.HistoryReadResult(tuple(LmcMessage(message.to_dict()) for message in found))


@HANDLERS.serves(wire.HistoryRename)
async def rename(host: SessionHost, params: wire.HistoryRename) -> Nothing:
    """``oi.history.rename``."""
    await host.engine.flush(params.conversation_id)
    await host.library.use(lambda store: store.rename(params.conversation_id, params.title))
    if host.has(params.conversation_id):
        host.find(params.conversation_id).session.title = params.title
    return Nothing()


@HANDLERS.serves(wire.HistoryDelete)
async def delete(host: SessionHost, params: wire.HistoryDelete) -> Nothing:
    """``oi.history.delete``."""
    await host.engine.flush(params.conversation_id)
    await host.library.use(lambda store: store.get(params.conversation_id))
    if host.has(params.conversation_id):
        host.delete(params.conversation_id)
    # Else what the session still has to write would begin the conversation anew.
    await host.closed(params.conversation_id)
    await host.library.use(lambda store: store.delete(params.conversation_id))
    return Nothing()


@HANDLERS.serves(wire.HistoryBranch)
async def branch(host: SessionHost, params: wire.HistoryBranch) -> wire.StoredResult:
    """``oi.history.branch``."""
    await host.engine.flush(params.conversation_id)
    made = await host.library.use(lambda store: store.branch(params.conversation_id, params.message_id, params.title))
    return wire.StoredResult(_stored(host, made))


@HANDLERS.serves(wire.HistoryExport)
async def export(host: SessionHost, params: wire.HistoryExport) -> wire.HistoryExportResult:
    """``oi.history.export``."""
    from oi_engine.history.recorder import title_of

    if (params.conversation_id is None) == (params.session_id is None):
        raise InvalidField("conversationId", "or sessionId must be given, and not both.")
    target = None if params.path is None else await asyncio.to_thread(_target, params.path, host.cwd)
    if params.session_id is not None:
        session = host.find(params.session_id).session
        messages = tuple(session.messages)
        title = session.title or title_of(messages)
    else:
        conversation_id = params.conversation_id or ""
        await host.engine.flush(conversation_id)
        opened = await host.library.use(lambda store: store.open(conversation_id))
        title, messages = opened.conversation.title, opened.messages
    stem = target.stem if target is not None else "conversation"
    texts = await asyncio.to_thread(_texts, params.format, messages, title, stem)
    if target is None:
        return wire.HistoryExportResult(tuple(wire.Export(name, text) for name, text in texts))
    paths = [target if params.format != "script" else target.parent / name for name, _ in texts]
    written = zip(paths, (text for _, text in texts), strict=True)
    await asyncio.to_thread(_write_all, list(written), overwrite=params.overwrite)
    return wire.HistoryExportResult(tuple(wire.Export(path.name, path=str(path)) for path in paths))


@HANDLERS.serves(wire.HistoryImport)
async def import_(host: SessionHost, params: wire.HistoryImport) -> wire.StoredResult:
    """``oi.history.import``."""
    if (params.content is None) == (params.path is None):
        raise InvalidField("content", "or path must be given, and not both.")
    text = params.content
    if text is None:
        text = await asyncio.to_thread(_read_text, params.path or "")
    conversation, messages = await asyncio.to_thread(_imported, host, text, params.title)
    stored = await host.library.use(lambda store: store.save(conversation, messages))
    return wire.StoredResult(_stored(host, stored))


def _imported(host: SessionHost, text: str, title: str | None) -> tuple[Conversation, list[Message]]:
    """A conversation and its messages, with keys taken out. Raises ``InvalidMessage``."""
    from oi_engine.history.importing import read_messages
    from oi_engine.history.recorder import title_of
    from oi_engine.history.store import Conversation
    from oi_engine.messages import new_id

    cleaner = host.engine.cleaner()
    messages = [cleaner.whole(message) for message in read_messages(text)]
    if not messages:
        raise OiError("There is no message in it.", "Choose a file of messages, or a notebook.")
    named = title_of(messages) if title is None else cleaner.text(title)
    return Conversation(new_id("s"), named, host.cwd), messages


def _texts(form: str, messages: Sequence[Message], title: str, stem: str) -> list[tuple[str, str]]:
    """The texts of an export, each with a name for its file."""
    from oi_engine.history import export

    if form == "json":
        return [(f"{stem}.json", export.to_json(messages))]
    if form == "notebook":
        return [(f"{stem}.ipynb", export.to_notebook(messages, title))]
    if form == "markdown":
        return [(f"{stem}.md", export.to_markdown(messages, title))]
    return [(script.name, script.text) for script in export.to_scripts(messages, stem)]


def _target(path: str, workspace: str) -> Path:
    """Where an export is written. Raises ``InvalidField``."""
    if not workspace:
        raise InvalidField("path", "needs a workspace folder, and there is none: leave it out to get the text.")
    target = Path(path)
    if "\0" in path or not target.is_absolute() or not is_inside(str(target.parent), workspace):
        raise InvalidField("path", "must be an absolute path inside the workspace folder.")
    if not target.name or not target.parent.is_dir():
        raise InvalidField("path", "must be in a folder that exists.")
    return target


def _write_all(texts: list[tuple[Path, str]], *, overwrite: bool) -> None:
    """Write each text whole or not at all; without ``overwrite`` none is written where one of the files is there."""
    there = [path for path, _ in texts if os.path.lexists(path)]
    if there and not overwrite:
        raise OiError(f"{there[0]} is there already.", "Choose another name, or have it overwritten.")
    for path, text in texts:
        try:
            _write(path, text, overwrite=overwrite)
        except OSError as error:
            raise OiError(f"{path} could not be written: {error.strerror or error}.") from error


def _write(path: Path, text: str, *, overwrite: bool) -> None:
    from oi_engine.messages import new_id

    draft = path.with_name(f".{path.name}.{new_id('draft')}") if overwrite else path
    try:
        with draft.open("x", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
        if overwrite:
            # A link is replaced, and what it leads to is not.
            draft.replace(path)
    except FileExistsError:  # it has come meanwhile, and is somebody else's
        raise
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _read_text(path: str) -> str:
    """A file's text. Raises ``InvalidField``."""
    from oi_lsp.attachments import read_file

    if not os.path.isabs(path):
        raise InvalidField("path", "must be an absolute path.")
    try:
        return read_file(path, LARGEST_IMPORT, "path").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidField("path", "is not a file of text in UTF-8.") from None


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MOST:
        raise InvalidField("limit", f"must be from 1 to {MOST}.")


def _stored(host: SessionHost, known: Conversation) -> wire.Stored:
    return wire.Stored(
        known.id,
        known.title,
        known.cwd,
        known.created_at,
        known.updated_at,
        known.length,
        host.is_open(known.id),
        known.parent,
    )


def _hit(host: SessionHost, hit: Hit) -> wire.HistoryHit:
    spans = (wire.Span(_utf16(hit.snippet[:start]), _utf16(hit.snippet[:end])) for start, end in hit.spans)
    return wire.HistoryHit(_stored(host, hit.conversation), hit.snippet, tuple(spans), hit.position)


def _utf16(text: str) -> int:
    """How many code units a text has, as LSP counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
