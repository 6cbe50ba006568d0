"""What can be done in any file, over real standard input and output: run, ask, explain, and what is shown of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.product import folders, messages_shown, refused, workspace
from tests.fakes.lsp_client import PRODUCT, Json, LspClient, Refused, server
from tests.fakes.lsp_editor import Buffer, LspEditor

Started = Callable[..., AbstractAsyncContextManager[LspEditor]]
CAPABILITIES = {"workspace": {"inlayHint": {"refreshSupport": True}}}


@pytest.fixture
def plain(tmp_path: Path) -> Started:
    """An editor with a server with a script; the model's requests are kept in a file."""

    @asynccontextmanager
    async def start(*replies: list[Json], shows: bool = True) -> AsyncIterator[LspEditor]:
        env = {"OI_SCRIPT": json.dumps({"replies": replies}), "OI_REQUESTS": str(tmp_path / "requests")}
        async with server(env=env) as client:
            await client.initialize({}, rootUri=tmp_path.as_uri(), capabilities=CAPABILITIES)
            editor = LspEditor(client)
            if not shows:
                editor.unknown.add("window/showDocument")
            yield editor

    return start


async def told(editor: LspEditor, name: str, **argument: object) -> str:
    """What the person is told of a command that cannot be done: by the server, or by the editor, of an error."""
    before = len(messages_shown(editor.client))
    try:
        assert await editor.client.command(name, **argument) is None
    except Refused as error:
        return error.message
    return messages_shown(editor.client)[before]


def diagnostics(client: LspClient, buffer: Buffer) -> list[Json]:
    """What was published last for a file."""
    found: list[list[Json]] = [
        params["diagnostics"]
        for method, params in client.notifications
        if method == "textDocument/publishDiagnostics" and params["uri"] == buffer.uri
    ]
    return found[-1] if found else []


async def hints(editor: LspEditor, buffer: Buffer) -> list[tuple[int, str]]:
    params = {"textDocument": {"uri": buffer.uri}, "range": buffer.range(0, len(buffer.text))}
    found = await editor.client.request("textDocument/inlayHint", params)
    return [(hint["position"]["line"], hint["label"]) for hint in found]


async def hinted(editor: LspEditor, buffer: Buffer, wanted: list[tuple[int, str]]) -> None:
    """Wait until these hints are there; they are asked for when the server says so."""
    found, seen = list[tuple[int, str]](), -1

    def refreshed() -> bool:
        return sum(method == "workspace/inlayHint/refresh" for method, _ in editor.asked) > seen

    try:
        while (found := sorted(await hints(editor, buffer))) != wanted:
            await editor.client.until(refreshed)
            seen = sum(method == "workspace/inlayHint/refresh" for method, _ in editor.asked)
    except TimeoutError:
        raise AssertionError(f"{found}, not {wanted}") from None


def chat_of(editor: LspEditor) -> Buffer:
    """The one chat document that is open."""
    (found,) = [buffer for uri, buffer in editor.buffers.items() if uri.endswith(".oi.md")]
    return found


def chats(folder: Path) -> list[Path]:
    return list(folder.glob("*.oi.md"))


async def opened_chat(editor: LspEditor) -> Buffer:
    await editor.client.until(lambda: any(uri.endswith(".oi.md") for uri in editor.buffers))
    return chat_of(editor)


async def test_what_is_offered_where(plain: Started, tmp_path: Path) -> None:
    async with plain() as editor:
        source = await editor.open(tmp_path / "a.py", "print 1\n\n")
        text = await editor.open(tmp_path / "a.txt", "Words.\n")
        empty = await editor.open(tmp_path / "b.py", "")
        assert await editor.titles(source, "print") == ["Ask about selection", "Run selection", "Run file", "New chat"]
        assert await editor.titles(source, (9, 9)) == ["Run file", "New chat"]
        assert await editor.titles(text, "Words") == ["Ask about selection", "New chat"]
        assert await editor.titles(empty, (0, 0)) == ["New chat"]
        assert await editor.lenses(source) == []
        shown = [{"range": source.range(0, 5), "message": "No such\nname", "severity": 1}]
        found = await editor.actions(source, "print", diagnostics=shown, only=["quickfix"])
        assert [action["title"] for action in found] == ["Explain: No such name"]


async def test_a_selection_runs_and_its_results_are_shown_in_both(plain: Started, tmp_path: Path) -> None:
    async with plain() as editor:
        source = await editor.open(tmp_path / "a.py", "one\n    value 𝒳𝒳 1\n    raise Oops\nlast\n")
        start, end = source.text.index("value"), source.text.index("\nlast")
        await editor.take(source, "Run selection", (start, end))
        chat = await opened_chat(editor)
        await editor.until(chat, "𝒳𝒳 1\n```")
        assert "```python oi=c1\nvalue 𝒳𝒳 1\nraise Oops\n```" in chat.text
        await hinted(editor, source, [(1, "→ 𝒳𝒳 1"), (2, "→ Oops")])
        await editor.client.until(lambda: diagnostics(editor.client, source))
        (problem,) = diagnostics(editor.client, source)
        assert problem["range"] == source.range(source.text.index("Oops"), source.text.index("\nlast"))
        assert problem["message"] == "Oops: no"
        assert any(method == "workspace/inlayHint/refresh" for method, _ in editor.asked)
        editor.type(source, 0, "above\n")
        await editor.client.until(lambda: diagnostics(editor.client, source)[0]["range"]["start"]["line"] == 3)
        assert await hints(editor, source) == [(2, "→ 𝒳𝒳 1"), (3, "→ Oops")]
        editor.replace(source, "raise Oops", "value 2")
        await editor.client.until(lambda: diagnostics(editor.client, source) == [])
        again = await editor.take(source, "Run selection", "value 2")
        assert again["queued"] in (True, False)
        await hinted(editor, source, [(2, "→ 𝒳𝒳 1"), (3, "→ 2")])
        editor.close(source)
        source = await editor.open(tmp_path / "a.py", source.text)
        assert await hints(editor, source) == []


async def test_two_runs_at_once_make_one_chat_document(plain: Started, tmp_path: Path) -> None:
    async with plain() as editor:
        source = await editor.open(tmp_path / "a.py", "value one\nvalue two\n")
        assert await editor.take(source, "Run selection", "one") == {}
        await editor.take(source, "Run selection", "two")
        await hinted(editor, source, [(0, "→ one"), (1, "→ two")])
        chat = await opened_chat(editor)
        await editor.until(chat, "```output oi=c2\ntwo\n```")
        assert chat.text.index("value one") < chat.text.index("value two")


async def test_a_client_that_shows_no_documents_gets_a_file(plain: Started, tmp_path: Path) -> None:
    async with plain(shows=False) as editor:
        source = await editor.open(tmp_path / "a.py", "value one\n")
        await editor.take(source, "Run file", "one")
        await hinted(editor, source, [(0, "→ one")])
        await editor.take(source, "Ask about selection", "one")
        (path,) = chats(tmp_path)
        async with asyncio.timeout(60):
            while "From `a.py`" not in await asyncio.to_thread(path.read_text):
                pass


async def test_a_question_is_begun_for_the_person(plain: Started, tmp_path: Path) -> None:
    async with plain([{"say": "Because."}]) as editor:
        source = await editor.open(tmp_path / "a.py", "value one\nvalue two\n")
        await editor.take(source, "Ask about selection", (0, len(source.text)))
        await editor.client.until(lambda: any("selection" in params for _, params in editor.asked))
        chat = chat_of(editor)
        assert "From `a.py`, lines 1 to 2:\n\n```python\nvalue one\nvalue two\n```\n" in chat.text
        shown = next(params for _, params in editor.asked if "selection" in params)
        assert shown["uri"] == chat.uri
        at = chat.offset(shown["selection"]["start"])
        assert chat.text[:at].rstrip().endswith("```")
        editor.type(chat, at, "Why?")
        await editor.take(chat, "Send", "Why?")
        await editor.until(chat, "Because.")
        asked = [json.loads(line) for line in (tmp_path / "requests").read_text().splitlines()]
        assert "value two" in json.dumps(asked[0][-1])
        assert "Why?" in json.dumps(asked[0][-1])


async def test_a_problem_is_explained(plain: Started, tmp_path: Path) -> None:
    async with plain([{"say": "It is missing."}]) as editor:
        source = await editor.open(tmp_path / "a.py", "one\ntwo\n")
        shown = [{"range": source.range(4, 7), "message": "No such name", "severity": 1}]
        await editor.take(source, "Explain: No such name", "two", diagnostics=shown)
        chat = await opened_chat(editor)
        await editor.until(chat, "It is missing.")
        assert "Explain this problem in `a.py`, line 2" in chat.text


async def test_a_file_that_is_not_open_is_read(plain: Started, tmp_path: Path) -> None:
    async with plain([{"say": "So."}]) as editor:
        path = tmp_path / "a.py"
        path.write_text("value one\n")
        await editor.client.command("oi.selection.run", uri=path.as_uri())
        await editor.until(await opened_chat(editor), "one\n```\n")
        started = await editor.client.command("oi.selection.ask", uri=path.as_uri(), instruction="What is it?")
        assert started["turnId"]
        await editor.until(chat_of(editor), "So.")


async def test_what_cannot_be_done_is_said(plain: Started, tmp_path: Path) -> None:
    async with plain() as editor:
        text = await editor.open(tmp_path / "a.txt", "Words.\n")
        source = await editor.open(tmp_path / "a.py", "\n")
        for argument, words in (
            ({"uri": text.uri}, "cannot be run here"),
            ({"uri": source.uri}, "no code"),
            ({"uri": "untitled:1"}, "must be open"),
            ({"uri": (tmp_path / "none.py").as_uri()}, "cannot be read"),
            ({"uri": (tmp_path / "a.oi.md").as_uri()}, "chat document"),
            (
                {
                    "uri": source.uri,
                    "range": {"start": {"line": -1, "character": 0}, "end": {"line": 0, "character": 0}},
                },
                "0",
            ),
        ):
            assert words in await told(editor, "oi.selection.run", **argument)


async def test_a_client_that_shows_chunks_gets_them(tmp_path: Path) -> None:
    async with server(env={"OI_SCRIPT": json.dumps({"replies": [[{"say": "Because."}]]})}) as client:
        await client.initialize(rootUri=tmp_path.as_uri(), capabilities=CAPABILITIES)
        editor = LspEditor(client)
        source = await editor.open(tmp_path / "a.py", "value one\nvalue two\n")
        assert await editor.titles(source, "value two") == ["Run selection", "Run file"]
        place = source.range(0, 0)
        started = await client.command("oi.selection.run", uri=source.uri, range=place)
        follower = await client.ended(started["sessionId"], started["turnId"])
        assert follower.text() == "one\n"
        await hinted(editor, source, [(0, "→ one")])
        asked = await client.command("oi.selection.ask", uri=source.uri, range=place, instruction="Why?")
        follower = await client.ended(asked["sessionId"], asked["turnId"])
        assert follower.text("message", None).endswith("Because.")
        assert "instruction" in (await refused(client, "oi.selection.ask", uri=source.uri, range=place)).message
        explained = await client.command(
            "oi.diagnostic.explain", uri=source.uri, range=place, message="Odd.", sessionId=asked["sessionId"]
        )
        assert explained["sessionId"] == asked["sessionId"]
        assert not chats(tmp_path)


async def test_magic_commands_are_completed_where_they_would_be_sent(plain: Started, tmp_path: Path) -> None:
    async with plain() as editor:
        chat = await editor.open(tmp_path / "talk.oi.md", "")
        await editor.until(chat, "## You")
        editor.append(chat, "%he")
        found = await completion(editor, chat, len(chat.text))
        assert "%help" in [item["label"] for item in found]
        place = next(item["textEdit"]["range"] for item in found if item["label"] == "%help")
        assert (chat.offset(place["start"]), chat.offset(place["end"])) == (len(chat.text) - 3, len(chat.text))
        editor.append(chat, "\nMore. \n%he")
        assert await completion(editor, chat, len(chat.text)) == []


async def completion(editor: LspEditor, buffer: Buffer, offset: int) -> list[Json]:
    params = {"textDocument": {"uri": buffer.uri}, "position": buffer.position(offset)}
    found = await editor.client.request("textDocument/completion", params)
    return list(found["items"]) if found else []


async def hover(editor: LspEditor, buffer: Buffer, words: str) -> Any:
    """The hover in the middle of some words that are there once."""
    offset = buffer.text.index(words) + len(words) // 2
    params = {"textDocument": {"uri": buffer.uri}, "position": buffer.position(offset)}
    return await editor.client.request("textDocument/hover", params)


SOURCE = """\
def work():
    text = "𝒳"; numbers = [1, 2, 3]
    len(numbers)
    "𝒳𝒳"; numbers[10]
    text = '''
  kept'''
"""


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
async def test_a_real_kernel(tmp_path: Path, encoding: str) -> None:
    """Output, a failure, hover and completion at their true places, with characters outside the basic plane."""
    async with server(PRODUCT, env=folders(tmp_path)) as client:
        capabilities = {**CAPABILITIES, "general": {"positionEncodings": [encoding]}}
        settings = {"settings": {"llm": {"model": "tour"}}}
        await client.initialize(settings, rootUri=workspace(tmp_path).as_uri(), capabilities=capabilities)
        editor = LspEditor(client, encoding=encoding)
        source = await editor.open(workspace(tmp_path) / "a.py", SOURCE)
        assert await hover(editor, source, "numbers)") is None
        assert await completion(editor, source, len(source.text)) == []
        start = source.text.index("text =")
        await editor.take(source, "Run selection", (start, len(source.text)))
        await editor.client.until(lambda: diagnostics(client, source))
        (problem,) = diagnostics(client, source)
        fails = source.text.index("numbers[10]")
        assert problem["range"] == source.range(fails, fails + len("numbers[10]"))
        assert problem["message"].startswith("IndexError: ")
        await hinted(editor, source, [(3, "→ IndexError")])
        chat = chat_of(editor)
        await editor.until(chat, "IndexError: list")
        await editor.gone(chat, "Stop")
        await editor.take(source, "Run selection", "len(numbers)")
        await hinted(editor, source, [(2, "→ 3"), (3, "→ IndexError")])
        await editor.gone(chat, "Stop")
        shown = await hover(editor, source, "numbers)")
        assert "`numbers`: `list`, length 3" in shown["contents"]["value"]
        assert "[1, 2, 3]" in shown["contents"]["value"]
        assert shown["range"] == source.range(source.text.index("numbers)"), source.text.index(')\n    "𝒳𝒳'))
        editor.append(source, "num")
        found = {item["label"]: item for item in await completion(editor, source, len(source.text))}
        assert found["numbers"]["detail"] == "kernel: list"
        assert found["numbers"]["textEdit"]["range"] == source.range(len(source.text) - 3, len(source.text))
        shown = await hover(editor, chat, "numbers)")
        assert "length 3" in shown["contents"]["value"]
        at = chat.text.index("numbers)") + 3
        assert "numbers" in [item["label"] for item in await completion(editor, chat, at)]
