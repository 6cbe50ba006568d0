"""editors/nvim/lua/oi/protocol.lua is what the protocol's file says."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from oi_lsp import protocol
from oi_lsp.mirrors import lua
from oi_lsp.protocol_settings import Position


def test_the_mirror_is_up_to_date() -> None:
    assert lua.PATH.read_text(encoding="utf-8") == lua.render(), "run: python -m oi_lsp.mirrors.lua"


def test_it_has_every_command_notification_and_error() -> None:
    module = lua.render()
    names = [command.name for command in protocol.COMMANDS] + [each.method for each in protocol.NOTIFICATIONS]
    assert all(f'["{name}"] = true' in module for name in names)
    assert all(f"{code.name} = {int(code)}," in module for code in protocol.ErrorCode)


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (str, "string"),
        (int | None, "integer"),
        (tuple[Position, ...], "oi.Position[]"),
        (tuple[str | int, ...], "(string|integer)[]"),
        (Literal["a", "b"], '"a"|"b"'),
        (dict[str, Any], "table<string, any>"),
        (Any, "any"),
    ],
)
def test_types(kind: Any, written: str) -> None:
    assert lua.lua_type(kind) == written
