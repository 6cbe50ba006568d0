"""Commands about documents: chat documents, selections and inline edits, for ``oi_lsp.protocol``.

They are what the code actions and code lenses of plain clients call; any client may send them itself.
"""

from __future__ import annotations

from typing import Literal

from oi_lsp.fields import Command, Nothing, identifier, wire, wire_type
from oi_lsp.protocol_settings import Range

URI_LIMIT = 10_000
"""The most characters of a URI."""


@wire_type
class OfDocument:
    """Which document."""

    uri: str = wire("The document, as the client has it open.", limit=URI_LIMIT)


@wire_type
class Started:
    """What was started."""

    session_id: str = wire("The session of the chat document.")
    turn_id: str = wire("The turn that serves it.")
    queued: bool = wire("Whether that turn waits for others to end.")


# --- chat documents ------------------------------------------------------------------------------------------------


@wire_type
class DocumentNew:
    """Make a chat document, and have the client show it."""

    folder: str | None = wire(
        "Absolute path of an existing directory; absent: the workspace folder.", default=None, limit=URI_LIMIT
    )


@wire_type
class DocumentNewResult:
    """A new chat document."""

    uri: str = wire("The file, which was written.")


@wire_type
class DocumentLoad(OfDocument):
    """Write a stored conversation into a chat document that says nothing yet, and go on with it there."""

    conversation_id: str = identifier("The conversation.")


@wire_type
class DocumentSend(OfDocument):
    """Send what is written under the last heading of a chat document. The answer is written into the document."""

    text: str | None = wire(
        "Words from an input of the client's, which are put under that heading first, without what they would mean as "
        "marks of the document.",
        default=None,
    )


@wire_type
class OfBlock(OfDocument):
    """Which block of a chat document."""

    block: str = identifier("The `oi=` of its first line, or the number of that line, counted from 1.")


@wire_type
class DocumentRun(OfBlock):
    """Run a block of code as it stands in the document. For a proposed one that is the approval."""


@wire_type
class DocumentReject(OfBlock):
    """Do not run a proposed block; the model is told."""

    reason: str = wire("Told to the model.", default="")


@wire_type
class DocumentScan(OfBlock):
    """Scan a proposed block as it stands in the document. What is found comes as a `review` message, and as
    diagnostics on the block."""


@wire_type
class DocumentAnswer(OfBlock):
    """Give the waiting program what is written in its input block."""


@wire_type
class DocumentStop(OfDocument):
    """Stop whatever goes on in a chat document; variables in the kernels are kept."""


@wire_type
class DocumentStopResult:
    """What the stop did."""

    stopped: bool = wire("Whether there was anything to stop.")


@wire_type
class DocumentRemove(OfDocument):
    """Take an answer out of a chat document, in one edit."""

    answer: int = wire("The number of the answer, as in its heading.")


BlockWord = Literal["proposed", "running", "done", "failed", "stopped", "rejected"]

UNENDED_LIMIT = 1_000
"""The most characters of an unended line."""


@wire_type
class BlockState:
    """What goes on with a block of code, or came of it."""

    block: str = identifier("The `oi=` of its first line.")
    state: BlockWord = wire(
        "`proposed`: it waits for `oi.document.run` or `oi.document.reject`. `rejected`: it waited, and did not run."
    )
    line: int | None = wire("The line of it that runs, counted from 1.", default=None)
    seconds: float | None = wire("How long it ran.", default=None)
    proposal_id: str | None = identifier("Of `proposed`: for `oi.code.scan`.", default=None)
    code: str | None = wire("Of `proposed`: the code as the model wrote it.", default=None)
    findings: tuple[str, ...] = wire("Of `proposed`: what the scanner and the policy say of it.", default=())
    unended: str | None = wire(
        "The end of its output whose line has not ended, as a terminal would show it: a progress bar, say. It is not "
        "in the document yet.",
        default=None,
    )
    change_id: str | None = identifier("What it changed on disk, for `oi.changes.diff`.", default=None)


@wire_type
class DocumentQuestion:
    """A program in a chat document waits for a line."""

    input_id: str = identifier("For `oi.input.answer`.")
    block: str = identifier("The input block, for `oi.document.answer`.")
    prompt: str = wire("What the program printed before it waited; may be empty.")
    password: bool = wire("Whether what is typed must not be shown: then not into the document.")


@wire_type
class DocumentState:
    """What goes on in a chat document beside its text, for a client that shows `documents`. Sent after every change,
    several in quick succession as one."""

    uri: str = wire("The document.")
    session_id: str = wire("Its session.")
    state: Literal["idle", "thinking", "awaiting_approval", "running", "awaiting_input", "stopping"] = wire(
        "As in `oi/state`."
    )
    blocks: tuple[BlockState, ...] = wire("Those with which it is otherwise than was told before.")
    question: DocumentQuestion | None = wire("What a program waits for.", default=None)
    waiting: int = wire("How many messages wait for their turn.", default=0)
    prompt_tokens: int = wire("Tokens that the model read so far.", default=0)
    completion_tokens: int = wire("Tokens that the model wrote so far.", default=0)
    cost: float | None = wire("US dollars so far; absent where no price is known.", default=None)


# --- any file ------------------------------------------------------------------------------------------------------


@wire_type
class SelectionRun(OfDocument):
    """Run a piece of a file, or all of it, as the editor has it; a file that is not open, as it is on disk.

    Sending it is the approval. Where the file is open, output and errors are shown in it as inlay hints and
    diagnostics.
    """

    range: Range | None = wire("The piece; where it is empty, that line. Absent: the whole file.", default=None)
    session_id: str | None = identifier(
        "The session that runs it. Absent: that of the chat document beside the file; for a client that shows chunks, "
        "the one that ran code last, or a new one.",
        default=None,
    )


@wire_type
class SelectionAsk(OfDocument):
    """Ask the model about a piece of a file.

    With an instruction it is sent; without one it is put under the last heading of the chat document, for the person
    to go on writing. In a session, and for a client that shows chunks, there must be one.
    """

    range: Range | None = wire("The piece; absent: the whole file.", default=None)
    instruction: str = wire("The question.", default="")
    session_id: str | None = identifier("As of `oi.selection.run`.", default=None)


@wire_type
class DiagnosticExplain(OfDocument):
    """Ask the model to explain a problem that is shown in a file. The code around is sent with it."""

    range: Range = wire("Where the problem is.")
    message: str = wire("What the editor says of it.")
    session_id: str | None = identifier("As of `oi.selection.run`.", default=None)


@wire_type
class SelectionStarted:
    """What was started. All of it is absent where a chat document has to be opened first."""

    session_id: str | None = identifier("The session.", default=None)
    turn_id: str | None = identifier("The turn that serves it.", default=None)
    queued: bool | None = wire("Whether that turn waits for others to end.", default=None)


# --- inline edits --------------------------------------------------------------------------------------------------


@wire_type
class SelectionEdit(OfDocument):
    """Have the model edit a piece of a file that is open, or write a new file. See *Inline edits*."""

    instruction: str = wire("What is to be done.")
    range: Range | None = wire(
        "The piece; every line counts that it has something of. Absent: the whole file, or a new one where there is "
        "none.",
        default=None,
    )
    session_id: str | None = identifier(
        "The session whose model edits, and which counts the cost; absent: the model of the settings.", default=None
    )


@wire_type
class SelectionEditResult:
    """The edit was begun."""

    edit_id: str = identifier("The edit.")


@wire_type
class OfEdit:
    """Which inline edit."""

    edit_id: str = identifier("The edit.")


@wire_type
class EditAccept(OfEdit):
    """Write a hunk into the document, as one step to undo; a new file is written to the disk. Hunks that were accepted
    before go first."""

    hunk_id: str | None = identifier("Absent: every hunk that is open, one after another.", default=None)


@wire_type
class EditReject(OfEdit):
    """Do not change those lines. Without a hunk, nothing more of the edit is wanted: its stream ends too."""

    hunk_id: str | None = identifier("Absent: every hunk that is not accepted.", default=None)


@wire_type
class EditRemaining:
    """What is left to decide."""

    remaining: int = wire("How many hunks are open, those left out that are about to be written.")


@wire_type
class EditStop(OfEdit):
    """End the model's reply. What has arrived of it can still be accepted."""


@wire_type
class EditStopResult:
    """What the stop did."""

    stopped: bool = wire("Whether a reply was under way.")


@wire_type
class EditHunk:
    """Some lines of a document that would become others."""

    id: str = identifier("The hunk, within its edit.")
    state: Literal["proposed", "pending", "accepted", "rejected", "stale"] = wire(
        "`pending`: it is about to be written. `stale`: the document was changed there, so that it no longer fits; it "
        "fits again when that is undone."
    )
    old: str = wire("What is there; empty for an insertion.")
    new: str = wire("What would be there; empty for a deletion.")
    range: Range | None = wire(
        "Where `old` is (once accepted, `new`), in whole lines; absent where it is no more.", default=None
    )


@wire_type
class EditState:
    """An inline edit as it is now: sent after every change, several in quick succession as one. Its hunks are all that
    there are; a hunk that is no longer among them was replaced by others, or its edit is over."""

    edit_id: str = identifier("The edit.")
    uri: str = wire("The document.")
    state: Literal["streaming", "complete", "failed"] = wire(
        "Whether the model is still writing. What had arrived before it failed can be accepted."
    )
    hunks: tuple[EditHunk, ...] = wire("In the order of the document.")
    version: int | None = wire("The document's version that the ranges are for; absent for a new file.", default=None)
    comment: str | None = wire("What the model said beside its edit.", default=None)
    error: str | None = wire("What went wrong.", default=None)
    cost: float | None = wire("What the reply has cost, in US dollars; absent where it is not known.", default=None)


COMMANDS: tuple[Command, ...] = (
    Command("oi.document.new", DocumentNew, DocumentNewResult),
    Command("oi.document.load", DocumentLoad, Nothing),
    Command("oi.document.send", DocumentSend, Started),
    Command("oi.document.run", DocumentRun, Started),
    Command("oi.document.reject", DocumentReject, Nothing),
    Command("oi.document.scan", DocumentScan, Nothing),
    Command("oi.document.answer", DocumentAnswer, Nothing),
    Command("oi.document.stop", DocumentStop, DocumentStopResult),
    Command("oi.document.remove", DocumentRemove, Nothing),
    Command("oi.selection.run", SelectionRun, SelectionStarted),
    Command("oi.selection.ask", SelectionAsk, SelectionStarted),
    Command("oi.diagnostic.explain", DiagnosticExplain, SelectionStarted),
    Command("oi.selection.edit", SelectionEdit, SelectionEditResult),
    Command("oi.edit.accept", EditAccept, EditRemaining),
    Command("oi.edit.reject", EditReject, EditRemaining),
    Command("oi.edit.stop", EditStop, EditStopResult),
)
