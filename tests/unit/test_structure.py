"""Reading the classes of the protocol: strict, and naming the field."""

from __future__ import annotations

from typing import Any

import pytest

from oi_lsp import protocol as wire
from oi_lsp.structure import InvalidField, camel_case, from_wire, to_wire


@pytest.mark.parametrize(
    ("kind", "value", "field", "problem"),
    [
        (wire.ChatSend, 5, "", "must be an object, not a number"),
        (wire.ChatSend, None, "", "must be an object, not null"),
        (wire.ChatSend, [], "", "must be an object, not a list"),
        (wire.ChatSend, {"sessionId": "s"}, "content", "is missing"),
        (wire.ChatSend, {"sessionId": "s", "content": None}, "content", "is missing"),
        (wire.ChatSend, {"sessionId": 5, "content": ""}, "sessionId", "must be text, not a number"),
        (wire.ChatSend, {"sessionId": "s", "content": 1.5}, "content", "must be text or a list, not a number"),
        (wire.ChatSend, {"sessionId": "s", "content": ["x"]}, "content[0]", "must be an object, not text"),
        (wire.ChatSend, {"sessionid": "s", "content": ""}, "sessionid", "Did you mean 'sessionId'?"),
        (wire.ChatSend, {"sessionId": "s", "content": "", "jsonrpc": 1}, "jsonrpc", "is no field"),
        (wire.ChatSend, {"sessionId": "s", "content": "", "type_name": "x"}, "type_name", "is no field"),
        (wire.ChatSend, {"sessionId": "s", "content": "", "attachments": {}}, "attachments", "must be a list"),
        (wire.ChatSend, {"sessionId": "s", "content": "a\ud800"}, "content", "half of a surrogate pair at character 1"),
        (wire.ChatSend, {"sessionId": "s" * 201, "content": ""}, "sessionId", "at most 200"),
        (wire.ChatSend, {"sessionId": "s", "content": "x" * 10_000_001}, "content", "at most 10,000,000"),
        (wire.CodeApprove, {"sessionId": "s", "proposalId": "p", "always": 1}, "always", "must be true or false"),
        (wire.SessionReplay, {"sessionId": "s", "afterSeq": True}, "afterSeq", "must be a whole number"),
        (wire.SessionReplay, {"sessionId": "s", "afterSeq": 1.0}, "afterSeq", "must be a whole number"),
        (wire.SessionReplay, {"sessionId": "s", "afterSeq": float("nan")}, "afterSeq", "must be a whole number"),
        (wire.SessionState, {"sessionId": "s", "state": "asleep", "usage": {}}, "state", "must be one of idle"),
        (wire.SessionState, {"sessionId": "s", "state": "idle", "usage": {}}, "usage.promptTokens", "is missing"),
        (wire.SessionState, {"sessionId": "s", "state": [], "usage": {}}, "state", "must be one of idle"),
    ],
)
def test_a_malformed_value_is_refused_by_the_name_of_its_field(
    kind: type[Any], value: object, field: str, problem: str
) -> None:
    with pytest.raises(InvalidField) as caught:
        from_wire(kind, value)
    assert caught.value.field == field
    assert problem in str(caught.value)


def test_the_name_of_an_unknown_field_is_cut() -> None:
    with pytest.raises(InvalidField) as caught:
        from_wire(wire.Nothing, {"x" * 1_000_000: 1})
    assert len(str(caught.value)) < 200


def test_what_is_optional_may_be_absent_or_null() -> None:
    given = {"sessionId": "s", "proposalId": "p", "code": None}
    assert to_wire(from_wire(wire.CodeApprove, given)) == {"sessionId": "s", "proposalId": "p", "always": False}


def test_text_is_kept_to_the_byte() -> None:
    code = "print('\u202e 🦆')\r\n\t\0"
    assert from_wire(wire.CodeRun, {"language": "python", "code": code}).code == code


def test_nested_classes_are_read_and_written() -> None:
    state = wire.SessionState(
        "s", "awaiting_approval", "t", wire.Proposal("p", "python", "1", ("odd",)), None, (wire.Queued("u", "hi"),)
    )
    written = to_wire(state)
    assert written == {
        "sessionId": "s",
        "state": "awaiting_approval",
        "turnId": "t",
        "proposal": {"id": "p", "language": "python", "code": "1", "findings": ["odd"]},
        "queue": [{"turnId": "u", "text": "hi"}],
        "usage": {"promptTokens": 0, "completionTokens": 0},
    }
    assert to_wire(from_wire(wire.SessionState, written)) == written


def test_names_on_the_wire() -> None:
    assert [camel_case(name) for name in ("id", "session_id", "next_seq")] == ["id", "sessionId", "nextSeq"]
