"""Thinking within the text, however it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.models.model import ReasoningDelta, TextDelta
from oi_engine.models.think import ThinkSplitter


def split(parts: list[str]) -> tuple[str, str]:
    """Thinking and text."""
    splitter = ThinkSplitter()
    found = [delta for part in parts for delta in splitter.feed(part)] + splitter.settle()
    assert all(delta.text for delta in found)
    thought = "".join(delta.text for delta in found if isinstance(delta, ReasoningDelta))
    return thought, "".join(delta.text for delta in found if isinstance(delta, TextDelta))


CASES = {
    "<think>a ```py\n1``` b</think>\n\nyes": ("a ```py\n1``` b", "yes"),
    "\n<think>never closed </thin": ("never closed </thin", ""),
    "<think></think>yes": ("", "yes"),
    "yes <think>no</think>": ("", "yes <think>no</think>"),
    "<thin": ("", "<thin"),
    "  <b>": ("", "  <b>"),
    "<think>a</b></think>x</think>": ("a</b>", "x</think>"),
}


@pytest.mark.parametrize("text", CASES)
@given(data=st.data())
def test_every_way_of_cutting(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=len(text))))
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    thought, rest = split([part for part in parts if part])
    wanted = CASES[text]
    # The blank lines after the tag are dropped where they come with it.
    assert (thought, rest.lstrip("\n") if wanted[0] else rest) == (wanted[0], wanted[1])


def test_thinking_is_shown_as_it_comes() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("<think>one ") == [ReasoningDelta("one ")]
    assert splitter.feed("two</") == [ReasoningDelta("two")]
    assert splitter.feed("think>three") == [TextDelta("three")]
