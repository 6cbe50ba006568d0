"""JSON-RPC over pygls, made safe against whatever a client sends.

What pygls 2.1 does otherwise: it turns every JSON object that has a key ``jsonrpc`` into a message, mangles untyped
params, never answers typed requests that are malformed, keeps a future for each notification for ever, and logs
bodies. Here each message is parsed, checked and structured once, in ``receive``.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Generator
from itertools import count
from typing import Any

import attrs
import cattrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import (
    JsonRPCRequestMessage,
    LanguageServerProtocol,
    lsp_method,
)
from pygls.protocol.json_rpc import JsonRPCNotification, MsgId

from oi_lsp.channel import PipeWriter
from oi_lsp.protocol import ErrorCode, ErrorData
from oi_lsp.structure import kind_of, shortened, to_wire

log = logging.getLogger(__name__)

_LONGEST_METHOD = 200
_OF_DOCUMENTS = (types.TEXT_DOCUMENT_DID_OPEN, types.TEXT_DOCUMENT_DID_CHANGE)
# Strings (an unfinished one runs to the end), brackets and numbers: enough to find a key of the outermost object.
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)"?|([\[{])|([\]}])|(-?[0-9]+)|:', re.DOTALL)


class WireError(JsonRpcException):
    """An error as the client gets it."""

    def __init__(self, code: ErrorCode, message: str, data: ErrorData | None = None) -> None:
        super().__init__(message, int(code), (to_wire(data) or None) if data else None)


class Protocol(LanguageServerProtocol):
    """The server's side of the conversation. ``on_exit`` is called with the exit code that LSP prescribes.

    ``on_lost`` is called when a message could not be read that told of a document's text, or may have: with its URI,
    or ``None`` where that is unknown. ``initialized`` is set by whoever serves ``initialize``, when that succeeds.
    """

    writer: PipeWriter | None
    on_exit: Callable[[int], None]
    on_lost: Callable[[str | None], None] = staticmethod(lambda uri: None)
    initialized = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._asked: dict[MsgId | None, asyncio.Future[Any]] = {}
        self._numbers = count(1)
        self._converter.register_structure_hook(types.VersionedTextDocumentIdentifier, _versioned)
        self._converter.register_structure_hook(types.TextDocumentItem, _item)

    def receive(self, body: bytes | None) -> None:
        """Take one message as it came off the wire (``None``: it was too long). Never raises."""
        if body is None:
            self.on_lost(None)
            self._refuse(None, ErrorCode.INVALID_REQUEST, "The message is too long.")
            return
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            what = "is nested too deeply" if isinstance(error, RecursionError) else "is not JSON"
            msg_id = salvaged_id(body)
            if msg_id is None:
                self.on_lost(None)
            self._refuse(msg_id, ErrorCode.PARSE_ERROR, f"The message {what}.")
            return
        msg_id = _id_of(message)
        try:
            self._dispatch(message, msg_id)
        except WireError as error:
            self._lose(message)
            self._refuse(msg_id, ErrorCode(error.code), error.message, error.data)
        except Exception:  # no message may end the server, whatever pygls or a handler makes of it
            log.exception("A message could not be handled.")
            self._refuse(msg_id, ErrorCode.INTERNAL_ERROR, "Internal error; the server's log has more.")

    def tell(self, method: str, params: Any) -> None:
        """Send a notification of this project's own; ``params`` is plain JSON."""
        self._send({"jsonrpc": self.VERSION, "method": method, "params": params})

    def ask(self, method: str, params: Any) -> asyncio.Future[Any]:
        """Send a request; ``params`` are lsprotocol's types or plain JSON.

        The answer is the result as plain JSON, or a ``JsonRpcException``. Cancel it to wait no longer: then nothing is
        kept, and an answer that comes later is ignored. (pygls keeps what it asked for ever, and takes no answer that
        is not as LSP has it.)
        """
        msg_id = f"oi-{next(self._numbers)}"
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[msg_id] = answer
        answer.add_done_callback(lambda _: self._asked.pop(msg_id, None))
        self._send({"jsonrpc": self.VERSION, "id": msg_id, "method": method, **self._plain(params)})
        return answer

    def say(self, method: str, params: Any) -> None:
        """Send a notification; ``params`` are lsprotocol's types or plain JSON."""
        self._send({"jsonrpc": self.VERSION, "method": method, **self._plain(params)})

    def _plain(self, params: Any) -> dict[str, Any]:
        return {} if params is None else {"params": self._converter.unstructure(params)}

    def _dispatch(self, message: Any, msg_id: MsgId | None) -> None:
        if not isinstance(message, dict):
            raise WireError(ErrorCode.INVALID_REQUEST, f"A message must be one object, not {kind_of(message)}.")
        if message.get("jsonrpc") != self.VERSION:
            raise WireError(ErrorCode.INVALID_REQUEST, 'jsonrpc must be "2.0".', ErrorData("jsonrpc"))
        if "id" in message and msg_id is None and not ("error" in message and message["id"] is None):
            raise WireError(ErrorCode.INVALID_REQUEST, "id must be a whole number or text.", ErrorData("id"))
        if "method" not in message:
            self._take_response(message, msg_id)
            return
        method = message["method"]
        if not isinstance(method, str):
            problem = f"method must be text, not {kind_of(method)}."
            raise WireError(ErrorCode.INVALID_REQUEST, problem, ErrorData("method"))
        if not self._may_come_now(method, is_request=msg_id is not None):
            return
        structured = self._structured(message, method, msg_id)
        if structured is not None:
            self.handle_message(structured)

    def _take_response(self, message: dict[str, Any], msg_id: MsgId | None) -> None:
        answer = self._asked.get(msg_id)
        if answer is not None:
            _settle(answer, message)
        elif "result" not in message and "error" not in message:
            raise WireError(ErrorCode.INVALID_REQUEST, "method is missing.", ErrorData("method"))

    def _may_come_now(self, method: str, *, is_request: bool) -> bool:
        """Whether the life cycle allows the message; requests that it does not allow are answered with an error."""
        code, problem = ErrorCode.INVALID_REQUEST, ""
        if method == types.EXIT:
            return True
        if self._shutdown:
            problem = "The server is shutting down."
        elif not self.initialized and method != types.INITIALIZE:
            code, problem = ErrorCode.NOT_INITIALIZED, "The server waits for initialize."
        elif self.initialized and method == types.INITIALIZE:
            problem = "The server is initialized already."
        if problem and is_request:
            raise WireError(code, problem)
        return not problem

    def _structured(self, message: dict[str, Any], method: str, msg_id: MsgId | None) -> Any:
        """The message as pygls handles it; nothing for a notification that is not as LSP has it."""
        kind = self.get_message_type(method) if len(method) <= _LONGEST_METHOD else None
        if kind is None:
            if msg_id is None:
                return JsonRPCNotification(method, self.VERSION, message.get("params"))
            return JsonRPCRequestMessage(msg_id, shortened(method), self.VERSION, message.get("params"))
        if msg_id is not None and not hasattr(kind, "id"):
            raise WireError(ErrorCode.METHOD_NOT_FOUND, f"{method} is a notification, not a request.")
        if message.get("params") is None and attrs.fields_dict(kind)["params"].default is attrs.NOTHING:
            # As some clients send `initialized`.
            message = {**message, "params": {}}
        try:
            return self._converter.structure(message, kind)
        except Exception as error:  # noqa: BLE001 -- lsprotocol's hooks raise whatever they come upon
            field, problem = _problem(error)
            if msg_id is not None:
                raise WireError(ErrorCode.INVALID_PARAMS, problem, ErrorData(field)) from None
            log.warning("Ignored a malformed %s: %s", method, problem)
            self._lose(message)
            return None

    def _lose(self, message: Any) -> None:
        """A message is not taken; whoever follows the documents must know where it told of one."""
        if isinstance(message, dict) and message.get("method") in _OF_DOCUMENTS:
            match message.get("params"):
                case {"textDocument": {"uri": str(uri)}}:
                    self.on_lost(uri)
                case _:
                    self.on_lost(None)

    def _execute_handler(
        self,
        msg_id: MsgId,
        handler: Callable[..., Any],
        callback: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Do as pygls does, with two differences.

        A plain function may answer a task: then that one's result is the answer, when it is there. What was cancelled
        by then is not answered again. And the future is forgotten when it is done (pygls keeps those of notifications).
        """
        super()._execute_handler(msg_id, handler, lambda done: _when_done(done, callback), args, kwargs)
        future = self._request_futures.get(msg_id)
        if future is not None:
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> Generator[Any, Any, None]:
        """The client wants the server gone: 0 after ``shutdown``, else 1."""
        self.on_exit(0 if self._shutdown else 1)
        yield from ()

    # pygls would keep open documents, folders and progress of its own besides those of ``oi_lsp.editor``.

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Generator[Any, Any, None]:
        """Hand it to the server alone."""
        yield from self._handed(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        """Hand it to the server alone."""
        yield from self._handed(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Generator[Any, Any, None]:
        """Hand it to the server alone."""
        yield from self._handed(types.TEXT_DOCUMENT_DID_CLOSE, params)

    @lsp_method(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(
        self, params: types.DidChangeWorkspaceFoldersParams
    ) -> Generator[Any, Any, None]:
        """Hand it to the server alone."""
        yield from self._handed(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, params)

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(self, params: types.WorkDoneProgressCancelParams) -> Generator[Any, Any, None]:
        """Hand it to the server alone."""
        yield from self._handed(types.WINDOW_WORK_DONE_PROGRESS_CANCEL, params)

    def _handed(self, method: str, params: Any) -> Generator[Any, Any, None]:
        handler = self.fm.features.get(method)
        if handler is not None:
            yield handler, (params,), None

    def _refuse(self, msg_id: MsgId | None, code: ErrorCode, message: str, data: Any = None) -> None:
        """Answer with an error. Notifications get none, but a message that could not be read gets one without id."""
        log.info("Refused a message: %s", message)
        if msg_id is None and code not in (ErrorCode.PARSE_ERROR, ErrorCode.INVALID_REQUEST):
            return
        error: dict[str, Any] = {"code": int(code), "message": message}
        if data is not None:
            error["data"] = data
        self._send({"jsonrpc": self.VERSION, "id": msg_id, "error": error})

    def _send(self, message: dict[str, Any]) -> None:
        if self.writer is not None:
            # Escaped, as half a surrogate pair has no UTF-8.
            body = json.dumps(message, separators=(",", ":")).encode("ascii")
            self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


def _versioned(
    given: Any, _: type
) -> types.VersionedTextDocumentIdentifier | types.OptionalVersionedTextDocumentIdentifier:
    """The version of a document, which some clients do not give."""
    version = given.get("version")
    if version is None:
        return types.OptionalVersionedTextDocumentIdentifier(given["uri"])
    return types.VersionedTextDocumentIdentifier(version, given["uri"])


def _item(given: Any, _: type) -> types.TextDocumentItem:
    version = given.get("version")
    return types.TextDocumentItem(given["uri"], given["languageId"], 0 if version is None else version, given["text"])


def _settle(answer: asyncio.Future[Any], message: dict[str, Any]) -> None:
    """Take the answer to what was asked; one with an error that is not as JSON-RPC has it is an error all the same."""
    if answer.done():
        return
    if "error" not in message:
        answer.set_result(message.get("result"))
        return
    error = message["error"] if isinstance(message["error"], dict) else {}
    code, problem = error.get("code"), error.get("message")
    answer.set_exception(
        JsonRpcException(
            problem if isinstance(problem, str) else "The client answered with an error that cannot be read.",
            code if type(code) is int else int(ErrorCode.INTERNAL_ERROR),
            error.get("data"),
        )
    )


def _when_done(future: Any, callback: Callable[[Any], None]) -> None:
    """Call back with a future that is done, or with the task that is its result when that is done."""
    if future.cancelled() or future.exception() is not None or not isinstance(future.result(), asyncio.Task):
        callback(future)
        return

    def over(task: asyncio.Task[Any]) -> None:
        # A task is cancelled when the server ends, and then nothing is answered. Looking at the exception marks it as
        # seen, where nobody waits for the answer any longer.
        if not task.cancelled():
            task.exception()
            callback(task)

    future.result().add_done_callback(over)


def salvaged_id(body: bytes) -> MsgId | None:
    """The id of a message that cannot be parsed, where it can be seen; so that its sender need not wait for ever."""
    depth = 0
    key: str | None = None
    previous: str | None = None
    for match in _TOKEN.finditer(body.decode("utf-8", "replace")):
        text, opened, closed, number = match.groups()
        if opened or closed:
            depth += 1 if opened else -1
            key = previous = None
        elif depth != 1:
            continue
        elif text is not None:
            if key == "id":
                return text
            previous, key = text, None
        elif number is not None:
            if key == "id":
                return int(number) if len(number) < 20 else None
            key = None
        else:
            key, previous = previous, None
    return None


def _id_of(message: Any) -> MsgId | None:
    msg_id = message.get("id") if isinstance(message, dict) else None
    return msg_id if isinstance(msg_id, str) or type(msg_id) is int else None


def _problem(error: Exception) -> tuple[str | None, str]:
    """The field (as LSP writes it) that could not be structured, and what is wrong with it."""
    reasons = cattrs.transform_error(error) if isinstance(error, cattrs.BaseValidationError) else []
    problem, _, path = (reasons[0] if reasons else "invalid params").partition(" @ $.")
    field = re.sub(r"_(\w)", lambda match: match[1].upper(), path)
    return field or None, shortened(f"{field or 'params'}: {problem}") + "."
