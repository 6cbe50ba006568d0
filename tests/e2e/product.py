"""The delivered server with folders of a test's own, so that tests that keep conversations or profiles do not meet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.lsp_client import PRODUCT, LspClient, Refused, server


def folders(tmp_path: Path) -> dict[str, str]:
    """The environment that names the folders, which are under ``tmp_path``."""
    return {f"XDG_{kind}_HOME": str(tmp_path / "home" / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}


def profiles(tmp_path: Path) -> Path:
    """Where the server looks for profiles."""
    found = tmp_path / "home" / "config" / "oi-lsp" / "profiles"
    found.mkdir(parents=True, exist_ok=True)
    return found


def workspace(tmp_path: Path) -> Path:
    """The workspace folder."""
    found = tmp_path / "workspace"
    found.mkdir(exist_ok=True)
    return found


@asynccontextmanager
async def product(
    tmp_path: Path, settings: Mapping[str, object] | None = None, env: Mapping[str, str] | None = None
) -> AsyncIterator[LspClient]:
    """The server, initialized for the workspace; the model is the tour unless ``settings`` say otherwise."""
    given = {"llm": {"model": "tour"}} if settings is None else settings
    options = {"oi": {"protocolVersion": 1}, "settings": given}
    async with server(PRODUCT, env={**folders(tmp_path), **(env or {})}) as client:
        await client.initialize(options, rootUri=workspace(tmp_path).as_uri())
        yield client


async def refused(client: LspClient, name: str, /, **argument: object) -> Refused:
    """The error that a command is answered with."""
    with pytest.raises(Refused) as caught:
        await client.command(name, **argument)
    return caught.value


def messages_shown(client: LspClient) -> list[str]:
    """What the client was asked to show so far."""
    return [params["message"] for method, params in client.notifications if method == "window/showMessage"]
