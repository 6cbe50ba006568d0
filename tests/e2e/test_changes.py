"""What runs change on disk, over the wire: listed after the run, shown, taken back; real kernels write the files."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from tests.e2e import product as delivered
from tests.e2e.product import refused, workspace
from tests.e2e.test_magic_commands import does
from tests.fakes.lsp_client import LspClient

SETTINGS: dict[str, object] = {"llm": {"model": "tour"}, "changes": {"wait": 600}}
"""However busy this machine is, each run is followed."""


def product(
    tmp_path: Path, settings: dict[str, object] = SETTINGS, env: dict[str, str] | None = None
) -> AbstractAsyncContextManager[LspClient]:
    """The delivered server."""
    return delivered.product(tmp_path, settings, env)


async def runs(client: LspClient, session: str, code: str, language: str = "python") -> list[dict[str, Any]]:
    """Run code. Answers the chunks of its turn, once it is over."""
    told = await client.command("oi.code.run", sessionId=session, language=language, code=code)
    follower = await client.ended(session, told["turnId"])
    return [c for note in follower.notifications if note["turnId"] == told["turnId"] for c in note["chunks"]]


def forms(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The changes that chunks tell programs of."""
    return [c["content"] for c in chunks if c["type"] == "command" and c.get("format") == "changes"]


def words(chunks: list[dict[str, Any]]) -> str:
    """What the person is told beside the output."""
    return "".join(c.get("content", "") for c in chunks if c["type"] == "message" and c.get("recipient") == "user")


async def test_a_run_s_changes_are_listed_shown_and_taken_back_by_hunk_file_and_whole(tmp_path: Path) -> None:
    here = workspace(tmp_path)
    lines = [f"line {number}\n" for number in range(20)]
    (here / "notes.txt").write_text("".join(lines))
    (here / "old.txt").write_text("old")
    (here / "tool.sh").write_text("#!/bin/sh\n")
    os.chmod(here / "tool.sh", 0o755)
    code = """
import os
text = open("notes.txt").read()
open("notes.txt", "w").write(text.replace("line 2\\n", "LINE 2\\n").replace("line 17\\n", ""))
os.remove("old.txt"); os.chmod("tool.sh", 0o644)
os.makedirs("out/deep"); open("out/deep/new.bin", "wb").write(bytes(100))
"""
    async with product(tmp_path) as client:
        session = await client.new_session()
        chunks = await runs(client, session, code)
        (form,) = forms(chunks)
        (code_id,) = {c["id"] for c in chunks if c["type"] == "code"}
        assert {c["parent"] for c in chunks if c.get("format") == "changes"} == {code_id}
        kinds = {one["path"]: one["kind"] for one in form["files"]}
        assert kinds == {
            "notes.txt": "modified", "old.txt": "deleted", "tool.sh": "mode",
            "out/": "added", "out/deep/": "added", "out/deep/new.bin": "added",
        }  # fmt: skip
        assert "`notes.txt` (+1 −2)" in words(chunks)
        assert "`%changes revert`" in words(chunks)

        (listed,) = (await client.command("oi.changes.list", sessionId=session))["changes"]
        assert (listed["changeId"], listed["parent"]) == (form["id"], code_id)
        assert {one["path"]: one["kind"] for one in listed["files"]} == kinds
        this = {"sessionId": session, "changeId": form["id"]}
        (shown,) = (await client.command("oi.changes.diff", **this, path="notes.txt"))["files"]
        assert shown["hunks"] == [
            {"hunkId": "h1", "start": 2, "old": "line 2\n", "new": "LINE 2\n"},
            {"hunkId": "h2", "start": 17, "old": "line 17\n", "new": ""},
        ]
        both = await client.command("oi.changes.read", **this, path="notes.txt")
        assert both == {"before": "".join(lines), "after": (here / "notes.txt").read_text()}
        assert await client.command("oi.changes.read", **this, path="old.txt") == {"before": "old"}
        no_text = await refused(client, "oi.changes.read", **this, path="out/deep/new.bin")
        assert "no text" in str(no_text)
        binary = (await client.command("oi.changes.diff", **this, path="out/deep/new.bin"))["files"][0]
        assert (binary["binary"], binary["hunks"]) == (True, [])

        await client.command("oi.changes.revert", **this, path="notes.txt", hunkId="h1")
        assert (here / "notes.txt").read_text() == "".join(lines).replace("line 17\n", "")
        assert (await refused(client, "oi.changes.revert", **this, path="notes.txt", hunkId="h1")).code == 1000
        await client.command("oi.changes.revert", **this, path="old.txt")
        assert (here / "old.txt").read_text() == "old"
        # The rest, though part of it is back already.
        whole = await client.command("oi.changes.revert", **this)
        assert [one["path"] for one in whole["left"]] == ["notes.txt"]
        assert not (here / "out").exists()
        assert (here / "tool.sh").stat().st_mode & 0o777 == 0o755
        # And a revert is a change as any other.
        again = await client.command("oi.changes.revert", sessionId=session, changeId=whole["reverted"]["changeId"])
        assert again["reverted"]["reverts"] == whole["reverted"]["changeId"]
        assert (here / "out/deep/new.bin").read_bytes() == bytes(100)


async def test_what_was_edited_since_is_not_lost(tmp_path: Path) -> None:
    here = workspace(tmp_path)
    (here / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    async with product(tmp_path) as client:
        session = await client.new_session()
        chunks = await runs(client, session, "sed -i s/two/TWO/ a.txt; echo made > b.txt", "shell")
        this = {"sessionId": session, "changeId": forms(chunks)[0]["id"]}
        (here / "a.txt").write_text("one\nTWO\nthree\nfour\nmine\n")
        (here / "b.txt").write_text("mine\n")
        done = await client.command("oi.changes.revert", **this)
        assert (here / "a.txt").read_text() == "one\ntwo\nthree\nfour\nmine\n"
        assert (here / "b.txt").read_text() == "mine\n"
        assert [one["path"] for one in done["left"]] == ["b.txt"]
        error = await refused(client, "oi.changes.revert", **this, path="b.txt")
        assert "changed since" in error.message
        for wrong in ({"changeId": "c-none"}, {"path": "none.txt"}, {"path": "../a.txt"}):
            assert (await refused(client, "oi.changes.diff", **{**this, **wrong})).code == 1000
        assert (await refused(client, "oi.changes.revert", **this, hunkId="h1")).code == -32602


async def test_the_magic_command_does_the_same_and_the_model_is_told(tmp_path: Path) -> None:
    here = workspace(tmp_path)
    (here / "a b.txt").write_text("one\n")
    async with product(tmp_path) as client:
        session = await client.new_session()
        assert "No run changed anything" in await does(client, session, "%changes")
        await runs(client, session, "open('a b.txt', 'w').write('1\\n'); open('new', 'w').write('x')")
        assert "1. " in await does(client, session, "%changes")
        told = await does(client, session, "%changes diff 1 a b.txt")
        assert "-one\n+1\n" in told
        assert "`new`" not in told
        assert "Taken back: `a b.txt`" in await does(client, session, "%changes revert 1 a b.txt h1")
        assert (here / "a b.txt").read_text() == "one\n"
        assert "Taken back: `new`" in await does(client, session, "%changes revert")
        assert not (here / "new").exists()
        assert "nothing to take back" in await does(client, session, "%changes revert 1")
        assert "taking back 1" in await does(client, session, "%changes list")
        assert "There is no change 9" in await does(client, session, "%changes revert 9")
        prompt = await client.command("oi.prompt.get", sessionId=session)
        assert "took back changes on disk: `new`" in str(prompt)


async def test_changes_can_be_taken_back_when_the_server_was_started_anew(tmp_path: Path) -> None:
    here = workspace(tmp_path)
    (here / "a.txt").write_text("one\n")
    async with product(tmp_path) as client:
        session = await client.new_session()
        (form,) = forms(await runs(client, session, "open('a.txt', 'w').write('two\\n')"))
    async with product(tmp_path) as client:
        await client.command("oi.session.open", sessionId=session)
        await client.command("oi.changes.revert", sessionId=session, changeId=form["id"])
        assert (here / "a.txt").read_text() == "one\n"


async def test_nothing_is_followed_where_that_is_off_or_the_folder_is_no_workspace(tmp_path: Path) -> None:
    here = workspace(tmp_path)
    off = {"llm": {"model": "tour"}, "changes": {"follow": False}}
    async with product(tmp_path, off) as client:
        session = await client.new_session()
        chunks = await runs(client, session, "echo two > a.txt", "shell")
        assert (forms(chunks), words(chunks)) == ([], "")
    async with product(tmp_path, env={"HOME": str(here)}) as client:
        session = await client.new_session()
        chunks = await runs(client, session, "echo two > b.txt", "shell")
        assert forms(chunks) == []
        assert "is the home folder" in words(chunks)
        assert words(await runs(client, session, "echo two > c.txt", "shell")) == ""


async def test_a_quiet_run_is_quiet(tmp_path: Path) -> None:
    here = workspace(tmp_path)
    (here / ".gitignore").write_text("*.log\n")
    async with product(tmp_path) as client:
        session = await client.new_session()
        chunks = await runs(client, session, "echo x > a.log; cat .gitignore; touch .gitignore", "shell")
        assert (forms(chunks), words(chunks)) == ([], "")


async def test_a_conversation_is_rewound_together_with_its_files(tmp_path: Path) -> None:
    here = workspace(tmp_path)
    (here / "a.txt").write_text("one\n")
    (here / "b.txt").write_text("one\n")
    async with product(tmp_path) as client:
        session = await client.new_session()
        await runs(client, session, "echo two > a.txt; echo two > b.txt", "shell")
        await runs(client, session, "echo three > a.txt; echo three > b.txt; echo > c.txt", "shell")
        (here / "b.txt").write_text("mine\n")
        undone = await client.command("oi.session.undo", sessionId=session, files=True)
        assert [one["path"] for one in undone["left"]] == ["b.txt"]
        assert (here / "a.txt").read_text() == "two\n"
        assert sorted(path.name for path in here.iterdir()) == ["a.txt", "b.txt"]
        assert "Taken back: `a.txt`" in await does(client, session, "%changes revert turn")
        assert (here / "a.txt").read_text() == "one\n"
        assert await client.command("oi.session.undo", sessionId=session) == {}
        assert (here / "b.txt").read_text() == "mine\n"
        assert "changed nothing" in await does(client, session, "%changes revert turn")
