"""What came of runs, as it is shown in the file: hints and problems that move, and go when they are no longer true."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from attrs import define, field
from lsprotocol import types

from oi_engine.session.session import Session
from oi_lsp.diagnostics import Diagnostics
from oi_lsp.documents import Document
from oi_lsp.sources import results as module
from oi_lsp.sources.pieces import piece_of
from oi_lsp.sources.results import Results
from tests.fakes.scripted import ScriptedModel, TinyRuntime

WHOLE = types.Range(types.Position(0, 0), types.Position(1000, 0))


@define
class File:
    """A file that is open, with what is shown in it, and a session."""

    document: Document
    session: Session
    diagnostics: list[types.Diagnostic] = field(factory=list)
    refreshed: int = 0
    results: Results = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.results = Results(self.document, self._show, self._refresh)

    def _show(self, found: list[types.Diagnostic]) -> None:
        self.diagnostics = found

    def _refresh(self) -> None:
        self.refreshed += 1

    def start(self, first: str, last: str | None = None, *, dedent: bool = True) -> None:
        """Run from the line that begins with some words to another one."""
        text = self.document.text
        end = text.index(last or first) + len(last or first)
        piece = piece_of(self.document, text.index(first), end, dedent=dedent)
        run = self.results.begin(piece)
        self.results.follow(run, self.session, self.session.run("python", piece.code).turn_id)

    async def run(self, first: str, last: str | None = None) -> None:
        self.start(first, last)
        await self.session.idle()

    def type(self, at: str, text: str, over: str = "") -> None:
        """Put text before some words, or over what stands there."""
        start = self.document.text.index(at)
        place = self.document.range(start, start + len(over))
        self.document.apply(types.TextDocumentContentChangePartial(place, text), 1)

    @property
    def hints(self) -> list[tuple[int, str]]:
        """The line and the label of each."""
        return [(hint.position.line, str(hint.label)) for hint in self.results.hints(WHOLE)]

    @property
    def problems(self) -> list[tuple[int, int, int, str]]:
        return [
            (each.range.start.line, each.range.start.character, each.range.end.character, each.message)
            for each in self.diagnostics
        ]


@asynccontextmanager
async def opened(text: str) -> AsyncIterator[File]:
    session = Session(ScriptedModel(), lambda language, folder: TinyRuntime([]))
    file = File(Document("file:///a.py", "python", 0, text), session)
    yield file
    file.results.close()
    await session.close()


async def test_each_line_shows_the_last_that_it_wrote() -> None:
    async with opened("first\n  value 𝒳 one\n  value two\n  raise Oops\nlast") as file:
        await file.run("  value 𝒳", "Oops")
        assert file.hints == [(1, "→ 𝒳 one"), (2, "→ two"), (3, "→ Oops")]
        assert file.problems == [(3, 8, 12, "Oops: no")]
        assert file.refreshed


async def test_where_no_line_is_told_the_last_one_shows_it() -> None:
    async with opened("print a\nprint b\n\n") as file:
        await file.run("print a", "print b\n\n")
        assert file.hints == [(1, "→ … b")]


async def test_what_is_shown_moves_and_goes_with_its_line() -> None:
    async with opened("value one\nvalue two\nraise Oops") as file:
        await file.run("value one", "Oops")
        file.type("value one", "new\n")
        await asyncio.sleep(0)
        assert file.hints == [(1, "→ one"), (2, "→ two"), (3, "→ Oops")]
        file.type("two", "tw", "two")
        assert file.hints == [(1, "→ one"), (3, "→ Oops")]
        file.type("raise", "#", "")
        assert file.hints == [(1, "→ one")]
        while file.problems:  # shown when the event loop has come round
            await asyncio.sleep(0)


async def test_what_runs_again_is_shown_anew_and_the_rest_stays() -> None:
    async with opened("value one\nraise Oops\nvalue two") as file:
        await file.run("value one", "Oops")
        await file.run("value two")
        assert sorted(file.hints) == [(0, "→ one"), (1, "→ Oops"), (2, "→ two")]
        file.type("raise Oops", "value fine", "raise Oops")
        await file.run("value fine")
        assert sorted(file.hints) == [(0, "→ one"), (1, "→ fine"), (2, "→ two")]
        assert file.problems == []


async def test_a_line_that_is_edited_while_it_waits_shows_nothing() -> None:
    async with opened("wait\nvalue one\nvalue two\n") as file:
        file.start("wait")
        file.start("value one", "value two")
        file.type("wait", "above\n")
        file.type("one", "1", "one")
        runs = asyncio.Event()
        file.session.stream.subscribe(lambda entry: runs.set() if entry.chunk.format == "active_line" else None)
        await runs.wait()
        await file.session.interrupt()
        await file.session.idle()
        assert file.hints == [(3, "→ two")]


async def test_what_was_stopped_before_its_turn_is_no_longer_followed() -> None:
    async with opened("wait\nvalue one\n") as file:
        file.start("wait")
        file.start("value one")
        before = len(file.results._runs)
        file.session.stop()
        await file.session.idle()
        assert (before, len(file.results._runs)) == (2, 0)
        await file.run("value one")
        assert file.hints == [(1, "→ one")]


async def test_runs_of_one_file_in_two_sessions() -> None:
    other = Session(ScriptedModel(), lambda language, folder: TinyRuntime([]))
    async with opened("value one\nvalue two\n") as file:
        file.start("value one")
        mine, file.session = file.session, other
        file.start("value two")
        await mine.idle()
        await other.idle()
        assert sorted(file.hints) == [(0, "→ one"), (1, "→ two")]
        file.session = mine
    await other.close()


async def test_much_output_is_shortened() -> None:
    async with opened("value " + "x" * 10_000 + "\nvalue y") as file:
        await file.run("value x", "y")
        label = file.hints[0][1]
        assert len(label) < module.HINT + 10
        assert label.startswith("→ … x")
        assert file.results.hints(WHOLE)[0].tooltip is not None


async def test_hints_are_those_of_the_lines_that_are_asked_for() -> None:
    async with opened("value one\nvalue two\nvalue three") as file:
        await file.run("value one", "three")
        place = types.Range(types.Position(1, 0), types.Position(1, 9))
        assert [hint.position.line for hint in file.results.hints(place)] == [1]


async def test_nothing_is_shown_once_it_is_closed() -> None:
    async with opened("raise Oops") as file:
        await file.run("raise Oops")
        assert file.problems
        file.results.close()
        assert file.problems == []


def problem(text: str) -> types.Diagnostic:
    return types.Diagnostic(WHOLE, text)


@pytest.mark.parametrize("twice", [False, True])
def test_diagnostics_of_several_are_shown_together(twice: bool) -> None:
    published: list[tuple[str, list[str]]] = []
    hub = Diagnostics(lambda uri, found: published.append((uri, [each.message for each in found])))
    hub.set("one", "file:///a", [])
    assert published == []
    hub.set("one", "file:///a", [problem("1")])
    hub.set("two", "file:///a", [problem("2")])
    hub.set("two", "file:///b", [problem("3")])
    hub.set("one", "file:///a", [])
    if twice:
        hub.set("one", "file:///a", [])
    assert published == [
        ("file:///a", ["1"]),
        ("file:///a", ["1", "2"]),
        ("file:///b", ["3"]),
        ("file:///a", ["2"]),
    ]
