"""Prompts that begin as an earlier one did cross to the model worker once: both of its sides.

A conversation's prompt is sent whole with each request, and all but its end was in the one before. So ``Sent`` says of
which earlier request the worker has the beginning, and ``Received`` puts it together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from attrs import define, field

from oi_engine.models.model import ProviderMessage

KEPT = 8
"""Prompts that are remembered: about as many conversations as are likely to go on at once."""


@define
class Sent:
    """What the worker has been sent. Lives as long as that worker."""

    _prompts: OrderedDict[int, Sequence[ProviderMessage]] = field(factory=OrderedDict, init=False)

    def fields(self, number: int, messages: Sequence[ProviderMessage]) -> dict[str, Any]:
        """The fields with which a request says its messages: ``messages``, perhaps ``after`` and ``forget``.

        The messages must not be changed afterwards.
        """
        base, count = None, 0
        for earlier, sent in self._prompts.items():
            if (alike := _alike(sent, messages)) > count:
                base, count = earlier, alike
        fields: dict[str, Any] = {"messages": messages}
        forget = []
        if base is not None:
            fields = {"messages": messages[count:], "after": {"id": base, "count": count}}
            if count > len(self._prompts[base]) // 2:
                forget.append(base)  # the same conversation, which goes on
        self._prompts[number] = messages
        if not forget and len(self._prompts) > KEPT:
            forget.append(next(iter(self._prompts)))
        for earlier in forget:
            del self._prompts[earlier]
        return {**fields, "forget": forget} if forget else fields


@define
class Received:
    """What the worker was sent."""

    _prompts: dict[int, list[dict[str, Any]]] = field(factory=dict, init=False)

    def whole(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """All messages of a request, which may be changed. To be asked once for each, in the order they came."""
        after = request.get("after")
        begun = self._prompts[after["id"]][: after["count"]] if after else []
        messages = self._prompts[request["id"]] = [*begun, *request["messages"]]
        for earlier in request.get("forget", ()):
            del self._prompts[earlier]
        copied: list[dict[str, Any]] = _copied(messages)
        return copied


def _alike(one: Sequence[ProviderMessage], other: Sequence[ProviderMessage]) -> int:
    """How many messages both begin with. Looks from the end, where prompts of one conversation differ."""
    length = min(len(one), len(other))
    back = 0
    while back < length and one[: length - back] != other[: length - back]:
        back = 2 * back + 1
    at = max(0, length - back)
    while at < length and one[at] == other[at]:
        at += 1
    return at


def _copied(value: Any) -> Any:
    """JSON data anew, so that changes in it stay there."""
    if isinstance(value, dict):
        return {key: _copied(each) if isinstance(each, dict | list) else each for key, each in value.items()}
    return [_copied(each) if isinstance(each, dict | list) else each for each in value]
