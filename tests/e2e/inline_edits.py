"""What the tests of inline edits share: an editor and a model that proposes, and what is shown of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.fakes.lsp_client import Json, server
from tests.fakes.lsp_editor import Buffer, LspEditor

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


def started(tmp_path: Path) -> Started:
    """Starts an editor with a server whose model gives these replies."""

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
