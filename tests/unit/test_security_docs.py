"""The table of attacks names tests, and each of them is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\|(?!---)(.+)\|(.+)\|(.+)\|$")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows() -> list[str]:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    table = page.partition("| attack | what holds | test |\n")[2].partition("\n\n")[0]
    found = (_ROW.match(line) for line in table.splitlines())
    return [match[3] for match in found if match]


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_each_attack_names_its_tests_and_they_are_there() -> None:
    assert rows()
    for cell in rows():
        named = _TEST.findall(cell)
        assert named, cell
        assert _TEST.sub("", cell).strip(" ,") == "", cell
        for path, name in named:
            assert name in names_in(ROOT / path), cell
