"""Inline edits over real standard input and output: in an editor that knows plain LSP alone, and in a shim."""

from __future__ import annotations

import asyncio
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
from tests.e2e.product import messages_shown, refused
from tests.fakes.editors import EXACT, Profile
from tests.fakes.lsp_editor import LspEditor, Manners


@pytest.mark.parametrize("profile", EXACT, ids=lambda profile: profile.name)
async def test_one_is_accepted_and_one_rejected(proposing: Started, tmp_path: Path, profile: Profile) -> None:
    async with proposing(reply(NEW), manners=Manners(profile=profile), encoding=profile.encoding) as editor:
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
async def test_all_are_accepted_one_step_each(proposing: Started, tmp_path: Path, profile: Profile) -> None:
    async with proposing(reply(NEW), manners=Manners(profile=profile), encoding=profile.encoding) as editor:
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


async def test_all_are_rejected(proposing: Started, tmp_path: Path) -> None:
    async with proposing(reply(NEW)) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        edit_id = await begin(editor, buffer)
        await proposed(editor, buffer)
        assert await editor.take(buffer, "Reject all", "import") == {"remaining": 0}
        await proposed(editor, buffer, 0)
        assert buffer.text == OLD
        assert await editor.client.command("oi.edit.accept", editId="e99") is None
        assert messages_shown(editor.client)[-1].startswith("There is no edit e99 (any more).")
        assert await titles(editor, buffer, "import") == [], edit_id


async def test_what_hides_in_a_change_is_written_out(proposing: Started, tmp_path: Path) -> None:
    hiding = OLD.replace("3.14 * r * r", "math.pi\u202e * раypal")
    async with proposing(reply(hiding)) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        await begin(editor, buffer)
        await proposed(editor, buffer, 1)
        (found,) = shown(editor, buffer)
        assert found["severity"] == 2
        assert "math.pi‹U+202E RIGHT-TO-LEFT OVERRIDE› * раypal" in found["message"]
        assert "“раypal” is not what it looks like" in found["message"]
        assert "\u202e" not in found["message"]


async def test_an_oi_comment_is_a_code_action(proposing: Started, tmp_path: Path) -> None:
    text = "x = 1\n\n# oi: sum the list\nt = 0\nfor y in z:\n    t += y\n\nprint(t)\n"
    async with proposing(reply("t = sum(z)\n")) as editor:
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


async def test_a_selection_over_an_oi_comment_is_the_range(proposing: Started, tmp_path: Path) -> None:
    text = "# oi: sum the list\nt = 0\n\nfor y in z:\n    t += y\nprint(t)\n"
    async with proposing(reply("t = sum(z)\n")) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", text)
        await editor.take(buffer, "Edit: sum", (0, text.index("print")))
        await proposed(editor, buffer, 1)
        await editor.take(buffer, "Accept: 5 lines become 1", "oi: sum")
        await editor.client.until(lambda: buffer.text == "t = sum(z)\nprint(t)\n")


async def test_the_person_types_above_and_inside(proposing: Started, tmp_path: Path) -> None:
    async with proposing(reply(NEW)) as editor:
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


async def test_an_edit_that_overlaps_takes_the_place_of_the_one_before(proposing: Started, tmp_path: Path) -> None:
    other = NEW.replace("math.pi", "math.tau / 2")
    async with proposing(reply(NEW), reply(other)) as editor:
        buffer = await editor.open(folder(tmp_path) / "a.py", OLD)
        first = await begin(editor, buffer)
        await proposed(editor, buffer)
        await begin(editor, buffer)
        await editor.client.until(lambda: ["tau" in each["message"] for each in shown(editor, buffer)] == [True, True])
        await editor.take(buffer, "Accept all", "import")
        await editor.client.until(lambda: buffer.text == other)
        assert await editor.client.command("oi.edit.accept", editId=first) is None
        assert messages_shown(editor.client)[-1].startswith(f"There is no edit {first} (any more).")


async def test_edits_of_several_places_and_files_at_a_time(proposing: Started, tmp_path: Path) -> None:
    async with proposing(
        reply(NEW[: NEW.index("\n\ndef around")]), reply("b = 2\n"), reply("pi = 3.14159\n")
    ) as editor:
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


async def test_what_may_not_be_edited(proposing: Started, tmp_path: Path) -> None:
    async with proposing(options=SHIM) as editor:
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


async def test_a_new_file_is_written_when_it_is_accepted(proposing: Started, tmp_path: Path) -> None:
    path = folder(tmp_path) / "new.py"
    async with proposing(reply("a = 1\n"), reply("b = 1\n"), options=SHIM) as editor:
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
async def test_a_plain_editor_is_asked_about_a_new_file(proposing: Started, tmp_path: Path, answer: str) -> None:
    path = folder(tmp_path) / "new.py"
    async with proposing(reply("a = 1\n")) as editor:
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


async def test_an_open_document_that_is_not_on_the_disk(proposing: Started, tmp_path: Path) -> None:
    async with proposing(reply("a = 1\n")) as editor:
        buffer = editor.opened((folder(tmp_path) / "unsaved.py").as_uri(), "")
        await begin(editor, buffer)
        await proposed(editor, buffer, 1)
        await editor.take(buffer, "Accept: 1 line more", (0, 0))
        await editor.client.until(lambda: buffer.text == "a = 1\n")


async def test_a_shim_is_told(proposing: Started, tmp_path: Path) -> None:
    steps: Steps = [{"say": "Look:\n"}, *reply(NEW), {"say": "It is more exact."}, {"cost": 0.02}]
    async with proposing(steps, options=SHIM) as editor:
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
