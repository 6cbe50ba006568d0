"""The delivered server, started in a workspace that means harm, with the real LiteLLM before a scripted provider."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.e2e.product import folders, workspace
from tests.fakes.http_server import Response
from tests.fakes.lsp_client import LspClient, server
from tests.fakes.openai_server import OpenAiServer, Reply

PROGRAM = os.path.join(os.path.dirname(sys.executable), "oi-lsp")
"""The script that is installed: ``python -m`` would look for modules in the workspace."""
KEY = "sk-never-to-be-seen-by-anybody-0123456789"


def shell(code: str) -> Response:
    """The model wants to run a shell command."""
    return Reply.tool_call("shell", code)


@asynccontextmanager
async def attacked(
    tmp_path: Path,
    *replies: Response,
    env: Mapping[str, str] | None = None,
    arguments: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
    **settings: object,
) -> AsyncIterator[tuple[LspClient, OpenAiServer]]:
    """The server and the provider. ``settings`` are the person's own, ``options`` takes the place of all of them."""
    async with OpenAiServer(list(replies)) as provider:
        llm = {"model": "openai/gpt-4o", "api_base": provider.base_url}
        given = {"llm": llm, "computer": {"python": sys.executable}, **settings}
        around = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_API_KEY": KEY, **folders(tmp_path), **(env or {})}
        here = str(workspace(tmp_path))
        async with server((PROGRAM, "--stdio", *arguments), env=around, cwd=here) as client:
            whole = {"oi": {"protocolVersion": 1}, "settings": given} if options is None else options
            await client.initialize(whole, rootUri=workspace(tmp_path).as_uri())
            yield client, provider


async def in_workspace(client: LspClient, tmp_path: Path) -> str:
    """A session there."""
    return await client.new_session(cwd=str(workspace(tmp_path)))


async def asked(client: LspClient, session: str) -> str:
    """Wait for the question; refuse. Answers the code that was asked about."""
    proposal = await client.proposal(session)
    await client.command("oi.code.reject", sessionId=session, proposalId=proposal["id"])
    found: str = proposal["code"]
    await client.until(lambda: client.of(session).state.get("proposal") != proposal)
    return found
