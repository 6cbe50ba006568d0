"""What a place in Python code names: names, attributes and plain subscripts, and never a call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oi_engine.computer.python_path import Path, Unfinished, path_at, unfinished_at


def named(marked: str) -> tuple[str, tuple[tuple[str, str | int], ...]] | None:
    """The path at ``|``."""
    path = path_at(marked.replace("|", ""), marked.index("|"))
    return None if path is None else (path.root, path.steps)


def typed(marked: str) -> tuple[str, str] | None:
    """What is typed at ``|``: its kind and prefix."""
    found = unfinished_at(marked.replace("|", ""), marked.index("|"))
    return None if found is None else (found.kind, found.prefix)


@pytest.mark.parametrize(
    ("marked", "root", "steps"),
    [
        ("fra|me.a['x'].b", "frame", ()),
        ("frame|", "frame", ()),
        ("frame.a|['x'].b", "frame", (("attribute", "a"),)),
        ("frame.a['|x'].b", "frame", (("attribute", "a"), ("item", "x"))),
        ("frame.a['x'].b|", "frame", (("attribute", "a"), ("item", "x"), ("attribute", "b"))),
        ("rows[-1]|", "rows", (("item", -1),)),
        ("a . b|", "a", (("attribute", "b"),)),
        ("d['\\n']|", "d", (("item", "\n"),)),
        ("f(na|me)", "name", ()),
        ("print(f'{na|me!r}')", "name", ()),
        ("'text'\nna|me", "name", ()),
        ("größe|", "größe", ()),
        ("x = d[k|].y", "k", ()),
    ],
)
def test_a_path_goes_up_to_the_cursor(marked: str, root: str, steps: tuple[tuple[str, str | int], ...]) -> None:
    assert named(marked) == (root, steps)


@pytest.mark.parametrize(
    "marked",
    [
        "f().na|me",
        "d[k].na|me",
        "(a + b).na|me",
        "'na|me'",
        "# na|me",
        "'''\nna|me\n'''",
        "'''\nna|me",
        "'a\\' na|me'",
        "1|2",
        "a + |",
        "|",
        "f'{{na|me}}'",
        "f() .na|me",
    ],
)
def test_what_would_have_to_be_evaluated_or_is_text_names_nothing(marked: str) -> None:
    assert named(marked) is None


def test_a_path_says_where_it_stands() -> None:
    assert path_at("x = frame.shape", 12) == Path("frame", (("attribute", "shape"),), 4, 15)


@pytest.mark.parametrize(
    ("marked", "kind", "prefix"),
    [
        ("na|", "name", "na"),
        ("|", "name", ""),
        ("x + na|me", "name", "na"),
        ("frame.|", "attribute", ""),
        ("frame.sh|", "attribute", "sh"),
        ("d['a']['b|", "key", "b"),
        ('d["a b|', "key", "a b"),
        ("%ti|", "magic", "%ti"),
        ("%%ti|", "magic", "%%ti"),
        ("f'{na|", "name", "na"),
    ],
)
def test_what_is_being_typed(marked: str, kind: str, prefix: str) -> None:
    assert typed(marked) == (kind, prefix)


@pytest.mark.parametrize("marked", ["f().|", "'na|", "# na|", "1.|", "12ab|", "f()['k|", "d[k].|"])
def test_where_no_name_can_stand_nothing_is_offered(marked: str) -> None:
    assert typed(marked) is None


def test_what_is_typed_says_where_it_begins_and_whose_it_is() -> None:
    assert unfinished_at("x = a.b", 7) == Unfinished("attribute", "b", 6, Path("a", (), 4, 5))


@given(st.text("ab.[]'\"#f{}\\ \n%0é", max_size=60), st.integers(0, 60))
def test_any_text_at_any_place_is_read(code: str, cursor: int) -> None:
    cursor = min(cursor, len(code))
    path, found = path_at(code, cursor), unfinished_at(code, cursor)
    assert path is None or (path.start <= cursor <= path.end and code.startswith(path.root, path.start))
    assert found is None or code[found.start : cursor] == found.prefix
