"""Hover and completion from the live kernels, in source files and in the blocks of chat documents.

Nothing is started for it: where no kernel runs, or it is busy, there is nothing to tell.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import frozen
from lsprotocol import types

from oi_lsp.chat_document.chats import SUFFIX, Chats
from oi_lsp.documents import Document

if TYPE_CHECKING:
    from oi_engine.computer.looks import Completion, Completions, Inspection
    from oi_engine.session.session import Session
    from oi_lsp.chat_document.chat import DocumentChat
    from oi_lsp.editor import Editor
    from oi_lsp.sources.sources import Sources

COLUMNS = 20
"""The most columns of a table that are listed."""

_KINDS = {
    "variable": types.CompletionItemKind.Variable,
    "function": types.CompletionItemKind.Function,
    "class": types.CompletionItemKind.Class,
    "module": types.CompletionItemKind.Module,
    "property": types.CompletionItemKind.Property,
    "key": types.CompletionItemKind.Field,
    "keyword": types.CompletionItemKind.Keyword,
    "magic": types.CompletionItemKind.Event,
}
_EDITORS_OWN = ("keyword", "magic")
"""What is not of the kernel alone: in source files the editor has its own for it."""


@frozen
class _Code:
    """Code in a document, and what can look into its kernel; it begins at the offset ``start``."""

    session: Session
    language: str
    text: str
    start: int
    cursor: int
    """In characters of the code."""


class Looking:
    """Answers what live kernels tell of documents."""

    def __init__(self, editor: Editor, chats: Chats, sources: Sources) -> None:
        self._editor = editor
        self._chats = chats
        self._sources = sources

    async def hover(self, document: Document, position: types.Position) -> types.Hover | None:
        """What the name at a position stands for."""
        code = self._code(document, position)
        if code is None:
            return None
        text = document.text
        found = await code.session.inspect(code.language, code.text, code.cursor)
        if found is None or document.text is not text:
            return None
        place = document.range(code.start + found.start, code.start + found.end)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, described(found)), place)

    async def complete(self, document: Document, position: types.Position) -> types.CompletionList | None:
        """What could stand at a position."""
        magic = self._magic(document, position)
        if magic is not None:
            return await self._commands(document, *magic)
        code = self._code(document, position)
        if code is None:
            return None
        text = document.text
        found = await code.session.complete(code.language, code.text, code.cursor)
        if document.text is not text:
            return None
        return self._completions(document, code, found)

    # --- kernels -----------------------------------------------------------------------------------------------

    def _code(self, document: Document, position: types.Position) -> _Code | None:
        offset = document.offset(position)
        if not document.uri.endswith(SUFFIX):
            session, language = self._sources.session(document.uri), self._sources.language(document)
            return _Code(session, language, document.text, 0, offset) if session and language else None
        chat = self._chats.get(document.uri)
        if chat is None or chat.session is None:
            return None
        for part in chat.parsed.parts():
            if part.kind in ("code", "edited") and part.content_start <= offset <= part.content_end:
                # As it is written: so each character has its place. The few that are escaped there matter to no name.
                written = document.text[part.content_start : part.content_end]
                start = part.content_start
                return _Code(chat.session, part.language or "", written, start, offset - start)
        return None

    def _completions(self, document: Document, code: _Code, found: Completions) -> types.CompletionList | None:
        in_file = not document.uri.endswith(SUFFIX)
        items = [each for each in found.items if not (in_file and each.kind in _EDITORS_OWN)]
        if not items or "\n" in code.text[found.start : found.end] or not found.start <= code.cursor <= found.end:
            return None
        place = document.range(code.start + found.start, code.start + found.end)
        return types.CompletionList(
            is_incomplete=found.more, items=[_item(each, place, number) for number, each in enumerate(items)]
        )

    # --- magic commands ------------------------------------------------------------------------------------------

    def _magic(self, document: Document, position: types.Position) -> tuple[int, int, DocumentChat] | None:
        """From where to where the beginning of a magic command stands, if one does: it is all that is to be sent."""
        chat = self._chats.get(document.uri)
        if chat is None:
            return None
        offset = document.offset(position)
        begin, _ = document.line_span(document.line_at(offset))
        sections = [each for each in chat.parsed.sections if each.kind == "you"]
        if not document.text.startswith("%", begin) or not sections or chat.parsed.sections[-1] is not sections[-1]:
            return None
        if begin < sections[-1].body or document.text[sections[-1].body : begin].strip():
            return None
        return begin, offset, chat

    async def _commands(
        self, document: Document, begin: int, offset: int, chat: DocumentChat
    ) -> types.CompletionList | None:
        text = document.text
        folder = chat.session.cwd if chat.session is not None else chat.folder
        offers = await asyncio.to_thread(_offers, text[begin:offset], folder)
        if document.text is not text:
            return None
        place = document.range(begin, offset)
        items = [
            types.CompletionItem(
                said,
                kind=types.CompletionItemKind.Event,
                detail=told,
                sort_text=f"{number:04}",
                filter_text=said,
                text_edit=types.TextEdit(place, said),
            )
            for number, (said, told) in enumerate(offers)
        ]
        return types.CompletionList(is_incomplete=True, items=items)


def _offers(text: str, folder: str) -> list[tuple[str, str]]:
    """Reads the disk: for a thread."""
    from oi_engine.magic import commands

    return [(offer.text, offer.help) for offer in commands.offers(text, folder)]


def _item(found: Completion, place: types.Range, number: int) -> types.CompletionItem:
    return types.CompletionItem(
        found.text,
        kind=_KINDS.get(found.kind),
        detail=f"kernel: {found.detail}" if found.detail else "kernel",
        sort_text=f"{number:04}",
        filter_text=found.text,
        text_edit=types.TextEdit(place, found.text),
    )


def described(found: Inspection) -> str:
    """What a name stands for, in Markdown."""
    return "\n\n".join(_paragraphs(found))


def _paragraphs(found: Inspection) -> Iterator[str]:
    from oi_engine.models.units import fenced

    facts = [_code_span(found.type)]
    if found.shape is not None:
        facts.append(f"shape {' × '.join(map(str, found.shape)) or '()'}")
    elif found.length is not None:
        facts.append(f"length {found.length}")
    if found.dtype:
        facts.append(_code_span(found.dtype))
    yield f"{_code_span(found.name)}: {', '.join(facts)}"
    if found.value:
        yield fenced("", found.value)
    if found.columns:
        listed = [f"- {_code_span(each.name)}{f' {each.dtype}' if each.dtype else ''}" for each in found.columns]
        listed = listed[:COLUMNS]
        if found.column_count > len(listed):
            listed.append(f"- and {found.column_count - len(listed)} more")
        yield "\n".join(listed)
    if found.docs:
        yield fenced("", found.docs)


def _code_span(text: str) -> str:
    """Text as code within a line, whatever is in it."""
    line = " ".join(text.split()) or " "
    marks = "`" * (1 + max((len(run) for run in "".join(c if c == "`" else " " for c in line).split()), default=0))
    return f"{marks} {line} {marks}" if line[0] == "`" or line[-1] == "`" else f"{marks}{line}{marks}"
