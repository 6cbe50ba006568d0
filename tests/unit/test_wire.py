"""JSON-RPC made safe: what pygls is given, and what is answered, message by message."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from oi_lsp.protocol import ErrorCode
from oi_lsp.wire import Protocol, WireError, salvaged_id


class Sent:
    """What the protocol writes, parsed."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def write(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        assert int(head.split(b"\r\n")[0].split(b":")[1]) == len(body)
        self.messages.append(json.loads(body))

    def close(self) -> None: ...


class Bench:
    """A server whose protocol is fed by hand."""

    def __init__(self) -> None:
        self.server = LanguageServer("test", "0", protocol_cls=Protocol)
        self.protocol: Any = cast(Any, self.server.protocol)
        self.sent = Sent()
        self.exits: list[int] = []
        self.protocol.set_writer(self.sent)
        self.protocol.on_exit = self.exits.append
        self.protocol.initialized = True
        self.seen: list[object] = []

        def echo(*arguments: Any) -> Any:
            self.seen.append(arguments)
            return list(arguments)

        def fail(*_: Any) -> Any:
            raise WireError(ErrorCode.SESSION_BUSY, "busy")

        async def wait(*_: Any) -> Any:
            await asyncio.sleep(0)

        def see(*arguments: Any) -> None:
            self.seen.append(arguments)

        self.server.command("echo")(echo)
        self.server.command("see")(see)
        self.server.command("fail")(fail)
        self.server.command("wait")(wait)

    def take(self, message: object) -> list[dict[str, Any]]:
        """Feed one message. Answers what was sent back."""
        self.sent.messages.clear()
        self.protocol.receive(message if isinstance(message, bytes) else json.dumps(message).encode())
        return self.sent.messages

    def ask(self, method: str, params: object, msg_id: object = 1) -> dict[str, Any]:
        (answer,) = self.take({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        return answer

    def command(self, name: str, *arguments: object) -> dict[str, Any]:
        return self.ask("workspace/executeCommand", {"command": name, "arguments": list(arguments)})


@pytest.fixture
def bench() -> Bench:
    return Bench()


HOSTILE_ARGUMENTS: list[Any] = [
    {"jsonrpc": "2.0"},
    {"jsonrpc": "2.0", "id": 5, "method": "exit"},
    {"deep": {"deeper": [{"jsonrpc": "1.0", "type_name": "x", "class": 1, "a b": 2, "_": 3}]}},
    {"type_name": "evil"},
    {"content": "half \ud800 a pair"},
    {"\ud800": 1},
    [[[[{}]]]],
    "x" * 5_000_000,
    None,
    -1.5e300,
]


@pytest.mark.parametrize("argument", HOSTILE_ARGUMENTS, ids=lambda value: str(value)[:30].encode("ascii", "replace"))
def test_arguments_come_through_as_they_were_sent(bench: Bench, argument: object) -> None:
    assert bench.command("echo", argument) == {"jsonrpc": "2.0", "id": 1, "result": [argument]}
    assert bench.seen == [(argument,)]


def test_deep_nesting_that_can_be_parsed_comes_through(bench: Bench) -> None:
    nested: Any = []
    for _ in range(400):
        nested = [nested]
    assert bench.command("see", nested)["result"] is None
    assert bench.seen == [(nested,)]


@pytest.mark.parametrize(
    ("body", "code", "msg_id"),
    [
        (b"", ErrorCode.PARSE_ERROR, None),
        (b"{", ErrorCode.PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"x",}', ErrorCode.PARSE_ERROR, 7),
        (b'{"jsonrpc":"2.0","id":"seven","params":' + b"[" * 10_000, ErrorCode.PARSE_ERROR, "seven"),
        (b'{"jsonrpc":"2.0","id":8,"params":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001, ErrorCode.PARSE_ERROR, 8),
        (b"\xff\xfe\xff", ErrorCode.PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":9,"x":' + b"9" * 5000 + b"}", ErrorCode.PARSE_ERROR, 9),
        (b"[]", ErrorCode.INVALID_REQUEST, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"shutdown"}]', ErrorCode.INVALID_REQUEST, None),
        (b"null", ErrorCode.INVALID_REQUEST, None),
        (b"5", ErrorCode.INVALID_REQUEST, None),
        (b'"text"', ErrorCode.INVALID_REQUEST, None),
        (b'{"id":3}', ErrorCode.INVALID_REQUEST, 3),
        (b'{"jsonrpc":"1.0","id":3,"method":"shutdown"}', ErrorCode.INVALID_REQUEST, 3),
        (b'{"jsonrpc":"2.0","id":3}', ErrorCode.INVALID_REQUEST, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":5}', ErrorCode.INVALID_REQUEST, 3),
        (b'{"jsonrpc":"2.0","id":[1],"method":"shutdown"}', ErrorCode.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"shutdown"}', ErrorCode.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":null,"method":"shutdown"}', ErrorCode.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"shutdown"}', ErrorCode.INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":3,"method":"no/such"}', ErrorCode.METHOD_NOT_FOUND, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"textDocument/hover","params":{}}', ErrorCode.INVALID_PARAMS, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"initialized","params":{}}', ErrorCode.METHOD_NOT_FOUND, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"window/showMessage"}', ErrorCode.METHOD_NOT_FOUND, 3),
    ],
)
def test_what_is_no_message_is_answered_with_an_error(
    bench: Bench, body: bytes, code: ErrorCode, msg_id: object
) -> None:
    (answer,) = bench.take(body)
    assert (answer["error"]["code"], answer["id"]) == (code, msg_id)
    assert bench.command("echo", 1)["result"] == [1]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        (None, "params.command"),
        (7, "params"),
        ([], "params.command"),
        ({}, "params.command"),
        ({"command": "echo", "arguments": 7}, "params.arguments"),
    ],
)
def test_malformed_params_of_lsp_are_refused_by_the_name_of_the_field(bench: Bench, params: object, field: str) -> None:
    error = bench.ask("workspace/executeCommand", params)["error"]
    assert error["code"] == ErrorCode.INVALID_PARAMS
    assert error["data"]["field"] == field


def test_an_unknown_command_is_refused(bench: Bench) -> None:
    assert bench.command("no.such")["error"]["code"] == ErrorCode.INVALID_PARAMS


def test_a_handlers_error_is_the_answer(bench: Bench) -> None:
    assert bench.command("fail")["error"] == {"code": ErrorCode.SESSION_BUSY, "message": "busy"}


MALFORMED_NOTIFICATIONS = [
    ("textDocument/didOpen", None),
    ("textDocument/didChange", {"textDocument": 5}),
    ("textDocument/didChange", {"textDocument": {"uri": "file:///x", "version": 1}, "contentChanges": []}),
    ("$/cancelRequest", {}),
    ("$/cancelRequest", {"id": 12345}),
    ("$/setTrace", {"value": "loud"}),
    ("$/unknown", [1, 2]),
    ("shutdown", None),
    ("x" * 1_000_000, None),
]


@pytest.mark.parametrize(("method", "params"), MALFORMED_NOTIFICATIONS, ids=range(len(MALFORMED_NOTIFICATIONS)))
def test_malformed_notifications_are_passed_over_in_silence(bench: Bench, method: str, params: object) -> None:
    assert bench.take({"jsonrpc": "2.0", "method": method, "params": params}) == []
    assert bench.command("echo", 1)["result"] == [1]


LOST: list[tuple[object, str | None]] = [
    ({"textDocument": {"uri": "file:///x", "version": "one"}, "contentChanges": [{"text": ""}]}, "file:///x"),
    ({"textDocument": {"uri": "file:///x", "version": 1}, "contentChanges": [{"range": 5, "text": ""}]}, "file:///x"),
    ({"textDocument": {"version": 1}, "contentChanges": []}, None),
    (None, None),
]


@pytest.mark.parametrize(("params", "uri"), LOST, ids=range(len(LOST)))
def test_who_follows_the_documents_is_told_what_could_not_be_read(
    bench: Bench, params: object, uri: str | None
) -> None:
    lost: list[str | None] = []
    bench.protocol.on_lost = lost.append
    bench.take({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params})
    bench.take({"jsonrpc": "1.0", "method": "textDocument/didChange", "params": params})
    assert lost == [uri, uri]
    bench.take({"jsonrpc": "2.0", "method": "textDocument/didSave", "params": params})
    bench.take(b'{"jsonrpc":"2.0","id":4,"method":')
    assert lost == [uri, uri]
    bench.take(b'{"jsonrpc":"2.0","method":')
    bench.protocol.receive(None)
    assert lost == [uri, uri, None, None]


def test_a_client_may_give_no_versions(bench: Bench) -> None:
    seen: list[Any] = []

    def see(params: Any) -> None:
        seen.append(params)

    bench.server.feature("textDocument/didOpen")(see)
    bench.server.feature("textDocument/didChange")(see)
    item = {"uri": "file:///x", "languageId": "x", "text": "", "version": None}
    bench.take({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}})
    for version in ({"version": None}, {}):
        params = {"textDocument": {"uri": "file:///x", **version}, "contentChanges": [{"text": "a"}]}
        bench.take({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params})
    assert [params.text_document.version for params in seen] == [0, None, None]


RESPONSES: list[dict[str, Any]] = [
    {"id": 99, "result": None},
    {"id": "x", "error": {"code": 1, "message": "m"}},
    {"id": None, "error": {"code": -32700, "message": "yours was no JSON"}},
    {"id": "y", "error": 7},
]


@pytest.mark.parametrize("response", RESPONSES, ids=str)
def test_responses_to_nothing_are_passed_over(bench: Bench, response: dict[str, Any]) -> None:
    assert bench.take({"jsonrpc": "2.0", **response}) == []


async def test_an_answer_reaches_who_asked(bench: Bench) -> None:
    answer = bench.protocol.ask("window/showMessageRequest", {"type": 1, "message": "?"})
    sent = bench.sent.messages[-1]
    assert sent["params"] == {"type": 1, "message": "?"}
    bench.take({"jsonrpc": "2.0", "id": sent["id"], "result": {"title": "Yes"}})
    assert await answer == {"title": "Yes"}


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"code": -32601, "message": "what?"}, -32601, "what?"),
        ({"code": "x"}, -32603, "The client answered with an error that cannot be read."),
        ("no", -32603, "The client answered with an error that cannot be read."),
        (None, -32603, "The client answered with an error that cannot be read."),
    ],
)
async def test_the_clients_errors_are_raised(bench: Bench, error: object, code: int, message: str) -> None:
    answer = bench.protocol.ask("window/showDocument", {})
    bench.take({"jsonrpc": "2.0", "id": bench.sent.messages[-1]["id"], "error": error})
    with pytest.raises(JsonRpcException) as caught:
        await answer
    assert (caught.value.code, caught.value.message) == (code, message)


async def test_an_answer_that_nobody_waits_for_is_dropped(bench: Bench) -> None:
    answer = bench.protocol.ask("workspace/applyEdit", {})
    msg_id = bench.sent.messages[-1]["id"]
    answer.cancel()
    await asyncio.sleep(0)
    assert bench.take({"jsonrpc": "2.0", "id": msg_id, "result": {"applied": True}}) == []
    assert bench.protocol._asked == {}


def test_before_initialize_nothing_but_initialize(bench: Bench) -> None:
    bench.protocol.initialized = False
    assert bench.command("echo")["error"]["code"] == ErrorCode.NOT_INITIALIZED
    assert bench.take({"jsonrpc": "2.0", "method": "initialized", "params": {}}) == []
    assert "capabilities" in bench.ask("initialize", {"capabilities": {}, "processId": None})["result"]


def test_initialize_is_for_once(bench: Bench) -> None:
    assert bench.ask("initialize", {"capabilities": {}})["error"]["code"] == ErrorCode.INVALID_REQUEST


def test_after_shutdown_requests_are_refused_and_exit_is_clean(bench: Bench) -> None:
    assert bench.ask("shutdown", None)["result"] is None
    assert bench.command("echo")["error"]["code"] == ErrorCode.INVALID_REQUEST
    bench.take({"jsonrpc": "2.0", "method": "exit"})
    assert bench.exits == [0]


def test_exit_alone_is_an_error(bench: Bench) -> None:
    bench.take({"jsonrpc": "2.0", "method": "exit"})
    assert bench.exits == [1]


async def test_no_future_is_kept_once_it_is_done(bench: Bench) -> None:
    """Holds the private method of pygls that ``Protocol`` overrides."""
    assert "_execute_handler" in vars(Protocol)
    for number in range(20):
        bench.take({"jsonrpc": "2.0", "method": "$/setTrace", "params": {"value": "off"}})
        bench.command("echo", number)
        bench.command("fail")
        bench.protocol.receive(
            b'{"jsonrpc":"2.0","id":%d,"method":"workspace/executeCommand","params":{"command":"wait"}}' % number
        )
    for _ in range(10):
        await asyncio.sleep(0)
    assert bench.protocol._request_futures == {}


def test_a_message_too_long_is_said(bench: Bench) -> None:
    bench.sent.messages.clear()
    bench.protocol.receive(None)
    assert bench.sent.messages[0]["error"]["code"] == ErrorCode.INVALID_REQUEST


def test_no_body_is_logged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "oi_lsp"):
        bench.take({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"secret": "hunter2"}})
        bench.take({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"text": "hunter2"}})
        bench.take(b'{"hunter2')
    assert "hunter2" not in "".join(record.getMessage() for record in caplog.records if record.name[:6] == "oi_lsp")
    assert caplog.records


BROKEN: list[tuple[bytes, object]] = [
    (b'{"id":7,', 7),
    (b'{"a":"id","id":"x","b":[[', "x"),
    (b'{"params":{"id":3},"id":9', 9),
    (b"[[", None),
    (b'{"x":"unfinished \\" id', None),
    (b'{"id":[', None),
    (b'"id":3', None),
    (b'{"id":-4,!', -4),
    (b'{"x":"' + b'\\"' * 1_000_000, None),
]


@pytest.mark.parametrize(("body", "msg_id"), BROKEN, ids=range(len(BROKEN)))
def test_the_id_of_a_broken_message_is_salvaged(body: bytes, msg_id: object) -> None:
    assert salvaged_id(body) == msg_id


def test_tell_escapes_what_has_no_utf8(bench: Bench) -> None:
    bench.sent.messages.clear()
    bench.protocol.tell("oi/chunks", {"content": "\ud83d"})
    assert bench.sent.messages == [{"jsonrpc": "2.0", "method": "oi/chunks", "params": {"content": "\ud83d"}}]
