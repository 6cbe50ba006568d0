"""``docs/protocol.md``, made from ``oi_lsp.protocol``: ``python -m oi_lsp.docs`` writes it, ``--check`` compares."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NewType, Union, get_args, get_origin

import attrs

from oi_lsp import fields, protocol, protocol_settings
from oi_lsp.structure import wire_fields

PATH = Path(__file__).parent.parent / "docs" / "protocol.md"

_INTRODUCTION = """\
# The protocol

<!-- Generated from oi_lsp/protocol.py by `python -m oi_lsp.docs`; edit that. -->

What `oi-lsp --stdio` says and understands beyond LSP itself, version {version}. It is plain LSP 3.17: JSON-RPC 2.0 with
`Content-Length` headers.

A client that shows chunks names the version in `initialize`; only then is it sent notifications of this protocol:

```json
{{"initializationOptions": {{"oi": {{"protocolVersion": {version}}}, "settings": {{"llm": {{"model": "gpt-4o"}}}}}}}}
```

With `"shows": "documents"` beside the version, a client says that it shows conversations as chat documents
(`chat-documents.md`). It is then sent `oi/document` in the place of `oi/chunks` and `oi/state`; what is run and asked
in a file goes into a chat document; and output whose line has not ended is told there, and written when that has ended.

`settings` has the shape of a profile and counts as the person's own: it may loosen safety (`auto_run`). A setting that
cannot be used is said in a `window/showMessage`. Another version is refused with an error that names both.

**Commands** are sent as `workspace/executeCommand` with one argument, an object. Each is answered before any
notification about what it started; no answer waits for a person, a model's reply or a kernel. What takes a look at the
disk, or around on this machine, is answered when that is done, after {answer_time:g} seconds at the most; others are
answered meanwhile. A field marked `?` may be left out or null. A field that a command does not have is an error, as
is text that is not Unicode (half of a surrogate pair) or longer than {text_limit:,} characters (an id: {id_limit}).

To a client that shows no chunks, a command that cannot be done is answered with null, and the reason is said in a
`window/showMessage`: such clients drop the error or show it without the remedy.

`workspace/didChangeConfiguration` with `{{"settings": {{"oi": {{…}}}}}}`, in the shape of a profile, replaces the
`settings` of `initializationOptions`. What is wrong in a file of settings is published as diagnostics of that file.

**Following the stream.** A session is one ordered stream of LMC chunks, numbered from 1, and `oi/chunks` carries it. A
client keeps the number that it expects next, at first 1 (or `nextSeq` of `oi.session.open`):

- `seq` is that number: add the chunks and expect `nextSeq`.
- `seq` is greater: something was missed. Send `oi.session.replay {{sessionId, afterSeq}}` with the number of the last
  chunk that you have, and drop notifications until one begins at or before the number that you expect.
- `seq` is less (and `replay` is true): the first chunk begins a message, or is a whole one, that you have already. Drop
  the message with that `id` and all that came after it, then add these chunks and expect `nextSeq`.

When a message has ended, its content chunks become one chunk that stands for all their numbers, so there may be fewer
`chunks` than `nextSeq - seq`. A replay begins where a message begins, at or before the number that was asked for, and a
client that reads slowly may be sent its latest message anew in the same way.

A turn ends with the chunk `{{"role": "server", "type": "status", "content": "complete"}}`; a failed one has `{{"role":
"server", "type": "error", …}}` before it. So has one that was cut off, as the server ended, once it is opened again.

**Magic commands.** A text that begins with `%` (`%help` lists them all; `oi.chat.complete` offers them) is for the
program. `%% …` runs a shell command, as `oi.code.run` would. Any other is done at once, in mid-turn too, and what came
of it stands in the stream under a `turnId` of its own, which the answer to `oi.chat.send` named:

- `{{"role": "user", "type": "command", "content": "magic", "id": …}}`, the mark: all that comes of the command has this
  id as its `parent`.
- A message of the role `user`: what was written. A message of the role `computer`, where there is something to say:
  the answer in Markdown, or why it was not done (that is no error of the request). Both have the `recipient` `user`.
- For `%open`: `{{"role": "computer", "type": "command", "format": "show", "content": the session's id}}`: show that
  session, which `oi.session.open` reads, in the place of this one. Where `replay` is true, it was done before.
- The status `complete`.

None of it is part of the conversation: the model does not get it, `oi.session.undo` does not count it, and it is
neither in `messages` of `oi.session.open` nor stored. It may stand in a turn, between two messages of that;
its status does not end that turn. What is sent before a command is done waits for it, and is shown in `queue`.

**What is told of a block.** Chunks `{{"role": "computer", "type": "command", "format": …, "content": …, "parent": …}}`,
whose `parent` is the id of a code message, are for programs; people read the same in notes, or see it with the block:

- `run`: `{{"state": "running"}}` as it begins to run, and how that ended: `ok`, `error` (an exception,
  an exit status other than 0), `interrupted` (its variables are kept) or `died` (they are gone). Where the second one
  is missing, the turn was cut off in mid-run.
- `unasked`, before it runs: `{{"words": …}}` says what let it run without a question. There is none where `auto_run` is
  `true`.
- `denied`, after it: `{{"paths": […], "network": …}}` is what the sandbox seems to have kept it from and
  `oi.sandbox.allow` can allow.
- `changes`: what it changed on disk; see `oi.changes.list`.

They are kept with the conversation, as is why a turn failed, and stand in the stream again when it is opened another
time. To show a session as it was while it went on, open it and have it replayed from `afterSeq` 0. `allowed`, with a
mark as its `parent`, is not kept: `{{"paths": […], "network": …}}` is all that `oi.sandbox.allow` has allowed so far.

**Inline edits.** `oi.selection.edit` has the model write other text for some lines of a document. What would change is
cut into *hunks*, and nothing is written before one is accepted. `oi/edit` tells an edit whole, as it is now: draw what
it says, and forget what was drawn before. Its ranges are for the `version` that it names; one that is older than the
document is followed by another. While the model writes (`streaming`), hunks come, grow and are replaced by others under
new ids. A hunk is

- `proposed`: it waits for `oi.edit.accept` or `oi.edit.reject`;
- `pending`: it was accepted, and is written by a `workspace/applyEdit` of its own, when those before it are in the
  document. It is for one version of the document, and asked for again where the client refuses that;
- `accepted`: it is in the document. It is `proposed` again when the person undoes it;
- `rejected`;
- `stale`: its lines were changed by someone, so that it no longer fits.

An edit that overlaps one from before takes its place: what was not accepted of the other is gone. An edit ends when
its document is closed or all of it was rejected; `hunks` is empty then. A new file (its `uri` is neither open nor on
the disk) has one hunk, and is written to the disk when that is accepted, if there is no such file by then.

A client that is not sent `oi/edit` is shown each hunk as a diagnostic with the new text, and answers by code actions.
"""


def render() -> str:
    """The whole page."""
    introduction = _INTRODUCTION.format(
        version=protocol.VERSION,
        text_limit=fields.TEXT_LIMIT,
        id_limit=fields.ID_LIMIT,
        answer_time=protocol.ANSWER_TIME,
    )
    parts = [introduction, "## Commands\n"]
    for command in protocol.COMMANDS:
        parts += [f"### `{command.name}`\n", _prose(command.params), *_fields(command.params)]
        parts += ["Answers:\n" if wire_fields(command.result) else "Answers `{}`.\n", *_fields(command.result)]
    parts.append("## Notifications\n")
    for notification in protocol.NOTIFICATIONS:
        parts += [f"### `{notification.method}`\n", _prose(notification.params), *_fields(notification.params)]
    parts.append("## Types\n")
    for kind in wire_classes():
        parts += [f"### `{kind.__name__}`\n", _prose(kind), *_fields(kind)]
    parts.append(
        "### `LmcMessage`, `LmcChunk`\n\nObjects in the form that Open Interpreter documents (`role`, `type`, "
        "`format`, `content`, `recipient`, `start`, `end`), with `id`, `created_at` and `parent` besides.\n"
    )
    parts.append(
        "### `Attachment`\n\nA `FileAttachment`, a `TextAttachment`, or an LMC message (which has a `role`), as in "
        "`content`.\n"
    )
    parts += ["## Errors\n", "An error's `data`, where it has one, is an `ErrorData`.\n", _errors()]
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` say whether it is as it should be. Answers the exit code."""
    page = render()
    if "--check" in arguments:
        return 0 if PATH.read_text(encoding="utf-8") == page else 1
    PATH.write_text(page, encoding="utf-8")
    return 0


def _prose(kind: type) -> str:
    return "\n".join(line.strip() for line in (kind.__doc__ or "").splitlines()).strip() + "\n"


def _fields(kind: type) -> Iterator[str]:
    fields = wire_fields(kind)
    if not fields:
        return
    rows = ["| field | type | |", "|---|---|---|"]
    for name, (attribute, wanted) in fields.items():
        optional = "" if attribute.default is attrs.NOTHING else "?"
        rows.append(f"| `{name}{optional}` | {type_name(wanted)} | {attribute.metadata['doc']} |")
    yield "\n".join(rows) + "\n"


def type_name(wanted: Any) -> str:
    """A type in words, with the names of the classes in code."""
    origin = get_origin(wanted)
    if isinstance(wanted, NewType):
        return f"`{wanted.__name__}`"
    if origin in (Union, types.UnionType):
        return " or ".join(type_name(option) for option in get_args(wanted) if option is not type(None))
    if origin is tuple:
        return f"list of {type_name(get_args(wanted)[0])}"
    if origin is Literal:
        return ", ".join(f"`{option}`" for option in get_args(wanted))
    if attrs.has(wanted):
        return f"`{wanted.__name__}`"
    if wanted is Any:
        return "any value"
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}.get(wanted, "object")


def wire_classes() -> list[type]:
    """The classes that fields of others have, in the order of the file."""
    roots = [*(c.params for c in protocol.COMMANDS), *(c.result for c in protocol.COMMANDS), protocol.ErrorData]
    roots += [notification.params for notification in protocol.NOTIFICATIONS]
    attachments: list[type] = [protocol_settings.FileAttachment, protocol_settings.TextAttachment]
    found: set[type] = {protocol.ErrorData, *attachments}
    roots += attachments
    while roots:
        for _, wanted in wire_fields(roots.pop()).values():
            for kind in _classes(wanted):
                if kind not in found:
                    found.add(kind)
                    roots.append(kind)
    members = (kind for module in (protocol, *protocol.MODULES) for kind in vars(module).values())
    # Some modules have a class of another one's.
    return list(dict.fromkeys(kind for kind in members if isinstance(kind, type) and kind in found))


def _classes(wanted: Any) -> Iterator[type]:
    if attrs.has(wanted):
        yield wanted
    for inner in get_args(wanted):
        if not isinstance(inner, str):
            yield from _classes(inner)


def _errors() -> str:
    rows = ["| code | | |", "|---|---|---|"]
    rows += [f"| {int(code)} | `{code.name}` | {text} |" for code, text in protocol.ERROR_DOCS.items()]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
