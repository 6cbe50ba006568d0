"""What the client is asked, over the real wire: every answer and every silence is survived, and nothing is kept."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest
from lsprotocol import types
from pygls.lsp.server import LanguageServer

from oi_lsp import client as requests
from oi_lsp.client import Applied, Client, EditAnswer, NoAnswer, Refused
from oi_lsp.wire import Protocol

URI = "file:///chat.oi.md"
EVERYTHING = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
    ),
    window=types.WindowClientCapabilities(work_done_progress=True),
)
UNKNOWN = {"error": {"code": -32601, "message": "no such method"}}
MALFORMED: list[Any] = [
    {"result": None},
    {"result": []},
    {"result": "yes"},
    {"result": {"applied": "yes", "success": "yes", "title": 5}},
    {},
]
ERRORS: list[Any] = [
    {"error": {"code": -32603, "message": "InternalError"}},
    {"error": None},
    {"error": "no"},
    {"error": {"code": "x", "message": 5}},
    {"error": {}},
]


class Scripted:
    """The real protocol, with a client at the other end that answers as it is told; silent where it is told nothing."""

    def __init__(self, *answers: dict[str, Any], capabilities: types.ClientCapabilities = EVERYTHING) -> None:
        self.protocol: Any = cast(Any, LanguageServer("test", "0", protocol_cls=Protocol).protocol)
        self.protocol.set_writer(self)
        self.protocol.initialized = True
        self.answers = list(answers)
        self.sent: list[dict[str, Any]] = []
        self.client = Client(self.protocol)
        info = types.ClientInfo("Scripted")
        self.client.meet(types.InitializeParams(capabilities, client_info=info))

    def write(self, data: bytes) -> None:
        message = json.loads(data.partition(b"\r\n\r\n")[2])
        self.sent.append(message)
        if "id" in message and self.answers:
            asyncio.get_running_loop().call_soon(self.answer, message["id"], self.answers.pop(0))

    def close(self) -> None: ...

    def answer(self, msg_id: object, answer: dict[str, Any]) -> None:
        self.protocol.receive(json.dumps({"jsonrpc": "2.0", "id": msg_id, **answer}).encode())

    @property
    def methods(self) -> list[str]:
        return [message["method"] for message in self.sent]

    def assert_nothing_kept(self) -> None:
        assert not self.protocol._asked
        assert not self.protocol._request_futures
        assert not self.protocol._result_types

    async def edit(self, time: float = 60) -> EditAnswer:
        document = types.OptionalVersionedTextDocumentIdentifier(URI, 3)
        here = types.Range(types.Position(0, 0), types.Position(0, 0))
        return await self.client.apply_edit(
            "Answer", [types.TextDocumentEdit(document, [types.TextEdit(here, "x")])], time
        )


async def settled(scripted: Scripted) -> None:
    """Wait until the client has been answered, whatever it does then."""
    while scripted.answers or scripted.protocol._asked:
        await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_an_edit_that_is_applied() -> None:
    scripted = Scripted({"result": {"applied": True}}, capabilities=types.ClientCapabilities())
    assert await scripted.edit() == Applied()
    (sent,) = scripted.sent
    assert sent["method"] == "workspace/applyEdit"
    assert sent["params"]["label"] == "Answer"
    assert sent["params"]["edit"]["documentChanges"][0]["textDocument"] == {"uri": URI, "version": 3}
    scripted.assert_nothing_kept()


async def test_an_edit_that_is_refused() -> None:
    scripted = Scripted({"result": {"applied": False, "failureReason": "stale"}}, {"result": {"applied": False}})
    assert await scripted.edit() == Refused("stale")
    assert await scripted.edit() == Refused("The editor gave no reason.")


@pytest.mark.parametrize("answer", MALFORMED)
async def test_an_answer_to_an_edit_that_says_nothing(answer: dict[str, Any]) -> None:
    scripted = Scripted(answer)
    assert await scripted.edit() == NoAnswer()
    scripted.assert_nothing_kept()


@pytest.mark.parametrize("answer", ERRORS)
async def test_an_error_is_a_refusal_and_the_edit_may_be_tried_again(answer: dict[str, Any]) -> None:
    scripted = Scripted(answer, {"result": {"applied": True}})
    refused = await scripted.edit()
    assert isinstance(refused, Refused)
    assert refused.known
    assert refused.reason
    assert await scripted.edit() == Applied()


async def test_what_the_client_does_not_know_is_not_asked_again() -> None:
    scripted = Scripted(UNKNOWN, UNKNOWN)
    assert await scripted.edit() == Refused("no such method", known=False)
    assert await scripted.edit() == Refused("no such method", known=False)
    assert not await scripted.client.show_document(URI)
    assert not await scripted.client.show_document(URI)
    assert scripted.methods == ["workspace/applyEdit", "window/showDocument"]
    scripted.assert_nothing_kept()


async def test_silence_ends_and_an_answer_that_comes_later_is_ignored() -> None:
    scripted = Scripted()
    assert await scripted.edit(time=0) == NoAnswer()
    scripted.assert_nothing_kept()
    before = len(scripted.sent)
    # Asked again, so that there is an id to answer late.
    assert await scripted.edit(time=0) == NoAnswer()
    for message in scripted.sent:
        scripted.answer(message["id"], {"result": {"applied": True}})
    assert len(scripted.sent) == before + 1


@pytest.mark.parametrize(
    ("answer", "shown"), [({"result": {"success": True}}, True), ({"result": {"success": False}}, False)]
)
async def test_a_document_is_shown_or_not(answer: dict[str, Any], shown: bool) -> None:
    scripted = Scripted(answer)
    here = types.Range(types.Position(1, 0), types.Position(1, 2))
    assert await scripted.client.show_document(URI, here, focus=False) is shown
    assert scripted.sent[0]["params"]["takeFocus"] is False
    assert scripted.sent[0]["params"]["selection"]["start"] == {"line": 1, "character": 0}


@pytest.mark.parametrize("answer", [*MALFORMED, *ERRORS])
async def test_what_is_no_answer_shows_nothing_and_chooses_nothing(answer: dict[str, Any]) -> None:
    scripted = Scripted(answer, answer)
    assert not await scripted.client.show_document(URI)
    assert await scripted.client.show_message_request(types.MessageType.Info, "Run?", ["No", "Yes"]) is None
    scripted.assert_nothing_kept()


async def test_silence_shows_nothing_and_chooses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "SHOW_TIME", 0)
    scripted = Scripted()
    assert not await scripted.client.show_document(URI)
    assert await scripted.client.show_message_request(types.MessageType.Info, "Run?", ["No", "Yes"], time=0) is None
    scripted.assert_nothing_kept()


async def test_a_question_is_answered_with_one_of_its_actions() -> None:
    scripted = Scripted({"result": {"title": "Yes"}}, {"result": {"title": "Perhaps"}})
    ask = scripted.client.show_message_request
    assert await ask(types.MessageType.Info, "Run?", ["No", "Yes"]) == "Yes"
    assert await ask(types.MessageType.Info, "Run?", ["No", "Yes"]) is None
    assert scripted.sent[0]["params"] == {"type": 3, "message": "Run?", "actions": [{"title": "No"}, {"title": "Yes"}]}


def test_a_message_is_a_notification() -> None:
    scripted = Scripted()
    scripted.client.show_message(types.MessageType.Warning, "Careful")
    assert scripted.sent == [
        {"jsonrpc": "2.0", "method": "window/showMessage", "params": {"type": 2, "message": "Careful"}}
    ]


def test_nothing_in_a_message_is_a_link() -> None:
    scripted = Scripted()
    scripted.client.show_message(types.MessageType.Info, "See [this](command:quit).")
    assert scripted.sent[0]["params"]["message"] == "See [this] (command:quit)."


async def test_progress_is_shown_once_the_client_agreed_and_may_be_cancelled() -> None:
    scripted = Scripted({"result": None})
    cancelled: list[bool] = []
    progress = scripted.client.progress("Thinking", lambda: cancelled.append(True))
    progress.report("first")
    await settled(scripted)
    progress.report("second")
    scripted.client.cancel_progress(types.WorkDoneProgressCancelParams(progress.token))
    progress.end("done")
    progress.end()
    progress.report("late")
    scripted.client.cancel_progress(types.WorkDoneProgressCancelParams(progress.token))
    assert [message["params"].get("value") for message in scripted.sent] == [
        None,
        {"kind": "begin", "title": "Thinking", "cancellable": True, "message": "first"},
        {"kind": "report", "message": "second"},
        {"kind": "end", "message": "done"},
    ]
    assert cancelled == [True]


async def test_progress_that_ended_before_the_client_agreed_is_not_shown() -> None:
    scripted = Scripted({"result": None})
    progress = scripted.client.progress("Thinking")
    await asyncio.sleep(0)
    progress.end()
    await settled(scripted)
    assert scripted.methods == ["window/workDoneProgress/create"]


@pytest.mark.parametrize("answers", [[UNKNOWN], []], ids=["refused", "silent"])
async def test_progress_that_is_refused_or_not_answered_is_not_shown(
    answers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "PROGRESS_TIME", 0)
    scripted = Scripted(*answers)
    progress = scripted.client.progress("Thinking")
    await asyncio.sleep(0)
    await settled(scripted)
    progress.report("more")
    progress.end()
    assert set(scripted.methods) <= {"window/workDoneProgress/create"}
    scripted.assert_nothing_kept()


async def test_a_client_that_shows_no_progress_and_refreshes_nothing_is_not_asked_to() -> None:
    scripted = Scripted(capabilities=types.ClientCapabilities())
    scripted.client.progress("Thinking").end()
    scripted.client.refresh_code_lenses()
    scripted.client.refresh_inlay_hints()
    await asyncio.sleep(0)
    assert scripted.sent == []


async def test_many_refreshes_become_one_after_the_one_that_is_under_way() -> None:
    scripted = Scripted({"result": None}, {"error": {"code": 1, "message": "no"}}, {"result": None})
    for _ in range(5):
        scripted.client.refresh_code_lenses()
        await asyncio.sleep(0)
    await settled(scripted)
    assert scripted.methods == ["workspace/codeLens/refresh"] * len(scripted.methods)
    assert 1 < len(scripted.methods) <= 3
    scripted.client.refresh_inlay_hints()
    await asyncio.sleep(0)
    assert scripted.methods[-1] == "workspace/inlayHint/refresh"
    assert "params" not in scripted.sent[-1]
    scripted.client.close()
    await asyncio.gather(*scripted.client._tasks, return_exceptions=True)
    scripted.assert_nothing_kept()
