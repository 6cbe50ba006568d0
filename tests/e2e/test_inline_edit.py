"""Inline edits over real standard input and output: in an editor that knows plain LSP alone, and in a shim."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.product import messages_shown, product, refused, workspace
from tests.fakes.editors import EXACT, Profile
from tests.fakes.lsp_client import Json, server
from tests.fakes.lsp_editor import Buffer, LspEditor, Manners

Started = Callable[..., AbstractAsyncContextManager[LspEditor]]
Steps = list[dict[str, Any]]

OLD = """\
import math


def area(r):
    return 3.14 * r * r


def around(r):
    return 2 * 3.14 * r
"""
NEW = OLD.replace("3.14", "math.pi")
FIRST = OLD.replace("3.14 * r * r", "math.pi * r * r")
SECOND = OLD.replace("2 * 3.14", "2 * math.pi")


def reply(text: str, *more: dict[str, Any]) -> Steps:
    return [{"say": f"```python\n{text}```\n"}, *more]


@pytest.fixture
def plain(tmp_path: Path) -> Started:
    """An editor with a server whose model gives these replies."""

    @asynccontextmanager
    async def start(*edits: Steps, options: Json | None = None, **given: Any) -> AsyncIterator[LspEditor]:
        env = {"OI_SCRIPT": json.dumps({"edits": edits}), "OI_REQUESTS": str(tmp_path / "requests")}
        encoding = given.get("encoding", "utf-16")
        capabilities = {"general": {"positionEncodings": [encoding]}, **given.pop("capabilities", {})}
        async with server(env=env) as client:
            await client.initialize(options or {}, rootUri=folder(tmp_path).as_uri(), capabilities=capabilities)
            yield LspEditor(client, **given)

    return start


def folder(tmp_path: Path) -> Path:
    found = tmp_path / "work"
    found.mkdir(exist_ok=True)
    return found


def shown(editor: LspEditor, buffer: Buffer) -> list[Json]:
    """The diagnostics that the editor shows in a buffer."""
    told = [params for method, params in editor.client.notifications if method == "textDocument/publishDiagnostics"]
    found: list[Json] = next((each["diagnostics"] for each in reversed(told) if each["uri"] == buffer.uri), [])
    return found


def edits(editor: LspEditor, edit_id: str) -> list[Json]:
    """What a shim was told of an edit, the latest last."""
    told = [params for method, params in editor.client.notifications if method == "oi/edit"]
    return [each for each in told if each["editId"] == edit_id]


async def begin(editor: LspEditor, buffer: Buffer, **more: Any) -> str:
    found: str = (await editor.client.command("oi.selection.edit", uri=buffer.uri, instruction="use math.pi", **more))[
        "editId"
    ]
    return found


async def proposed(editor: LspEditor, buffer: Buffer, count: int = 2) -> None:
    """Wait until so many hunks are shown."""
    await editor.client.until(lambda: len(shown(editor, buffer)) == count)


async def told(editor: LspEditor, edit_id: str, *states: str) -> Json:
    """Wait until a shim was told that the hunks have these states."""

    def arrived() -> bool:
        found = edits(editor, edit_id)
        return bool(found) and [hunk["state"] for hunk in found[-1]["hunks"]] == list(states)

    await editor.client.until(arrived)
    return edits(editor, edit_id)[-1]


async def titles(editor: LspEditor, buffer: Buffer, at: str) -> list[str]:
    """The code actions there that are about edits."""
    own = ("Reject", "Accept", "Edit: ", "Stop this edit")
    return [title for title in await editor.titles(buffer, at) if title.startswith(own)]


SHIM: Json = {"oi": {"protocolVersion": 1}}


@pytest.mark.parametrize("profile", EXACT, ids=lambda profile: profile.name)
async def test_one_is_accepted_and_one_rejected(plain: Started, tmp_path: Path, profile: Profile) -> None:
    async with plain(reply(NEW), manners=Manners(profile=profile), encoding=profile.encoding) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        await begin(editor, buffer)
        await proposed(editor, buffer)
        first, second = shown(editor, buffer)
        assert first["message"] == "Edit: 1 line becomes 1\n    return math.pi * r * r"
        assert first["range"] == buffer.range(OLD.index("    return 3.14"), OLD.index(" * r * r\n") + 8)
        assert (first["severity"], first["source"]) == (3, "oi-lsp")
        assert second["message"].endswith("\n    return 2 * math.pi * r")
        single = ["Reject: 1 line becomes 1", "Accept: 1 line becomes 1"]
        both = ["Reject all 2 changes", "Accept all 2 changes"]
        assert await titles(editor, buffer, "3.14 * r * r") == [*single, *both]
        fixes = await editor.actions(buffer, "3.14 * r * r", diagnostics=[first], only=["quickfix"])
        assert [action["title"] for action in fixes] == [*single, *both], "a hunk is no problem to explain"
        assert await titles(editor, buffer, "def around") == [*both]
        assert buffer.text == OLD, "nothing is written before it is accepted"
        await editor.take(buffer, "Accept: ", "3.14 * r * r")
        await editor.client.until(lambda: buffer.text == FIRST)
        await proposed(editor, buffer, 1)
        assert await titles(editor, buffer, "2 * 3.14") == [*single]
        await editor.take(buffer, "Reject: ", "2 * 3.14")
        await proposed(editor, buffer, 0)
        assert await titles(editor, buffer, "2 * 3.14") == []
        assert buffer.text == FIRST
        editor.undo(buffer)
        assert buffer.text == OLD, "one step to undo"
        await editor.offered(buffer, "Accept: 1 line becomes 1")
        await editor.take(buffer, "Accept: ", "3.14 * r * r")
        await editor.client.until(lambda: buffer.text == FIRST)


@pytest.mark.parametrize("profile", EXACT, ids=lambda profile: profile.name)
async def test_all_are_accepted_one_step_each(plain: Started, tmp_path: Path, profile: Profile) -> None:
    async with plain(reply(NEW), manners=Manners(profile=profile), encoding=profile.encoding) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        await begin(editor, buffer)
        await proposed(editor, buffer)
        lenses = [lens["command"]["title"] for lens in await editor.lenses(buffer)]
        assert lenses.count("Accept: 1 line becomes 1") == 2
        assert lenses.count("Accept all 2 changes") == 1
        assert await editor.take(buffer, "Accept all", "import") == {"remaining": 0}
        await editor.client.until(lambda: buffer.text == NEW)
        await proposed(editor, buffer, 0)
        editor.undo(buffer)
        assert buffer.text == FIRST


async def test_all_are_rejected(plain: Started, tmp_path: Path) -> None:
    async with plain(reply(NEW)) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        edit_id = await begin(editor, buffer)
        await proposed(editor, buffer)
        assert await editor.take(buffer, "Reject all", "import") == {"remaining": 0}
        await proposed(editor, buffer, 0)
        assert buffer.text == OLD
        assert await editor.client.command("oi.edit.accept", editId="e99") is None
        assert messages_shown(editor.client)[-1].startswith("There is no edit e99 (any more).")
        assert await titles(editor, buffer, "import") == [], edit_id


async def test_an_oi_comment_is_a_code_action(plain: Started, tmp_path: Path) -> None:
    text = "x = 1\n\n# oi: sum the list\nt = 0\nfor y in z:\n    t += y\n\nprint(t)\n"
    async with plain(reply("t = sum(z)\n")) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", text)
        assert await titles(editor, buffer, "oi: sum") == ["Edit: sum the list"]
        assert await titles(editor, buffer, "x = 1") == []
        lenses = await editor.lenses(buffer)
        assert [lens["range"]["start"]["line"] for lens in lenses] == [2]
        await editor.take(buffer, "Edit: sum", "oi: sum")
        await proposed(editor, buffer, 1)
        assert "Edit: sum the list" not in await titles(editor, buffer, "oi: sum")
        await editor.take(buffer, "Accept: 4 lines become 1", "oi: sum")
        await editor.client.until(lambda: buffer.text == "x = 1\n\nt = sum(z)\n\nprint(t)\n")
        asked = json.loads((tmp_path / "requests").read_text())
        assert "File: a.py" in asked[1]["content"]
        assert "Instruction:\n\nsum the list" in asked[1]["content"]


async def test_a_selection_over_an_oi_comment_is_the_range(plain: Started, tmp_path: Path) -> None:
    text = "# oi: sum the list\nt = 0\n\nfor y in z:\n    t += y\nprint(t)\n"
    async with plain(reply("t = sum(z)\n")) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", text)
        await editor.take(buffer, "Edit: sum", (0, text.index("print")))
        await proposed(editor, buffer, 1)
        await editor.take(buffer, "Accept: 5 lines become 1", "oi: sum")
        await editor.client.until(lambda: buffer.text == "t = sum(z)\nprint(t)\n")


async def test_the_person_types_above_and_inside(plain: Started, tmp_path: Path) -> None:
    async with plain(reply(NEW)) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        await begin(editor, buffer)
        await proposed(editor, buffer)
        editor.type(buffer, 0, "# above\n# it\n")
        editor.replace(buffer, "2 * 3.14", "2 * 3.142")
        await proposed(editor, buffer, 1)
        assert shown(editor, buffer)[0]["range"]["start"]["line"] == 6
        assert "Accept: 1 line becomes 1" not in await titles(editor, buffer, "2 * 3.142")
        await editor.take(buffer, "Accept: ", "3.14 * r * r")
        await editor.client.until(lambda: "math.pi * r * r" in buffer.text)
        assert buffer.text == "# above\n# it\n" + FIRST.replace("2 * 3.14", "2 * 3.142")
        editor.replace(buffer, "2 * 3.142", "2 * 3.14")
        await proposed(editor, buffer, 1)


async def test_an_edit_that_overlaps_takes_the_place_of_the_one_before(plain: Started, tmp_path: Path) -> None:
    other = NEW.replace("math.pi", "math.tau / 2")
    async with plain(reply(NEW), reply(other)) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        first = await begin(editor, buffer)
        await proposed(editor, buffer)
        await begin(editor, buffer)
        await editor.client.until(lambda: ["tau" in each["message"] for each in shown(editor, buffer)] == [True, True])
        await editor.take(buffer, "Accept all", "import")
        await editor.client.until(lambda: buffer.text == other)
        assert await editor.client.command("oi.edit.accept", editId=first) is None
        assert messages_shown(editor.client)[-1].startswith(f"There is no edit {first} (any more).")


async def test_edits_of_several_places_and_files_at_a_time(plain: Started, tmp_path: Path) -> None:
    async with plain(reply(NEW[: NEW.index("\n\ndef around")]), reply("b = 2\n"), reply("pi = 3.14159\n")) as editor:
        one = await editor.open(folder(tmp_path) / "a.py", OLD)
        other = await editor.open(folder(tmp_path) / "b.py", "b = 1\npi = 3.14\n")
        await begin(editor, one, range=one.range(0, OLD.index("def around")))
        await proposed(editor, one, 1)
        await begin(editor, other, range=other.range(0, 3))
        await proposed(editor, other, 1)
        await begin(editor, other, range=other.range(8, 8))
        await proposed(editor, other, 2)
        await editor.take(other, "Accept: ", "b = 1")
        await editor.take(one, "Accept: ", "3.14 * r * r")
        await editor.take(other, "Accept: ", "pi = ")
        await editor.client.until(lambda: other.text == "b = 2\npi = 3.14159\n")
        await editor.client.until(lambda: one.text == FIRST)


async def test_what_may_not_be_edited(plain: Started, tmp_path: Path) -> None:
    async with plain(options=SHIM) as editor:
        outside = await editor.open(tmp_path / "outside.py", OLD)
        link = folder(tmp_path) / "link.py"
        link.symlink_to(tmp_path / "outside.py")
        locked = await editor.open(folder(tmp_path) / "locked.py", OLD)
        (folder(tmp_path) / "locked.py").chmod(0o444)
        unopened = folder(tmp_path) / "unopened.py"
        unopened.write_text(OLD)
        linked = await editor.open(link)
        for uri, reason in (
            (outside.uri, "is outside the workspace"),
            (linked.uri, "leads out of the workspace"),
            (locked.uri, "is read-only"),
            (unopened.as_uri(), "is not open in the editor"),
            ((tmp_path / "new.py").as_uri(), "is outside the workspace"),
            ((folder(tmp_path) / "no" / "new.py").as_uri(), "does not exist"),
            ("jdt://contents/a.java", "is no file on this machine"),
        ):
            error = await refused(editor.client, "oi.selection.edit", uri=uri, instruction="x")
            assert (error.code, reason in error.message) == (1000, True), error.message
        error = await refused(editor.client, "oi.selection.edit", uri=outside.uri, instruction=" ")
        assert error.data["field"] == "instruction"
        error = await refused(editor.client, "oi.selection.edit", uri=outside.uri, instruction="x", sessionId="s9")
        assert error.data["field"] == "sessionId"
        assert not (tmp_path / "requests").exists(), "no model was asked"


async def test_a_new_file_is_written_when_it_is_accepted(plain: Started, tmp_path: Path) -> None:
    path = folder(tmp_path) / "new.py"
    async with plain(reply("a = 1\n"), reply("b = 1\n"), options=SHIM) as editor:
        for edit_id in ("e1", "e2"):
            await editor.client.command("oi.selection.edit", uri=path.as_uri(), instruction="write a")
            assert "version" not in await told(editor, edit_id, "proposed")
        assert not path.exists()
        assert await editor.client.command("oi.edit.accept", editId="e1") == {"remaining": 0}
        await editor.client.until(lambda: path.as_uri() in editor.shown)
        assert path.read_text() == "a = 1\n"
        await editor.client.command("oi.edit.accept", editId="e2")
        await editor.client.until(lambda: any("exists already" in text for text in messages_shown(editor.client)))
        assert path.read_text() == "a = 1\n"


@pytest.mark.parametrize("answer", ["Create", "Reject"])
async def test_a_plain_editor_is_asked_about_a_new_file(plain: Started, tmp_path: Path, answer: str) -> None:
    path = folder(tmp_path) / "new.py"
    async with plain(reply("a = 1\n")) as editor:
        editor.choices.append(answer)
        found = await editor.client.command("oi.selection.edit", uri=path.as_uri(), instruction="write a")
        if answer == "Create":
            await editor.client.until(lambda: path.as_uri() in editor.shown)
            assert path.read_text() == "a = 1\n"
        else:
            await editor.client.until(lambda: not editor.choices)
            await forgotten(editor, found["editId"])
            assert "There is no edit" in messages_shown(editor.client)[-1]
            assert not path.exists()


async def forgotten(editor: LspEditor, edit_id: str) -> None:
    """Wait until an edit is forgotten, of which no event tells a plain client: a command about it is refused."""
    async with asyncio.timeout(60):
        while await editor.client.command("oi.edit.stop", editId=edit_id) is not None:
            pass


async def test_an_open_document_that_is_not_on_the_disk(plain: Started, tmp_path: Path) -> None:
    async with plain(reply("a = 1\n")) as editor:
        buffer = editor.opened((folder(tmp_path) / "unsaved.py").as_uri(), "")
        await begin(editor, buffer)
        await proposed(editor, buffer, 1)
        await editor.take(buffer, "Accept: 1 line more", (0, 0))
        await editor.client.until(lambda: buffer.text == "a = 1\n")


async def test_a_shim_is_told(plain: Started, tmp_path: Path) -> None:
    steps: Steps = [{"say": "Look:\n"}, *reply(NEW), {"say": "It is more exact."}, {"cost": 0.02}]
    async with plain(steps, options=SHIM) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        edit_id = await begin(editor, buffer)
        await editor.client.until(lambda: edits(editor, edit_id) and edits(editor, edit_id)[-1]["state"] == "complete")
        state = await told(editor, edit_id, "proposed", "proposed")
        assert {key: state[key] for key in ("uri", "version", "comment", "cost")} == {
            "uri": buffer.uri,
            "version": 0,
            "comment": "Look:\nIt is more exact.",
            "cost": 0.02,
        }
        start = OLD.index("    return 3.14")
        assert state["hunks"][0] == {
            "id": "h1",
            "state": "proposed",
            "range": buffer.range(start, start + len("    return 3.14 * r * r\n")),
            "old": "    return 3.14 * r * r\n",
            "new": "    return math.pi * r * r\n",
        }
        editor.type(buffer, 0, "\n")
        await editor.client.until(lambda: edits(editor, edit_id)[-1]["version"] == 1)
        assert edits(editor, edit_id)[-1]["hunks"][0]["range"]["start"]["line"] == 5
        assert await editor.client.command("oi.edit.accept", editId=edit_id, hunkId="h2") == {"remaining": 1}
        await told(editor, edit_id, "proposed", "accepted")
        editor.replace(buffer, "3.14 * r * r", "3.1 * r * r")
        assert "range" not in (await told(editor, edit_id, "stale", "accepted"))["hunks"][0]
        error = await refused(editor.client, "oi.edit.accept", editId=edit_id, hunkId="h1")
        assert "no longer fits" in error.message
        assert await editor.client.command("oi.edit.reject", editId=edit_id) == {"remaining": 0}
        await told(editor, edit_id, "rejected", "accepted")
        assert shown(editor, buffer) == [], "it draws them itself"
        assert messages_shown(editor.client) == []


async def test_stop_and_failure_keep_what_has_arrived(plain: Started, tmp_path: Path) -> None:
    begun = f"```python\n{NEW[: NEW.index('def around')]}"
    steps: list[Steps] = [[{"say": begun}, {"wait": True}], [{"say": begun}, {"fail": "The provider is down."}]]
    async with plain(*steps, options=SHIM) as editor:
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


async def test_a_plain_editor_stops_the_model(plain: Started, tmp_path: Path) -> None:
    async with plain([{"say": f"```python\n{NEW[: NEW.index('def around')]}"}, {"wait": True}]) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        await begin(editor, buffer)
        await editor.take(buffer, "Stop this edit", "import")
        await editor.gone(buffer, "Stop this edit")


async def test_progress_can_be_cancelled(plain: Started, tmp_path: Path) -> None:
    shows = {"window": {"workDoneProgress": True}}
    async with plain([{"say": "```\n"}, {"wait": True}], reply(NEW), capabilities=shows) as editor:
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


async def test_a_plain_editor_is_told_in_messages(plain: Started, tmp_path: Path) -> None:
    replies = [[{"say": "Well.\n"}, *reply(OLD)], [{"fail": "The provider is down."}], [*reply(NEW), {"say": "So."}]]
    async with plain(*replies) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        for expected in ("Edit: use math.pi: nothing is to be changed.\n\nWell.", "The provider is down.", "So."):
            await begin(editor, buffer)
            await editor.client.until(lambda: messages_shown(editor.client))
            assert messages_shown(editor.client)[-1] == expected
            editor.client.notifications.clear()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_positions_in_every_encoding(plain: Started, tmp_path: Path, encoding: str, newline: str) -> None:
    old = newline.join(["a = '\U0001d538é'", "keep = '\U0001f600'", "b = '\U0001d539' # end", ""])
    async with plain(reply("a = '\U0001d53a'\nkeep = '\U0001f600'\nb = 1 # end\n"), encoding=encoding) as editor:
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


async def test_mixed_line_ends_stay(plain: Started, tmp_path: Path) -> None:
    async with plain(reply("a\nB\nc\nD\ne\n")) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.txt", "a\r\nb\nc\nd\r\ne")
        await begin(editor, buffer)
        await proposed(editor, buffer)
        await editor.take(buffer, "Accept all", "c")
        await editor.client.until(lambda: "D" in buffer.text)
        assert buffer.text == "a\r\nB\r\nc\nD\ne"


async def test_the_editor_does_not_make_the_change(plain: Started, tmp_path: Path) -> None:
    async with plain(reply(NEW)) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        await begin(editor, buffer)
        await proposed(editor, buffer)
        editor.unknown.add("workspace/applyEdit")
        await editor.take(buffer, "Accept all", "import")
        await editor.client.until(lambda: messages_shown(editor.client))
        assert "The editor did not make the change" in messages_shown(editor.client)[0]
        assert len(messages_shown(editor.client)) == 1
        assert "Accept all 2 changes" in await titles(editor, buffer, "import"), "they are still proposed"


async def test_a_closed_document_ends_its_edits(plain: Started, tmp_path: Path) -> None:
    async with plain([{"say": "```\n"}, {"wait": True}], reply(NEW), options=SHIM) as editor:
        path = folder(tmp_path) / "a.py"
        edit_id = await begin(editor, await editor.open(path, OLD))
        await told(editor, edit_id)
        editor.close(editor.buffers[path.as_uri()])
        error = await refused(editor.client, "oi.edit.accept", editId=edit_id)
        assert "There is no edit" in error.message
        buffer = await editor.open(path)
        await told(editor, await begin(editor, buffer), "proposed", "proposed")


async def test_the_server_ends_in_mid_edit(plain: Started, tmp_path: Path) -> None:
    async with plain([{"say": f"```\n{NEW}"}, {"wait": True}]) as editor:
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
