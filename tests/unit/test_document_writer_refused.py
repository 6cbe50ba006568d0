"""Text that does not get into a document: editors that do not answer, refuse or close, and tell nothing."""

from __future__ import annotations

import asyncio

from attrs import evolve

from oi_lsp.client import Refused
from oi_lsp.document_writer import DocumentWriter, Outcome, Unwritten
from tests.fakes.editors import (
    DEAF,
    MUTE,
    NEOVIM,
    VSCODE,
    Editor,
)
from tests.unit.writing import HEAD, TAIL, Desk, Owner, closing, run


def test_nothing_is_written_into_a_document_that_is_unknown() -> None:
    async def scenario() -> None:
        desk = Desk()
        with closing(desk):
            assert await desk.write("first\n")
            desk.editor.documents.lose(None)
            assert not await desk.write("second\n")
            assert len(desk.owner.stuck) == 1
            assert len(desk.editor.asked) == 1
            desk.editor.mirror.replace_all(desk.text)
            assert await desk.write("third\n")
            assert desk.editor.ours == "first\nsecond\nthird\n"

    run(scenario)


def test_an_editor_that_tells_nothing_leaves_the_writer_stuck_and_sends_nothing_twice() -> None:
    async def scenario() -> None:
        desk = Desk(DEAF)
        with closing(desk):
            assert not await desk.write("first line\n")
            assert desk.owner.stuck
            assert desk.writer.stuck
            desk.writer.insert(desk.answer, "second line\n")
            assert not await desk.writer.written()
            assert len(desk.editor.asked) == 1
            desk.editor.profile = evolve(DEAF, echo="after")
            desk.editor.tell_now()
            await desk.told()
            assert await desk.writer.written()
            assert desk.editor.ours == "first line\nsecond line\n"
            assert not desk.writer.stuck

    run(scenario)


def test_an_editor_that_answers_nothing_is_not_waited_for_each_time() -> None:
    async def scenario() -> None:
        desk = Desk(MUTE)
        with closing(desk):
            began = asyncio.get_running_loop().time()
            for number in range(20):
                assert await desk.write(f"line {number}\n")
            assert asyncio.get_running_loop().time() - began < 3
            assert desk.owner == Owner()

    run(scenario)


def test_an_editor_that_refuses_everything_is_asked_again_only_when_it_changes_the_document() -> None:
    async def scenario() -> None:
        desk = Desk()
        desk.editor.refuses = "The buffer is read-only."
        with closing(desk):
            assert not await desk.write("a line\n")
            assert desk.owner.stuck == ["The editor does not change this document: The buffer is read-only."]
            asked = len(desk.editor.asked)
            await asyncio.sleep(1000)
            assert len(desk.editor.asked) == asked
            desk.editor.refuses = ""
            desk.editor.type(0, 0, "x")
            await desk.told()
            assert await desk.writer.written()
            assert desk.editor.ours == "a line\n"

    run(scenario)


def test_an_editor_that_knows_no_edits_is_not_asked_again() -> None:
    async def scenario() -> None:
        asked = []

        class Knows:
            async def apply_edit(self, *arguments: object, **_: object) -> Refused:
                asked.append(arguments)
                return Refused("no such method", known=False)

        desk = Desk()
        desk.writer.close()
        desk.writer = DocumentWriter(desk.editor.mirror, Knows(), desk.owner)
        desk.answer = desk.writer.anchor(len(HEAD))
        with closing(desk):
            assert not await desk.write("a line\n")
            assert len(asked) == 1
            assert desk.writer.close() == [Unwritten(desk.answer, "a line\n")]

    run(scenario)


def test_closing_in_mid_stream_hands_back_what_is_not_written() -> None:
    async def scenario() -> None:
        desk = Desk(NEOVIM)
        await desk.write("written\n")
        desk.writer.insert(desk.answer, "sent\n")
        await asyncio.sleep(0.0005)
        desk.writer.insert(desk.answer, "waits")
        replaced = desk.writer.replace(desk.answer, desk.answer, "x", "")
        desk.editor.close()
        unwritten = [Unwritten(desk.answer, "sent\n", sent=True), Unwritten(desk.answer, "waits")]
        assert desk.owner.closed == [unwritten]
        assert await replaced is Outcome.UNWRITTEN
        assert not await desk.writer.written()
        desk.writer.insert(desk.answer, "ignored")
        assert await desk.writer.replace(desk.answer, desk.answer, "x", "") is Outcome.UNWRITTEN
        assert desk.writer.close() == []

    run(scenario)


def test_an_edit_that_was_made_and_changed_by_the_editor_is_not_made_again() -> None:
    async def scenario() -> None:
        desk = Desk()

        class Indents(Editor):
            def _change(self, where: object, text: str, mark: str) -> None:
                super()._change(where, text.replace("\n", "\n    "), mark)  # type: ignore[arg-type]

        editor = Indents(VSCODE, HEAD + TAIL)
        desk.writer.close()
        desk.editor = editor
        desk.writer = DocumentWriter(editor.mirror, editor, desk.owner)
        desk.answer = desk.writer.anchor(len(HEAD))
        with closing(desk):
            assert await desk.write("def f():\n  return 1\n")
            assert await desk.write("last\n")
            assert len(editor.asked) == 2
            assert editor.ours == "def f():\n      return 1\n    last\n    "

    run(scenario)
