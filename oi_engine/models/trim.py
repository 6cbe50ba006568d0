"""What of a conversation fits into the context window: its first request, and the newest of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from oi_engine.messages import Message
from oi_engine.models.model import ModelInfo
from oi_engine.models.tokens import size
from oi_engine.models.truncate import truncate_for_model
from oi_engine.models.units import Unit
from oi_engine.settings import LlmSettings

KEPT = 0.6
"""When it must be trimmed, a conversation is cut to this share of the room: then the prompt begins alike for many turns
(which providers' caches reward), and a summary of what was cut holds for as long."""

_PINNED = 0.25
"""A request that takes more of the room than this is not kept for being the first or the last."""

_MESSAGE_CHARS = 800
_OUTPUT_SHARE = 4


@frozen
class Extent:
    """``units[:head]`` and ``units[start:]`` are sent, what is between them is cut (nothing where they meet)."""

    head: int = 0
    start: int = 0

    @property
    def cut(self) -> bool:
        """Whether anything is left out."""
        return self.start > self.head


def reserve(llm: LlmSettings, info: ModelInfo, window: int) -> int:
    """Tokens of the window that are kept for the reply: as the settings say, else what the model may write, bounded."""
    wanted = llm.max_tokens or min(info.max_output_tokens or window, window // _OUTPUT_SHARE)
    return min(wanted, window // 2)


def candidates(units: Sequence[Unit], extent: Extent) -> Iterator[Unit]:
    """The units that may be sent, those first that come before others when there is little room."""
    head = _first_request(units)
    yield from units[:head]
    for at in range(len(units) - 1, max(head, extent.start) - 1, -1):
        yield units[at]


def pinned(units: Sequence[Unit], extent: Extent, room: float) -> Unit | None:
    """The last request, where it was cut (a long turn) and is small enough to be kept all the same."""
    last = next((at for at in range(len(units) - 1, -1, -1) if units[at].asks), None)
    if last is None or not extent.head <= last < extent.start:
        return None
    return units[last] if size(units[last]) <= room * _PINNED else None


def trimmed(units: Sequence[Unit], extent: Extent, room: float) -> Extent:
    """The extent that fits into ``room`` tokens, not smaller than ``extent``; that itself where it still fits.

    The newest unit is always sent. Where it costs little, the rest begins with a request.
    """
    head = _first_request(units)
    taken = sum(size(unit) for unit in units[:head])
    if taken > room * _PINNED:
        head = taken = 0
    begin = max(head, extent.start)
    if _newest(units, begin, room - taken) == begin:
        return Extent(head, begin)
    at = _newest(units, begin, (room - taken) * KEPT)
    asked = next((later for later in range(at, len(units)) if units[later].asks), at)
    worth = sum(size(unit) for unit in units[asked:]) >= sum(size(unit) for unit in units[at:]) / 2
    return Extent(head, asked if worth else at)


def _first_request(units: Sequence[Unit]) -> int:
    """How many units there are up to the first request, that included."""
    return next((at + 1 for at, unit in enumerate(units) if unit.asks), 0)


def _newest(units: Sequence[Unit], begin: int, room: float) -> int:
    """Where the newest units begin that fit, at least one."""
    at = len(units)
    while at > begin:
        room -= size(units[at - 1])
        if room < 0 and at < len(units):
            break
        at -= 1
    return at


def excerpt(messages: Sequence[Message], limit: int) -> str:
    """What was said and done in some messages, in about ``limit`` characters at most: their ends, if need be."""
    head: list[str] = []
    tail: list[str] = []
    first, last, used = 0, len(messages), 0
    while first < last and used < limit // 3:
        head.append(_line(messages[first]))
        used += len(head[-1])
        first += 1
    while first < last and used < limit:
        last -= 1
        tail.append(_line(messages[last]))
        used += len(tail[-1])
    gap = [f"[{last - first} messages left out]"] if first < last else []
    return "\n".join(line for line in (*head, *gap, *reversed(tail)) if line)


def _line(message: Message) -> str:
    if message.recipient == "user" or message.type == "reasoning" or not message.text:
        return ""
    if message.type == "image":
        return f"{message.role}: [an image]"
    what = f" ({message.type} {message.format or ''})".replace(" )", ")") if message.type != "message" else ""
    return f"{message.role}{what}: {truncate_for_model(message.text, _MESSAGE_CHARS)}"
