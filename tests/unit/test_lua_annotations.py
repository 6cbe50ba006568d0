"""The annotations of the Neovim plugin's Lua: whole, and of types that there are. No checker of them can be had."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[2] / "editors" / "nvim"
SOURCES = [path for path in sorted(PLUGIN.glob("*/**/*.lua")) if "node_modules" not in path.parts]
FUNCTION = re.compile(r"^(?:local )?function ([\w.]+)\((.*)\)\n((?:(?!end$).*\n)*)end$", re.MULTILINE)
ANNOTATION = re.compile(r"--- ?@.*|--\[\[@.*?\]\]")
OWN = re.compile(r"\boi\.[A-Z]\w*")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_functions_say_what_they_take_and_return(source: Path) -> None:
    text, problems = source.read_text(), []
    for found in FUNCTION.finditer(text):
        name, parameters, body = found.groups()
        above = re.search(r"(?:^---.*\n)*\Z", text[: found.start()], re.MULTILINE)
        said = above[0] if above else ""
        takes = [each for each in re.split(r",\s*", parameters) if each and not each.startswith("_")]
        documented = [each for each in re.findall(r"@param (\w+)", said) if not each.startswith("_")]
        if documented != takes:
            problems.append(f"{name} takes {takes}; its annotations have {documented}")
        # At the function's own indentation; what is deeper may be of another one within.
        if re.search(r"^  return [^\s]", body, re.MULTILINE) and "@return" not in said:
            problems.append(f"{name} returns something that no annotation tells of")
        if "@return" in said and not re.search(r"\breturn [^\s]", body):
            problems.append(f"{name} returns nothing, but an annotation says so")
    assert not problems


def test_types_that_annotations_name_are_defined_once() -> None:
    text = "".join(source.read_text() for source in SOURCES)
    defined = re.findall(r"^---@(?:class|alias|enum) (oi\.\w+)", text, re.MULTILINE)
    named = {name for annotation in ANNOTATION.findall(text) for name in OWN.findall(annotation)}
    assert named, "there are some"
    assert named <= set(defined)
    assert len(defined) == len(set(defined))
