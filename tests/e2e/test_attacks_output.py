"""Output and words that mean harm to who looks at them, and keys that must be seen nowhere, at the delivered server."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from tests.e2e.attacked import KEY, PROGRAM, attacked, in_workspace, shell
from tests.e2e.product import folders, workspace
from tests.fakes.openai_server import Reply

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
HOSTILE = (
    "\x1b]0;owned\x07\x1b]52;c;cm0gLXJm\x1b\\\x1bP+q544e\x1b\\\x1b[2J\x1b[8mhidden\x1b[0m\x9b31m\x90x\x9c\x1b[?1049h"
    "\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x1b_Gx\x1b\\\x08\x0c\x1bc"
)
SEEN = "hiddenlink"
PRINTS = f"text = {HOSTILE!r}\nprint(text)\nimport sys\nsys.stderr.write(text + chr(10))\n"


def strings(data: object) -> list[str]:
    """Every text in a value of JSON."""
    if isinstance(data, dict):
        return [text for pair in data.items() for each in pair for text in strings(each)]
    if isinstance(data, list):
        return [text for each in data for text in strings(each)]
    return [data] if isinstance(data, str) else []


def kept(tmp_path: Path) -> list[str]:
    """Every text in every table of the database."""
    (path,) = (tmp_path / "home").rglob("history.db")
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        rows = (row for table in tables for row in database.execute(f'select * from "{table}"'))
        return [value if isinstance(value, str) else repr(value) for row in rows for value in row]


async def test_terminal_control_reaches_no_model_client_store_or_log(tmp_path: Path) -> None:
    """From a kernel and a shell, by what they print, by errors and values; and in the model's own words."""
    text = HOSTILE.replace("\x9b", "").replace("\x90", "").replace("\x9c", "")
    replies = [
        Reply.tool_call("python", PRINTS, text=f"Look: {HOSTILE}.", size=3),
        Reply.tool_call("python", PRINTS + "text\nraise ValueError(text)"),
        shell("printf '" + "".join(f"\\{ord(c):03o}" for c in text) + "hiddenlink\\n'"),
        Reply.tool_call(f"py\x1b]0;x\x07thon\n{HOSTILE}", "1"),
        Reply.text("Done."),
    ]
    log = tmp_path / "log"
    arguments = ("--log-file", str(log), "--log-level", "debug")
    async with attacked(tmp_path, *replies, arguments=arguments) as (client, provider):
        session = await in_workspace(client, tmp_path)
        turn = await client.turn(session, "go")
        for _ in range(3):
            await client.approve(session)
        follower = await client.ended(session, turn)
        assert follower.text().count(SEEN) >= 5
        sent = [text for chunk in follower.chunks if chunk["type"] != "code" for text in strings(chunk)]
        asked = [text for request in provider.requests for text in strings(request.json)]
        exported = [
            (await client.command("oi.history.export", sessionId=session, format=form))["files"][0]["text"]
            for form in ("markdown", "notebook", "json")
        ]
        await client.command("oi.history.read", conversationId=session)  # waits for what is being written
    texts = [*sent, *asked, *exported, *kept(tmp_path), *log.read_text().split("\n")]
    assert any(SEEN in text for text in asked)
    assert not [text for text in texts if CONTROL.search(text)]


SPREAD = f"import os\nprint({KEY[:9]!r} + {KEY[9:]!r})\nraise RuntimeError('key ' + {KEY[:9]!r} + {KEY[9:]!r})"


async def test_a_key_is_seen_nowhere(tmp_path: Path) -> None:
    """The provider says it back, a program prints it, an error quotes it, the person pastes it, everybody logs."""
    log = tmp_path / "log"
    refusal = Reply.error(401, f"Incorrect API key provided: {KEY}.", code="invalid_api_key")
    replies = [shell("env; cat /proc/$PPID/environ | tr '\\0' '\\n'; echo done"), Reply.text("ok"), refusal]
    arguments = ("--log-file", str(log), "--log-level", "debug")
    async with attacked(tmp_path, *replies, arguments=arguments) as (client, provider):
        session = await in_workspace(client, tmp_path)
        turn = await client.turn(session, "go")
        await client.approve(session)
        await client.ended(session, turn)
        assert "done" in client.of(session).text()
        assert f"Bearer {KEY}" == provider.requests[0].headers["authorization"]
        seen = json.dumps(client.notifications)
        assert KEY not in seen, "what the kernel and the processes above it have in their environment"
        refused = await client.ended(session, await client.turn(session, "go"))
        assert any(chunk["type"] == "error" for chunk in refused.chunks)
        settings = await client.command("oi.settings.get", sessionId=session)
        models = await client.command("oi.models.list")
        assert KEY not in json.dumps([client.notifications, settings, models])
        run = await client.command("oi.code.run", sessionId=session, language="python", code=SPREAD)
        await client.ended(session, run["turnId"])
        assert KEY in client.of(session).text(), "what the person's own program prints they may see"
        texts = [
            (await client.command("oi.history.export", conversationId=session, format=form))["files"][0]["text"]
            for form in ("markdown", "notebook", "json", "script")
        ]
        assert not [text for text in texts if KEY in text]
        with_key = {"llm": {"api_key": KEY, "model": 5}}
        client.notify("workspace/didChangeConfiguration", {"settings": {"oi": with_key}})
        await client.command("oi.settings.get")
    assert not [text for text in kept(tmp_path) if KEY in text]
    for path in [log, *(each for each in (tmp_path / "home").rglob("*") if each.is_file())]:
        assert KEY.encode() not in path.read_bytes(), path
    for words in (["doctor"], ["doctor", "--json"], ["doctor", "--wrong"]):
        assert KEY.encode() not in await asyncio.to_thread(said_by, tmp_path, *words)


def said_by(tmp_path: Path, *arguments: str) -> bytes:
    """What the command line says, with the key in its environment."""
    env = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": KEY, **folders(tmp_path)}
    command = [PROGRAM, *arguments]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    return done.stdout + done.stderr


HIDDEN = {
    "print('a\u202eb')": ("‹U+202E RIGHT-TO-LEFT OVERRIDE›", "RIGHT-TO-LEFT OVERRIDE"),
    "pay\u200bpal = 1": ("‹U+200B ZERO WIDTH SPACE›", "ZERO WIDTH SPACE"),
    "p\u0430ypal = 1": ("", "CYRILLIC"),
    f"x = 1{' ' * 600}; import os": ("", "characters"),
}


async def test_what_hides_in_code_is_told_with_the_proposal(tmp_path: Path) -> None:
    replies = [*(Reply.tool_call("python", code) for code in (*HIDDEN, "x = 1")), Reply.text("ok")]
    async with attacked(tmp_path, *replies) as (client, _):
        session = await in_workspace(client, tmp_path)
        for code, (shown, told) in HIDDEN.items():
            turn = await client.turn(session, "go")
            proposal = await client.proposal(session)
            assert proposal["code"] == code
            assert shown in proposal.get("shown", "")
            assert told in " ".join(proposal["hidden"])
            await client.command("oi.chat.stop", sessionId=session)
            await client.ended(session, turn)
        await client.turn(session, "go")
        proposal = await client.proposal(session)
        assert {"shown", "hidden"}.isdisjoint(proposal)
        assert workspace(tmp_path).is_dir()
