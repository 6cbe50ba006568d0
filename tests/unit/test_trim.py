"""What is sent of a conversation that outgrows the context window, and what it is told of the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from attrs import evolve, field, frozen
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.errors import ModelError
from oi_engine.messages import Message
from oi_engine.models.conversation import Ask, Conversation
from oi_engine.models.model import ModelEvent, ModelInfo, ModelRequest, Notice, TextDelta, Usage
from oi_engine.models.tokens import estimate, text_of
from oi_engine.models.trim import excerpt
from oi_engine.settings import LlmSettings, Settings
from tests.unit.prompting import build_request

WINDOW = 4000


@frozen
class Counter:
    """A tokenizer that takes four bytes for a token, and remembers what it was asked."""

    asked: list[list[str]] = field(factory=list)
    fails: bool = False

    async def count(self, texts: Sequence[str]) -> list[int]:
        self.asked.append(list(texts))
        if self.fails:
            raise ModelError("worker_died", "Gone.")
        return [len(text) // 4 for text in texts]


class Summarizer:
    """A model that writes summaries, or fails to."""

    def __init__(self, info: ModelInfo, failure: ModelError | None = None) -> None:
        self.requests: list[ModelRequest] = []
        self._info = info
        self.failure = failure
        self.stuck: asyncio.Event | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(request)
        if self.failure is not None:
            raise self.failure
        if self.stuck is not None:
            self.stuck.set()
            await asyncio.Event().wait()
        yield TextDelta(f"Summary {len(self.requests)}.")
        yield Usage(10, 5, 0.001)

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        return self._info

    async def warm_up(self) -> None: ...

    async def close(self) -> None: ...


class Rig:
    """A conversation that grows."""

    def __init__(self, *, tools: bool = True, tokenizer: Counter | None = None, **settings: Any) -> None:
        self.counter = tokenizer or Counter()
        llm = settings.pop("llm", LlmSettings(model="m", context_window=WINDOW))
        self.settings = Settings(llm=llm, **settings)
        self.model = Summarizer(ModelInfo(supports_functions=tools, tokenizer=self.counter, input_price=1e-6))
        self.conversation = Conversation()
        self.messages: list[Message] = []
        self.notices: list[str] = []
        self.spent = 0.0

    def turn(self, number: int, size: int = 50) -> None:
        """A request, a block of code, its output, and a last word: about ``size`` words in all."""
        words = f"w{number} " * (size // 4)
        self.messages += [
            Message("user", "message", f"request {number} {words}", id=f"u{number}"),
            Message("assistant", "code", f"print({number})  # {words}", "python", id=f"c{number}"),
            Message("computer", "console", f"output {number} {words}", "output", id=f"o{number}", parent=f"c{number}"),
            Message("assistant", "message", f"done {number} {words}", id=f"a{number}"),
        ]

    async def ask(self) -> ModelRequest:
        ask = Ask(self.model, self.settings, "/", ("python",), self.spent)
        found: ModelRequest | None = None
        async for step in self.conversation.request(self.messages, ask):
            assert found is None, "the request comes last"
            if isinstance(step, Notice):
                self.notices.append(step.text)
            elif isinstance(step, ModelRequest):
                found = step
        assert found is not None
        return found


def tokens_in(request: ModelRequest) -> int:
    return len(text_of(request.messages)) // 4


def paired(request: ModelRequest) -> bool:
    """Every call of a tool is answered right after it, and nothing is answered that was not called."""
    waiting: list[str] = []
    for message in request.messages:
        if message["role"] == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                return False
        elif waiting:
            return False
        waiting = waiting or [call["id"] for call in message.get("tool_calls") or ()]
    return not waiting


async def test_what_fits_is_sent_as_it_is_and_nothing_is_counted() -> None:
    rig = Rig()
    rig.turn(0)
    request = await rig.ask()
    whole = build_request(rig.messages, rig.settings, await rig.model.info("m"), cwd="/", languages=("python",))
    assert request == whole
    assert (rig.notices, rig.counter.asked, rig.model.requests) == ([], [], [])


@pytest.mark.parametrize("tools", [True, False])
async def test_a_long_conversation_is_trimmed_and_says_so_once_for_each_extent(tools: bool) -> None:
    rig = Rig(tools=tools)
    starts = []
    for number in range(120):
        rig.turn(number)
        request = await rig.ask()
        text = text_of(request.messages)
        assert request.messages[0]["role"] == "system"
        assert "request 0 " in text, "the first request stays"
        assert f"done {number} " in text, "the newest turn stays"
        assert tokens_in(request) <= WINDOW * 0.76
        assert paired(request)
        starts.append("left out here" in text)
    assert not starts[0]
    assert starts[-1]
    trims = [notice for notice in rig.notices if "older messages are no longer sent" in notice]
    assert 2 <= len(trims) <= 20, trims
    assert len(rig.model.requests) == len(trims), "one summary for each"
    # Nothing is counted twice, save where the template or the summary differ.
    counted = [text for batch in rig.counter.asked for text in batch]
    assert len(counted) == len(set(counted))


async def test_the_summary_takes_the_place_of_what_was_cut_and_grows() -> None:
    rig = Rig()
    for number in range(60):
        rig.turn(number)
        await rig.ask()
    request = await rig.ask()
    count = len(rig.model.requests)
    assert count >= 2
    first, second = rig.model.requests[:2]
    assert not first.tools
    assert "request 1 " in str(first.messages)
    assert "request 0 " not in str(first.messages), "the first request is not cut"
    assert "Summary 1." in str(second.messages), "it goes on from the notes so far"
    assert "request 1 " not in str(second.messages), "what is summed up is not read again"
    said = request.messages[1]
    assert said["role"] == "user"
    assert said["content"].index("request 0") < said["content"].index(f"Summary {count}.")
    assert f"Summary {count - 1}." not in said["content"]


async def test_a_summary_that_fails_costs_a_word_and_is_not_tried_for_the_same_part_again() -> None:
    rig = Rig()
    rig.model.failure = ModelError("other", "No such luck.")
    for number in range(30):
        rig.turn(number)
    request = await rig.ask()
    assert "left out here" in text_of(request.messages)
    assert [notice for notice in rig.notices if "No such luck" in notice]
    said = len(rig.notices)
    await rig.ask()
    assert (len(rig.notices), len(rig.model.requests)) == (said, 1)


async def test_a_summary_that_was_stopped_is_asked_for_again() -> None:
    rig = Rig()
    for number in range(30):
        rig.turn(number)
    rig.model.stuck = asyncio.Event()
    asking = asyncio.create_task(rig.ask())
    await asyncio.wait_for(rig.model.stuck.wait(), 30)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    rig.model.stuck = None
    assert "Summary 2." in text_of((await rig.ask()).messages)
    assert rig.model.requests[0] == rig.model.requests[1]


async def test_a_summary_of_a_very_long_past_is_bounded() -> None:
    rig = Rig()
    for number in range(2000):
        rig.turn(number)
    await rig.ask()
    (asked,) = rig.model.requests
    assert len(str(asked.messages)) < WINDOW * 2
    assert sum(len(text) for batch in rig.counter.asked for text in batch) < WINDOW * 4 * 4, "old ones are not counted"


async def test_the_extent_stays_while_it_fits() -> None:
    rig = Rig()
    for number in range(30):
        rig.turn(number)
    first = await rig.ask()
    rig.turn(30, size=8)
    second = await rig.ask()
    assert [dict(m) for m in second.messages[: len(first.messages)]] == [dict(m) for m in first.messages]


async def test_counts_that_fail_leave_the_estimate() -> None:
    rig = Rig(tokenizer=Counter(fails=True))
    for number in range(30):
        rig.turn(number)
    request = await rig.ask()
    assert estimate(text_of(request.messages)) <= WINDOW
    assert paired(request)


async def test_a_long_turn_keeps_its_request() -> None:
    rig = Rig()
    rig.turn(0)
    rig.messages.append(Message("user", "message", "the task at hand", id="task"))
    for number in range(1, 80):
        words = "x " * 40
        rig.messages += [
            Message("assistant", "code", f"print({number}) # {words}", "python", id=f"c{number}"),
            Message("computer", "console", f"output {number} {words}", "output", id=f"o{number}", parent=f"c{number}"),
        ]
    request = await rig.ask()
    text = text_of(request.messages)
    assert "request 0 " in text
    assert "the task at hand" in text
    assert "output 79" in text
    assert paired(request)


async def test_taking_back_what_was_cut_begins_anew() -> None:
    rig = Rig()
    for number in range(30):
        rig.turn(number)
    await rig.ask()
    del rig.messages[8:]
    for number in range(100, 108):
        rig.turn(number, 8)
    request = await rig.ask()
    text = text_of(request.messages)
    assert "left out here" not in text
    assert "done 1 " in text


async def test_a_wider_window_brings_everything_back() -> None:
    rig = Rig()
    for number in range(30):
        rig.turn(number)
    await rig.ask()
    rig.settings.llm = LlmSettings(model="m", context_window=100_000)
    assert "left out here" not in text_of((await rig.ask()).messages)


async def test_without_a_known_window_everything_is_sent() -> None:
    rig = Rig(llm=LlmSettings(model="m"))
    for number in range(100):
        rig.turn(number)
    assert "done 50 " in text_of((await rig.ask()).messages)


@given(
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=25),
    window=st.integers(600, 20_000),
    maximum=st.none() | st.integers(1, 30_000),
    tools=st.booleans(),
)
async def test_whatever_the_sizes(sizes: list[int], window: int, maximum: int | None, tools: bool) -> None:
    llm = LlmSettings(model="m", context_window=window, max_tokens=maximum)
    rig = Rig(tools=tools, llm=llm)
    for number, size in enumerate(sizes):
        rig.turn(number, size)
        request = await rig.ask()
        assert request.messages[0]["role"] == "system"
        assert f"done {number} " in text_of(request.messages)
        assert paired(request)
        roles = [message["role"] for message in request.messages[1:]]
        assert "user user" not in " ".join(roles)
        assert roles[0] == "user"


async def test_what_is_remembered_gives_the_same_prompt_as_nothing_remembered() -> None:
    rig = Rig(llm=LlmSettings(model="m"), user_message_template="<{content}>")
    for number in range(5):
        rig.turn(number)
        for size in range(4 * number, len(rig.messages) + 1):
            # Answers arrive one after the other, as in a turn.
            kept, rig.messages = rig.messages, rig.messages[:size]
            if rig.messages:
                info = await rig.model.info("m")
                fresh = build_request(rig.messages, rig.settings, info, cwd="/", languages=("python",))
                assert (await rig.ask()).messages == fresh.messages
            rig.messages = kept
    rig.messages[2] = evolve(rig.messages[2], content="changed")
    assert "changed" in text_of((await rig.ask()).messages)


def test_an_excerpt_has_both_ends() -> None:
    messages = [Message("user", "message", f"word {number}", id=f"u{number}") for number in range(1000)]
    found = excerpt(messages, 900)
    assert len(found) < 1200
    assert "word 0\n" in found
    assert "word 999" in found
    assert "messages left out" in found
    secret = Message("computer", "message", "aside", recipient="user")
    assert excerpt([secret, Message("assistant", "reasoning", "hm")], 900) == ""
