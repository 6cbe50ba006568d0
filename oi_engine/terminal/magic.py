"""Magic commands: lines that begin with ``%`` are for the terminal and not for the model."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from attrs import frozen

from oi_engine.errors import OiError

if TYPE_CHECKING:
    from oi_engine.terminal.chat import Chat


@frozen
class Magic:
    """One command: its name without ``%``, what its arguments are called, what it does, and the doing."""

    name: str
    arguments: str
    help: str
    run: Callable[[Chat, str], Awaitable[None] | None]


def _help(chat: Chat, rest: str) -> None:
    """Show every command, one a line."""
    usages = [f"%{magic.name} {magic.arguments}".rstrip() for magic in MAGIC.values()]
    width = max(map(len, usages))
    lines = [f"{usage:<{width}}  {magic.help}" for usage, magic in zip(usages, MAGIC.values(), strict=True)]
    chat.say("\n".join(lines))


def _reset(chat: Chat, rest: str) -> None:
    """Begin the conversation anew."""
    chat.session.reset()
    chat.say("The conversation begins anew. Variables of the kernels are kept.")


def _undo(chat: Chat, rest: str) -> None:
    """Take the last message back."""
    before = len(chat.session.messages)
    chat.session.undo()
    taken = before - len(chat.session.messages)
    chat.say("Your last message and all that came of it is taken back." if taken else "There is nothing to take back.")


MAGIC: dict[str, Magic] = {
    magic.name: magic
    for magic in (
        Magic("help", "", "Show these commands.", _help),
        Magic("reset", "", "Begin the conversation anew; variables are kept.", _reset),
        Magic("undo", "", "Take back your last message and all that came of it.", _undo),
    )
}
"""The commands by name; a later part adds its own here."""


async def run_magic(chat: Chat, line: str) -> None:
    """Run one line that begins with ``%``. Raises ``OiError`` for a command that there is not."""
    name, _, rest = line[1:].strip().partition(" ")
    magic = MAGIC.get(name)
    if magic is None:
        raise OiError(f"There is no command %{name}.", "%help lists them.")
    outcome = magic.run(chat, rest.strip())
    if inspect.isawaitable(outcome):
        await outcome
