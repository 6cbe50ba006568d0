"""Everything that the server says and understands beyond LSP itself: commands, notifications, errors and their types.

``docs/protocol.md`` is generated from this file (``python -m oi_lsp.docs``). On the wire, names are in camelCase;
fields without a value are left out. ``oi_lsp.structure`` reads and writes the classes.

A command is sent as ``workspace/executeCommand`` with one argument, an object: the class in ``Command.params``. It is
answered with ``Command.result``; what happens then is told by the notifications. The classes for what is stored are in
``protocol_history``, those for settings, models and attachments in ``protocol_settings``.
"""

from __future__ import annotations

from typing import Literal

from oi_lsp import protocol_changes, protocol_documents, protocol_history, protocol_settings
from oi_lsp.fields import ID_LIMIT as ID_LIMIT
from oi_lsp.fields import Command as Command
from oi_lsp.fields import LmcChunk as LmcChunk
from oi_lsp.fields import LmcMessage as LmcMessage
from oi_lsp.fields import Nothing as Nothing
from oi_lsp.fields import OfSession, identifier, wire, wire_type
from oi_lsp.protocol_documents import DocumentState as DocumentState
from oi_lsp.protocol_documents import EditState as EditState
from oi_lsp.protocol_errors import ERROR_DOCS as ERROR_DOCS
from oi_lsp.protocol_errors import ErrorCode as ErrorCode
from oi_lsp.protocol_errors import ErrorData as ErrorData
from oi_lsp.protocol_settings import Attachment

VERSION = 1
"""The version of this protocol; a client names it in ``initializationOptions.oi.protocolVersion``."""

ANSWER_TIME = 15.0
"""Seconds after which a command that reads the disk is answered in any case."""

State = Literal["idle", "thinking", "awaiting_approval", "running", "awaiting_input", "stopping"]


# --- small things that others are made of --------------------------------------------------------------------------


@wire_type
class Proposal:
    """Code that waits for the person's decision."""

    id: str = wire("For `oi.code.approve` and `oi.code.reject`.")
    language: str = wire("Canonical name of the language.")
    code: str = wire("What will run, to the byte.")
    findings: tuple[str, ...] | None = wire("What the scanner and the policy say of it; absent: nothing.", default=None)
    shown: str | None = wire(
        "The code with what cannot be seen, or reorders text, written out: to be shown in its place, never to be sent "
        "back. Absent: there is nothing of that kind.",
        default=None,
    )
    hidden: tuple[str, ...] | None = wire(
        "What the eye would miss: such characters, letters that imitate others, very long lines. A sentence each.",
        default=None,
    )


@wire_type
class Input:
    """A program's question: it waits for a line."""

    id: str = wire("For `oi.input.answer`.")
    prompt: str = wire("What the program printed before it waited; may be empty.")
    password: bool = wire("Whether what is typed must not be shown.")


@wire_type
class Queued:
    """A message that was sent in mid-turn and waits for its own turn."""

    turn_id: str = wire("The turn that will serve it.")
    text: str = wire("The message in words.")


@wire_type
class TurnUsage:
    """What the replies of one turn cost."""

    prompt_tokens: int = wire("Tokens that the model read.")
    completion_tokens: int = wire("Tokens that the model wrote.")
    cost: float | None = wire("US dollars; absent where no price is known.", default=None)


@wire_type
class Usage:
    """What a session's replies cost so far."""

    prompt_tokens: int = wire("Tokens that the model read.")
    completion_tokens: int = wire("Tokens that the model wrote.")
    cost: float | None = wire("US dollars; absent where no price is known.", default=None)
    turn: TurnUsage | None = wire(
        "Of these, those of the turn under way, or of the last one; absent where it cost nothing.", default=None
    )


@wire_type
class SessionInfo:
    """One session, in a list."""

    session_id: str = wire("The session.")
    title: str = wire("Its title; may be empty.")
    cwd: str = wire("The working directory of its kernels.")
    created_at: str = wire("ISO 8601, UTC.")
    state: State = wire("As in `oi/state`.")
    closed: bool = wire("Whether it was closed: it can be read and deleted.")


# --- notifications -------------------------------------------------------------------------------------------------


@wire_type
class Chunks:
    """The next chunks of a session's stream, in order. See *Following the stream*."""

    session_id: str = wire("The session.")
    turn_id: str = wire("The turn that all of these chunks belong to; empty before the first turn.")
    seq: int = wire("The number of the first chunk; a session's chunks are numbered from 1.")
    next_seq: int = wire("The number of the chunk after the last: the `seq` that the next notification should have.")
    chunks: tuple[LmcChunk, ...] = wire("LMC chunks. There may be fewer than `nextSeq - seq`.")
    replay: bool | None = wire("True where some of these chunks were sent before.", default=None)


@wire_type
class SessionState:
    """What a front end shows around a session's stream. Sent after every change, and once for a new session.

    Several changes in quick succession are sent as one. To a client that reads slowly, a state may arrive before the
    chunks that led to it.
    """

    session_id: str = wire("The session.")
    state: State = wire("What goes on.")
    turn_id: str | None = wire("The turn under way; absent in `idle`.", default=None)
    proposal: Proposal | None = wire("What waits for a decision; present in `awaiting_approval` alone.", default=None)
    input: Input | None = wire("What the program waits for; present in `awaiting_input` alone.", default=None)
    queue: tuple[Queued, ...] = wire("Messages that wait for their turn, the next one first.", default=())
    usage: Usage = wire("Tokens and cost so far.", default=Usage(0, 0))
    model: str | None = wire("The model that answers, as LiteLLM names it; absent: not chosen yet.", default=None)


@wire_type
class Notification:
    """A notification from the server: its method and the class of its params."""

    method: str
    params: type


NOTIFICATIONS: tuple[Notification, ...] = (
    Notification("oi/chunks", Chunks),
    Notification("oi/state", SessionState),
    Notification("oi/document", DocumentState),
    Notification("oi/edit", EditState),
)


# --- commands: sessions --------------------------------------------------------------------------------------------


@wire_type
class SessionNew:
    """Open a session. Its kernels start when code first runs."""

    cwd: str | None = wire("Absolute path of an existing directory; absent: the workspace folder.", default=None)
    model: str | None = wire("As LiteLLM names it; absent: as the settings say.", default=None, limit=ID_LIMIT)
    title: str = wire("A title for lists.", default="", limit=1000)
    profile: str | None = wire(
        "A profile that takes the place of the chosen one: its name in the profiles folder, or its path. It is "
        "followed, as the chosen one is.",
        default=None,
        limit=10_000,
    )


@wire_type
class SessionNewResult:
    """A new session."""

    session_id: str = wire("The session.")


@wire_type
class SessionList:
    """List all sessions, the newest first."""


@wire_type
class SessionListResult:
    """All sessions."""

    sessions: tuple[SessionInfo, ...] = wire("The newest first.")


@wire_type
class SessionOpen(OfSession):
    """Read a session: what a front end needs to show it and to follow it from there.

    A stored conversation that no session goes on with is opened: its id becomes the session's.
    """

    messages: bool = wire(
        "Whether the messages are wanted; a client that has the session replayed from its beginning needs none.",
        default=True,
    )


@wire_type
class SessionOpenResult:
    """A session as it is now."""

    info: SessionInfo = wire("What a list shows of it.")
    messages: tuple[LmcMessage, ...] = wire("Every whole message so far; none where they are not wanted.")
    next_seq: int = wire("The number of the first chunk that `messages` does not hold.")
    state: SessionState = wire("As in `oi/state`.")


@wire_type
class SessionClose(OfSession):
    """End a session's turn and its kernels. What waits for a decision is refused. The conversation can be read."""


@wire_type
class SessionDelete(OfSession):
    """Close a session and take it off the list. What is stored of it stays: see `oi.history.delete`."""


@wire_type
class SessionRename(OfSession):
    """Give a session another title."""

    title: str = wire("The new title.", limit=1000)


@wire_type
class SessionExport(OfSession):
    """The conversation as LMC messages."""


@wire_type
class SessionExportResult:
    """A conversation."""

    messages: tuple[LmcMessage, ...] = wire("Every whole message so far.")


@wire_type
class SessionUndo(OfSession):
    """Take back the last request and all that came of it. The stream says so with a command chunk, `undo`."""

    files: bool = wire("Whether to take back, too, what its runs changed on disk (`oi.changes.revert`).", default=False)
    message_id: str | None = identifier(
        "A message of an earlier request: that one and all that came after it are taken back; absent: the last.",
        default=None,
    )


@wire_type
class SessionUndoResult:
    """What was not taken back."""

    left: tuple[protocol_changes.LeftPath, ...] | None = wire(
        "With `files`: paths that were left as they are.", default=None
    )


@wire_type
class SessionReset(OfSession):
    """Begin the conversation anew; kernels keep their state. The stream says so with a command chunk, `reset`."""


@wire_type
class SessionReplay(OfSession):
    """Send the chunks after a number again, and go on from there."""

    after_seq: int = wire("The number of the last chunk that the client has; 0: it has none.")


@wire_type
class SessionReplayResult:
    """Where the replay begins."""

    seq: int = wire("The `seq` of the notification that comes next; perhaps less than `afterSeq + 1`, never more.")


# --- commands: the conversation ------------------------------------------------------------------------------------


@wire_type
class ChatSend(OfSession):
    """Ask the model. In mid-turn the message is queued, which `oi/state` shows.

    A text that begins with `%` is a magic command and goes to no model: see *Magic commands*.
    """

    content: str | tuple[LmcMessage, ...] = wire(
        "Text, or LMC messages of the role `user` and of the type `message`, `image` or `file`."
    )
    attachments: tuple[Attachment, ...] = wire(
        "What goes with the text; it is part of the stream, and so is shown, before the model is asked. A magic "
        "command has no use for them.",
        default=(),
    )


@wire_type
class ChatSendResult:
    """The message was taken."""

    turn_id: str = wire("The turn that serves it.")
    queued: bool = wire("Whether that turn waits for others to end.")


@wire_type
class ChatComplete:
    """How a text in a chat input may go on: the magic commands, settings and paths that begin like that."""

    text: str = wire("The text before the cursor, from the beginning of the input.")
    session_id: str | None = identifier(
        "The session that it is written to, in whose working directory paths start; absent: the workspace folder.",
        default=None,
    )


@wire_type
class ChatOffer:
    """One way to go on."""

    text: str = wire("What stands in the input then, in the place of the text before the cursor.")
    help: str = wire("What that does, in a sentence or two.")


@wire_type
class ChatCompleteResult:
    """The ways to go on."""

    items: tuple[ChatOffer, ...] = wire("None where the text is no magic command.")


@wire_type
class ChatStop(OfSession):
    """Stop whatever goes on; variables in the kernels are kept."""


@wire_type
class ChatStopResult:
    """What the stop did."""

    stopped: bool = wire("Whether there was anything to stop.")
    unsent: tuple[str, ...] = wire("Messages that were queued and will not be sent, for the person to have back.")


@wire_type
class OfTurn:
    """Which turn a decision belongs to."""

    turn_id: str = wire("The turn that goes on.")


@wire_type
class CodeApprove(OfSession):
    """Run the proposed code, or the code as the person edited it."""

    proposal_id: str = identifier("The proposal, as in `oi/state`.")
    code: str | None = wire("The code as edited: what runs, to the byte. Absent: as proposed.", default=None)
    always: bool | Literal["session", "here"] = wire(
        "Whether this very code may run unasked: for the rest of the session (`session`, or true), or in this folder "
        "until it is revoked (`here`).",
        default=False,
    )


@wire_type
class CodeReject(OfSession):
    """Do not run the proposed code; the model is told."""

    proposal_id: str = identifier("The proposal, as in `oi/state`.")
    reason: str = wire("Told to the model.", default="")


@wire_type
class CodeScan(OfSession):
    """Scan the proposed code before deciding. What is found comes as a `review` message, and in `oi/state`."""

    proposal_id: str = identifier("The proposal, as in `oi/state`.")


@wire_type
class CodeRun:
    """Run the person's own code. Sending it is the approval."""

    language: str = wire("The language, by any of its names.", limit=ID_LIMIT)
    code: str = wire("What runs, to the byte.")
    session_id: str | None = identifier("Absent: the one that this command used last, or else a new one.", default=None)


@wire_type
class CodeRunResult:
    """The code was taken."""

    session_id: str = wire("The session that runs it.")
    turn_id: str = wire("The turn that runs it.")
    queued: bool = wire("Whether that turn waits for others to end.")


@wire_type
class InputAnswer(OfSession):
    """Give the waiting program its line."""

    input_id: str = identifier("The input, as in `oi/state`.")
    text: str = wire("The line, without its newline.")


@wire_type
class KernelInterrupt(OfSession):
    """Interrupt the running program; the turn goes on and the model sees what came of it."""

    language: str | None = wire("Only if this language runs; absent: whichever does.", default=None, limit=ID_LIMIT)


@wire_type
class KernelRestart(OfSession):
    """End a kernel, so that the next run starts a fresh one; its variables are gone."""

    language: str | None = wire("The language; absent: all that run.", default=None, limit=ID_LIMIT)


@wire_type
class SandboxAllow(OfSession):
    """Have the sandbox allow more, until the session ends. What runs in it starts afresh at its next run, and its
    variables are gone then; the stream says so.

    After a run in which the sandbox seems to have stopped something, the stream has a message for the person, and then,
    for a client that offers it, `{"role": "computer", "type": "command", "format": "denied", "parent": the code's id,
    "content": {"paths": [text], "network": truth}}`: what of it one may simply allow.
    """

    path: str | None = wire("A file or folder, absolute, that code may write to.", default=None, limit=4096)
    network: bool = wire("Whether it may use the network.", default=False)


# --- commands: usage ------------------------------------------------------------------------------------------------


@wire_type
class UsageGet(OfSession):
    """What a session cost so far, and its last turn."""


MODULES = (protocol_history, protocol_settings, protocol_documents, protocol_changes)
"""Where else classes of the wire are."""

COMMANDS: tuple[Command, ...] = (
    Command("oi.session.new", SessionNew, SessionNewResult),
    Command("oi.session.list", SessionList, SessionListResult),
    Command("oi.session.open", SessionOpen, SessionOpenResult),
    Command("oi.session.close", SessionClose, Nothing),
    Command("oi.session.delete", SessionDelete, Nothing),
    Command("oi.session.rename", SessionRename, Nothing),
    Command("oi.session.export", SessionExport, SessionExportResult),
    Command("oi.session.undo", SessionUndo, SessionUndoResult),
    Command("oi.session.reset", SessionReset, Nothing),
    Command("oi.session.replay", SessionReplay, SessionReplayResult),
    Command("oi.chat.send", ChatSend, ChatSendResult),
    Command("oi.chat.complete", ChatComplete, ChatCompleteResult),
    Command("oi.chat.stop", ChatStop, ChatStopResult),
    Command("oi.code.approve", CodeApprove, OfTurn),
    Command("oi.code.reject", CodeReject, OfTurn),
    Command("oi.code.scan", CodeScan, Nothing),
    Command("oi.code.run", CodeRun, CodeRunResult),
    Command("oi.input.answer", InputAnswer, Nothing),
    Command("oi.kernel.interrupt", KernelInterrupt, Nothing),
    Command("oi.kernel.restart", KernelRestart, Nothing),
    Command("oi.sandbox.allow", SandboxAllow, Nothing),
    Command("oi.usage.get", UsageGet, Usage),
    *protocol_history.COMMANDS,
    *protocol_settings.COMMANDS,
    *protocol_documents.COMMANDS,
    *protocol_changes.COMMANDS,
)


@wire_type
class OiOptions:
    """``initializationOptions.oi``: a client that gives it is sent the notifications of this protocol."""

    protocol_version: int = wire("The version of this protocol that the client speaks.")
    shows: Literal["chunks", "documents"] = wire("Where the client shows conversations.", default="chunks")
