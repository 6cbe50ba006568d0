"""Every Python snippet of Open Interpreter's documentation, run against this package.

The pages are in ``../shared/reference`` beside the checkout; where they are not, these tests are skipped. A page is one
program: its snippets run in order, in one namespace, with ``from interpreter import …`` read as ``from oi_engine import …``.
Models are asked through the real model worker; only the address is changed, to a scripted server on loopback.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Union

import pytest
from attrs import evolve, frozen

import oi_engine
from oi_engine import ModelError, NotHere, OpenInterpreter
from oi_engine.api.hub import hub
from oi_engine.factory import Engine
from oi_engine.messages import chunk_from_dict, message_from_dict
from oi_engine.models.model import ModelEvent, ModelRequest
from oi_engine.models.worker_client import WorkerModel
from tests.fakes.http_server import Recorded, Response
from tests.fakes.openai_server import OpenAiServer, Reply

REFERENCE = Path(__file__).parents[3] / "shared" / "reference"

pytestmark = pytest.mark.skipif(
    not REFERENCE.is_dir(), reason="Open Interpreter's documentation is not beside the checkout (../shared/reference)"
)

NOT_RUN: dict[tuple[str, int], str] = {}
"""What cannot be run, by file and line, and why."""

SERVER_PAGE = "docs/server/usage.mdx"
COMPUTER_API = "docs/code-execution/computer-api.mdx"


@frozen
class Snippet:
    """One piece of Python of a page. ``line`` is that of its first line of code, from 1."""

    page: str
    line: int
    code: str


# --- finding them ----------------------------------------------------------------------------------------------

_FENCE = re.compile(r"^\s*(`{3,})\s*(.*?)\s*$")
_BEGINS = re.compile(
    r"(interpreter\.|agent_?\w* *=|agents? *=|messages? *=|from |import |def |for |while |class |app *=)"
)
_LONGEST = 8
"""Lines that one statement of an unfenced page may have, blocks excepted."""


def snippets(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(REFERENCE).as_posix()
    found = _fenced(text) if "```" in text else _unfenced(text)
    return [Snippet(name, line, code) for line, code in found]


def _fenced(text: str) -> Iterator[tuple[int, str]]:
    """Blocks that say that they are Python, and blocks that say nothing and set or call something of ours."""
    fence, info, begin, block = "", "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        mark = _FENCE.match(line)
        if not fence and mark:
            fence, info, begin, block = mark[1], mark[2].lower(), number + 1, []
        elif fence and mark and mark[1].startswith(fence) and not mark[2]:
            ours = not info and any(re.match(r"interpreter\.\w", line) for line in block)
            if info.startswith("python") or ours:
                yield begin, "\n".join(block) + "\n"
            fence = ""
        elif fence:
            block.append(line)


def _unfenced(text: str) -> Iterator[tuple[int, str]]:
    """Statements of a page that was copied as plain text: from a line that begins like one to where it is whole."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if not _BEGINS.match(lines[at]):
            at += 1
            continue
        end = _whole(lines, at)
        yield at + 1, "\n".join(lines[at:end]) + "\n"
        at = end


def _whole(lines: list[str], at: int) -> int:
    """Where the statement that begins here ends; the next line, where it is none."""
    for end in range(at + 1, min(at + _LONGEST, len(lines)) + 1):
        if parses("\n".join(lines[at:end])):
            while end < len(lines) and lines[end].startswith((" ", "\t")) and parses("\n".join(lines[at : end + 1])):
                end += 1
            return end
    return at + 1


def parses(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def pages() -> dict[str, list[Snippet]]:
    if not REFERENCE.is_dir():
        return {}
    found = {path: snippets(path) for path in sorted(REFERENCE.rglob("*.md*"))}
    return {all_[0].page: all_ for all_ in found.values() if all_}


PAGES = pages()


def test_list() -> None:
    for page, all_ in PAGES.items():
        for s in all_:
            print(page, s.line, "OK" if parses(s.code) else "NO-PARSE", repr(s.code[:70]))
