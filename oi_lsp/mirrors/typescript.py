"""``editors/vscode/src/protocol.ts``, the protocol as TypeScript has it.

``python -m oi_lsp.mirrors.typescript`` writes it, ``--check`` compares.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NewType, Union, get_args, get_origin

import attrs

from oi_lsp import docs, protocol
from oi_lsp.structure import wire_fields

PATH = Path(__file__).parents[2] / "editors" / "vscode" / "src" / "protocol.ts"

_HEAD = """\
// Made from oi_lsp/protocol*.py by `python -m oi_lsp.mirrors.typescript`: change it there.

/** The version of the protocol that these types are of. */
export const VERSION = {version};

/** A whole LMC message, in its documented form, with what is added here. */
export interface LmcMessage {{
  role: "user" | "assistant" | "computer" | "server";
  type: string;
  format?: string;
  recipient?: "user" | "assistant";
  content: unknown;
  id?: string;
  created_at?: string;
  parent?: string;
}}

/** An LMC chunk: `start`, `end` or `content`. */
export interface LmcChunk {{
  role: "user" | "assistant" | "computer" | "server";
  type: string;
  format?: string;
  recipient?: "user" | "assistant";
  content?: unknown;
  start?: true;
  end?: true;
  id?: string;
  created_at?: string;
  parent?: string;
  line?: number;
  failure?: {{ line: number; column?: number; end_line?: number; end_column?: number; name: string; message: string }};
}}

/** What goes with a message. */
export type Attachment = FileAttachment | TextAttachment | LmcMessage;
"""

_SIMPLE = {str: "string", int: "number", float: "number", bool: "boolean", Any: "unknown", type(None): "null"}


def render() -> str:
    """The whole file."""
    parts = [_HEAD.format(version=protocol.VERSION)]
    roots = [each for command in protocol.COMMANDS for each in (command.params, command.result)]
    roots += [notification.params for notification in protocol.NOTIFICATIONS]
    parts += [_interface(kind) for kind in dict.fromkeys([*docs.wire_classes(), *roots])]
    commands = (f'  "{c.name}": [{c.params.__name__}, {c.result.__name__}];' for c in protocol.COMMANDS)
    parts.append("/** Each command: its argument and its answer. */\nexport interface Commands {")
    parts += [*commands, "}\n"]
    notifications = (f'  "{each.method}": {each.params.__name__};' for each in protocol.NOTIFICATIONS)
    parts.append("/** Each notification and its params. */\nexport interface Notifications {")
    parts += [*notifications, "}\n"]
    codes = (f"  {code.name}: {int(code)}," for code in protocol.ErrorCode)
    parts += ["export const ErrorCode = {", *codes, "} as const;\n"]
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Write the file, or with ``--check`` say whether it is as it should be. Answers the exit code."""
    text = render()
    if "--check" in arguments:
        return 0 if PATH.read_text(encoding="utf-8") == text else 1
    PATH.write_text(text, encoding="utf-8")
    return 0


def _interface(kind: type) -> str:
    head = f"/** {' '.join((kind.__doc__ or '').split())} */"
    members = list(_members(kind))
    if not members:
        return f"{head}\nexport type {kind.__name__} = Record<string, never>;\n"
    return "\n".join([head, f"export interface {kind.__name__} {{", *members, "}\n"])


def _members(kind: type) -> Iterator[str]:
    for name, (attribute, wanted) in wire_fields(kind).items():
        optional = "" if attribute.default is attrs.NOTHING else "?"
        yield f"  /** {attribute.metadata['doc']} */"
        yield f"  {name}{optional}: {type_name(wanted)};"


def type_name(wanted: Any) -> str:
    """A type of Python's as TypeScript has it. What may be ``None`` here is left out there."""
    origin = get_origin(wanted)
    if isinstance(wanted, NewType) or attrs.has(wanted):
        return str(wanted.__name__)
    if origin in (Union, types.UnionType):
        return " | ".join(type_name(option) for option in get_args(wanted) if option is not type(None))
    if origin is tuple:
        item = type_name(get_args(wanted)[0])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if origin is Literal:
        return " | ".join(json.dumps(option) for option in get_args(wanted))
    return _SIMPLE.get(wanted, "Record<string, unknown>")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
