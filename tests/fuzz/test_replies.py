"""What models say: fences, tool calls, thinking and inline edits, however it arrives."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from oi_engine.edits.hunks import apply, hunks, with_line_ends_of
from oi_engine.edits.lines import split_lines
from oi_engine.edits.reply import ReplacementParser, fitted
from oi_engine.models.model import ModelEvent, ReasoningDelta, TextDelta, ToolCallDelta
from oi_engine.models.pieces import CodeText, Piece, Prose, Reasoning
from oi_engine.models.reply import ReplyParser
from tests.fuzz.fuzzing import CUTS, cut, fuzzed, texts
from tests.unit.parsing import LANGUAGES, merged

REPLIES = texts(
    *("```", "````", "~~~", "`", "python", "r", "shell\n", "\n", "\n", "\r\n", "\r", " ", "    ", "\t", "print(1)\n"),
    *("<think>", "</think>", "<thi", "nk>", "</", "```python\n", "```\n", "é", "\ud800", "\u2028", "x"),
)
ARGUMENTS = texts(
    *('{"language": "python", "code": "', '{"code":', '"language"', ":", '"', "\\", "\\u00e9", "\\ud83d", "\\ude00"),
    *("\\u12", "\\x", "{", "}", "[", "]", ",", "null", "1e9", "true", '"r"', "\n", " ", '"}', "code", "```", "\ud800"),
)


def said(events: list[ModelEvent], *, tools: bool, broken: bool) -> tuple[list[Piece], str, str]:
    """What a reply says: its pieces, thinking by itself (how it is parted is no matter), and what was wrong."""
    parser = ReplyParser(tools, LANGUAGES)
    pieces = [piece for event in events for piece in parser.feed(event)] + parser.finish(broken)
    thought = "".join(piece.text for piece in pieces if isinstance(piece, Reasoning))
    rest = merged(piece for piece in pieces if not isinstance(piece, Reasoning))
    return rest, thought, parser.error.message if parser.error else ""


@fuzzed(st.tuples(REPLIES, CUTS, st.booleans(), st.booleans()), 8000)
def test_a_text_says_the_same_however_it_arrives(given: tuple[str, list[int], bool, bool]) -> None:
    text, lengths, tools, broken = given
    whole = said([TextDelta(text)], tools=tools, broken=broken)
    assert said([TextDelta(part) for part in cut(text, lengths)], tools=tools, broken=broken) == whole
    if tools:
        assert not any(isinstance(piece, CodeText) for piece in whole[0]), "code comes by the tool alone"


@fuzzed(st.tuples(ARGUMENTS, CUTS, st.sampled_from(["execute", "python", "other", ""]), st.booleans()), 8000)
def test_a_call_says_the_same_however_it_arrives(given: tuple[str, list[int], str, bool]) -> None:
    text, lengths, name, broken = given
    first = ToolCallDelta(0, "", id="call", name=name)
    whole = said([first, ToolCallDelta(0, text)], tools=True, broken=broken)
    parts = [ToolCallDelta(0, part) for part in cut(text, lengths)]
    assert said([first, *parts], tools=True, broken=broken) == whole


EVENTS: st.SearchStrategy[ModelEvent] = st.one_of(
    st.builds(TextDelta, REPLIES),
    st.builds(ReasoningDelta, st.text(max_size=4)),
    st.builds(
        ToolCallDelta,
        st.integers(0, 2),
        ARGUMENTS,
        id=st.none() | st.sampled_from(["a", "b", ""]),
        name=st.none() | st.sampled_from(["execute", "python", "rm", ""]),
    ),
)


@fuzzed(st.tuples(st.lists(EVENTS, max_size=4), st.booleans(), st.booleans()), 4000)
def test_events_in_any_order_are_well_formed_pieces(given: tuple[list[ModelEvent], bool, bool]) -> None:
    events, tools, broken = given
    pieces, thought, _ = said(events, tools=tools, broken=broken)
    if tools and not any(isinstance(event, ToolCallDelta) for event in events):
        spoken = "".join(piece.text for piece in pieces if isinstance(piece, Prose)) + thought
        assert len(spoken) <= sum(len(event.text) for event in events if isinstance(event, TextDelta | ReasoningDelta))


LINES = texts("a\n", "b\n", "    a\n", "\n", "a", "```", "```py\n", "\r\n", "\r", "\t", "~~~\n", "é", length=10)


@fuzzed(st.tuples(LINES, LINES, CUTS, st.booleans(), st.sampled_from([3, 4])), 4000)
def test_an_edit_is_the_same_however_it_arrives(given: tuple[str, str, list[int], bool, int]) -> None:
    old, reply, lengths, broken, fence = given
    found: list[Any] = []
    for parts in ([reply], list(cut(reply, lengths))):
        parser = ReplacementParser(old, fence)
        for part in parts:
            before = parser.text
            assert parser.feed(part) is (parser.text != before) or not parser.found
        parser.finish(broken=broken)
        found.append((parser.found, parser.closed, parser.text, parser.comment))
    assert found[0] == found[1]
    fitted(old, found[0][2], complete=found[0][1], document=old)


@fuzzed(st.tuples(LINES, LINES, st.booleans()), 5000, examples=[("\ra\n\n", "b\n\n", False)])
def test_the_hunks_between_two_texts_make_the_one_of_the_other(given: tuple[str, str, bool]) -> None:
    old, new, open_end = given
    made = hunks(old, new)
    assert apply(old, made) == new
    assert all(old[hunk.start : hunk.end] == hunk.old for hunk in made)
    assert "".join(split_lines(new)) == new
    hunks(old, new, open_end=open_end)
    bare = with_line_ends_of(old, new)
    assert [line.rstrip("\r\n") for line in split_lines(bare)] == [line.rstrip("\r\n") for line in split_lines(new)]
