"""Picking a stored conversation: with arrow keys where the terminal can, else by its number in a list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from oi_engine.errors import OiError
from oi_engine.history.store import Conversation
from oi_engine.magic.history import about, page, title
from oi_engine.safety.sanitize import sanitize
from oi_engine.terminal.ask import Asker, Interrupted, Left


@runtime_checkable
class Chooser(Protocol):
    """An asker that can put a choice."""

    async def choose(self, options: Sequence[str]) -> int:
        """Which of the options: its place, from 0. Raises ``Left``."""
        ...


async def pick(path: Path | None, asker: Asker) -> Conversation:
    """The conversation that the person picks of those kept at ``path``. Raises ``Left`` and ``OiError``."""
    found = await asyncio.to_thread(page, path)
    if not found:
        raise OiError("No conversation is stored yet.", "`oi-lsp chat` begins one.")
    options = [sanitize(" ".join(f"{about(one)} · {title(one)}".split())) for one in found]
    if isinstance(asker, Chooser):
        return found[await asker.choose(options)]
    print("\n".join(f"{number:>3}. {option}" for number, option in enumerate(options, start=1)))
    print(f"Which one? Its number, 1 to {len(found)}.", flush=True)
    while True:
        try:
            answer = (await asker.message()).strip()
        except Interrupted as error:
            raise Left from error
        if answer.isdecimal() and 1 <= int(answer) <= len(found):
            return found[int(answer) - 1]
        wrong = f"{sanitize(answer)!r} is none of the numbers from 1 to {len(found)}."
        if not asker.can_ask:
            raise OiError(wrong, "Give it as the first line of the input.")
        print(wrong, flush=True)
