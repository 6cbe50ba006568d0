"""``max_budget``: the call that would pass it is not made."""

from __future__ import annotations

import pytest
from attrs import evolve

from oi_engine.errors import ModelError
from oi_engine.models.budget import check, dollars
from oi_engine.models.model import ModelInfo, TextDelta, Usage
from tests.fakes.scripted import ScriptedModel, Step, code, say
from tests.unit import test_trim
from tests.unit.session_rig import Rig


def test_the_limit() -> None:
    check(1.0, 0.5, 1e-6, 500_000, "m")
    with pytest.raises(ModelError) as caught:
        check(1.0, 0.5, 1e-6, 500_001, "m")
    assert caught.value.kind == "budget"
    for word in ("$0.50", "$1.00", "max_budget", "higher"):
        assert word in str(caught.value)


def test_amounts() -> None:
    assert [dollars(amount) for amount in (0, 12.345, 0.0123, 0.00001)] == [
        "$0.00",
        "$12.35",
        "$0.012",
        "under $0.0001",
    ]


async def test_it_stops_before_the_call_that_would_pass_it() -> None:
    rig = test_trim.Rig(max_budget=0.01)
    rig.turn(0)
    await rig.ask()
    assert rig.counter.asked, "a budget is watched with counts, not with estimates"
    rig.spent = 0.0099
    with pytest.raises(ModelError) as caught:
        await rig.ask()
    assert caught.value.kind == "budget"


async def test_no_summary_is_written_past_the_budget() -> None:
    rig = test_trim.Rig(max_budget=0.001)
    for number in range(60):
        rig.turn(number)
    with pytest.raises(ModelError):
        await rig.ask()
    assert rig.model.requests == []


async def test_a_summary_that_would_pass_the_budget_is_left_out() -> None:
    rig = test_trim.Rig(max_budget=1.0)
    for number in range(60):
        rig.turn(number)
    rig.messages[1:] = [evolve(message, content=message.text * 2) for message in rig.messages[1:]]
    await rig.ask()
    kept = rig.conversation.least
    assert kept is not None
    assert kept.cost is not None
    assert len(rig.model.requests) == 1
    other = test_trim.Rig(max_budget=kept.cost + 0.00001)
    other.messages = rig.messages
    await other.ask()
    assert other.model.requests == []
    assert any("max_budget" in notice for notice in other.notices)


async def test_where_no_price_is_known_that_is_said_once() -> None:
    rig = test_trim.Rig(max_budget=0.01)
    rig.model = test_trim.Summarizer(ModelInfo())
    rig.turn(0)
    await rig.ask()
    await rig.ask()
    assert [notice for notice in rig.notices if "cannot be watched" in notice] == rig.notices
    assert len(rig.notices) == 1


async def test_what_costs_nothing_is_never_stopped() -> None:
    rig = test_trim.Rig(max_budget=0.0)
    rig.model = test_trim.Summarizer(ModelInfo(input_price=0.0))
    rig.turn(0)
    await rig.ask()
    assert rig.notices == []


class Priced(ScriptedModel):
    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        return ModelInfo(supports_functions=True, input_price=1e-6, output_price=1e-6)


async def test_in_a_session_the_turn_ends_with_one_error_that_says_what_to_do() -> None:
    first: list[Step] = [*code("print 1"), Usage(100, 10, 0.02)]
    rig = Rig(auto_run=True, max_budget=0.01)
    rig.session.model = model = Priced([first, [TextDelta("never"), *say("said")]])
    rig.session.send("go")
    await rig.session.idle()
    assert rig.ran == ["print 1"]
    assert len(model.requests) == 1
    (error,) = [chunk for chunk in rig.chunks if chunk.type == "error"]
    assert "$0.020" in str(error.content) or "$0.02" in str(error.content)
    assert "max_budget" in str(error.content)
    rig.checked()
    # Raised, the session goes on.
    rig.session.settings.max_budget = 1.0
    rig.session.send("on")
    await rig.session.idle()
    assert rig.said()[-1][2].startswith("never")


async def test_a_reply_that_breaks_off_counts_with_what_its_prompt_cost() -> None:
    rig = Rig(max_budget=1.0)
    broken = ModelError("dropped", "Gone.")
    rig.session.model = Priced([[TextDelta("some"), broken], [broken]])
    rig.session.send("go")
    await rig.session.idle()
    cost = rig.session.snapshot.usage.cost
    assert cost is not None
    assert cost > 0
    # What failed before a word is not counted.
    rig.session.send("go")
    await rig.session.idle()
    assert rig.session.snapshot.usage.cost == cost
