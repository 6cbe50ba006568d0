"""Code shown for approval: what hides is written out, what imitates is named, and nothing else is touched."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oi_engine.safety.reveal import LONG_LINE, LOOKED_AT, NAMED, PLACES, Kind, reveal

calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a loaded machine is no defect


@pytest.mark.parametrize(
    ("code", "shown", "kind"),
    [
        ("a\u202eb", "a‹U+202E RIGHT-TO-LEFT OVERRIDE›b", "bidi"),
        ("a\u2066b", "a‹U+2066 LEFT-TO-RIGHT ISOLATE›b", "bidi"),
        ("a\u200fb", "a‹U+200F RIGHT-TO-LEFT MARK›b", "bidi"),
        ("a\u200bb", "a‹U+200B ZERO WIDTH SPACE›b", "invisible"),
        ("a\u200db", "a‹U+200D ZERO WIDTH JOINER›b", "invisible"),
        ("\ufeffa", "‹U+FEFF ZERO WIDTH NO-BREAK SPACE›a", "invisible"),
        ("a\ufe0fb", "a‹U+FE0F VARIATION SELECTOR-16›b", "invisible"),
        ("😀\U000e0101", "😀‹U+E0101 VARIATION SELECTOR-18›", "invisible"),
        ("a\U000e0041", "a‹U+E0041 TAG LATIN CAPITAL LETTER A›", "invisible"),
        ("a\U000e0fff", "a‹U+E0FFF UNASSIGNED›", "invisible"),
        ("a\u3164b", "a‹U+3164 HANGUL FILLER›b", "invisible"),
        ("a\u00adb", "a‹U+00AD SOFT HYPHEN›b", "invisible"),
        ("a\udc80b", "a‹U+DC80 SURROGATE›b", "invisible"),
        ("a\u00a0b", "a‹U+00A0 NO-BREAK SPACE›b", "space"),
        ("a\u3000b", "a‹U+3000 IDEOGRAPHIC SPACE›b", "space"),
        ("# a\u2028b", "# a‹U+2028 LINE SEPARATOR›b", "space"),
        ("a\u2800b", "a‹U+2800 BRAILLE PATTERN BLANK›b", "space"),
        ("a\x1b[8mb", "a‹U+001B ESCAPE›[8mb", "control"),
        ("a\x9b8mb", "a‹U+009B CONTROL SEQUENCE INTRODUCER›8mb", "control"),
        ("a\x00b\n", "a‹U+0000 NULL›b\n", "control"),
        ("# a\rb", "# a‹U+000D CARRIAGE RETURN›b", "control"),
        ("a\r", "a‹U+000D CARRIAGE RETURN›", "control"),
        ("a\x01", "a‹U+0001 CONTROL›", "control"),
    ],
)
def test_what_hides_is_written_out(code: str, shown: str, kind: Kind) -> None:
    revealed = reveal(code)
    assert revealed.text == shown
    (finding,) = revealed.found
    assert finding.kind == kind
    assert finding.line == 1
    assert shown[shown.index("‹") + 1 : shown.index("›")] in finding.message
    assert str(finding) == finding.message


@pytest.mark.parametrize(
    "code",
    [
        "",
        "for x in range(3):\n\tprint(x)\r\n",
        "print('✔️ done ⚠️ 👨‍👩‍👧 👍🏽 ❤️‍🔥')",
        "café = naïve('日本語text', 'Ελλάδα', 'Привет, сор и рост')",
        "Δx = θ_max * µm + λ",
        "x² + ½",
        "x" * LONG_LINE,
    ],
)
def test_plain_code_is_left_alone(code: str) -> None:
    revealed = reveal(code)
    assert revealed.text == code
    assert revealed.found == ()


@pytest.mark.parametrize(
    ("word", "point"),
    [
        ("раypal", "U+0440 CYRILLIC SMALL LETTER ER"),
        ("scоpe", "U+043E CYRILLIC SMALL LETTER O"),
        ("nοde", "U+03BF GREEK SMALL LETTER OMICRON"),
        ("userДанные", "U+0414 CYRILLIC CAPITAL LETTER DE"),
        ("օpen", "U+0585 ARMENIAN SMALL LETTER OH"),
        ("ｅｖａｌ", "U+FF45 FULLWIDTH LATIN SMALL LETTER E"),
        ("𝐞val", "U+1D41E MATHEMATICAL BOLD SMALL E"),
        ("сору", "U+0441 CYRILLIC SMALL LETTER ES"),
        ("ΗΟΜΕ", "U+0397 GREEK CAPITAL LETTER ETA"),
    ],
)
def test_what_imitates_is_named_and_left_in_place(word: str, point: str) -> None:
    code = f"x = 1\ny = {word}(x)\n{word}()\n"
    revealed = reveal(code)
    assert revealed.text == code
    (finding,) = revealed.found
    assert (finding.kind, finding.line, finding.column) == ("look-alike", 2, 5)
    assert word in finding.message
    assert point in finding.message


def test_a_long_line_is_told_with_its_length() -> None:
    revealed = reveal("short\n" + " " * 600 + "evil()\n" + "x" * LONG_LINE)
    assert [(found.kind, found.line) for found in revealed.found] == [("long-line", 2)]
    assert "606 characters" in revealed.found[0].message


def test_a_character_is_told_once_with_its_number() -> None:
    (finding,) = reveal("ab\nc\u200b\n\u200bd\u200b").found
    assert (finding.line, finding.column) == (2, 2)
    assert "3 times" in finding.message


def test_every_place_is_given_up_to_a_bound() -> None:
    code = "ab\nc\u200b\n\u200bscоpe scоpe\u200b"
    hidden, word = reveal(code).found
    assert [code[start:end] for start, end in hidden.places] == ["\u200b"] * 3
    assert [code[start:end] for start, end in word.places] == ["scоpe"] * 2
    assert (hidden.count, word.count) == (3, 2)
    (many,) = reveal("\u200b" * 400).found
    assert (len(many.places), many.count) == (PLACES, 400)
    (long,) = reveal("a\n" + "x" * (LONG_LINE + 1)).found
    assert long.places == ((2, LONG_LINE + 3),)


def test_findings_are_sorted_and_bounded() -> None:
    code = "\n".join(f"nοde{chr(97 + at % 26)}{at}\u200b" + "x" * LONG_LINE for at in range(500))
    found = reveal(code).found
    assert len(found) == 2 * NAMED + 1
    assert [item.line for item in found] == sorted(item.line for item in found)
    assert sum("481 more" in item.message for item in found) == 2


def test_no_character_of_a_hiding_category_is_forgotten() -> None:
    forgotten = []
    for point in range(sys.maxunicode + 1):
        char = chr(point)
        category = unicodedata.category(char)
        hides = category in ("Cf", "Zl", "Zp", "Cs") or (category in ("Zs", "Cc") and char not in " \n\t")
        if hides and "‹" not in reveal(char).text:
            forgotten.append(f"U+{point:04X}")
    assert forgotten == []


@calm
@given(st.text(st.one_of(st.sampled_from("\u202e\u200b\u200d\ufe0f\r\n\x1b😀a о"), st.characters())))
def test_what_is_shown_can_be_read_back_and_has_nothing_hidden(code: str) -> None:
    revealed = reveal(code)
    read_back = re.sub(r"‹U\+([0-9A-F]{4,6}) [^›]+›", lambda found: chr(int(found[1], 16)), revealed.text)
    assert read_back == code
    assert not any(char in revealed.text for char in "\u202e\u200b\x1b")
    assert all(1 <= item.line <= code.count("\n") + 1 and item.column >= 1 for item in revealed.found)


def test_long_plain_words_are_read_once() -> None:
    code = "a" * 1_000_000 + "é"
    assert [item.kind for item in reveal(code).found] == ["long-line"]


def test_after_very_many_hidden_characters_the_rest_is_shown_in_short_and_told() -> None:
    code = "a\u200b" * LOOKED_AT + "ok\r\n" + "b\u202e\u200b\rc\n" * 3
    revealed = reveal(code)
    assert revealed.text == "a‹U+200B ZERO WIDTH SPACE›" * LOOKED_AT + "ok\r\n" + "b‹…›c\n" * 3
    counted, _, rest = revealed.found
    assert (counted.line, counted.count) == (1, LOOKED_AT)
    assert (rest.line, rest.column) == (2, 2)
    assert "‹…›" in rest.message
    # What may hide, and does not, is no reason to say so.
    harmless = "é\r\n" * LOOKED_AT * 2
    assert (reveal(harmless).text, reveal(harmless).found) == (harmless, ())


def test_after_very_many_strange_words_the_rest_is_counted() -> None:
    code = "\n".join(f"é{at}" for at in range(LOOKED_AT + 7))
    (finding,) = reveal(code).found
    assert (finding.line, finding.column, finding.kind) == (LOOKED_AT + 1, 1, "look-alike")
    assert "7 more words" in finding.message


@calm
@given(st.text(st.one_of(st.sampled_from("\r\n\t a~"), st.characters(max_codepoint=0x80))))
def test_plain_ascii_is_told_fast_and_right(code: str) -> None:
    checked = reveal(f"{code}\u2713").text  # not ASCII, so that it is read character by character
    assert reveal(code).text == checked.removesuffix("\u2713")
