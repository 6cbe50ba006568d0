"""How an accepted hunk is written, by clients that answer, lie, refuse and are silent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from lsprotocol import types

from oi_engine.edits.alignment import Change
from oi_engine.edits.proposal import Proposal
from oi_engine.errors import EditError, HunkError
from oi_lsp.client import Applied, DocumentEdit, EditAnswer, NoAnswer, Refused
from oi_lsp.documents import Document
from oi_lsp.inline_edit.pens import TRIES, DocumentPen, FilePen, Times

OLD, NEW = "a\nb\nc\nd\n", "a\nB\nc\nD\n"
SHORT = Times(answer=60, echo=0.05, settling=0.05, grace=0.05)
LONG = Times(answer=60, echo=60, settling=60, grace=60)


class Target:
    """An edit of a document; the document's changes reach its proposal at once."""

    def __init__(self) -> None:
        self.document = Document("file:///a", "text", 0, OLD)
        self.proposal = Proposal("e1", OLD, 0, len(OLD))
        self.proposal.update(NEW, complete=True)
        self.document.subscribe(lambda _, change: self.proposal.changed(Change(change.start, change.end, change.text)))

    @property
    def states(self) -> list[str]:
        return [hunk.state for hunk in self.proposal.hunks]

    def type(self, text: str) -> None:
        """The person writes at the beginning."""
        place = types.Range(types.Position(0, 0), types.Position(0, 0))
        version = (self.document.version or 0) + 1
        self.document.apply(types.TextDocumentContentChangePartial(range=place, text=text), version)


class FakeClient:
    """Does with each edit what the test says, in turn."""

    def __init__(self, target: Target, *turns: Callable[[FakeClient], EditAnswer | None]) -> None:
        self.target = target
        self.turns = list(turns)
        self.asked: list[types.TextDocumentEdit] = []

    async def apply_edit(self, label: str, document_edits: Sequence[DocumentEdit], time: float = 0) -> EditAnswer:
        (edit,) = document_edits
        assert isinstance(edit, types.TextDocumentEdit)
        self.asked.append(edit)
        answer = self.turns.pop(0)(self)
        if answer is None:
            await asyncio.Event().wait()
            raise AssertionError
        return answer

    def make(self) -> None:
        """Make the edit, if it is for the version that there is."""
        edit, document = self.asked[-1], self.target.document
        assert edit.text_document.version == document.version
        (each,) = edit.edits
        assert isinstance(each, types.TextEdit)
        document.apply(types.TextDocumentContentChangePartial(range=each.range, text=each.new_text), 1)


def made(client: FakeClient) -> EditAnswer:
    client.make()
    return Applied()


def made_in_silence(client: FakeClient) -> None:
    client.make()


def made_later(client: FakeClient) -> EditAnswer:
    asyncio.get_running_loop().call_later(0.01, client.make)
    return Applied()


def made_and_denied(client: FakeClient) -> EditAnswer:
    client.make()
    return Refused("no")


def typed_then_refused(client: FakeClient) -> EditAnswer:
    client.target.type("x\n")
    return Refused("another version")


def refused_then_typed(client: FakeClient) -> EditAnswer:
    asyncio.get_running_loop().call_later(0.01, client.target.type, "x\n")
    return Refused("another version")


def changed_there(client: FakeClient) -> EditAnswer:
    place = types.Range(types.Position(1, 0), types.Position(1, 1))
    client.target.document.apply(types.TextDocumentContentChangePartial(range=place, text="other"), 1)
    return Applied()


async def write(*turns: Callable[[FakeClient], EditAnswer | None], times: Times = LONG) -> FakeClient:
    target = Target()
    client = FakeClient(target, *turns)
    await DocumentPen(target.document, client, times).write(target, "h1")
    return client


@pytest.mark.parametrize("turn", [made, made_later, made_and_denied])
async def test_the_document_tells_that_it_is_written(turn: Callable[[FakeClient], EditAnswer]) -> None:
    client = await write(turn)
    assert client.target.document.text == "a\nB\nc\nd\n"
    assert client.target.states == ["accepted", "proposed"]


async def test_an_answer_that_never_comes_is_not_waited_for() -> None:
    client = await write(made_in_silence, times=SHORT)
    assert client.target.states == ["accepted", "proposed"]


@pytest.mark.parametrize("turn", [typed_then_refused, refused_then_typed])
async def test_it_is_asked_for_again_when_the_document_has_changed(turn: Callable[[FakeClient], EditAnswer]) -> None:
    client = await write(turn, made)
    assert client.target.document.text == "x\na\nB\nc\nd\n"
    assert [edit.text_document.version for edit in client.asked] == [0, 1]


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([lambda _: Applied()], "says that it did"),
        ([lambda _: NoAnswer()], "does not answer"),
        ([lambda _: Refused("It is locked.")], "It is locked."),
        ([lambda _: Refused("no such method", known=False)], "no such method"),
        ([typed_then_refused] * TRIES, "another version"),
    ],
)
async def test_it_is_proposed_again_where_it_is_not_written(
    turns: list[Callable[[FakeClient], EditAnswer]], reason: str
) -> None:
    target = Target()
    client = FakeClient(target, *turns)
    with pytest.raises(EditError, match=reason):
        await DocumentPen(target.document, client, SHORT).write(target, "h1")
    assert target.states == ["proposed", "proposed"]
    assert client.turns == []


async def test_what_is_changed_there_meanwhile_is_stale() -> None:
    target = Target()
    with pytest.raises(EditError, match="was changed there"):
        await DocumentPen(target.document, FakeClient(target, changed_there), LONG).write(target, "h1")
    assert target.states == ["stale", "proposed"]
    with pytest.raises(HunkError, match="no longer fits"):
        await DocumentPen(target.document, FakeClient(target), LONG).write(target, "h1")


async def test_one_edit_is_in_flight_at_a_time() -> None:
    target = Target()
    client = FakeClient(target, made, made)
    pen = DocumentPen(target.document, client, LONG)
    await asyncio.gather(pen.write(target, "h1"), pen.write(target, "h2"))
    assert target.document.text == NEW
    assert [edit.text_document.version for edit in client.asked] == [0, 1]


async def test_who_is_cancelled_leaves_nothing_pending() -> None:
    target = Target()
    client = FakeClient(target, lambda _: None)
    task = asyncio.ensure_future(DocumentPen(target.document, client, LONG).write(target, "h1"))
    while not client.asked:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert target.states == ["proposed", "proposed"]


async def test_a_new_file(tmp_path: Path) -> None:
    proposal = Proposal("e1", "", 0, 0)
    proposal.update("é\r\n", complete=True)
    target = Target()
    target.proposal = proposal
    shown: list[bool] = []
    pen = FilePen(tmp_path / "new", [tmp_path], lambda: shown.append(True))
    await pen.write(target, "h1")
    assert (tmp_path / "new").read_bytes() == "é\r\n".encode()
    assert (proposal.text, shown) == ("é\r\n", [True])
    with pytest.raises(HunkError, match="has been accepted"):
        await pen.write(target, "h1")


async def test_a_file_that_is_there_by_now_is_left_alone(tmp_path: Path) -> None:
    target = Target()
    target.proposal = Proposal("e1", "", 0, 0)
    target.proposal.update("new\n", complete=True)
    (tmp_path / "new").write_text("old\n")
    with pytest.raises(EditError, match="exists already"):
        await FilePen(tmp_path / "new", [tmp_path], list).write(target, "h1")
    assert (tmp_path / "new").read_text() == "old\n"
    assert target.states == ["proposed"]
