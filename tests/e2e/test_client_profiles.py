"""The server answers every client whose real capabilities are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.product import folders
from tests.fakes.lsp_client import PRODUCT, server
from tests.fakes.profiles import NAMES, profile


@pytest.mark.parametrize("name", NAMES)
async def test_a_client_of_that_kind_is_served(name: str, tmp_path: Path) -> None:
    said = profile(name)
    async with server(PRODUCT, env=folders(tmp_path)) as client:
        result = await client.initialize({}, rootUri=tmp_path.as_uri(), **said)
        offered = said["capabilities"].get("general", {}).get("positionEncodings", ["utf-16"])
        assert result["capabilities"]["positionEncoding"] in offered
        assert await client.new_session()
        assert await client.request("shutdown") is None
        client.notify("exit")
        assert await client.exit_code() == 0
