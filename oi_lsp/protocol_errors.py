"""The errors of the protocol: their codes, and what comes with them, for ``oi_lsp.protocol``."""

from __future__ import annotations

from enum import IntEnum

from oi_lsp.fields import wire, wire_type


@wire_type
class ErrorData:
    """The ``data`` of an error."""

    field: str | None = wire("The field that it is about, as a path: `sessionId`, `content[0].role`.", default=None)
    remedy: str | None = wire("What to do about it, for the person.", default=None)


class ErrorCode(IntEnum):
    """The codes of errors. Those below zero are JSON-RPC's and LSP's own."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    NOT_INITIALIZED = -32002
    REFUSED = 1000
    UNKNOWN_SESSION = 1001
    UNKNOWN_PROPOSAL = 1002
    UNKNOWN_INPUT = 1003
    SESSION_BUSY = 1004
    UNKNOWN_CONVERSATION = 1005
    TIMED_OUT = 1006


ERROR_DOCS: dict[ErrorCode, str] = {
    ErrorCode.PARSE_ERROR: "The message is not JSON, or is nested too deeply. `id` is null where it could not be read.",
    ErrorCode.INVALID_REQUEST: "The message is JSON but no JSON-RPC message, or it comes after `shutdown`.",
    ErrorCode.METHOD_NOT_FOUND: "There is no such method.",
    ErrorCode.INVALID_PARAMS: "There is no such command, or a field is missing, unknown or of the wrong kind.",
    ErrorCode.INTERNAL_ERROR: "A defect of the server; it goes on.",
    ErrorCode.NOT_INITIALIZED: "A request before `initialize`, or a command before `initialized`.",
    ErrorCode.REFUSED: "The engine cannot do that; the message says why.",
    ErrorCode.UNKNOWN_SESSION: "No session has that id.",
    ErrorCode.UNKNOWN_PROPOSAL: "No proposal with that id waits: it was decided already, has expired or never was.",
    ErrorCode.UNKNOWN_INPUT: "No program waits for that input.",
    ErrorCode.SESSION_BUSY: "The session's state does not allow it: a turn is under way, or the session is closed.",
    ErrorCode.UNKNOWN_CONVERSATION: "No stored conversation has that id, or it has no such message.",
    ErrorCode.TIMED_OUT: "It took too long, or too many commands wait for their answer. It may still come about.",
}
"""What each code means."""
