"""Manners: what a plain client is told, what it may do, and what must not depend on it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.product import messages_shown
from tests.e2e.test_slow_client import lines_in
from tests.fakes.editors import HELIX
from tests.fakes.lsp_client import LspClient, Refused, server
from tests.fakes.lsp_editor import Buffer, LspEditor, Manners

Steps = list[dict[str, Any]]
PROGRESS = {"window": {"workDoneProgress": True}}
FOLDERS = "workspace/didChangeWorkspaceFolders"


@asynccontextmanager
async def scripted(
    tmp_path: Path, *replies: Steps, settings: object = None, **says: object
) -> AsyncIterator[LspClient]:
    env = {"OI_SCRIPT": json.dumps({"replies": replies}), "OI_REQUESTS": str(tmp_path / "requests")}
    async with server(env=env) as client:
        options = {} if settings is None else {"settings": settings}
        await client.initialize(options, **{"rootUri": tmp_path.as_uri(), **says})
        yield client


async def asked(editor: LspEditor, tmp_path: Path, text: str = "Please.\n") -> Buffer:
    """A chat document in which something has been sent."""
    buffer = await editor.open(tmp_path / "talk.oi.md", "")
    await editor.until(buffer, "## You")
    editor.append(buffer, text)
    await editor.take(buffer, "Send", text.strip())
    return buffer


async def test_a_refusal_is_shown_to_the_person(tmp_path: Path) -> None:
    async with scripted(tmp_path) as client:
        editor = LspEditor(client)
        buffer = await editor.open(tmp_path / "talk.oi.md", "")
        await editor.until(buffer, "## You")
        assert await client.command("oi.document.send", uri=buffer.uri) is None
        assert messages_shown(client) == ["There is nothing to send. Write under the last heading `## You`."]
        with pytest.raises(Refused, match="is no chat document"):
            await client.command("oi.document.send", uri="file:///nowhere")
        assert len(messages_shown(client)) == 1


async def test_a_shim_gets_the_refusal_as_an_error(tmp_path: Path) -> None:
    async with server() as client:
        await client.initialize(rootUri=tmp_path.as_uri())
        editor = LspEditor(client)
        buffer = await editor.open(tmp_path / "talk.oi.md", "")
        await editor.until(buffer, "## You")
        with pytest.raises(Refused, match="nothing to send"):
            await client.command("oi.document.send", uri=buffer.uri)
        assert messages_shown(client) == []


async def test_a_command_that_comes_too_early_is_refused() -> None:
    async with server() as client:
        await client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        with pytest.raises(Refused, match="-32002: The client has not sent `initialized` yet"):
            await client.command("oi.document.stop", uri="file:///a.oi.md")
        client.notify("initialized", {})
        assert await client.command("oi.session.list") == {"sessions": []}


async def test_a_turn_shows_progress_and_is_stopped_there(tmp_path: Path) -> None:
    async with scripted(tmp_path, [{"say": "Well "}, {"wait": True}], capabilities=PROGRESS) as client:
        editor = LspEditor(client)
        buffer = await asked(editor, tmp_path)

        def shown(kind: str) -> list[dict[str, Any]]:
            told = [params for method, params in client.notifications if method == "$/progress"]
            return [params for params in told if params["value"]["kind"] == kind]

        await client.until(lambda: shown("begin"))
        begun = shown("begin")[0]
        assert begun["value"]["cancellable"] is True
        client.notify("window/workDoneProgress/cancel", {"token": begun["token"]})
        await client.until(lambda: shown("end"))
        assert shown("end")[0]["token"] == begun["token"]
        assert "Stop" not in await editor.titles(buffer, "Please.")
        client.notify("window/workDoneProgress/cancel", {"token": "nobody's"})
        assert "Remove this answer" in await editor.titles(buffer, "## Assistant")


@pytest.mark.parametrize("silent", ["window/workDoneProgress/create", "window/showDocument", "workspace/applyEdit"])
async def test_nothing_waits_for_a_client_that_does_not_answer(silent: str, tmp_path: Path) -> None:
    async with scripted(tmp_path, [{"say": "Fine."}], capabilities=PROGRESS) as client:
        editor = LspEditor(client)
        buffer = await editor.open(tmp_path / "talk.oi.md", "")
        await editor.until(buffer, "## You")
        editor.unanswered.add(silent)
        assert await client.command("oi.document.new") is not None
        editor.append(buffer, "Please.\n")
        started = await editor.take(buffer, "Send", "Please.")
        await lines_in(tmp_path / "requests", 1)
        follower = await client.command("oi.session.open", sessionId=started["sessionId"])
        while follower["state"]["state"] != "idle":
            follower = await client.command("oi.session.open", sessionId=started["sessionId"])
        assert follower["messages"][-1]["content"] == "Fine."


async def test_a_turn_goes_on_when_the_client_stops_reading(tmp_path: Path) -> None:
    words = 3_000
    first: Steps = [{"say": "word ", "times": words}, {"code": "print hi"}]
    async with scripted(tmp_path, first, [{"say": "Done."}], settings={"auto_run": True}) as client:
        editor = LspEditor(client)
        buffer = await asked(editor, tmp_path)
        await editor.until(buffer, "word ")
        client.reading.clear()
        await lines_in(tmp_path / "requests", 2)
        client.reading.set()
        await editor.until(buffer, "Done.")
        assert "word " * (words - 1) in buffer.text
        assert "```output oi=c1\nhi\n```" in buffer.text


async def test_folders_come_and_go(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    folders = [{"uri": each.as_uri(), "name": each.name} for each in (one, two)]
    async with scripted(tmp_path, workspaceFolders=folders[:1]) as client:

        async def made_in() -> Path:
            return Path((await client.command("oi.document.new"))["uri"].removeprefix("file://")).parent

        assert await made_in() == one
        client.notify(FOLDERS, {"event": {"added": folders[1:], "removed": []}})
        assert await made_in() == one
        client.notify(FOLDERS, {"event": {"added": [], "removed": folders[:1]}})
        assert await made_in() == two
        client.notify(FOLDERS, {"event": {"added": [{"uri": "untitled:x", "name": "x"}], "removed": [folders[0]]}})
        assert await made_in() == two


ASTRAL = "𝔸 𝄞 é 中 👩‍👩‍👧"


def _has(buffer: Buffer, words: int) -> bool:
    return buffer.text.count("word") >= words


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_positions_in_every_encoding(encoding: str, tmp_path: Path) -> None:
    """Characters of one to four bytes before, in and beside an answer, which the person types above meanwhile."""
    first: Steps = [{"say": f"{ASTRAL} word\n", "times": 40}, {"code": f"print {ASTRAL}"}]
    capabilities = {"general": {"positionEncodings": [encoding]}}
    async with scripted(tmp_path, first, [{"say": "Done."}], capabilities=capabilities) as client:
        editor = LspEditor(client, encoding=encoding, manners=Manners(HELIX))
        buffer = await asked(editor, tmp_path, f"Please {ASTRAL}.\n")
        for count in range(20):
            await client.until(partial(_has, buffer, 2 * count))
            at = buffer.text.index("Please") + len("Please")
            editor.type(buffer, at, "𝔹")
            editor.append(buffer, "𝔻")
        await editor.offered(buffer, "Run")
        await editor.take(buffer, "Run", f"print {ASTRAL}")
        await editor.until(buffer, "Done.")
        assert f"{ASTRAL} word\n" * 40 in buffer.text
        assert f"```output oi=c1\n{ASTRAL}\n```" in buffer.text
        assert f"Please{'𝔹' * 20} {ASTRAL}." in buffer.text
        assert buffer.text.rstrip().endswith("𝔻" * 20)
        assert messages_shown(client) == []


async def test_a_document_that_is_unknown_is_left_alone(tmp_path: Path) -> None:
    async with scripted(tmp_path, [{"say": "Hello."}]) as client:
        editor = LspEditor(client)
        buffer = await editor.open(tmp_path / "talk.oi.md", "")
        await editor.until(buffer, "## You")
        editor.append(buffer, "Please.\n")
        broken = {"textDocument": {"uri": buffer.uri, "version": 7}, "contentChanges": [{"range": None, "text": 5}]}
        client.notify("textDocument/didChange", broken)
        assert await editor.lenses(buffer) == []
        assert await client.command("oi.document.send", uri=buffer.uri) is None
        assert "could not be read" in messages_shown(client)[0]
        whole = {"textDocument": {"uri": buffer.uri, "version": 8}, "contentChanges": [{"text": buffer.text}]}
        buffer.version = 8
        client.notify("textDocument/didChange", whole)
        await editor.take(buffer, "Send", "Please.")
        await editor.until(buffer, "Hello.")


async def test_what_is_sent_twice_goes_once(tmp_path: Path) -> None:
    async with scripted(tmp_path, [{"say": "One."}], [{"say": "Two."}]) as client:
        editor = LspEditor(client)
        buffer = await editor.open(tmp_path / "talk.oi.md", "")
        await editor.until(buffer, "## You")
        editor.append(buffer, "Please.\n")
        editor.busy = lambda: True
        assert await editor.take(buffer, "Send", "Please.")
        await editor.gone(buffer, "Stop")
        assert await client.command("oi.document.send", uri=buffer.uri) is None
        editor.catch_up()
        await editor.until(buffer, "One.")
        assert messages_shown(client) == ["This is sent already. Its answer is on its way into the document."]
        editor.append(buffer, "More.\n")
        await editor.take(buffer, "Send", "More.")
        await editor.until(buffer, "Two.")
        assert buffer.text.count("One.") == 1


async def test_a_slow_editor_takes_nothing_from_the_conversation(tmp_path: Path) -> None:
    """The next message is sent before all of the answer is in the document."""
    first: Steps = [{"say": "A line.\n", "times": 300}, {"say": "The last line."}]
    async with scripted(tmp_path, first, [{"say": "Second."}]) as client:
        editor = LspEditor(client)
        buffer = await editor.open(tmp_path / "talk.oi.md", "")
        await editor.until(buffer, "## You")
        editor.append(buffer, "Please.\n")
        editor.busy = lambda: "## Assistant" in buffer.text
        await editor.take(buffer, "Send", "Please.")
        await editor.until(buffer, "## Assistant")
        await editor.gone(buffer, "Stop")
        assert "The last line." not in buffer.text
        editor.append(buffer, "More.\n")
        await editor.take(buffer, "Send", "More.")
        await lines_in(tmp_path / "requests", 2)
        told = json.loads((tmp_path / "requests").read_text().splitlines()[1])
        assert "The last line." in json.dumps(told[-2])
        editor.catch_up()
        await editor.until(buffer, "Second.")
        assert buffer.text.index("The last line.") < buffer.text.index("More.") < buffer.text.index("Second.")
