"""Terminal control in program output: every split of every fixture, and against a machine that reads one character."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from oi_engine.safety.sanitize import (
    LIMIT,
    Sanitizer,
    collapse_carriage_returns,
    render_carriage_returns,
    sanitize,
)

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a loaded machine is no defect


FIXTURES = {
    "plain": ("one\ttwo\nthree é 日本 🙂", "one\ttwo\nthree é 日本 🙂"),
    "colour": ("\x1b[1;31mred\x1b[0m and \x1b[38:2:1:2:3mmore\x1b[m", "red and more"),
    "cursor": ("\x1b[2J\x1b[H\x1b[?25lx\x1b[10;20Hy\x1b[1 qz", "xyz"),
    "title, BEL": ("a\x1b]0;title\x07b", "ab"),
    "title, ST": ("a\x1b]0;title\x1b\\b", "ab"),
    "title, C1": ("a\x9d0;title\x9cb", "ab"),
    "title, newline": ("a\x1b]0;title\nb", "a\nb"),
    "title, carriage return": ("a\x1b]0;title\rb", "a\rb"),
    "title, CAN": ("a\x1b]0;ti\x18b", "ab"),
    "title, new sequence": ("a\x1b]0;ti\x1b[1mb", "ab"),
    "link": ("\x1b]8;;https://x.y/z\x1b\\text\x1b]8;;\x1b\\", "text"),
    "clipboard": ("\x1b]52;c;cm0gLXJmIC8=\x07ok", "ok"),
    "strings": ("\x1bP1$r\x1b\\a\x1bXsos\x1b\\b\x1b^pm\x1b\\c\x1b_Gapc;AAAA\x1b\\d", "abcd"),
    "8-bit strings": ("\x90q\x9ca\x98s\x9cb\x9ep\x9cc\x9fa\x9cd", "abcd"),
    "8-bit CSI": ("a\x9b31mb", "ab"),
    "single": ("\x1b7a\x1b8b\x1bcc\x1b=d\x1b>e\x1bOPf\x1b(Bg\x1b#8h\x1b%Gi", "abcdePfghi"),
    "controls": ("a\x00b\x07c\x08d\x0be\x0cf\x0eg\x0fh\x7fi\x85j\x84k", "abcdefghijk"),
    "broken CSI": ("a\x1b[12\nb\x1b[é\x1b[1\x1b[2mc", "a\nbéc"),
    "broken escape": ("a\x1b\nb\x1béc\x1b\x1b\x1b[md", "a\nbécd"),
    "line ends": ("a\r\nb\r\r\r\nc\rd\r\re\x1b[K\r\x1b[0m\nf", "a\nb\nc\rd\re\nf"),
    "surrogates": ("a\ud83d\ude00b\udcffc", "a\ufffd\ufffdb\ufffdc"),
    "open at the end": ("a\x1b[3", "a"),
    "open string at the end": ("a\x1b]0;t", "a"),
    "return at the end": ("a\r", "a\r"),
}


class OneByOne:
    """The same language, read one character at a time: slow, and plain enough to be checked by eye."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.state = "ground"
        self.count = 0

    def read(self, char: str) -> None:
        if char == "\x1b":
            self.enter("escape")
        elif char == "\x9b":
            self.enter("csi")
        elif char in "\x90\x98\x9d\x9e\x9f":
            self.enter("string")
        else:
            getattr(self, self.state)(char)

    def enter(self, state: str) -> None:
        self.state, self.count = state, 0

    def goes_on(self) -> bool:
        self.count += 1
        return self.count <= LIMIT

    def ground(self, char: str) -> None:
        self.state = "ground"
        if char in "\n\t\r" or (char >= " " and not "\x7f" <= char <= "\x9f"):
            self.out.append("\ufffd" if "\ud800" <= char <= "\udfff" else char)

    def escape(self, char: str) -> None:
        if self.count == 0 and char == "[":
            self.enter("csi")
        elif self.count == 0 and char in "P]X^_":
            self.enter("string")
        elif "0" <= char <= "~":
            self.state = "ground"
        elif not (" " <= char <= "/" and self.goes_on()):
            self.ground(char)

    def csi(self, char: str) -> None:
        if "@" <= char <= "~":
            self.state = "ground"
        elif not (" " <= char <= "?" and self.goes_on()):
            self.ground(char)

    def string(self, char: str) -> None:
        if char in "\x07\n\r\x18\x1a" or "\x80" <= char <= "\x9f" or not self.goes_on():
            self.ground(char)


def one_by_one(text: str) -> str:
    machine = OneByOne()
    for char in text:
        machine.read(char)
    return re.sub("\r+", "\r", "".join(machine.out)).replace("\r\n", "\n")


def fed(pieces: list[str]) -> str:
    sanitizer = Sanitizer()
    return "".join(sanitizer.feed(piece) for piece in pieces) + sanitizer.finish()


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


NASTY = st.text(
    st.one_of(
        st.sampled_from("\x1b\x1b\x1b[]]PX^_\\\x07\x9b\x9c\x9d\x90\x18\r\r\n\n\t 01;?mKHcB(\x08\x00\x7f\ud83d\ude00é"),
        st.characters(),
    ),
    max_size=60,
)


@pytest.mark.parametrize("name", FIXTURES)
def test_fixtures_whole_and_at_every_split(name: str) -> None:
    text, expected = FIXTURES[name]
    assert sanitize(text) == expected
    assert fed(list(text)) == expected
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            assert fed([text[:first], text[first:second], text[second:]]) == expected


@calm
@given(NASTY)
def test_it_reads_like_the_plain_machine(text: str) -> None:
    assert sanitize(text) == one_by_one(text)


@calm
@given(NASTY, st.lists(st.integers(0, 100), max_size=6))
def test_where_it_is_cut_makes_no_difference(text: str, places: list[int]) -> None:
    assert fed(cut(text, places)) == sanitize(text)


@calm
@given(NASTY)
def test_nothing_that_controls_a_terminal_is_left(text: str) -> None:
    clean = sanitize(text)
    assert re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r\n|\r\r", clean) is None
    assert sanitize(clean) == clean


@calm
@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))))
def test_plain_text_is_left_alone(text: str) -> None:
    assert sanitize(text) == text


@pytest.mark.parametrize("start", ["\x1b]", "\x1b[", "\x1bP", "\x9d", "\x9b", "\x1b("])
@pytest.mark.parametrize("around", [-1, 0, 1, 2])
def test_a_sequence_without_an_end_swallows_a_bounded_length(start: str, around: int) -> None:
    filling = " " if start == "\x1b(" else "0"
    text = start + filling * (LIMIT + around) + "\u00e9 and the rest\n" * 3
    expected = one_by_one(text)
    assert expected.endswith("and the rest\n")
    assert sanitize(text) == expected
    assert fed(cut(text, [1, 2, LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 2, LIMIT + 3])) == expected
    assert fed(list(text)) == expected


def test_output_goes_on_after_an_unterminated_string() -> None:
    sanitizer = Sanitizer()
    assert sanitizer.feed("\x1b]0;never ended") == ""
    assert sanitizer.feed(" at all\nseen") == "\nseen"


def test_a_pause_gives_the_held_return_and_keeps_an_open_sequence() -> None:
    sanitizer = Sanitizer()
    assert sanitizer.feed("50%\r") == "50%"
    assert sanitizer.pause() == "\r"
    assert sanitizer.pause() == ""
    assert sanitizer.feed("60%\x1b[3") == "60%"
    assert sanitizer.pause() == ""
    assert sanitizer.feed("1mred") == "red"


def test_a_finished_sanitizer_begins_anew() -> None:
    sanitizer = Sanitizer()
    sanitizer.feed("\x1b]0;x")
    assert sanitizer.finish() == ""
    assert sanitizer.feed("y") == "y"


# Carriage returns


def seen(text: str) -> tuple[str, int]:
    """What a terminal shows, cell by cell, and the column of its cursor."""
    lines: list[list[str]] = [[]]
    column = 0
    for char in text:
        if char == "\n":
            lines.append([])
            column = 0
        elif char == "\r":
            column = 0
        else:
            lines[-1][column : column + 1] = [char]
            column += 1
    return "\n".join("".join(line) for line in lines), column


RETURNS = st.text(st.sampled_from("\r\r\n\nabcdefg"), max_size=40)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain\ntext", "plain\ntext"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("abcdef\rxy", "xycdef"),
        ("abcdef\r", "abcdef"),
        ("abc\r\rx\r", "xbc"),
        ("one\rtwo\n\rthree\r\n", "two\nthree\n"),
    ],
)
def test_rendering(text: str, expected: str) -> None:
    assert render_carriage_returns(text) == expected


@calm
@given(RETURNS)
def test_rendering_shows_what_a_terminal_shows(text: str) -> None:
    assert render_carriage_returns(text) == seen(text)[0]


@calm
@given(RETURNS)
def test_rendering_is_idempotent(text: str) -> None:
    once = render_carriage_returns(text)
    assert "\r" not in once
    assert render_carriage_returns(once) == once


@calm
@given(RETURNS, RETURNS)
def test_rendering_can_go_on_where_the_cursor_is_known(before: str, after: str) -> None:
    shown, column = seen(before)
    at_the_end = column == len(shown.rpartition("\n")[2])
    if at_the_end or after.startswith(("\r", "\n")):
        assert render_carriage_returns(render_carriage_returns(before) + after) == render_carriage_returns(
            before + after
        )


@calm
@given(RETURNS, RETURNS, RETURNS)
@example("abcdef\r", "xy\rz", "!")
@example("abc", "d\r\n", "")
def test_collapsing_changes_nothing_that_is_seen(before: str, text: str, after: str) -> None:
    collapsed = collapse_carriage_returns(text)
    assert seen(before + collapsed + after) == seen(before + text + after)
    assert collapse_carriage_returns(collapsed) == collapsed
    assert len(collapsed) <= len(text)


def test_a_long_progress_bar_collapses_to_its_last_state() -> None:
    text = "begin\n" + "".join(f"\r{step:7} of 100000" for step in range(100_001))
    assert collapse_carriage_returns(text) == "begin\n\r 100000 of 100000"
    assert render_carriage_returns(text) == "begin\n 100000 of 100000"


def test_rendering_of_ever_shorter_states_is_right() -> None:
    states = ["x" * length for length in range(3000, 0, -1)]
    assert render_carriage_returns("\r".join(states)) == "x" * 3000
