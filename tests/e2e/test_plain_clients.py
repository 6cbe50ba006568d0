"""One session, as a person has it, in every kind of plain client: chat, edit, run, answer, stop, and go on."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from tests.e2e.product import folders, messages_shown
from tests.e2e.test_whole import LITELLM
from tests.fakes.lsp_client import PRODUCT, server
from tests.fakes.lsp_editor import Buffer, LspEditor
from tests.fakes.openai_server import OpenAiServer, Reply
from tests.fakes.plain_clients import KINDS, Kind

EDITED = ("hi", "hö 😀")


@frozen
class Codes:
    """What the model proposes, in the language that runs it."""

    prints: str
    asks: str
    waits: str


TINY = Codes("print hi", "input\nprint answered", "print begun\nwait")
PYTHON = Codes(
    "print('hi')",
    "print('got', input('? '))\nprint('answered')",
    "import time\nprint('begun', flush=True)\ntime.sleep(600)",
)


async def the_session(editor: LspEditor, buffer: Buffer, codes: Codes) -> None:
    """What every client must be good for."""
    await editor.until(buffer, "## You")
    editor.append(buffer, "Please.\n")
    await editor.take(buffer, "Send", "Please.")
    await _edit_and_run(editor, buffer, codes)
    await _answer(editor, buffer, codes)
    await _stop(editor, buffer, codes)
    # Inline edits have their place here: a function with two hunks, one accepted, one rejected.
    await _go_on(editor, buffer)


async def _edit_and_run(editor: LspEditor, buffer: Buffer, codes: Codes) -> None:
    await editor.offered(buffer, "Run")
    editor.replace(buffer, codes.prints, codes.prints.replace(*EDITED))
    await editor.take(buffer, "Run", codes.prints.replace(*EDITED))
    await editor.until(buffer, f"```output oi=c1\n{EDITED[1]}\n```")


async def _answer(editor: LspEditor, buffer: Buffer, codes: Codes) -> None:
    await editor.until(buffer, codes.asks)
    await editor.offered(buffer, "Run")
    await editor.take(buffer, "Run", codes.asks.splitlines()[-1])
    await editor.offered(buffer, "Answer")
    fence = re.search(r"```input oi=i\d+\n", buffer.text)
    assert fence is not None
    editor.type(buffer, fence.end(), "forty-two")
    await editor.take(buffer, "Answer", "forty-two")
    await editor.until(buffer, "got forty-two\nanswered\n```")


async def _stop(editor: LspEditor, buffer: Buffer, codes: Codes) -> None:
    await editor.until(buffer, codes.waits)
    await editor.offered(buffer, "Run")
    await editor.take(buffer, "Run", codes.waits.splitlines()[-1])
    if not editor.profile.lazy:  # else what streams is held back until it is over
        await editor.until(buffer, "begun\n```")
    await editor.take(buffer, "Stop", codes.waits.splitlines()[-1])
    await editor.until(buffer, "Stopped; variables are kept.")
    await editor.gone(buffer, "Stop")


async def _go_on(editor: LspEditor, buffer: Buffer) -> None:
    editor.append(buffer, "And then?")
    await editor.take(buffer, "Send", "And then?")
    await editor.until(buffer, "That was it.")
    await editor.gone(buffer, "Stop")


@asynccontextmanager
async def scripted(kind: Kind, tmp_path: Path, *replies: list[dict[str, Any]]) -> AsyncIterator[LspEditor]:
    """A client of that kind, with the server whose model is scripted."""
    env = {"OI_SCRIPT": json.dumps({"replies": replies}), "OI_REQUESTS": str(tmp_path / "requests")}
    async with server(env=env) as client:
        result = await client.initialize({}, rootUri=tmp_path.as_uri(), **kind.says)
        yield LspEditor(client, encoding=result["capabilities"]["positionEncoding"], manners=kind.manners)


WHOLE = """\
---
oi: 1 N
---

## You <!-- oi:N.u1 -->

Please.

## Assistant <!-- oi:N.a1 -->

```python oi=c1
print hö 😀
```

```output oi=c1
hö 😀
```

```python oi=c2
input
print answered
```

```question oi=i3
?_
```

```input oi=i3
forty-two
```

```output oi=c2
got forty-two
answered
```

""".replace("?_", "? ")


def shape(buffer: Buffer) -> str:
    """The document with its nonce made known."""
    nonce = re.search(r"oi: 1 (\w+)", buffer.text)
    assert nonce is not None
    return buffer.text.replace(nonce[1], "N")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
async def test_the_session_in_every_kind_of_client(kind: Kind, tmp_path: Path) -> None:
    codes = [TINY.prints, TINY.asks, TINY.waits]
    replies = [*([{"code": each}] for each in codes), [{"say": "That was it."}]]
    async with scripted(kind, tmp_path, *replies) as editor:
        buffer = await editor.open(tmp_path / "talk.oi.md", "")
        await the_session(editor, buffer, TINY)
        assert shape(buffer).startswith(WHOLE)
        assert messages_shown(editor.client) == []
        asked = [json.loads(line) for line in (tmp_path / "requests").read_text().splitlines()]
        assert len(asked) == 4
        assert "print h\\u00f6" in json.dumps(asked[1])
        assert asked[3][-1]["content"].endswith("And then?")


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.name in ("vscode", "kate")], ids=lambda kind: kind.name
)
async def test_the_session_with_a_real_kernel_and_a_provider(kind: Kind, tmp_path: Path) -> None:
    codes = (PYTHON.prints, PYTHON.asks, PYTHON.waits)
    replies = [*(Reply.tool_call("python", each) for each in codes), Reply.text("That was it.")]
    async with OpenAiServer(replies) as provider:
        llm = {"model": "openai/gpt-4o", "api_base": provider.base_url, "api_key": "sk-test"}
        options = {"settings": {"llm": llm, "computer": {"python": sys.executable}}}
        async with server(PRODUCT, env={**folders(tmp_path), **LITELLM}) as client:
            result = await client.initialize(options, rootUri=tmp_path.as_uri(), **kind.says)
            editor = LspEditor(client, encoding=result["capabilities"]["positionEncoding"], manners=kind.manners)
            buffer = await editor.open(tmp_path / "talk.oi.md", "")
            await the_session(editor, buffer, PYTHON)
            assert "And then?" in str(provider.requests[-1])
