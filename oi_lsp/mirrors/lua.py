"""``editors/nvim/lua/oi/protocol.lua``, the protocol for Lua: ``python -m oi_lsp.mirrors.lua`` writes it.

The classes are LuaCATS annotations; what is left at run time is the version, the commands and the error codes.
"""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any, Literal, NewType, Union, get_args, get_origin

import attrs

from oi_lsp import docs, protocol
from oi_lsp.structure import wire_fields

PATH = Path(__file__).parents[2] / "editors" / "nvim" / "lua" / "oi" / "protocol.lua"

_BASIC = {str: "string", int: "integer", float: "number", bool: "boolean"}


def render() -> str:
    """The whole module."""
    parts = [
        "-- Generated from oi_lsp/protocol.py by `python -m oi_lsp.mirrors.lua`; edit that.\n",
        "local M = {}\n",
        f"M.version = {protocol.VERSION}\n",
        "".join(f"---@alias oi.{name} table<string, any>\n" for name in ("LmcMessage", "LmcChunk", "Attachment")),
    ]
    kinds = dict.fromkeys(docs.wire_classes())
    for command in protocol.COMMANDS:
        kinds |= dict.fromkeys((command.params, command.result))
    kinds |= dict.fromkeys(notification.params for notification in protocol.NOTIFICATIONS)
    # Two modules may have one class, under the same name.
    named = {kind.__name__: kind for kind in kinds}
    parts += [_class(kind) for kind in named.values()]
    names = "".join(f'  ["{command.name}"] = true,\n' for command in protocol.COMMANDS)
    parts.append(f"---The commands that there are.\n---@type table<string, true>\nM.commands = {{\n{names}}}\n")
    notifications = "".join(f'  ["{each.method}"] = true,\n' for each in protocol.NOTIFICATIONS)
    parts.append(f"---@type table<string, true>\nM.notifications = {{\n{notifications}}}\n")
    errors = "".join(f"  {code.name} = {int(code)},\n" for code in protocol.ERROR_DOCS)
    parts.append(f"---@enum oi.ErrorCode\nM.errors = {{\n{errors}}}\n")
    parts.append("return M\n")
    return "\n".join(parts)


def main() -> None:
    """Write the module."""
    PATH.write_text(render(), encoding="utf-8")


def _class(kind: type) -> str:
    lines = [f"---@class oi.{kind.__name__}"]
    for name, (attribute, wanted) in wire_fields(kind).items():
        optional = "" if attribute.default is attrs.NOTHING else "?"
        meaning = " ".join(attribute.metadata["doc"].split())
        lines.append(f"---@field {name}{optional} {lua_type(wanted)} {meaning}")
    return "\n".join(lines) + "\n"


def lua_type(wanted: Any) -> str:
    """A type as LuaCATS has it."""
    origin = get_origin(wanted)
    if isinstance(wanted, NewType):
        return f"oi.{wanted.__name__}"
    if origin in (Union, types.UnionType):
        return "|".join(lua_type(option) for option in get_args(wanted) if option is not type(None))
    if origin is tuple:
        inner = lua_type(get_args(wanted)[0])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if origin is Literal:
        return "|".join(f'"{option}"' for option in get_args(wanted))
    if attrs.has(wanted):
        return f"oi.{wanted.__name__}"
    return "any" if wanted is Any else _BASIC.get(wanted, "table<string, any>")


if __name__ == "__main__":
    main()
