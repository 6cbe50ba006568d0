"""Whatever a client sends: an error where it can be answered, and the server goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from oi_lsp import protocol
from oi_lsp.protocol import ErrorCode
from tests.fakes.lsp_client import LspClient, Refused, server


@pytest.fixture
async def client() -> AsyncIterator[LspClient]:
    async with server() as started:
        await started.initialize()
        yield started


async def goes_on(client: LspClient) -> None:
    """A session still works, start to end."""
    session = await client.new_session()
    follower = await client.ended(session, await client.turn(session, "hello"))
    assert follower.check()[-1].content == "Done."


async def error_of(client: LspClient, name: str, *arguments: object) -> Refused:
    with pytest.raises(Refused) as caught:
        await client.request("workspace/executeCommand", {"command": name, "arguments": list(arguments)})
    return caught.value


ANY: list[Any] = [None, True, 5, -1.5, "text", [], [[]], {"jsonrpc": "2.0"}, {"type_name": "X"}, {"\ud800": 1}]


async def test_every_command_refuses_arguments_that_are_not_its_own(client: LspClient) -> None:
    for command in protocol.COMMANDS:
        for argument in ANY:
            error = await error_of(client, command.name, argument)
            assert error.code == ErrorCode.INVALID_PARAMS, (command.name, argument)
            assert isinstance(argument, dict) is ("field" in error.data)
        assert (await error_of(client, command.name, {}, {})).code == ErrorCode.INVALID_PARAMS
    await goes_on(client)


NOWHERE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}


async def test_every_command_with_a_session_refuses_one_that_is_unknown(client: LspClient) -> None:
    more: dict[str, dict[str, Any]] = {
        "oi.session.rename": {"title": "x"},
        "oi.session.replay": {"afterSeq": 0},
        "oi.chat.send": {"content": "x"},
        "oi.chat.complete": {"text": "%"},
        "oi.code.approve": {"proposalId": "p"},
        "oi.code.reject": {"proposalId": "p"},
        "oi.code.scan": {"proposalId": "p"},
        **{f"oi.changes.{verb}": {"changeId": "c"} for verb in ("diff", "revert")},
        "oi.changes.read": {"changeId": "c", "path": "p"},
        "oi.code.run": {"language": "python", "code": "1"},
        "oi.input.answer": {"inputId": "i", "text": "x"},
        "oi.history.export": {"format": "json"},
        "oi.settings.set": {"name": "auto_run", "value": True},
        "oi.models.choose": {"model": "m"},
        **{f"oi.selection.{verb}": {"uri": Path(__file__).as_uri(), "instruction": "x"} for verb in ("ask", "edit")},
        "oi.selection.run": {"uri": Path(__file__).as_uri()},
        "oi.diagnostic.explain": {"uri": Path(__file__).as_uri(), "range": NOWHERE, "message": "x"},
    }
    for command in protocol.COMMANDS:
        if "session_id" not in attrs.fields_dict(command.params):
            continue
        error = await error_of(client, command.name, {"sessionId": "s-none", **more.get(command.name, {})})
        assert (error.code, error.data["field"]) == (ErrorCode.UNKNOWN_SESSION, "sessionId"), command.name


async def test_every_field_refuses_what_it_cannot_be(client: LspClient) -> None:
    session = await client.new_session()
    for content, problem in (("x" * 50_000_000, "50,000,000"), ("\udc00", "surrogate"), (7, "must be text")):
        error = await error_of(client, "oi.chat.send", {"sessionId": session, "content": content})
        assert (error.code, error.data["field"]) == (ErrorCode.INVALID_PARAMS, "content")
        assert problem in error.message
    deep: Any = "x"
    for _ in range(500):
        deep = {"jsonrpc": deep}
    for value in (deep, [deep]):
        error = await error_of(client, "oi.chat.send", {"sessionId": session, "content": value})
        assert error.code == ErrorCode.INVALID_PARAMS
        assert error.data["field"].startswith("content")
    await goes_on(client)


async def test_an_id_that_is_long_is_not_echoed(client: LspClient) -> None:
    error = await error_of(client, "oi.chat.send", {"sessionId": "s" * 1_000_000, "content": "x"})
    assert (error.code, error.data["field"]) == (ErrorCode.INVALID_PARAMS, "sessionId")
    assert len(error.message) < 300


async def test_a_50_mb_code_and_a_10_mb_code(client: LspClient) -> None:
    error = await error_of(client, "oi.code.run", {"language": "python", "code": "x" * 50_000_000})
    assert (error.code, error.data["field"]) == (ErrorCode.INVALID_PARAMS, "code")
    run = await client.command("oi.code.run", language="python", code="#" * 9_999_990 + "\nprint hi")
    follower = await client.ended(run["sessionId"], run["turnId"])
    assert follower.text() == "hi\n"


async def test_raw_bytes_of_every_kind(client: LspClient) -> None:
    for raw in (
        b"hello\n",
        b"\x00\xff\xfe\r\n\r\n",
        b"Content-Length: nonsense\r\n\r\n{}",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 5\r\n\r\n{}{}{",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{!}",
        b"Content-Length: 0\r\n\r\n",
        b"Content-Length: 1\r\nContent-Type: application/vscode-jsonrpc; charset=utf-16\r\n\r\n7",
    ):
        client.write(raw)
    await goes_on(client)
    assert {message["error"]["code"] for message in client.unasked} <= {
        ErrorCode.PARSE_ERROR,
        ErrorCode.INVALID_REQUEST,
    }
    assert client.unasked


async def test_a_length_too_small_and_one_too_great(client: LspClient) -> None:
    client.write(b'Content-Length: 10\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"nothing"}')
    await goes_on(client)
    client.write(b'Content-Length: 60\r\n\r\n{"jsonrpc":"2.0","id":"lost","method":"nothing"}')
    client.notify("$/swallowed", {})
    await goes_on(client)


async def test_batches_and_other_values_are_refused(client: LspClient) -> None:
    values: list[Any] = [[{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}], [], None, 5, "x", True, {}, {"id": {}}]
    for value in values:
        before = len(client.unasked)
        client.post(value)
        answer = await client.unasked_after(before)
        assert (answer["id"], answer["error"]["code"]) == (None, ErrorCode.INVALID_REQUEST)
    await goes_on(client)


async def test_10000_levels_are_answered_under_their_id(client: LspClient) -> None:
    for number, (left, right) in enumerate(((b"[", b"]"), (b'{"a":', b"}"))):
        answer = client.expect(f"deep{number}")
        inner = left * 10_000 + b"1" + right * 10_000
        body = b'{"jsonrpc":"2.0","id":"deep%d","method":"x","params":%b}' % (number, inner)
        client.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        with pytest.raises(Refused) as caught:
            await answer
        assert caught.value.code == ErrorCode.PARSE_ERROR
    await goes_on(client)


async def test_requests_of_other_methods_with_any_params(client: LspClient) -> None:
    for method in ("textDocument/hover", "no/such", "initialize", "window/showMessage", "oi/chunks"):
        for params in ANY:
            with pytest.raises(Refused):
                await client.request(method, params)
    await goes_on(client)


async def test_notifications_of_every_method_with_any_params(client: LspClient) -> None:
    methods = (
        "textDocument/didOpen",
        "textDocument/didChange",
        "textDocument/didClose",
        "workspace/didChangeWorkspaceFolders",
        "window/workDoneProgress/cancel",
        "$/cancelRequest",
        "$/setTrace",
        "workspace/executeCommand",
        "initialize",
        "shutdown",
        "oi.chat.send",
    )
    for method in methods:
        for params in ANY:
            client.notify(method, params)
    await goes_on(client)
    assert not [message for message in client.unasked if "result" in message]
    assert [method for method, _ in client.notifications if method == "window/showMessage"] == []


async def test_answers_that_nobody_asked_for(client: LspClient) -> None:
    ids: list[Any] = ["x", 5, None, [], {}, 1.5, True]
    for msg_id in ids:
        client.post({"jsonrpc": "2.0", "id": msg_id, "result": {"jsonrpc": "2.0"}})
        client.post({"jsonrpc": "2.0", "id": msg_id, "error": {"code": "x"}})
    await goes_on(client)
