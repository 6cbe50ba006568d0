"""Inline edits that are stopped or fail, and odd documents and editors: over real standard input and output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.inline_edits import (
    FIRST,
    NEW,
    OLD,
    SHIM,
    Started,
    Steps,
    begin,
    edits,
    folder,
    proposed,
    reply,
    shown,
    titles,
    told,
)
from tests.e2e.product import messages_shown, product, refused, workspace
from tests.fakes.lsp_client import Json, server
from tests.fakes.lsp_editor import LspEditor


async def test_stop_and_failure_keep_what_has_arrived(proposing: Started, tmp_path: Path) -> None:
    begun = f"```python\n{NEW[: NEW.index('def around')]}"
    steps: list[Steps] = [[{"say": begun}, {"wait": True}], [{"say": begun}, {"fail": "The provider is down."}]]
    async with proposing(*steps, options=SHIM) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        stopped = await begin(editor, buffer)
        await told(editor, stopped, "proposed")
        assert await titles(editor, buffer, "def around") == ["Stop this edit"]
        assert await editor.client.command("oi.edit.stop", editId=stopped) == {"stopped": True}
        assert await editor.client.command("oi.edit.stop", editId=stopped) == {"stopped": False}
        await editor.client.until(lambda: edits(editor, stopped)[-1]["state"] == "complete")
        assert len(edits(editor, stopped)[-1]["hunks"]) == 1
        failed = await begin(editor, buffer)
        await told(editor, failed, "proposed")
        await editor.client.until(lambda: edits(editor, failed)[-1]["state"] == "failed")
        state = edits(editor, failed)[-1]
        assert state["error"] == "The provider is down."
        await editor.client.command("oi.edit.accept", editId=failed)
        await editor.client.until(lambda: buffer.text == FIRST)


async def test_a_plain_editor_stops_the_model(proposing: Started, tmp_path: Path) -> None:
    async with proposing([{"say": f"```python\n{NEW[: NEW.index('def around')]}"}, {"wait": True}]) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        await begin(editor, buffer)
        await editor.take(buffer, "Stop this edit", "import")
        await editor.gone(buffer, "Stop this edit")


async def test_progress_can_be_cancelled(proposing: Started, tmp_path: Path) -> None:
    shows = {"window": {"workDoneProgress": True}}
    async with proposing([{"say": "```\n"}, {"wait": True}], reply(NEW), capabilities=shows) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)

        def reports(kind: str) -> list[Json]:
            told = [params for method, params in editor.client.notifications if method == "$/progress"]
            return [each for each in told if each["value"]["kind"] == kind]

        await begin(editor, buffer)
        await editor.client.until(lambda: reports("begin"))
        assert reports("begin")[0]["value"]["title"] == "Edit: use math.pi"
        editor.client.notify("window/workDoneProgress/cancel", {"token": reports("begin")[0]["token"]})
        await editor.client.until(lambda: reports("end"))
        assert reports("end")[0]["value"]["message"] == "no changes"
        # What is over before the client has agreed to show it is not shown.
        await begin(editor, buffer)
        await proposed(editor, buffer)


async def test_a_plain_editor_is_told_in_messages(proposing: Started, tmp_path: Path) -> None:
    replies = [[{"say": "Well.\n"}, *reply(OLD)], [{"fail": "The provider is down."}], [*reply(NEW), {"say": "So."}]]
    async with proposing(*replies) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        for expected in ("Edit: use math.pi: nothing is to be changed.\n\nWell.", "The provider is down.", "So."):
            await begin(editor, buffer)
            await editor.client.until(lambda: messages_shown(editor.client))
            assert messages_shown(editor.client)[-1] == expected
            editor.client.notifications.clear()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_positions_in_every_encoding(proposing: Started, tmp_path: Path, encoding: str, newline: str) -> None:
    old = newline.join(["a = '\U0001d538é'", "keep = '\U0001f600'", "b = '\U0001d539' # end", ""])
    async with proposing(reply("a = '\U0001d53a'\nkeep = '\U0001f600'\nb = 1 # end\n"), encoding=encoding) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", old)
        await begin(editor, buffer, range=buffer.range(0, old.index("# end")))
        await proposed(editor, buffer)
        assert [each["range"] for each in shown(editor, buffer)] == [
            buffer.range(0, old.index(newline)),
            buffer.range(old.index("b ="), old.index("# end") + 5),
        ]
        await editor.take(buffer, "Accept all", "keep")
        expected = newline.join(["a = '\U0001d53a'", "keep = '\U0001f600'", "b = 1 # end", ""])
        await editor.client.until(lambda: buffer.text == expected)


async def test_mixed_line_ends_stay(proposing: Started, tmp_path: Path) -> None:
    async with proposing(reply("a\nB\nc\nD\ne\n")) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.txt", "a\r\nb\nc\nd\r\ne")
        await begin(editor, buffer)
        await proposed(editor, buffer)
        await editor.take(buffer, "Accept all", "c")
        await editor.client.until(lambda: "D" in buffer.text)
        assert buffer.text == "a\r\nB\r\nc\nD\ne"


async def test_the_editor_does_not_make_the_change(proposing: Started, tmp_path: Path) -> None:
    async with proposing(reply(NEW)) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        await begin(editor, buffer)
        await proposed(editor, buffer)
        editor.unknown.add("workspace/applyEdit")
        await editor.take(buffer, "Accept all", "import")
        await editor.client.until(lambda: messages_shown(editor.client))
        assert "The editor did not make the change" in messages_shown(editor.client)[0]
        assert len(messages_shown(editor.client)) == 1
        assert "Accept all 2 changes" in await titles(editor, buffer, "import"), "they are still proposed"


async def test_a_closed_document_ends_its_edits(proposing: Started, tmp_path: Path) -> None:
    async with proposing([{"say": "```\n"}, {"wait": True}], reply(NEW), options=SHIM) as editor:
        path = folder(tmp_path) / "a.py"
        edit_id = await begin(editor, await editor.open(path, OLD))
        await told(editor, edit_id)
        editor.close(editor.buffers[path.as_uri()])
        error = await refused(editor.client, "oi.edit.accept", editId=edit_id)
        assert "There is no edit" in error.message
        buffer = await editor.open(path)
        await told(editor, await begin(editor, buffer), "proposed", "proposed")


async def test_the_server_ends_in_mid_edit(proposing: Started, tmp_path: Path) -> None:
    async with proposing([{"say": f"```\n{NEW}"}, {"wait": True}]) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        editor.unanswered.add("workspace/applyEdit")
        await begin(editor, buffer)
        await editor.offered(buffer, "Accept all 2 changes")
        await editor.take(buffer, "Accept all", "import")
        await editor.client.request("shutdown")
        editor.client.notify("exit")
        assert await editor.client.exit_code() == 0


async def test_a_session_s_model_edits_and_its_session_pays(tmp_path: Path) -> None:
    env = {"OI_SCRIPT": json.dumps({"replies": [reply(NEW, {"cost": 0.25})]})}
    async with server(env=env) as client:
        await client.initialize(rootUri=folder(tmp_path).as_uri())
        editor = LspEditor(client)
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        session_id = await client.new_session()
        edit_id = await begin(editor, buffer, sessionId=session_id)
        await told(editor, edit_id, "proposed", "proposed")
        usage = await client.command("oi.usage.get", sessionId=session_id)
        assert usage["cost"] == 0.25
        assert "turn" not in usage


async def test_the_tour_does_not_edit(tmp_path: Path) -> None:
    async with product(tmp_path) as client:
        editor = LspEditor(client)
        buffer = await editor.open(workspace(tmp_path) / "a.py", OLD)
        edit_id = await begin(editor, buffer)
        await client.until(lambda: edits(editor, edit_id) and edits(editor, edit_id)[-1]["state"] == "failed")
        assert "The tour, which is no language model, cannot edit." in edits(editor, edit_id)[-1]["error"]
