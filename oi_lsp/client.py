"""What the server asks of the client: each request has a time-out, and each answer a way on.

What a client advertises is a hint: some do what they never advertised, some advertise what they do not answer. So a
request is tried, and one that the client says it does not know is not tried again. An error, ``null``, an answer that
is not as LSP has it and silence are all answers here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from typing import Any, Protocol

from attrs import frozen
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcMethodNotFound

log = logging.getLogger(__name__)

EDIT_TIME = 30.0
SHOW_TIME = 5.0
PROGRESS_TIME = 5.0
REFRESH_TIME = 10.0
QUESTION_TIME = 300.0
"""How long the client is waited for, in seconds; a question waits for the person."""

DocumentEdit = types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile


class Wire(Protocol):
    """The way to the client. ``params`` are lsprotocol's types or plain JSON."""

    def ask(self, method: str, params: Any) -> asyncio.Future[Any]:
        """Send a request. The answer is plain JSON, or a ``JsonRpcException``; it is forgotten when cancelled."""

    def say(self, method: str, params: Any) -> None:
        """Send a notification."""


@frozen
class Applied:
    """The client says that it has made the edit. Some say so without having done it."""


@frozen
class Refused:
    """The client has not made the edit. ``known`` is False where it does not know the request at all."""

    reason: str
    known: bool = True


@frozen
class NoAnswer:
    """The client may or may not have made the edit: it answered nothing, or nothing that can be understood."""


EditAnswer = Applied | Refused | NoAnswer


class _Silence(Exception):
    """There was no answer in time."""


class Client:
    """The client at the other end of a wire. What it advertises is known once ``meet`` was called."""

    def __init__(self, wire: Wire) -> None:
        self.name = ""
        self._wire = wire
        self._capabilities = types.ClientCapabilities()
        self._unknown: dict[str, str] = {}
        self._progress: dict[str | int, Progress] = {}
        self._tokens = count(1)
        self._refreshing: dict[str, bool] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def meet(self, params: types.InitializeParams) -> None:
        """Take in what the client says of itself."""
        self.name = params.client_info.name if params.client_info else ""
        self._capabilities = params.capabilities

    def close(self) -> None:
        """Wait for nothing any longer."""
        for task in list(self._tasks):
            task.cancel()

    async def apply_edit(
        self, label: str, document_edits: Sequence[DocumentEdit], time: float = EDIT_TIME
    ) -> EditAnswer:
        """Have the client change documents. It is asked whether or not it advertised that it can."""
        edit = types.WorkspaceEdit(document_changes=list(document_edits))
        # Neovim writes the label of each edit on the screen; where two do not fit there, it waits for Enter.
        params = types.ApplyWorkspaceEditParams(edit=edit, label=None if self.name == "Neovim" else label)
        try:
            answer = await self._ask(types.WORKSPACE_APPLY_EDIT, params, time)
        except _Silence:
            return NoAnswer()
        except JsonRpcException as error:
            return Refused(error.message, known=types.WORKSPACE_APPLY_EDIT not in self._unknown)
        match answer:
            case {"applied": True}:
                return Applied()
            case {"applied": False}:
                reason = answer.get("failureReason")
                return Refused(reason if isinstance(reason, str) and reason else "The editor gave no reason.")
        log.warning("The client answered an edit with neither yes nor no.")
        return NoAnswer()

    async def show_document(
        self, uri: str, selection: types.Range | None = None, *, focus: bool = True, external: bool = False
    ) -> bool:
        """Have the client open a document. Answers whether it says that it did."""
        params = types.ShowDocumentParams(uri, external=external, take_focus=focus, selection=selection)
        try:
            answer = await self._ask(types.WINDOW_SHOW_DOCUMENT, params, SHOW_TIME)
        except (_Silence, JsonRpcException) as error:
            log.info("The client did not show %s: %s", uri, error)
            return False
        return isinstance(answer, dict) and answer.get("success") is True

    async def show_message_request(
        self, kind: types.MessageType, text: str, actions: Sequence[str], time: float = QUESTION_TIME
    ) -> str | None:
        """Have the client ask the person. Answers one of the actions, or ``None`` where none was chosen in time.

        The safe choice comes first: some clients suggest the first one.
        """
        items = [types.MessageActionItem(title) for title in actions]
        try:
            answer = await self._ask(
                types.WINDOW_SHOW_MESSAGE_REQUEST, types.ShowMessageRequestParams(kind, _plain(text), items), time
            )
        except (_Silence, JsonRpcException) as error:
            log.info("The client did not ask the person: %s", error)
            return None
        title = answer.get("title") if isinstance(answer, dict) else None
        return title if title in actions else None

    def show_message(self, kind: types.MessageType, text: str) -> None:
        """Have the client show a message."""
        self._wire.say(types.WINDOW_SHOW_MESSAGE, types.ShowMessageParams(kind, _plain(text)))

    def publish(self, uri: str, diagnostics: Sequence[types.Diagnostic]) -> None:
        """Have the client show these diagnostics of a document, and no others of this server's."""
        params = types.PublishDiagnosticsParams(uri, list(diagnostics))
        self._wire.say(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def progress(self, title: str, on_cancel: Callable[[], object] | None = None) -> Progress:
        """Have the client show that something is going on, until ``end``; nothing is shown where it does not want to.

        With ``on_cancel`` the person may cancel it.
        """
        progress = Progress(f"oi-{next(self._tokens)}", title, on_cancel, self._report, self._progress.pop)
        if self._capabilities.window is not None and self._capabilities.window.work_done_progress:
            self._progress[progress.token] = progress
            self._begin(self._create(progress))
        return progress

    def cancel_progress(self, params: types.WorkDoneProgressCancelParams) -> None:
        """The person has cancelled what a progress stands for."""
        progress = self._progress.get(params.token)
        if progress is not None and progress.on_cancel is not None:
            progress.on_cancel()

    def refresh_code_lenses(self) -> None:
        """Have the client ask for code lenses again, where it can be told to."""
        workspace = self._capabilities.workspace
        if workspace is not None and workspace.code_lens is not None and workspace.code_lens.refresh_support:
            self._refresh(types.WORKSPACE_CODE_LENS_REFRESH)

    def refresh_inlay_hints(self) -> None:
        """Have the client ask for inlay hints again, where it can be told to."""
        workspace = self._capabilities.workspace
        if workspace is not None and workspace.inlay_hint is not None and workspace.inlay_hint.refresh_support:
            self._refresh(types.WORKSPACE_INLAY_HINT_REFRESH)

    async def _ask(self, method: str, params: Any, time: float) -> Any:
        """The answer as JSON. Raises ``_Silence``, and ``JsonRpcException`` for an error."""
        if method in self._unknown:
            raise JsonRpcMethodNotFound(self._unknown[method])
        try:
            return await asyncio.wait_for(self._wire.ask(method, params), time)
        except TimeoutError:
            log.info("The client did not answer %s in %g s.", method, time)
            raise _Silence(f"no answer in {time:g} s") from None
        except JsonRpcException as error:
            if error.code == types.ErrorCodes.MethodNotFound:
                self._unknown[method] = error.message
            raise

    async def _create(self, progress: Progress) -> None:
        params = types.WorkDoneProgressCreateParams(progress.token)
        try:
            await self._ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, PROGRESS_TIME)
        except (_Silence, JsonRpcException) as error:
            log.info("The client shows no progress: %s", error)
            self._progress.pop(progress.token, None)
        else:
            progress.created()

    def _report(self, token: str, value: object) -> None:
        self._wire.say(types.PROGRESS, types.ProgressParams(token, value))

    def _refresh(self, method: str) -> None:
        """Ask for it now; while the client is still at it, once more when it has answered."""
        under_way = method in self._refreshing
        self._refreshing[method] = under_way
        if not under_way:
            self._begin(self._refreshed(method))

    async def _refreshed(self, method: str) -> None:
        again = True
        try:
            while again:
                self._refreshing[method] = False
                try:
                    await self._ask(method, None, REFRESH_TIME)
                except (_Silence, JsonRpcException) as error:
                    log.info("The client did not refresh: %s", error)
                again = self._refreshing[method]
        finally:
            del self._refreshing[method]

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Progress:
    """Something that goes on, as the client shows it once it has agreed to; made by ``Client.progress``."""

    def __init__(
        self,
        token: str,
        title: str,
        on_cancel: Callable[[], object] | None,
        tell: Callable[[str, object], None],
        forget: Callable[[str, None], object],
    ) -> None:
        self.token = token
        self.on_cancel = on_cancel
        self._title = title
        self._tell = tell
        self._forget = forget
        self._shown = self._over = False
        self._message: str | None = None

    def created(self) -> None:
        """The client shows it, unless it is over by now."""
        if self._over:
            return
        self._shown = True
        cancellable = self.on_cancel is not None
        begin = types.WorkDoneProgressBegin(self._title, cancellable=cancellable, message=self._message)
        self._tell(self.token, begin)

    def report(self, message: str) -> None:
        """Say how far it is."""
        self._message = message
        if self._shown and not self._over:
            self._tell(self.token, types.WorkDoneProgressReport(message=message))

    def end(self, message: str | None = None) -> None:
        """It is over."""
        if self._over:
            return
        self._over = True
        self._forget(self.token, None)
        if self._shown:
            self._tell(self.token, types.WorkDoneProgressEnd(message=message))


def _plain(text: str) -> str:
    """A text in which VS Code finds no links: of ``[…](command:…)`` it would make a button that runs a command."""
    return text.replace("](", "] (")
