"""The conversation in a terminal: approval, edits, input, stops, with a scripted model and scripted answers."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from oi_engine.errors import ModelError, SessionBusy
from oi_engine.factory import Engine
from oi_engine.models.chosen import Choice
from oi_engine.models.model import Usage
from oi_engine.session.session import Session
from oi_engine.settings import Settings
from oi_engine.terminal.ask import Interrupted, Left, Verdict, block_content, is_open_block
from oi_engine.terminal.ask_lines import LineReader, PipeAsker
from oi_engine.terminal.chat import HOW_TO_LEAVE, NOBODY, Chat
from oi_engine.terminal.gallery import Gallery
from oi_engine.terminal.plain import PlainRenderer
from tests.fakes.scripted import ScriptedModel, Step, TinyRuntime, code, say

ROLES = ("user", "assistant")
Answer = str | type[Exception]


class ScriptedAsker:
    """Gives scripted answers in order, whatever is asked, and keeps what was asked."""

    can_ask = True

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.never = asyncio.Event()

    async def _next(self, what: str) -> str:
        self.asked.append(what)
        if not self.answers:
            await self.never.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, str):
            return answer
        raise answer

    async def message(self) -> str:
        return await self._next("message")

    async def approval(self) -> Verdict:
        answer = await self._next("approval")
        assert answer in ("yes", "no", "edit", "always", "scan")
        return answer  # type: ignore[return-value]

    async def reason(self) -> str:
        return await self._next("reason")

    async def program_input(self, prompt: str, *, password: bool) -> str:
        return await self._next(f"input {prompt}")

    def interrupt(self) -> None: ...


class Talk:
    """A chat on a scripted model, with all its parts in reach."""

    def __init__(self, folder: Path, replies: list[list[Step]], answers: Sequence[Answer], auto_run: bool) -> None:
        self.ran: list[str] = []
        self.model = ScriptedModel(replies)
        self.session = Session(
            self.model, lambda language, cwd: TinyRuntime(self.ran), Settings(auto_run=auto_run), cwd="/"
        )
        self.screen = io.StringIO()
        self.asker = ScriptedAsker(answers)
        self.chat = Chat(self.session, PlainRenderer(self.screen, Gallery(folder)), self.asker)

    @property
    def told(self) -> str:
        """What the model was told last."""
        return str(self.model.requests[-1].messages[-1]["content"])


MakeTalk = Callable[..., Talk]


@pytest.fixture
async def make_talk(tmp_path: Path) -> AsyncIterator[MakeTalk]:
    made: list[Talk] = []

    def make(replies: list[list[Step]], *answers: Answer, auto_run: bool = False) -> Talk:
        made.append(Talk(tmp_path, replies, answers, auto_run))
        return made[-1]

    yield make
    for talk in made:
        await talk.session.close()


async def test_yes_runs_the_code_and_shows_its_output(make_talk: MakeTalk) -> None:
    talk = make_talk([code("print hello"), say("It said hello.")], "yes")
    assert await talk.chat.turn("go") is True
    assert talk.ran == ["print hello"]
    assert talk.screen.getvalue() == "```python\nprint hello\n```\n\n```output\nhello\n```\n\nIt said hello.\n"


async def test_what_a_turn_cost_is_said_where_it_is_known(make_talk: MakeTalk) -> None:
    talk = make_talk([[*say("One."), Usage(100, 10, 0.2)], [*say("Two."), Usage(100, 10, 0.3)], [*say("Three.")]])
    await talk.chat.turn("go")
    assert talk.screen.getvalue() == "One.\n\n$0.20 for this turn, $0.20 so far.\n"
    await talk.chat.turn("go")
    assert "$0.30 for this turn, $0.50 so far." in talk.screen.getvalue()
    await talk.chat.turn("go")
    assert talk.screen.getvalue().endswith("Three.\n")


async def test_no_tells_the_model_the_reason(make_talk: MakeTalk) -> None:
    talk = make_talk([code("print hello")], "no", "too loud")
    await talk.chat.turn("go")
    assert talk.ran == []
    assert "too loud" in talk.told


async def test_always_asks_once_for_the_same_code_and_again_for_other_code(make_talk: MakeTalk) -> None:
    talk = make_talk([code("print a"), code("print a"), code("print b")], "always", "yes")
    await talk.chat.turn("go")
    assert talk.ran == ["print a", "print a", "print b"]
    assert talk.asker.asked == ["approval", "approval"]


async def test_what_was_edited_is_asked_about_again_and_runs_to_the_byte(
    make_talk: MakeTalk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nprintf "print ch\\303\\244nged\\n" > "$1"\n')
    script.chmod(0o700)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))
    talk = make_talk([code("print hello")], "edit", "yes")
    await talk.chat.turn("go")
    assert talk.ran == ["print chänged"]
    assert talk.asker.asked == ["approval", "approval"]
    assert talk.screen.getvalue().count("print chänged\n") == 1


@pytest.mark.parametrize("editor", ["false", "/not/there", "'", "true"])
async def test_an_editor_that_changes_nothing_leaves_the_code_as_it_was(
    make_talk: MakeTalk, monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    talk = make_talk([code("print hello")], "edit", "yes")
    await talk.chat.turn("go")
    assert talk.ran == ["print hello"]
    assert talk.asker.asked == ["approval", "approval"]


async def test_what_hides_in_code_is_shown_and_warned_of(make_talk: MakeTalk) -> None:
    talk = make_talk([code("print a\u202eb")], "no", "")
    await talk.chat.turn("go")
    assert "Warning: Line 1: U+202E RIGHT-TO-LEFT OVERRIDE" in talk.screen.getvalue()
    assert "\u202e" not in talk.screen.getvalue()
    assert "‹U+202E RIGHT-TO-LEFT OVERRIDE›" in talk.screen.getvalue()


@pytest.mark.parametrize("leaving", [Interrupted, Left])
async def test_ctrl_c_and_ctrl_d_at_the_question_mean_no_and_end_the_turn(
    make_talk: MakeTalk, leaving: type[Exception]
) -> None:
    talk = make_talk([code("print hello")], leaving)
    await talk.chat.turn("go")
    assert talk.ran == []
    assert talk.session.snapshot.state == "idle"
    assert len(talk.model.requests) == 1


async def test_a_question_is_taken_back_when_the_turn_is_stopped(make_talk: MakeTalk) -> None:
    talk = make_talk([code("print hello")])
    turn = asyncio.create_task(talk.chat.turn("go"))
    asked = asyncio.Event()
    talk.session.on_state(lambda snapshot: asked.set() if snapshot.proposal else None)
    await asked.wait()
    talk.chat.interrupt()
    await turn
    assert talk.ran == []


async def test_ctrl_c_while_a_program_runs_stops_it_and_the_session_goes_on(make_talk: MakeTalk) -> None:
    talk = make_talk([code("print on\nwait"), code("print again")], auto_run=True)
    turn = asyncio.create_task(talk.chat.turn("go"))
    runs = asyncio.Event()
    talk.session.stream.subscribe(lambda entry: runs.set() if entry.chunk.content == "on\n" else None)
    await runs.wait()
    talk.chat.interrupt()
    assert await turn is True
    await talk.chat.turn("go on")
    assert talk.ran == ["print on\nwait", "print again"]


async def test_a_program_gets_its_line(make_talk: MakeTalk) -> None:
    talk = make_talk([code("input")], "Ada", auto_run=True)
    await talk.chat.turn("go")
    assert talk.asker.asked == ["input ? "]
    assert "got Ada\n" in talk.screen.getvalue()


async def test_a_turn_that_fails_is_told_apart_and_says_why(make_talk: MakeTalk) -> None:
    talk = make_talk([[ModelError("no_key", "There is no key.", "Set one.")]])
    assert await talk.chat.turn("go") is False
    assert talk.screen.getvalue() == "Error: There is no key. Set one.\n"
    assert await talk.chat.turn("go") is True


async def test_pictures_are_saved_and_named(make_talk: MakeTalk, tmp_path: Path) -> None:
    talk = make_talk([code("image")], auto_run=True)
    await talk.chat.turn("go")
    assert f"image saved: {tmp_path / 'image-1.png'}" in talk.screen.getvalue()


async def test_a_conversation_goes_on_until_the_person_leaves(make_talk: MakeTalk) -> None:
    talk = make_talk([say("One."), say("Two.")], "first", "   ", "second", "%undo", "%help", "%nothing", Left)
    assert await talk.chat.converse() is True
    assert [message.content for message in talk.session.messages] == ["first", "One."]
    shown = talk.screen.getvalue()
    assert "%reset" in shown
    assert "There is no command %nothing." in shown


async def test_reset_begins_anew(make_talk: MakeTalk) -> None:
    talk = make_talk([say("One.")], "first", "%reset", Left)
    await talk.chat.converse()
    assert talk.session.messages == []


async def test_ctrl_c_at_the_prompt_says_how_to_leave_and_leaves_the_second_time(make_talk: MakeTalk) -> None:
    talk = make_talk([], Interrupted, "hello", Interrupted, Interrupted)
    await talk.chat.converse()
    assert talk.screen.getvalue().count(HOW_TO_LEAVE) == 2
    assert talk.asker.answers == []


async def test_a_shell_command_of_the_person_s_own_is_shown_like_any_run(make_talk: MakeTalk) -> None:
    talk = make_talk([say("Hello.")], "%% print on\ninput", "Ada", "hi", Left)
    await talk.chat.converse()
    assert talk.ran == ["print on\ninput"]
    assert "```shell\nprint on\ninput\n```\n\n```output\non\ngot Ada\n```\n" in talk.screen.getvalue()
    assert "Hello." in talk.screen.getvalue()


async def test_of_loaded_messages_the_end_is_shown(make_talk: MakeTalk, tmp_path: Path) -> None:
    said = [{"role": role, "type": "message", "content": f"{role} {n}"} for n in range(99) for role in ROLES]
    said[-1]["content"] = "long " * 2000
    said.append({"role": "computer", "type": "image", "format": "base64.png", "content": "aW1hZ2U="})
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(said))
    talk = make_talk([say("Hello.")], f"%load_message {path}", "hi", Left)
    await talk.chat.converse()
    shown = talk.screen.getvalue()
    assert "… 187 messages before these" in shown
    assert "> user 98\n" in shown
    assert "assistant 97\n" in shown
    assert "user 90\n" not in shown
    assert "long …\n" in shown
    assert "(image)" in shown
    assert shown.endswith("Hello.\n")
    assert not (tmp_path / "image-1.png").exists()


async def test_another_conversation_takes_the_place_of_the_one_before(make_talk: MakeTalk, tmp_path: Path) -> None:
    engine = Engine(history=tmp_path / "history.db")
    stored = engine.new_session(cwd="/", model=Choice("tour", "A test."))
    stored.model = ScriptedModel([code("print lark", "shell"), say("A lark.")])
    asked = asyncio.Event()
    stored.on_state(lambda snapshot: asked.set() if snapshot.proposal else None)
    stored.send("Which bird?")
    await asked.wait()
    assert stored.snapshot.proposal is not None
    stored.reject(stored.snapshot.proposal.id)
    await stored.idle()
    await engine.close_session(stored)
    talk = make_talk([], "%history", "%open 1", "%undo", Left)
    talk.chat = Chat(talk.session, PlainRenderer(talk.screen, Gallery(tmp_path)), talk.asker, engine=engine)
    await talk.chat.converse()
    assert talk.chat.session.id == stored.id
    assert talk.chat.session.messages == []
    assert "> Which bird?\n\n```shell\nprint lark\n```\n" in talk.screen.getvalue()
    assert "A lark.\n" in talk.screen.getvalue()
    with pytest.raises(SessionBusy):
        talk.session.send("The one before is closed.")
    await engine.close()


async def piped(make_talk: MakeTalk, text: str, replies: list[list[Step]], *, auto_run: bool) -> tuple[Talk, bool]:
    source, sink = os.pipe()
    os.write(sink, text.encode())
    os.close(sink)
    talk = make_talk(replies, auto_run=auto_run)
    talk.chat = Chat(
        talk.session, PlainRenderer(talk.screen, Gallery(Path("/dev/null"))), PipeAsker(LineReader(source)), echo=True
    )
    try:
        return talk, await talk.chat.converse()
    finally:
        os.close(source)


async def test_each_line_of_a_pipe_is_a_message(make_talk: MakeTalk) -> None:
    talk, good = await piped(make_talk, "one\r\n\ntwo", [code("print a"), say("A."), say("B.")], auto_run=True)
    assert good
    assert talk.ran == ["print a"]
    assert [message.content for message in talk.session.messages if message.role == "user"] == ["one", "two"]
    assert "> two\n" in talk.screen.getvalue()


async def test_where_nobody_can_be_asked_nothing_runs_and_it_says_why(make_talk: MakeTalk) -> None:
    talk, _ = await piped(make_talk, "one\n", [code("print a")] * 9, auto_run=False)
    assert talk.ran == []
    assert NOBODY in talk.screen.getvalue()
    assert len(talk.model.requests) == 3


async def test_a_program_that_asks_where_nobody_can_answer_is_interrupted(make_talk: MakeTalk) -> None:
    talk, _ = await piped(make_talk, "one\n", [code("input"), say("Pity.")], auto_run=True)
    assert "it is interrupted" in talk.screen.getvalue()
    assert "Pity." in talk.screen.getvalue()


def test_blocks_between_backticks() -> None:
    assert is_open_block("```")
    assert is_open_block("```\nline")
    assert not is_open_block("```\nline\n```")
    assert not is_open_block("plain")
    assert block_content("```\none\ntwo\n```") == "one\ntwo"
    assert block_content("plain") == "plain"
