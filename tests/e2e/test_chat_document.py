"""Chat documents over real standard input and output, in an editor that knows plain LSP alone."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.product import messages_shown
from tests.fakes.lsp_client import server
from tests.fakes.lsp_editor import Buffer, LspEditor

Started = Callable[..., AbstractAsyncContextManager[LspEditor]]
Steps = list[dict[str, Any]]


@pytest.fixture(params=["before", "after"])
def plain(request: pytest.FixtureRequest, tmp_path: Path) -> Started:
    """An editor with a server with a script; the model's requests are kept in a file."""

    @asynccontextmanager
    async def start(*replies: Steps) -> AsyncIterator[LspEditor]:
        env = {"OI_SCRIPT": json.dumps({"replies": replies}), "OI_REQUESTS": str(tmp_path / "requests")}
        async with server(env=env) as client:
            await client.initialize({}, rootUri=tmp_path.as_uri())
            yield LspEditor(client, echo=request.param)

    return start


def requests(tmp_path: Path) -> list[Any]:
    return [json.loads(line) for line in (tmp_path / "requests").read_text().splitlines()]


def code(source: str) -> Steps:
    return [{"code": source}]


def say(text: str) -> Steps:
    return [{"say": text}]


async def written(editor: LspEditor, tmp_path: Path, text: str) -> Buffer:
    """A new chat document with something under its first heading."""
    buffer = await editor.open(tmp_path / "talk.oi.md", "")
    await editor.until(buffer, "## You")
    editor.append(buffer, text)
    return buffer


def shape(buffer: Buffer) -> str:
    """The document with its nonce made known."""
    nonce = re.search(r"oi: 1 (\w+)", buffer.text)
    assert nonce is not None
    return buffer.text.replace(nonce[1], "N")


async def over(editor: LspEditor, buffer: Buffer, words: str) -> None:
    """Wait until the words are there and the turn is over."""
    await editor.until(buffer, words)
    await editor.gone(buffer, "Stop")


WHOLE = """\
---
oi: 1 N
---

## You <!-- oi:N.u1 -->

Please print.

## Assistant <!-- oi:N.a1 -->

Look:

```python oi=c1
print ho
```

```output oi=c1
ho
```

That was it.

<!-- oi:N.tail -->

## You <!-- oi:N.u2 -->

"""


async def test_send_edit_run_and_see_the_output(plain: Started, tmp_path: Path) -> None:
    async with plain([*say("Look:\n"), *code("print hi")], say("That was it."), say("Bye.")) as editor:
        buffer = await written(editor, tmp_path, "Please print.\n")
        assert await editor.titles(buffer, "Please") == ["Send"]
        await editor.take(buffer, "Send", "Please")
        await editor.offered(buffer, "Run")
        assert await editor.titles(buffer, "print hi") == ["Reject", "Run", "Stop"]
        assert await editor.titles(buffer, "Please") == ["Stop"]
        editor.replace(buffer, "print hi", "print ho")
        await editor.take(buffer, "Run", "print ho")
        await over(editor, buffer, "That was it.")
        assert shape(buffer).rstrip("\n") == WHOLE.rstrip("\n")
        assert await editor.titles(buffer, "print ho") == ["Run again", "Remove this answer"]
        editor.append(buffer, "Thanks.")
        await editor.take(buffer, "Send", "Thanks.")
        await over(editor, buffer, "Bye.")
        asked = requests(tmp_path)
        assert len(asked) == 3, "what the person typed since was no edit of the conversation"
        assert "print ho" in json.dumps(asked[1])
        assert asked[2][-1] == {"role": "user", "content": "Thanks."}


async def test_a_rejected_block_does_not_run(plain: Started, tmp_path: Path) -> None:
    async with plain(code("print hi"), say("As you like.")) as editor:
        buffer = await written(editor, tmp_path, "Please print.\n")
        await editor.take(buffer, "Send", "Please")
        await editor.offered(buffer, "Reject")
        await editor.take(buffer, "Reject", "print hi")
        await over(editor, buffer, "As you like.")
        assert "The person declined to run this code." in buffer.text
        assert "```output" not in buffer.text


async def test_a_program_asks_and_is_answered_in_the_document(plain: Started, tmp_path: Path) -> None:
    async with plain(code("input\nprint done"), say("Good.")) as editor:
        buffer = await written(editor, tmp_path, "Ask me.\n")
        await editor.take(buffer, "Send", "Ask me")
        await editor.offered(buffer, "Run")
        await editor.take(buffer, "Run", "print done")
        await editor.offered(buffer, "Answer")
        fence = re.search(r"```input oi=i\d+\n", buffer.text)
        assert fence is not None
        editor.type(buffer, fence.end(), "forty-two")
        await editor.take(buffer, "Answer", "forty-two")
        await over(editor, buffer, "Good.")
        assert "got forty-two\ndone\n" in buffer.text


async def test_stop_ends_a_run_and_what_waits_stays(plain: Started, tmp_path: Path) -> None:
    async with plain(code("print begun\nwait"), say("Second.")) as editor:
        buffer = await written(editor, tmp_path, "Wait.\n")
        await editor.take(buffer, "Send", "Wait.")
        await editor.offered(buffer, "Run")
        await editor.take(buffer, "Run", "print begun")
        await editor.until(buffer, "```output oi=c1\nbegun\n```")
        editor.append(buffer, "And then?")
        await editor.take(buffer, "Send", "And then?")
        assert "Send" not in await editor.titles(buffer, "And then?")
        await editor.take(buffer, "Stop", "And then?")
        await over(editor, buffer, "Stopped; variables are kept.")
        assert "Send" in await editor.titles(buffer, "And then?")
        await editor.take(buffer, "Send", "And then?")
        await over(editor, buffer, "Second.")


async def test_a_message_in_mid_turn_waits_and_is_answered(plain: Started, tmp_path: Path) -> None:
    async with plain(code("print hi"), say("First."), say("Second.")) as editor:
        buffer = await written(editor, tmp_path, "One\n")
        await editor.take(buffer, "Send", "One")
        await editor.offered(buffer, "Run")
        editor.append(buffer, "Two\n")
        started = await editor.take(buffer, "Send", "Two")
        assert started["queued"] is True
        await editor.take(buffer, "Run", "print hi")
        await over(editor, buffer, "Second.")
        order = ["One", "print hi", "First.", "N.tail", "N.u2", "Two", "N.a2", "Second.", "N.tail", "N.u3"]
        rest = shape(buffer)
        for words in order:
            assert words in rest, shape(buffer)
            rest = rest[rest.index(words) + len(words) :]


async def test_the_document_is_the_conversation(plain: Started, tmp_path: Path) -> None:
    """Reopened by another server and edited by hand: the model is told what the document says."""
    async with plain(code("print hi"), say("The secret is 1.")) as editor:
        buffer = await written(editor, tmp_path, "What is the secret?\n")
        await editor.take(buffer, "Send", "What is")
        await editor.offered(buffer, "Run")
        await editor.take(buffer, "Run", "print hi")
        await over(editor, buffer, "The secret is 1.")
        await editor.save(buffer)
    (tmp_path / "requests").unlink()
    async with plain(say("I see."), say("Again.")) as editor:
        buffer = await editor.open(tmp_path / "talk.oi.md")
        editor.replace(buffer, "The secret is 1.", "The secret is 2.")
        editor.append(buffer, "Go on.")
        await editor.take(buffer, "Send", "Go on.")
        await over(editor, buffer, "I see.")
        told = json.dumps(requests(tmp_path)[0])
        assert "What is the secret?" in told
        assert "print hi" in told
        assert "The secret is 2." in told
        assert "The secret is 1." not in told
        assert "This conversation was opened again" in told
        editor.replace(buffer, "I see.", "I saw.")
        editor.append(buffer, "More.")
        await editor.take(buffer, "Send", "More.")
        await over(editor, buffer, "Again.")
        told = json.dumps(requests(tmp_path)[1])
        assert "I saw." in told
        assert "I see." not in told
        assert buffer.text.count("What is the secret?") == 1, "the document says it already"


async def test_a_block_runs_again(plain: Started, tmp_path: Path) -> None:
    async with plain(code("print hi"), say("Good.")) as editor:
        buffer = await written(editor, tmp_path, "Please.\n")
        await editor.take(buffer, "Send", "Please.")
        await editor.offered(buffer, "Run")
        await editor.take(buffer, "Run", "print hi")
        await over(editor, buffer, "Good.")
        editor.replace(buffer, "print hi", "print anew")
        await editor.take(buffer, "Run again", "print anew")
        await over(editor, buffer, "```output oi=c1\nanew\n```")
        assert buffer.text.index("hi\n```") < buffer.text.index("anew\n```\n\nGood.")


async def test_undo_in_the_editor_stops_the_answer(plain: Started, tmp_path: Path) -> None:
    async with plain([{"say": "One.\n\n"}, {"wait": True}], say("Second.")) as editor:
        buffer = await written(editor, tmp_path, "Tell me.\n")
        await editor.take(buffer, "Send", "Tell me.")
        await editor.until(buffer, "One.")
        editor.undo(buffer)
        await editor.gone(buffer, "Stop")
        assert any("You undid" in text for text in messages_shown(editor.client))
        await editor.until(buffer, "The person undid, in the document")


async def test_an_undo_after_the_answer_is_said_once_and_the_model_is_told_what_is_left(
    plain: Started, tmp_path: Path
) -> None:
    async with plain(say("One, and two."), say("Second.")) as editor:
        buffer = await written(editor, tmp_path, "Tell me.\n")
        await editor.take(buffer, "Send", "Tell me.")
        await over(editor, buffer, "One, and two.")
        while "One, and two." in buffer.text:
            editor.undo(buffer)
        await editor.client.until(lambda: any("You undid" in text for text in messages_shown(editor.client)))
        editor.append(buffer, "And again.")
        await editor.take(buffer, "Send", "And again.")
        await over(editor, buffer, "Second.")
        assert sum("You undid" in text for text in messages_shown(editor.client)) == 1
        assert "One, and two." not in json.dumps(requests(tmp_path)[-1])


async def test_magic_commands(plain: Started, tmp_path: Path) -> None:
    async with plain(say("Hello.")) as editor:
        buffer = await written(editor, tmp_path, "%help\n")
        await editor.take(buffer, "Send", "%help")
        await over(editor, buffer, "%tokens")
        editor.append(buffer, "Hi.")
        await editor.take(buffer, "Send", "Hi.")
        await over(editor, buffer, "Hello.")
        assert "%help" not in json.dumps(requests(tmp_path))


async def test_images_are_files_beside_the_document(plain: Started, tmp_path: Path) -> None:
    async with plain(code("image"), say("Nice.")) as editor:
        buffer = await written(editor, tmp_path, "Draw.\n")
        await editor.take(buffer, "Send", "Draw.")
        await editor.offered(buffer, "Run")
        await editor.take(buffer, "Run", "oi=c1")
        await over(editor, buffer, "Nice.")
        link = re.search(r"!\[image\]\((talk\.files/\w+\.png)\)", buffer.text)
        assert link is not None
        picture = tmp_path / link[1]
        async with asyncio.timeout(60):
            # It is written beside the document, and not before that.
            while not await asyncio.to_thread(lambda: picture.exists() and picture.read_bytes() == b"image"):
                await editor.lenses(buffer)


async def test_saving_sends_where_that_is_wanted(tmp_path: Path) -> None:
    async with server(env={"OI_SCRIPT": json.dumps({"replies": [say("Hello.")]})}) as client:
        await client.initialize({"settings": {"chatDocument": {"sendOnSave": True}}}, rootUri=tmp_path.as_uri())
        editor = LspEditor(client)
        buffer = await written(editor, tmp_path, "Hi.\n")
        await editor.save(buffer)
        await over(editor, buffer, "Hello.")
        await editor.save(buffer)
        assert await editor.titles(buffer, "Hello.") == ["Remove this answer"]


async def test_an_answer_is_removed_in_one_edit(plain: Started, tmp_path: Path) -> None:
    async with plain(say("No."), say("Yes.")) as editor:
        buffer = await written(editor, tmp_path, "Well?\n")
        await editor.take(buffer, "Send", "Well?")
        await over(editor, buffer, "No.")
        await editor.take(buffer, "Remove this answer", "No.")
        await editor.client.until(lambda: "No." not in buffer.text)
        await editor.take(buffer, "Send", "Well?")
        await over(editor, buffer, "Yes.")
        assert "No." not in json.dumps(requests(tmp_path)[1])


async def test_a_new_chat_is_shown_or_written_on_disk(plain: Started, tmp_path: Path) -> None:
    async with plain(say("Hello.")) as editor:
        source = await editor.open(tmp_path / "a.py", "1\n")
        made = await editor.take(source, "New chat", "1")
        await editor.client.until(lambda: made["uri"] in editor.buffers)
        buffer = editor.buffers[made["uri"]]
        assert "## You" in buffer.text
        editor.append(buffer, "Hi.")
        await editor.take(buffer, "Send", "Hi.")
        await over(editor, buffer, "Hello.")


DAMAGED = """\
---
oi: 1 ab

## You <!-- oi:ab.u1 -->

```python oi=c1
print
## Assistant <!-- oi:ab.a1 -->

Yes.

## You

Hi there.
"""


async def test_a_damaged_document_goes_on_and_says_what_is_wrong(plain: Started, tmp_path: Path) -> None:
    async with plain(say("Hello.")) as editor:
        buffer = await editor.open(tmp_path / "talk.oi.md", DAMAGED)
        await editor.client.until(lambda: diagnostics(editor, buffer))
        found = " ".join(each["message"] for each in diagnostics(editor, buffer))
        assert "The front matter is damaged" in found
        assert "The closing fence of this block is missing" in found
        await editor.take(buffer, "Send", "Hi there.")
        await over(editor, buffer, "Hello.")
        assert [line for line in DAMAGED.splitlines() if line not in buffer.text] == []


def diagnostics(editor: LspEditor, buffer: Buffer) -> list[dict[str, Any]]:
    """The problems that the editor shows in a buffer."""
    told = [params for method, params in editor.client.notifications if method == "textDocument/publishDiagnostics"]
    found: list[dict[str, Any]] = next(
        (each["diagnostics"] for each in reversed(told) if each["uri"] == buffer.uri), []
    )
    return found
