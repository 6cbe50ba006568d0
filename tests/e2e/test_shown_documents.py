"""A client that shows conversations as chat documents: what it is told of blocks, and what it may ask besides."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.product import folders
from tests.fakes.lsp_client import PRODUCT, Refused, server
from tests.fakes.lsp_editor import Buffer, LspEditor

URI = "oi-chat:///1.oi.md"
SHOWN = {"oi": {"protocolVersion": 1, "shows": "documents"}}
Shown = Callable[..., AbstractAsyncContextManager[LspEditor]]


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    """An editor that shows chat documents, with a server with a script."""

    @asynccontextmanager
    async def start(*replies: list[dict[str, Any]]) -> AsyncIterator[LspEditor]:
        env = {"OI_SCRIPT": json.dumps({"replies": replies}), **folders(tmp_path)}
        async with server(env=env) as client:
            await client.initialize(SHOWN, rootUri=tmp_path.as_uri())
            yield LspEditor(client)

    return start


def states(editor: LspEditor) -> list[dict[str, Any]]:
    return [params for method, params in editor.client.notifications if method == "oi/document"]


def seen(editor: LspEditor, block: str) -> list[dict[str, Any]]:
    """What was told of one block, in order."""
    return [each for state in states(editor) for each in state["blocks"] if each["block"] == block]


async def until_block(editor: LspEditor, block: str, state: str) -> dict[str, Any]:
    await editor.client.until(lambda: any(each["state"] == state for each in seen(editor, block)))
    return next(each for each in seen(editor, block) if each["state"] == state)


async def chat(editor: LspEditor) -> Buffer:
    buffer = editor.opened(URI, "")
    await editor.until(buffer, "## You")
    return buffer


async def test_a_block_from_proposal_to_its_end(shown: Shown) -> None:
    async with shown([{"say": "Look:"}, {"code": "print 1\nprint 2"}], [{"say": "Well."}]) as editor:
        buffer = await chat(editor)
        await editor.client.command("oi.document.send", uri=URI, text="Count.")
        proposed = await until_block(editor, "c1", "proposed")
        assert proposed["code"] == "print 1\nprint 2"
        assert "Count." in buffer.text
        await editor.client.command("oi.document.run", uri=URI, block="c1")
        done = await until_block(editor, "c1", "done")
        assert done["seconds"] >= 0
        assert "code" not in done
        await editor.until(buffer, "Well.")
        await editor.client.until(lambda: states(editor)[-1]["state"] == "idle")
        assert not [method for method, _ in editor.client.notifications if method in ("oi/chunks", "oi/state")]


@pytest.mark.parametrize("failing", ["fail", "raise TypeError", "throw TypeError"])
async def test_blocks_that_fail_are_rejected_or_are_stopped(shown: Shown, failing: str) -> None:
    async with shown([{"code": failing}], [{"code": "print 1"}], [{"code": "wait"}]) as editor:
        await chat(editor)
        await editor.client.command("oi.document.send", uri=URI, text="Go.")
        await until_block(editor, "c1", "proposed")
        await editor.client.command("oi.document.run", uri=URI, block="c1")
        await until_block(editor, "c1", "failed")
        await until_block(editor, "c2", "proposed")
        await editor.client.command("oi.document.reject", uri=URI, block="c2")
        await until_block(editor, "c2", "rejected")
        await until_block(editor, "c3", "proposed")
        await editor.client.command("oi.document.run", uri=URI, block="c3")
        await until_block(editor, "c3", "running")
        await editor.client.command("oi.document.stop", uri=URI)
        await until_block(editor, "c3", "stopped")


async def test_a_question_is_told_and_answered(shown: Shown) -> None:
    async with shown([{"code": "input"}]) as editor:
        await chat(editor)
        await editor.client.command("oi.document.send", uri=URI, text="Ask.")
        await until_block(editor, "c1", "proposed")
        await editor.client.command("oi.document.run", uri=URI, block="c1")
        await editor.client.until(lambda: states(editor)[-1].get("question"))
        question = states(editor)[-1]["question"]
        session = states(editor)[-1]["sessionId"]
        await editor.client.command("oi.input.answer", sessionId=session, inputId=question["inputId"], text="Ada")
        await until_block(editor, "c1", "done")
        assert "question" not in states(editor)[-1]


async def test_a_line_that_has_not_ended_is_told_and_not_written(tmp_path: Path) -> None:
    source = "print('\\r1 of 2', end='', flush=True)\nprint('\\r2 of 2', end='', flush=True)\ninput()"
    env = {"OI_COMPUTER_PYTHON": sys.executable, **folders(tmp_path)}
    async with server(PRODUCT, env=env) as client:
        await client.initialize({**SHOWN, "settings": {"llm": {"model": "tour"}}}, rootUri=tmp_path.as_uri())
        editor = LspEditor(client)
        buffer = await chat(editor)
        file = await editor.open(tmp_path / "a.py", f"{source}\n".replace("input()", "import time; time.sleep(60)"))
        await client.command("oi.selection.run", uri=file.uri)
        await client.until(lambda: any(each.get("unended") == "2 of 2" for each in seen(editor, "c1")))
        assert "of 2\n```" not in buffer.text
        await client.command("oi.document.stop", uri=URI)
        await until_block(editor, "c1", "stopped")
        await editor.until(buffer, "2 of 2")
        assert "1 of 2\n" not in buffer.text


async def test_no_empty_lines_are_left_by_what_is_sent_from_an_input(shown: Shown) -> None:
    async with shown(*[[{"say": f"Yes, {number}."}] for number in range(3)]) as editor:
        buffer = await chat(editor)
        for number in range(3):
            await editor.client.command("oi.document.send", uri=URI, text=f"Well, {number}?")
            await editor.until(buffer, f"Yes, {number}.")
            await editor.client.until(lambda: states(editor)[-1]["state"] == "idle")
            await editor.until(buffer, f".u{number + 2} -->")
            sent = f".u{number + 1} -->\n\nWell, {number}?\n\n## Assistant"
            assert sent in buffer.text
            assert buffer.text.endswith(f".u{number + 2} -->\n\n")


async def test_words_of_an_input_are_no_marks(shown: Shown) -> None:
    async with shown([{"say": "Yes."}]) as editor:
        buffer = await chat(editor)
        await editor.client.command("oi.document.send", uri=URI, text="## You\n\nis a heading")
        await editor.until(buffer, "Yes.")
        assert "\\## You\n\nis a heading" in buffer.text
        with pytest.raises(Refused, match="nothing to send"):
            await editor.client.command("oi.document.send", uri=URI, text=" \n")


async def test_what_is_run_in_a_file_is_in_the_document(shown: Shown, tmp_path: Path) -> None:
    async with shown() as editor:
        buffer = await chat(editor)
        file = await editor.open(tmp_path / "a.py", "print 7\n")
        await editor.client.command("oi.selection.run", uri=file.uri)
        await editor.until(buffer, "```output oi=c1\n7\n")
        await until_block(editor, "c1", "done")


async def test_a_stored_conversation_goes_on_in_a_document(tmp_path: Path) -> None:
    said = [
        {"role": "user", "type": "message", "content": "Count."},
        {"role": "assistant", "type": "code", "format": "python", "content": "print(7)"},
        {"role": "computer", "type": "console", "format": "output", "content": "7\n"},
        {"role": "assistant", "type": "message", "content": "Seven."},
    ]
    async with server(PRODUCT, env=folders(tmp_path)) as client:
        await client.initialize({**SHOWN, "settings": {"llm": {"model": "tour"}}}, rootUri=tmp_path.as_uri())
        editor = LspEditor(client)
        buffer = await chat(editor)
        stored = await client.command("oi.history.import", content=json.dumps(said))
        conversation = stored["conversation"]["conversationId"]
        await client.command("oi.document.load", uri=URI, conversationId=conversation)
        await editor.until(buffer, "Seven.")
        assert "```python oi=c1\nprint(7)\n```" in buffer.text
        assert buffer.text.index("Count.") < buffer.text.index("Seven.")
        with pytest.raises(Refused, match="has a conversation already"):
            await client.command("oi.document.load", uri=URI, conversationId=conversation)
        other = editor.opened("oi-chat:///2.oi.md", "")
        await editor.until(other, "## You")
        with pytest.raises(Refused, match="goes on in another document"):
            await client.command("oi.document.load", uri=other.uri, conversationId=conversation)
        await client.command("oi.document.send", uri=URI, text="%help")
        await editor.until(buffer, "%help")
