"""Tool calls, at every way of splitting their arguments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.models.model import ToolCallDelta
from oi_engine.models.pieces import CodeClose, CodeOpen, CodeText, Piece
from oi_engine.models.tool_call_parser import ToolCallParser
from tests.unit.parsing import LANGUAGES, cut_at, merged, splits

Result = tuple[list[Piece], str]


def parse(parts: Sequence[str], *, name: str | None = "execute", broken: bool = False) -> Result:
    deltas = [ToolCallDelta(0, part, "call_0" if at == 0 else None, name if at == 0 else None)
              for at, part in enumerate(parts)]  # fmt: skip
    return run(deltas, broken=broken)


def run(deltas: Iterable[ToolCallDelta], *, broken: bool = False) -> Result:
    parser = ToolCallParser(LANGUAGES)
    pieces = [piece for delta in deltas for piece in parser.feed(delta)]
    pieces += parser.finish(broken)
    if parser.error is not None:
        assert parser.error.kind == "malformed_reply"
        assert parser.error.remedy
    return merged(pieces), "" if parser.error is None else parser.error.message


def block(language: str, code: str, *, complete: bool = True) -> list[Piece]:
    return [CodeOpen(language), *([CodeText(code)] if code else []), CodeClose(complete)]


HOSTILE = 'print("a\\n\tb", \'😀é\', "\\\\", "/")\n# \u2028 \x7f }{]["\n'

FIXTURES: dict[str, tuple[str, list[Piece]]] = {
    "plain": ('{"language": "python", "code": "print(1)"}', block("python", "print(1)")),
    "compact": ('{"language":"python","code":"1"}', block("python", "1")),
    "spaced": (' \n{ "language" :\t"python"\r\n, "code" : "1" } \n', block("python", "1")),
    "code first": ('{"code": "print(1)\\nprint(2)", "language": "python"}', block("python", "print(1)\nprint(2)")),
    "hostile": (json.dumps({"language": "python", "code": HOSTILE}), block("python", HOSTILE)),
    "hostile, raw": (json.dumps({"language": "python", "code": HOSTILE}, ensure_ascii=False), block("python", HOSTILE)),
    "escapes": (r'{"language": "r", "code": "\"\\\/\b\f\n\r\t\u00e9\u00E9"}', block("r", '"\\/\b\f\n\r\téé')),
    "surrogate pair": (r'{"language": "r", "code": "a\ud83d\ude00b"}', block("r", "a😀b")),
    "lone high surrogates": (
        r'{"language": "r", "code": "\ud83d\ud83dx\ud83d\n\ud83d"}',
        block("r", "\ufffd\ufffdx\ufffd\n\ufffd"),
    ),
    "lone low surrogate": (r'{"language": "r", "code": "\ude00a"}', block("r", "\ufffda")),
    "raw newline in a string": ('{"language": "r", "code": "a\nb\tc"}', block("r", "a\nb\tc")),
    "other keys": (
        '{"why": "a \\"b\\" }", "n": [1, {"x": [null, "]"]}, -1.5e3], "language": "r", "o": {}, "code": "1"}',
        block("r", "1"),
    ),
    "other keys after": ('{"language": "r", "code": "1", "why": null , "n": 12}', block("r", "1")),
    "language in capitals": ('{"language": " Python ", "code": "1"}', block("python", "1")),
    "escaped key": ('{"l\\u0061nguage": "r", "code": "1"}', block("r", "1")),
    "empty code": ('{"language": "r", "code": ""}', block("r", "")),
    "no language": ('{"code": "1"}', block("", "1")),
    "empty language": ('{"language": "", "code": "1"}', block("", "1")),
    "bare code": ("print({1: 2})\n", block("", "print({1: 2})\n")),
    "bare code, indented": ("  \n  x = '\\n'", block("", "  \n  x = '\\n'")),
}

NAMED: dict[str, tuple[str, list[Piece]]] = {
    "bare": ("print(1)", block("python", "print(1)")),
    "bare, with a brace first": ("{ 1: 2 }", block("python", "{ 1: 2 }")),
    "object": ('{"code": "print(1)"}', block("python", "print(1)")),
    "object with another language": ('{"language": "r", "code": "1"}', block("r", "1")),
    "object with another language last": ('{"code": "1", "language": "r"}', block("python", "1")),
}

MALFORMED: dict[str, tuple[str, list[Piece]]] = {
    "empty": ("", []),
    "white space": ("  \n", []),
    "empty object": ("{}", []),
    "no code": ('{"language": "python"}', []),
    "single quotes": ("{'language': 'python', 'code': '1'}", []),
    "no colon": ('{"language" "python"}', []),
    "no comma": ('{"language": "python" "code": "1"}', []),
    "two commas": ('{"language": "python",, "code": "1"}', []),
    "no value": ('{"x": , "code": "1"}', []),
    "wrong bracket": ('{"x": ], "code": "1"}', []),
    "language is null": ('{"language": null, "code": "1"}', []),
    "code is a list": ('{"language": "r", "code": ["1"]}', []),
    "code twice": ('{"language": "r", "code": "1", "code": "2"}', block("r", "1", complete=False)),
    "bad escape": (r'{"language": "r", "code": "a\x"}', block("r", "a", complete=False)),
    "bad hex": (r'{"language": "r", "code": "a\u12g4"}', block("r", "a", complete=False)),
    "text after": ('{"language": "r", "code": "1"} x', block("r", "1")),
    "object after": ('{"language": "r", "code": "1"}{', block("r", "1")),
    "cut off in the code": ('{"language": "r", "code": "pri', block("r", "pri", complete=False)),
    "cut off in an escape": ('{"language": "r", "code": "pri\\', block("r", "pri", complete=False)),
    "cut off after the code": ('{"language": "r", "code": "pri"', block("r", "pri", complete=False)),
    "cut off before the language": ('{"code": "pri"', []),
    "cut off in the key": ('{"lang', []),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_every_split(name: str) -> None:
    text, expected = FIXTURES[name]
    assert parse([text]) == (expected, "")
    for parts in splits(text):
        assert parse(parts) == (expected, ""), parts


@pytest.mark.parametrize("name", NAMED)
def test_a_tool_named_like_a_language(name: str) -> None:
    text, expected = NAMED[name]
    assert parse([text], name="Python") == (expected, "")
    for parts in splits(text):
        assert parse(parts, name="python") == (expected, ""), parts


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_at_every_split(name: str) -> None:
    text, expected = MALFORMED[name]
    pieces, message = parse([text])
    assert pieces == expected
    assert message
    for parts in splits(text):
        assert parse(parts) == (expected, message), parts


def test_an_unknown_tool() -> None:
    pieces, message = parse(['{"language": "r", "code": "1"}'], name="browse")
    assert pieces == []
    assert "browse" in message


def test_no_name_means_the_one_tool() -> None:
    assert parse(['{"language": "r", "code": "1"}'], name=None) == (block("r", "1"), "")


def test_a_broken_reply_is_not_malformed() -> None:
    assert parse(['{"language": "r", "code": "pri'], broken=True) == (block("r", "pri", complete=False), "")
    assert parse(['{"lang'], broken=True) == ([], "")
    assert parse(["print("], broken=True) == (block("", "print(", complete=False), "")
    assert parse(['{"language": "r", "code": "1"}'], broken=True) == (block("r", "1"), "")


ONE, TWO = '{"language": "r", "code": "1"}', '{"language": "python", "code": "2"}'


def test_calls_one_after_the_other() -> None:
    deltas = [ToolCallDelta(0, ONE, "a", "execute"), ToolCallDelta(1, TWO, "b", "execute")]
    assert run(deltas) == (block("r", "1") + block("python", "2"), "")


def test_calls_interleaved() -> None:
    deltas = [ToolCallDelta(0, "", "a", "execute"), ToolCallDelta(1, "", "b", "execute")]
    longest = max(len(ONE), len(TWO))
    for at in range(longest):
        deltas += [ToolCallDelta(0, ONE[at : at + 1]), ToolCallDelta(1, TWO[at : at + 1])]
    assert run(deltas) == (block("r", "1") + block("python", "2"), "")


def test_calls_of_one_index_told_apart_by_id() -> None:
    deltas = [ToolCallDelta(0, ONE, "a", "execute"), ToolCallDelta(0, TWO, "b", "execute")]
    assert run(deltas) == (block("r", "1") + block("python", "2"), "")


def test_an_id_in_every_delta() -> None:
    deltas = [ToolCallDelta(0, part, "a", "execute") for part in ONE]
    assert run(deltas) == (block("r", "1"), "")


def test_bare_code_ends_where_the_next_call_begins() -> None:
    deltas = [ToolCallDelta(0, "ls", "a", "shell"), ToolCallDelta(0, " -l"), ToolCallDelta(1, TWO, "b", "execute")]
    deltas[0] = ToolCallDelta(0, "ls", "a", "python")
    assert run(deltas) == (block("python", "ls -l") + block("python", "2"), "")


def test_a_malformed_call_stops_the_rest() -> None:
    deltas = [ToolCallDelta(0, "{nonsense", "a", "execute"), ToolCallDelta(1, TWO, "b", "execute")]
    pieces, message = run(deltas)
    assert pieces == []
    assert "JSON" in message


def test_code_flows_on_as_soon_as_the_language_is_known() -> None:
    parser = ToolCallParser(LANGUAGES)
    assert parser.feed(ToolCallDelta(0, '{"language": "r', "a", "execute")) == []
    assert parser.feed(ToolCallDelta(0, '", "code": "')) == [CodeOpen("r")]
    assert parser.feed(ToolCallDelta(0, "pri")) == [CodeText("pri")]
    assert parser.feed(ToolCallDelta(0, "nt\\")) == [CodeText("nt")]
    assert parser.feed(ToolCallDelta(0, "n")) == [CodeText("\n")]
    assert parser.open
    assert parser.feed(ToolCallDelta(0, '"}')) == [CodeClose()]
    assert not parser.open


@given(st.text(max_size=80), st.booleans(), st.booleans(), st.lists(st.integers(0, 9999), max_size=12))
def test_any_code_at_random_splits(code: str, ascii_only: bool, code_first: bool, places: list[int]) -> None:
    keys = {"code": code, "language": "python"} if code_first else {"language": "python", "code": code}
    text = json.dumps(keys, ensure_ascii=ascii_only)
    assert parse(cut_at(text, places) or [text]) == (block("python", code), "")


@given(st.text(st.sampled_from('{}[]",: \\nu0dcode'), max_size=40), st.lists(st.integers(0, 999), max_size=6))
def test_noise_at_random_splits(text: str, places: list[int]) -> None:
    text = '{"language": "r", "code": "' + text
    assert parse(cut_at(text, places)) == parse([text])
