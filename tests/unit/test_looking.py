"""What a live kernel tells of a name, as Markdown."""

from __future__ import annotations

from oi_engine.computer.looks import Column, Inspection
from oi_lsp.sources.looking import COLUMNS, described


def test_a_table() -> None:
    columns = tuple(Column(f"c{number}", "int64") for number in range(30))
    found = Inspection(
        "df", "pandas.DataFrame", "   c0\n0   1", length=3, shape=(3, 40), columns=columns, column_count=40
    )
    text = described(found)
    assert text.startswith("`df`: `pandas.DataFrame`, shape 3 × 40\n\n```\n   c0\n0   1\n```\n\n- `c0` int64\n")
    assert text.endswith(f"- and {40 - COLUMNS} more")
    assert text.count("\n- `") == COLUMNS


def test_a_list_and_a_function() -> None:
    assert described(Inspection("a", "list", "[1]", length=1)) == "`a`: `list`, length 1\n\n```\n[1]\n```"
    assert described(Inspection("f", "function", docs="Does it.")) == "`f`: `function`\n\n```\nDoes it.\n```"


def test_whatever_is_in_it_stays_in_its_place() -> None:
    text = described(Inspection("a['`x``']", "dict", "```\n# no heading\n```"))
    assert text.startswith("```a['`x``']```: `dict`")
    assert "````\n```\n# no heading\n```\n````" in text
    assert described(Inspection("`a`", "str")).startswith("`` `a` ``: ")
    assert described(Inspection("a\n# b", "str")).startswith("`a # b`: ")
