"""Fenced blocks, at every way of splitting the text."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.models.fence_parser import FenceParser
from oi_engine.models.pieces import CodeClose, CodeOpen, CodeText, Piece, Prose
from tests.unit.parsing import LANGUAGES, cut_at, merged, splits


def parse(parts: Iterable[str], *, broken: bool = False, known: Iterable[str] = LANGUAGES) -> list[Piece]:
    parser = FenceParser(tuple(known))
    pieces = [piece for part in parts for piece in parser.feed(part)]
    return merged(pieces + parser.finish(broken))


def block(language: str, code: str, *, complete: bool = True) -> list[Piece]:
    return [CodeOpen(language), *([CodeText(code)] if code else []), CodeClose(complete)]


FIXTURES: dict[str, tuple[str, list[Piece]]] = {
    "nothing": ("", []),
    "prose": ("Hello.\n\nHow are you?", [Prose("Hello.\n\nHow are you?")]),
    "one block": ("```python\nprint(1)\n```", block("python", "print(1)")),
    "prose around": (
        "I look.\n\n```python\na = 1\nb = 2\n```\nDone.\n",
        [Prose("I look.\n\n"), *block("python", "a = 1\nb = 2"), Prose("Done.\n")],
    ),
    "two blocks": (
        "```python\n1\n```\n```shell\nls\n```\n",
        [*block("python", "1"), *block("shell", "ls")],
    ),
    "tildes": ("~~~shell\necho `date`\n~~~\n", block("shell", "echo `date`")),
    "tildes hold backticks": ("~~~\n```\n~~~", block("", "```")),
    "backticks hold tildes": ("```\n~~~\n```", block("", "~~~")),
    "longer fence": ("````markdown\n```python\n1\n```\n````\nx", [*block("markdown", "```python\n1\n```"), Prose("x")]),
    "longer closing fence": ("```r\n1\n`````\nx", [*block("r", "1"), Prose("x")]),
    "info string": ('```Python title="a b"\n1\n```', block("python", "1")),
    "space before info": ("```  python  \n1\n```", block("python", "1")),
    "indented": ("  ```python\n  if a:\n    b\n c\n  ```\n", block("python", "if a:\n  b\nc")),
    "indented too far": ("    ```python\n    1\n", [Prose("    ```python\n    1\n")]),
    "tab": ("\t```\n", [Prose("\t```\n")]),
    "fence in a line": ("see ```python\n1", [Prose("see ```python\n1")]),
    "inline": (
        "Use `a` and ``b``.\n`c` too, ```d``` even.\n```e``` f\n",
        [Prose("Use `a` and ``b``.\n`c` too, ```d``` even.\n```e``` f\n")],
    ),
    "two backticks": ("``\nx\n``", [Prose("``\nx\n``")]),
    "info with a backtick": ("``` a`b\nx", [Prose("``` a`b\nx")]),
    "tilde info with a backtick": ("~~~ a`b\nx\n~~~", block("a`b", "x")),
    "closing fence with text": ("```python\n1\n``` no\n2\n```", block("python", "1\n``` no\n2")),
    "fence with language inside": ("```python\n```python\n```", block("python", "```python")),
    "inner fence indented by four": (
        '```python\n"""\n    ```\n    x\n    ```\n"""\n```',
        block("python", '"""\n    ```\n    x\n    ```\n"""'),
    ),
    "inner fence bare": (
        '```python\n"""\n```\n"""\n',
        [*block("python", '"""'), Prose('"""\n')],
    ),
    "closing fence with spaces": ("```r\n1\n```  \t\nx", [*block("r", "1"), Prose("x")]),
    "closing fence indented": ("```r\n1\n   ```\nx", [*block("r", "1"), Prose("x")]),
    "blank lines": ("```r\n\n1\n\n\n2\n\n```", block("r", "\n1\n\n\n2\n")),
    "empty": ("```python\n```\n", block("python", "")),
    "one blank line": ("```python\n\n```\n", block("python", "")),
    "unclosed": ("a\n```python\n1\n", [Prose("a\n"), *block("python", "1")]),
    "unclosed without newline": ("```python\n1\n  x", block("python", "1\n  x")),
    "unclosed, short fence": ("```python\n1\n``", block("python", "1\n``")),
    "only an opening fence": ("x\n```python", [Prose("x\n"), *block("python", "")]),
    "only a bare opening fence": ("x\n```", [Prose("x\n"), *block("", "")]),
    "only a bare opening line": ("x\n```\n", [Prose("x\n"), *block("", "")]),
    "ends in a held indent": ("x\n  ", [Prose("x\n  ")]),
    "CRLF": (
        "a\r\n```python\r\n1\r\n\r\n2\r\n```\r\nb\r\n",
        [Prose("a\r\n"), *block("python", "1\n\n2"), Prose("b\r\n")],
    ),
    "carriage returns in code": ("```r\na\rb\r\r\nc\n```", block("r", "a\rb\r\nc")),
    "carriage return at the end": ("```r\na\r", block("r", "a")),
    "names its language": ("```\npython\nprint(1)\n```", block("python", "print(1)")),
    "names its language, CRLF": ("```\r\nPython \r\nprint(1)\r\n```", block("python", "print(1)")),
    "names no language": ("```\npythonic\nprint(1)\n```", block("", "pythonic\nprint(1)")),
    "first line starts like a name": ("```\nr = 1\n```", block("", "r = 1")),
    "first line is long white space": ("```\n" + " " * 40 + "r\n```", block("", " " * 40 + "r")),
    "name where a language is given": ("```shell\npython\n```", block("shell", "python")),
    "no language, empty": ("```\n```\nx", [*block("", ""), Prose("x")]),
    "no language, blank line": ("```\n\nx\n```\n", block("", "\nx")),
    "only a name": ("```\nr", block("r", "")),
    "unicode": ("é😀\n```python\nprint('ü😀')\n```\n", [Prose("é😀\n"), *block("python", "print('ü😀')")]),
    "prose starting with tildes": ("~approximately~ ~~gone~~\n", [Prose("~approximately~ ~~gone~~\n")]),
    "other characters in the run": ("``~\n```~x\n1\n```", [Prose("``~\n"), *block("~x", "1")]),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_whole(name: str) -> None:
    text, expected = FIXTURES[name]
    assert parse([text]) == expected


@pytest.mark.parametrize("name", FIXTURES)
def test_every_split(name: str) -> None:
    text, expected = FIXTURES[name]
    for parts in splits(text):
        assert parse(parts) == expected, parts


@given(st.text(st.sampled_from("`~ \nra\r\t"), max_size=60), st.lists(st.integers(0, 1000), max_size=8), st.booleans())
def test_random_text_at_random_splits(text: str, places: list[int], broken: bool) -> None:
    assert parse(cut_at(text, places), broken=broken) == parse([text], broken=broken)


@given(st.lists(st.sampled_from([text for text, _ in FIXTURES.values()]), max_size=4), st.lists(st.integers(0, 9999)))
def test_fixtures_in_a_row_at_random_splits(texts: list[str], places: list[int]) -> None:
    text = "\n".join(texts)
    assert parse(cut_at(text, places)) == parse([text])


@given(st.text(st.sampled_from("`~ \nra\r\t"), max_size=60))
def test_nothing_of_the_prose_is_lost(text: str) -> None:
    pieces = parse([text], known=())
    if not any(isinstance(piece, CodeOpen) for piece in pieces):
        assert "".join(piece.text for piece in pieces if isinstance(piece, Prose)) == text


def test_a_broken_reply_leaves_its_block_incomplete() -> None:
    assert parse(["a\n```python\nprint("], broken=True) == [Prose("a\n"), *block("python", "print(", complete=False)]
    assert parse(["```python\n1\n```\nmore"], broken=True) == [*block("python", "1"), Prose("more")]


def test_prose_flows_on_without_waiting() -> None:
    parser = FenceParser(LANGUAGES)
    assert parser.feed("H") == [Prose("H")]
    assert parser.feed("ello\n\n") == [Prose("ello\n\n")]
    assert parser.feed("`") == []
    assert parser.feed("a") == [Prose("`a")]
    assert parser.feed("\n``") == [Prose("\n")]
    assert parser.feed(" b") == [Prose("`` b")]


def test_code_flows_on_without_waiting() -> None:
    parser = FenceParser(LANGUAGES)
    assert parser.feed("```python\n") == [CodeOpen("python")]
    assert parser.feed("pri") == [CodeText("pri")]
    assert parser.feed("nt(1)\n") == [CodeText("nt(1)")]
    assert parser.feed("x") == [CodeText("\nx")]
    assert parser.feed("\n```") == []
    assert parser.feed("\n") == [CodeClose()]
    assert not parser.open
