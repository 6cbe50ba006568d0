"""Prompts that begin as an earlier one did: what crosses to the worker, and what is put together there."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from oi_engine.models.resending import KEPT, Received, Sent

Messages = list[dict[str, Any]]


class Wire:
    """Both sides, with JSON in between."""

    def __init__(self) -> None:
        self.sent, self.received = Sent(), Received()
        self.number = 0
        self.crossed = 0

    def send(self, messages: Messages) -> Messages:
        self.number += 1
        line = json.dumps({"id": self.number, **self.sent.fields(self.number, messages)})
        request = json.loads(line)
        self.crossed = len(request["messages"])
        assert len(request.get("forget", ())) <= 1
        return self.received.whole(request)


def said(*words: Any) -> Messages:
    return [{"role": "user", "content": word} for word in words]


def test_only_what_is_new_crosses() -> None:
    wire = Wire()
    prompt = said(*range(100))
    assert wire.send(prompt) == prompt
    assert wire.crossed == 100
    longer = [*prompt[:-1], *said("other", "more")]
    assert wire.send(longer) == longer
    assert wire.crossed == 2
    assert wire.send(longer) == longer
    assert wire.crossed == 0, "a retry"
    assert wire.send(longer[:40]) == longer[:40]
    assert wire.crossed == 0, "taken back"


def test_conversations_do_not_push_one_another_out() -> None:
    wire = Wire()
    talks = {name: said("system", *(f"{name} {number}" for number in range(20))) for name in range(KEPT)}
    for name in talks:
        wire.send(talks[name])
        assert wire.crossed >= 20, "another conversation has only its beginning in common"
    for _ in range(3):
        for name in talks:
            talks[name] = [*talks[name], *said("more")]
            assert wire.send(talks[name]) == talks[name]
            assert wire.crossed == 1
    # One more than are remembered: the one that was silent longest crosses whole.
    wire.send(said("system", *range(20)))
    assert wire.send(talks[0]) == talks[0]
    assert wire.crossed >= 20


def test_changes_in_what_was_received_stay_there() -> None:
    wire = Wire()
    call = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "execute", "arguments": "{}"}}]}
    prompt: Messages = [call, {"role": "user", "content": [{"type": "text", "text": "a"}]}]
    got = wire.send(prompt)
    got[0]["tool_calls"][0]["function"].pop("name")
    got[1]["content"].clear()
    got.clear()
    assert wire.send(prompt) == prompt
    assert wire.crossed == 0


@given(st.lists(st.lists(st.integers(0, 2), max_size=8), max_size=40))
def test_whatever_comes_after_what(prompts: list[list[int]]) -> None:
    wire = Wire()
    for words in prompts:
        assert wire.send(said(*words)) == said(*words)
