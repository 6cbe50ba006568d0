"""Safe mode at the terminal's question."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from oi_engine.session.session import Session
from oi_engine.settings import Settings
from oi_engine.settings.tree import SafeMode
from oi_engine.terminal.chat import NOT_SCANNED, NOTHING_FOUND, Chat
from oi_engine.terminal.gallery import Gallery
from oi_engine.terminal.plain import PlainRenderer
from tests.fakes.scripted import ScriptedModel, TinyRuntime, code, say
from tests.unit.test_safe_mode import Scanning
from tests.unit.test_terminal_chat import ScriptedAsker


async def shown(folder: Path, source: str, mode: SafeMode, *answers: str) -> tuple[str, list[str], list[str]]:
    """What the terminal shows of one block, what ran, and what was asked."""
    ran: list[str] = []
    scanner = Scanning()
    session = Session(
        ScriptedModel([code(source), say("ok")]),
        lambda language, cwd: TinyRuntime(ran),
        Settings(safe_mode=mode),
        cwd="/",
        make_scanner=lambda: scanner,
    )
    screen, asker = io.StringIO(), ScriptedAsker(answers)
    chat = Chat(session, PlainRenderer(screen, Gallery(folder)), asker)
    try:
        assert await chat.turn("go") is True
    finally:
        await session.close()
    return screen.getvalue(), ran, asker.asked


async def test_what_is_found_stands_above_the_question(tmp_path: Path) -> None:
    screen, ran, asked = await shown(tmp_path, "print delete", "auto", "yes")
    assert screen.count("Line 1: It deletes files.") == 1
    assert NOTHING_FOUND not in screen
    assert (ran, asked) == (["print delete"], ["approval"])


async def test_that_nothing_is_found_is_said(tmp_path: Path) -> None:
    screen, _, _ = await shown(tmp_path, "print 1", "auto", "yes")
    assert screen.count(NOTHING_FOUND) == 1


@pytest.mark.parametrize(("source", "words"), [("print send", "Line 1: It sends data."), ("print 1", NOTHING_FOUND)])
async def test_a_key_scans_and_the_question_comes_again(tmp_path: Path, source: str, words: str) -> None:
    screen, ran, asked = await shown(tmp_path, source, "ask", "scan", "yes")
    assert screen.count(NOT_SCANNED) == 1
    assert screen.index(NOT_SCANNED) < screen.index(words)
    assert (ran, asked) == ([source], ["approval", "approval"])


async def test_what_was_edited_is_scanned_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nprintf "print delete\\n" > "$1"\n')
    script.chmod(0o700)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))
    screen, ran, asked = await shown(tmp_path, "print 1", "ask", "edit", "scan", "yes")
    assert "Line 1: It deletes files." in screen
    assert (ran, asked) == (["print delete"], ["approval"] * 3)


async def test_an_edit_that_does_more_is_asked_about_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nprintf "print delete\\n" > "$1"\n')
    script.chmod(0o700)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))
    screen, ran, asked = await shown(tmp_path, "print 1", "auto", "edit", "yes", "yes")
    assert screen.count("Line 1: It deletes files.") == 1
    assert (ran, asked) == (["print delete"], ["approval"] * 3)


async def test_nothing_is_said_of_scans_where_safe_mode_is_off(tmp_path: Path) -> None:
    screen, _, _ = await shown(tmp_path, "print delete", "off", "yes")
    assert "scan" not in screen.lower()
    assert "deletes" not in screen
