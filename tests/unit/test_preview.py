"""What is shown of the next request: what would be sent, and nothing else happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve, field, frozen

from oi_engine.errors import ModelError
from oi_engine.messages import Message
from oi_engine.models.conversation import Ask
from oi_engine.models.model import ModelInfo, ProviderMessage
from oi_engine.models.preview import Preview
from oi_engine.models.tokens import text_of
from oi_engine.session.session import Session
from oi_engine.settings import LlmSettings, Settings
from tests.fakes.scripted import ScriptedModel, TinyRuntime, say
from tests.unit.test_trim import WINDOW, Counter, Rig, Summarizer
from tests.unit.test_vision import PNG, SEES, b64, image


async def shown(rig: Rig) -> Preview:
    ask = Ask(rig.model, rig.settings, "/", ("python",), rig.spent)
    return await rig.conversation.preview(rig.messages, ask)


@pytest.mark.parametrize("tools", [True, False])
async def test_at_every_length_it_is_what_is_sent_next(tools: bool) -> None:
    rig = Rig(tools=tools, user_message_template="<{content}>")
    rig.model.failure = ModelError("other", "No summaries here.")  # else the gap would be worded anew
    trimmed = False
    for number in range(60):
        rig.turn(number)
        before = await shown(rig)
        sent = await rig.ask()
        assert before.request == sent
        assert (await shown(rig)).request == sent, "what was sent is what would be sent again"
        trimmed = trimmed or "left out here" in text_of(sent.messages)
    assert trimmed


async def test_nothing_is_asked_said_or_remembered() -> None:
    rig, plain = Rig(max_budget=1.0), Rig(max_budget=1.0)
    for number in range(40):
        rig.turn(number)
        plain.turn(number)
    preview = await shown(rig)
    assert rig.model.requests == []
    assert rig.conversation.least is None
    trimmed, later = preview.notices
    assert "older messages are no longer sent" in trimmed
    assert "asked for a summary" in later
    sent, expected = await rig.ask(), await plain.ask()
    assert sent == expected
    assert rig.notices == plain.notices
    assert rig.model.requests == plain.model.requests
    # With the summary there is nothing left to say, and the preview has it.
    after = await shown(rig)
    assert after.request == sent
    assert "Summary 1." in text_of(after.request.messages)
    assert after.notices == ()


async def test_other_settings_in_between_leave_no_trace() -> None:
    rig = Rig(llm=LlmSettings(model="m"))
    rig.turn(0)
    sent = await rig.ask()
    rig.model = Summarizer(ModelInfo(supports_functions=False))
    assert "```python" in text_of((await shown(rig)).request.messages)
    rig.model = Summarizer(ModelInfo(supports_functions=True))
    assert await rig.ask() == sent


async def test_what_would_pass_the_budget_is_shown_and_said() -> None:
    rig = Rig(max_budget=1e-9)
    rig.turn(0)
    preview = await shown(rig)
    assert "request 0" in text_of(preview.request.messages)
    assert "max_budget" in preview.notices[0]


@frozen
class Halver:
    """Takes every second image away."""

    asked: list[Any] = field(factory=list)
    fails: bool = False

    async def fit(self, messages: Sequence[ProviderMessage]) -> tuple[list[ProviderMessage], int]:
        self.asked.append(messages)
        if self.fails:
            raise ModelError("worker_died", "Gone.")
        return [*messages[:1], {"role": "user", "content": "(left out)"}], 1


@pytest.mark.parametrize("fails", [False, True])
async def test_images_are_shown_as_they_are_sent(fails: bool) -> None:
    rig = Rig()
    halver = Halver(fails=fails)
    rig.model = Summarizer(evolve(SEES, images=halver))
    rig.messages += [Message("user", "message", "Look.", id="u1")]
    await shown(rig)
    assert not halver.asked, "there is no image"
    rig.messages += [image(PNG)]
    preview = await shown(rig)
    assert len(halver.asked) == 1
    assert (b64(PNG) in str(preview.request.messages)) is fails
    (said,) = preview.notices
    assert ("Gone." if fails else "too large for the provider") in said


async def test_an_image_that_cannot_be_read_is_said_by_both() -> None:
    rig = Rig()
    rig.model = Summarizer(SEES)
    rig.messages += [Message("user", "image", "gone.png", "path", id="i1")]
    preview = await shown(rig)
    assert "gone.png cannot be read" in preview.notices[0]
    await rig.ask()
    assert rig.notices == list(preview.notices)


@pytest.mark.parametrize(("own", "fails", "counted"), [(True, False, True), (False, False, False), (True, True, False)])
async def test_the_size(own: bool, fails: bool, counted: bool) -> None:
    rig = Rig(tokenizer=Counter(fails=fails), user_message_template="1234567{content}")
    rig.model = Summarizer(ModelInfo(supports_functions=False, tokenizer=rig.counter, own_vocabulary=own))
    rig.turn(0)
    preview = await shown(rig)
    size = await preview.size()
    assert size.counted is counted
    assert preview.window == WINDOW
    if not fails:
        messages = preview.request.messages
        assert abs(size.tokens - sum(len(text_of([message])) // 4 + 4 for message in messages)) <= len(messages)


async def test_a_session_shows_its_preface_and_what_is_written() -> None:
    model = ScriptedModel([say("One.")])
    session = Session(model, lambda language, cwd: TinyRuntime([]), Settings())
    session.preface = lambda: [Message("computer", "message", "Mind the gap.", recipient="assistant")]
    preview = await session.preview([Message("user", "message", "Go.")])
    assert session.messages == []
    session.send("Go.")
    await session.idle()
    assert model.requests == [preview.request]
    await session.close()
