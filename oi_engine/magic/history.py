"""What magic commands do with stored conversations: list them, and find the one that is meant."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from weakref import WeakKeyDictionary

from oi_engine.errors import OiError
from oi_engine.history.store import Conversation, Store
from oi_engine.magic.files import quoted
from oi_engine.messages import Message
from oi_engine.session.session import Session

LISTED = 20
"""Conversations that a list has."""

_lists: WeakKeyDictionary[Session, tuple[str, ...]] = WeakKeyDictionary()
"""The ids of the list that each session was shown last, by whose numbers ``chosen`` goes."""


async def listed(session: Session, path: Path | None, words: str) -> str:
    """The stored conversations as a numbered list, the one written last first; with ``words``, those that have them."""
    found = await asyncio.to_thread(_find, _kept(path), words)
    _lists[session] = tuple(conversation.id for conversation, _ in found)
    if not found:
        return "No stored conversation has these words." if words else "No conversation is stored yet."
    lines = []
    for number, (conversation, snippet) in enumerate(found, start=1):
        here = " (this one)" if conversation.id == session.id else ""
        lines.append(f"{number}. {quoted(title(conversation))}, {about(conversation)}{here}")
        if snippet and snippet != conversation.title:
            lines.append(f"   {quoted(snippet)}")
    return "\n".join([*lines, "", "`%open` and a number opens one."])


async def chosen(session: Session, path: Path | None, which: str) -> Conversation:
    """The conversation of a number in the list that was shown last, or of an id. Raises ``OiError``."""
    kept, shown = _kept(path), _lists.get(session, ())
    if not which:
        raise OiError("%open opens a conversation, and none is named.", "`%history` lists them.")
    conversation_id = which
    if which.isdecimal():
        if not 1 <= int(which) <= len(shown):
            raise OiError(f"No conversation was listed as {which}.", "`%history` lists them.")
        conversation_id = shown[int(which) - 1]
    if conversation_id == session.id:
        raise OiError("That conversation is the one that is open.")
    return await asyncio.to_thread(_get, kept, conversation_id)


def keep_list(before: Session, after: Session) -> None:
    """The list that the person sees is still the same in the session that takes the place of one."""
    _lists[after] = _lists.get(before, ())


def title(conversation: Conversation) -> str:
    """What a conversation is called."""
    return conversation.title or "(no title)"


def about(conversation: Conversation) -> str:
    """When it was written last, in the person's own time, and how long it is."""
    written = datetime.fromisoformat(conversation.updated_at).astimezone()
    return f"{written:%Y-%m-%d %H:%M}, {conversation.length:,} message{'s' * (conversation.length != 1)}"


def page(path: Path | None) -> list[Conversation]:
    """The conversations written last. Raises ``OiError``. Reads the disk."""
    with Store(_kept(path)) as store:
        return store.page(LISTED)


def tail(path: Path | None, conversation: Conversation, count: int) -> list[Message]:
    """The last messages of a conversation. Raises ``OiError``. Reads the disk, little of it whatever the length."""
    with Store(_kept(path)) as store:
        return store.messages_tail(conversation.id, count)


def _kept(path: Path | None) -> Path:
    if path is None:
        raise OiError("Conversations are not kept here.", "The setting `conversation_history` decides.")
    return path


def _find(path: Path, words: str) -> Sequence[tuple[Conversation, str]]:
    with Store(path) as store:
        if words:
            return [(hit.conversation, hit.snippet) for hit in store.search(words, LISTED)]
        return [(conversation, "") for conversation in store.page(LISTED)]


def _get(path: Path, conversation_id: str) -> Conversation:
    with Store(path) as store:
        return store.get(conversation_id)
