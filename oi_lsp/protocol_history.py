"""Commands about stored conversations, for ``oi_lsp.protocol``."""

from __future__ import annotations

from typing import Literal

from oi_lsp.fields import Command, LmcMessage, Nothing, identifier, wire, wire_type


@wire_type
class Stored:
    """What is known of a stored conversation beside its messages."""

    conversation_id: str = wire("The conversation: the id of the session that goes on with it, if one does.")
    title: str = wire("Its title; may be empty.")
    cwd: str = wire("The working directory of its kernels.")
    created_at: str = wire("ISO 8601, UTC.")
    updated_at: str = wire("When it was last written to. ISO 8601, UTC.")
    length: int = wire("How many messages it has.")
    open: bool = wire("Whether a session of this server goes on with it.")
    parent: str | None = wire("The conversation that it was branched from, which may be gone.", default=None)


@wire_type
class Span:
    """A piece of a text, in UTF-16 code units."""

    start: int = wire("Where it begins.")
    end: int = wire("Where it has ended.")


@wire_type
class OfConversation:
    """What many commands take: which stored conversation."""

    conversation_id: str = identifier("The conversation.")


@wire_type
class HistoryList:
    """List stored conversations, the one written last first."""

    limit: int = wire("How many, from 1 to 500.", default=50)
    after: str | None = identifier("`next` of the page before; absent: the first page.", default=None)


@wire_type
class HistoryListResult:
    """A page of the list."""

    conversations: tuple[Stored, ...] = wire("The one written last first.")
    next: str | None = wire("For `after` of the next page; absent: there is none.", default=None)


@wire_type
class HistorySearch:
    """Find conversations that have all words in one message, or in the title."""

    query: str = wire("Words; nothing in it is syntax. The last may be the beginning of one.", limit=10_000)
    limit: int = wire("How many, from 1 to 500.", default=20)


@wire_type
class HistoryHit:
    """A conversation that was found."""

    conversation: Stored = wire("The conversation.")
    snippet: str = wire("A line of the message, or the title.")
    spans: tuple[Span, ...] = wire("Where in `snippet` the words are.")
    position: int | None = wire("Which message it is, counted from 0; absent: the title.", default=None)


@wire_type
class HistorySearchResult:
    """What was found."""

    hits: tuple[HistoryHit, ...] = wire("The one written last first.")


@wire_type
class HistoryRead(OfConversation):
    """Read the end of a stored conversation, or what comes before that, without opening it."""

    limit: int = wire("How many messages, from 1 to 500.", default=100)
    skip: int = wire("How many of the last ones to leave out.", default=0)


@wire_type
class HistoryReadResult:
    """Messages of a stored conversation."""

    messages: tuple[LmcMessage, ...] = wire("In their order.")


@wire_type
class HistoryRename(OfConversation):
    """Give a stored conversation another title."""

    title: str = wire("The new title.", limit=1000)


@wire_type
class HistoryDelete(OfConversation):
    """Delete a conversation for good. A session that goes on with it is closed and taken off the list first."""


@wire_type
class HistoryBranch(OfConversation):
    """Make a new conversation that is this one up to and including a message. `oi.session.open` goes on with it."""

    message_id: str = identifier("The last message that the branch has.")
    title: str | None = wire("The title of the branch; absent: the same.", default=None, limit=1000)


@wire_type
class StoredResult:
    """A conversation that was made."""

    conversation: Stored = wire("The conversation.")


@wire_type
class HistoryExport:
    """Write a conversation in another form: as text in the answer, or into a file."""

    format: Literal["json", "notebook", "markdown", "script"] = wire(
        "`json`: the documented messages. `notebook`: a Jupyter notebook. `script`: the code that ran, a text for each "
        "language."
    )
    conversation_id: str | None = identifier("The stored conversation. One of this and `sessionId`.", default=None)
    session_id: str | None = identifier("The session, whether or not it is stored.", default=None)
    path: str | None = wire(
        "Absolute path inside the workspace folder: written there. Of scripts, each has the suffix of its language.",
        default=None,
        limit=10_000,
    )
    overwrite: bool = wire("Whether a file that is there may be replaced.", default=False)


@wire_type
class Export:
    """One text of an export."""

    name: str = wire("A name for its file.")
    text: str | None = wire("The text; absent where it was written into a file.", default=None)
    path: str | None = wire("The file that it was written into.", default=None)


@wire_type
class HistoryExportResult:
    """What was exported."""

    files: tuple[Export, ...] = wire("One; of scripts, one for each language that ran.")


@wire_type
class HistoryImport:
    """Store a conversation that comes from elsewhere. `oi.session.open` goes on with it."""

    content: str | None = wire(
        "The documented JSON messages, or a Jupyter notebook. One of this and `path`.", default=None
    )
    path: str | None = wire("Absolute path of a file of either.", default=None, limit=10_000)
    title: str | None = wire("A title; absent: from the first request.", default=None, limit=1000)


COMMANDS: tuple[Command, ...] = (
    Command("oi.history.list", HistoryList, HistoryListResult),
    Command("oi.history.search", HistorySearch, HistorySearchResult),
    Command("oi.history.read", HistoryRead, HistoryReadResult),
    Command("oi.history.rename", HistoryRename, Nothing),
    Command("oi.history.delete", HistoryDelete, Nothing),
    Command("oi.history.branch", HistoryBranch, StoredResult),
    Command("oi.history.export", HistoryExport, HistoryExportResult),
    Command("oi.history.import", HistoryImport, StoredResult),
)
