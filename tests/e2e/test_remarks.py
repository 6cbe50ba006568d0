"""What a plain client is told of a block before a decision: over real standard input and output, in a chat document."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from oi_engine.computer.sandbox import look_for_sandbox
from tests.e2e.product import product, workspace
from tests.e2e.test_chat_document import diagnostics, requests
from tests.e2e.test_safe_mode import DELETES, needs_semgrep
from tests.fakes.lsp_client import server
from tests.fakes.lsp_editor import Buffer, LspEditor
from tests.fakes.places import outside_scratch

Seen = list[tuple[str, str]]


@asynccontextmanager
async def proposed(
    tmp_path: Path,
    source: str,
    settings: dict[str, Any] | None = None,
    *,
    language: str = "python",
    encoding: str = "utf-16",
) -> AsyncIterator[tuple[LspEditor, Buffer, str]]:
    """A chat document in a plain editor, in which this was asked for; and the session's id."""
    replies = [[{"code": source, "language": language}], [{"say": "Bye."}]]
    env = {"OI_SCRIPT": json.dumps({"replies": replies}), "OI_REQUESTS": str(tmp_path / "requests")}
    async with server(env={**env, "TMPDIR": str(tmp_path)}) as client:
        can = {"general": {"positionEncodings": [encoding]}}
        await client.initialize({"settings": settings or {}}, rootUri=tmp_path.as_uri(), capabilities=can)
        editor = LspEditor(client, encoding=encoding)
        buffer = await editor.open(tmp_path / "talk.oi.md", "")
        await editor.until(buffer, "## You")
        editor.append(buffer, "Please.\n")
        yield editor, buffer, (await editor.take(buffer, "Send", "Please."))["sessionId"]


def seen(editor: LspEditor, buffer: Buffer) -> Seen:
    """What stands under each diagnostic of the buffer, and what it says."""
    spans = [(each["range"], each["message"]) for each in diagnostics(editor, buffer)]
    return [(buffer.text[buffer.offset(at["start"]) : buffer.offset(at["end"])], words) for at, words in spans]


async def sees(editor: LspEditor, buffer: Buffer, wanted: Callable[[Seen], object]) -> Seen:
    """Wait until what is shown is as wanted."""
    await editor.client.until(lambda: wanted(seen(editor, buffer)))
    return seen(editor, buffer)


def words(found: Seen) -> str:
    return " ".join(message for _, message in found)


@needs_semgrep
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_findings_stand_at_their_lines_until_the_block_is_edited_or_decided(
    tmp_path: Path, encoding: str
) -> None:
    source = "x = '𝄞é'\nif x: import os; os.remove('é\u200b')"
    async with proposed(tmp_path, source, {"safe_mode": "auto"}, encoding=encoding) as (editor, buffer, _):
        await sees(editor, buffer, lambda found: len(found) == 2)
        scanned, hidden = diagnostics(editor, buffer)
        line = "if x: import os; os.remove('é\u200b')"
        assert seen(editor, buffer) == [
            (line, "It deletes files."),
            ("\u200b", "U+200B ZERO WIDTH SPACE cannot be seen."),
        ]
        assert (scanned["severity"], scanned["source"]) == (2, "oi-lsp")
        assert scanned["code"].startswith("python-")
        assert (hidden["severity"], hidden["code"]) == (2, "invisible")
        await editor.until(buffer, "Line 2: It deletes files.")
        assert buffer.text.count("It deletes files.") == 1
        editor.replace(buffer, "\u200b", "")
        edited = await sees(editor, buffer, lambda found: "edited this since" in words(found))
        assert [place for place, _ in edited] == ["```python oi=c1"]
        editor.undo(buffer)
        await sees(editor, buffer, lambda found: len(found) == 2)
        editor.replace(buffer, "Please.", "Please.\n")
        await sees(editor, buffer, lambda found: [place for place, _ in found] == [line, "\u200b"])
        await editor.offered(buffer, "Reject")
        await editor.take(buffer, "Reject", "os.remove")
        await sees(editor, buffer, lambda found: not found)
        await editor.gone(buffer, "Stop")
        assert "Line 2: It deletes files." in buffer.text, "what they were told stays"


@needs_semgrep
async def test_scan_looks_at_the_text_as_it_stands(tmp_path: Path) -> None:
    async with proposed(tmp_path, "x = 1\n", {"safe_mode": "ask"}) as (editor, buffer, _):
        await sees(editor, buffer, lambda found: "Not scanned yet" in words(found))
        editor.replace(buffer, "x = 1", DELETES)
        await editor.take(buffer, "Scan", DELETES)
        found = await sees(editor, buffer, lambda found: "It deletes" in words(found))
        assert found == [(DELETES, "It deletes files.")]
        assert await editor.titles(buffer, DELETES) == ["Reject", "Run", "Stop"]
        editor.replace(buffer, DELETES, "x = 2")
        await sees(editor, buffer, lambda found: "Not scanned yet" in words(found))
        await editor.take(buffer, "Run", "x = 2")
        await sees(editor, buffer, lambda found: not found)


async def test_why_it_was_not_scanned_is_said_on_the_block(tmp_path: Path) -> None:
    async with proposed(tmp_path, "puts 1", {"safe_mode": "auto"}, language="ruby") as (editor, buffer, _):
        found = await sees(editor, buffer, lambda found: found)
        assert found == [("```ruby oi=c1", "Not scanned: there are no rules for ruby.")]
        assert diagnostics(editor, buffer)[0]["severity"] == 3


async def test_what_hides_is_shown_without_safe_mode(tmp_path: Path) -> None:
    async with proposed(tmp_path, "print \u202ea\nprint раypal") as (editor, buffer, _):
        found = await sees(editor, buffer, lambda found: found)
        assert [place for place, _ in found] == ["\u202e", "раypal"]
        assert "U+202E RIGHT-TO-LEFT OVERRIDE changes the order" in found[0][1]
        editor.replace(buffer, "\u202ea", "a")
        await sees(editor, buffer, lambda found: [place for place, _ in found] == ["раypal"])


RULES = {"policy": {"allow": ["print *"], "deny": ["rm"]}}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("rm a", "Your rule `policy.deny: rm` has this asked about."),
        ("$x a", "what this code runs cannot be fully told beforehand"),
        ("print a; print b", "Your rule `policy.allow: print *` is for one plain command, and this is not one."),
    ],
)
async def test_why_code_is_asked_about_stands_on_the_block(tmp_path: Path, source: str, why: str) -> None:
    async with proposed(tmp_path, source, RULES, language="shell") as (editor, buffer, _):
        ((place, said),) = await sees(editor, buffer, lambda found: found)
        assert (place, why in said) == ("```shell oi=c1", True)
        assert diagnostics(editor, buffer)[0]["severity"] == 3


async def test_what_ran_without_a_question_says_so(tmp_path: Path) -> None:
    async with proposed(tmp_path, "print hi", RULES, language="shell") as (editor, buffer, _):
        await editor.until(buffer, "Bye.")
        found = await sees(editor, buffer, lambda found: found)
        said = "It ran without a question. Your rule `policy.allow: print *` lets it run."
        assert found == [("```shell oi=c1", said)]
        assert diagnostics(editor, buffer)[0]["severity"] == 4
        editor.replace(buffer, "print hi", "print ho")
        await sees(editor, buffer, lambda found: not found)


async def test_a_change_of_the_policy_is_seen_and_is_no_edit_of_the_conversation(tmp_path: Path) -> None:
    async with proposed(tmp_path, "print hi") as (editor, buffer, session):
        await editor.offered(buffer, "Run")
        await editor.client.command("oi.settings.set", name="safe_mode", value="auto", sessionId=session)
        await editor.until(buffer, "`safe_mode`: 'auto', before 'off'")
        await editor.take(buffer, "Run", "print hi")
        await editor.until(buffer, "Bye.")
        await editor.gone(buffer, "Stop")
        editor.append(buffer, "Thanks.")
        await editor.take(buffer, "Send", "Thanks.")
        await editor.until(buffer, "Done.")
        told = requests(tmp_path)[-1]
        assert "safe_mode" not in json.dumps(told)
        listed = await editor.client.command("oi.session.open", sessionId=session)
        assert len([each for each in listed["messages"] if each["type"] == "code"]) == 1


async def test_what_the_sandbox_stopped_can_be_allowed_by_an_action(tmp_path: Path) -> None:
    if problem := (await look_for_sandbox()).problem:
        pytest.skip(problem)
    settings = {"llm": {"model": "tour"}, "sandbox": "workspace", "computer": {"python": sys.executable}}
    with outside_scratch() as outside:
        text = f"## You\n\n```python oi=c1\nn = 1\nprint(open('{outside}/x', 'w').write('written'))\n```\n"
        async with product(tmp_path, settings) as client:
            editor = LspEditor(client)
            buffer = await editor.open(workspace(tmp_path) / "talk.oi.md", text)
            await editor.take(buffer, "Run again", "```python")
            await editor.until(buffer, "variables go.")
            title = f"Allow writing to {outside} in this session's sandbox (variables go)"
            await editor.offered(buffer, title)
            assert title in await editor.titles(buffer, "The sandbox seems to have kept it")
            await editor.take(buffer, title, "The sandbox seems to have kept it")
            await editor.until(buffer, "its variables are gone then")
            await editor.gone(buffer, title)
            await editor.gone(buffer, "Stop")
            await editor.take(buffer, "Run again", "```python")
            await editor.until(buffer, "```output oi=c1\n7\n")
            assert (Path(outside) / "x").read_text() == "written"
