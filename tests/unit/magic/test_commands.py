"""Magic commands: how a line is read, what they do to a conversation, and how front ends show them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from oi_engine.errors import SessionBusy
from oi_engine.magic import commands
from oi_engine.magic.commands import COMMANDS, Magic, Offer, complete, offers, parse
from oi_engine.magic.files import LOADED, quoted
from oi_engine.session.state import Ticket
from oi_engine.settings.tree import all_settings
from tests.fakes.scripted import code, say
from tests.unit.magic.rig import MakeRig, Rig

# --- reading a line --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("hello", None),
        (" %help", None),
        ("100%", None),
        ("", None),
        ("%help", Magic("help")),
        ("%help  ", Magic("help")),
        ("%save_message  a b.json ", Magic("save_message", "a b.json")),
        ("%save_message! a.json", Magic("save_message", "a.json", forced=True)),
        ("%% ls -l", Magic("%", "ls -l")),
        ("%%ls\npwd", Magic("%", "ls\npwd")),
        ("%%", Magic("%")),
        ("%%!x", Magic("%", "!x")),
        ("%", Magic("")),
        ("%d is a format", Magic("d", "is a format")),
        ("%tokens\none\ntwo", Magic("tokens", "one\ntwo")),
    ],
)
def test_a_line_is_read(text: str, read: Magic | None) -> None:
    assert parse(text) == read


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("%he", ["%help"]),
        ("%r", ["%reset"]),
        ("hello", []),
        ("%% l", []),
        ("%verbose ", ["%verbose true", "%verbose false"]),
        ("%verbose f", ["%verbose false"]),
        ("%settings safe", ["%settings safe_mode", "%settings safe_review"]),
        ("%settings safe_mode ", ["%settings safe_mode off", "%settings safe_mode ask", "%settings safe_mode auto"]),
        ("%settings llm.model ", []),
        ("%settings no.such ", []),
        ("%undo ", []),
        ("%nothing ", []),
        ("%load_message b", ["%load_message b dir/", "%load_message b.json"]),
        ("%load_message! b dir/", ["%load_message! b dir/c.json"]),
        ("%load_message no/where", []),
    ],
)
def test_completion(text: str, offered: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b dir").mkdir()
    for name in ("a.json", "b.json", ".hidden", "b dir/c.json"):
        (tmp_path / name).touch()
    assert complete(text) == offered


def test_offers_say_what_they_would_do_and_paths_start_in_the_folder(tmp_path: Path) -> None:
    assert offers("%he") == [Offer("%help", COMMANDS["help"].help)]
    assert offers("%settings llm.max_outp") == [Offer("%settings llm.max_output", all_settings()["llm.max_output"].doc)]
    assert {offer.help for offer in offers("%settings safe_mode ")} == {all_settings()["safe_mode"].doc}
    (tmp_path / "kept.json").touch()
    (offer,) = offers("%load_message k", str(tmp_path))
    assert offer == Offer("%load_message kept.json", COMMANDS["load_message"].help)
    assert offers(f"%load_message {tmp_path}/k", "/nowhere") == [
        Offer(f"%load_message {tmp_path}/kept.json", offer.help)
    ]
    assert offers("%load_message ~nobody-has-this-name/k") == []
    assert offers("%load_message \0/k") == []


def test_every_command_is_completed() -> None:
    assert complete("%") == [f"%{name}" for name in COMMANDS if name != "%"]


async def test_help_has_every_command(make_rig: MakeRig) -> None:
    said = await make_rig().do("%help")
    for command in COMMANDS.values():
        assert f"`{command.usage}`: {command.help}" in said


@pytest.mark.parametrize(
    ("line", "near"), [("%unod", "Did you mean %undo?"), ("%timeit x", "%help lists"), ("%", "%help")]
)
async def test_what_is_no_command_is_said_with_the_nearest(make_rig: MakeRig, line: str, near: str) -> None:
    assert near in await make_rig().refusal(line)


# --- the conversation ------------------------------------------------------------------------------------------


async def test_the_shell_runs_what_is_behind_two_signs(make_rig: MakeRig) -> None:
    rig = make_rig()
    assert await rig.do("%% print one\nprint two") == ""
    assert rig.ran == ["print one\nprint two"]
    source, output = rig.session.messages
    assert (source.role, source.type, source.format) == ("user", "code", "shell")
    assert output.text == "one\ntwo\n"
    assert "none" in await rig.refusal("%%")


async def test_undo_and_reset(make_rig: MakeRig) -> None:
    rig = make_rig(say("One."), say("Two."))
    await rig.ask("first")
    await rig.ask("second")
    await rig.do("%undo")
    assert [message.text for message in rig.session.messages] == ["first", "One."]
    await rig.do("%reset")
    assert rig.session.messages == []
    assert await rig.do("%undo") == "There is nothing to take back."


async def test_in_mid_turn_the_conversation_is_left_alone(make_rig: MakeRig, tmp_path: Path) -> None:
    (tmp_path / "messages.json").write_text("[]")
    rig = make_rig([asyncio.Event(), *say("never")])
    rig.session.send("first")
    for line in ("%reset", "%undo", "%load_message"):
        command = parse(line)
        assert command is not None
        with pytest.raises(SessionBusy):
            await commands.run(command, rig.session, rig.engine)
    assert [message.text for message in rig.session.messages] == ["first"]
    rig.session.stop()
    await rig.session.idle()


async def test_messages_are_saved_and_loaded(make_rig: MakeRig, tmp_path: Path) -> None:
    rig = make_rig(code("print hello"), say("Done."))
    await rig.ask("go")
    saved = rig.session.messages.copy()
    assert "4 messages" in await rig.do("%save_message")
    assert [item["type"] for item in json.loads((tmp_path / "messages.json").read_text())] == [
        "message",
        "code",
        "console",
        "message",
    ]
    other = make_rig(say("One."), say("Welcome back."))
    await other.ask("to be replaced")
    await other.do("%load_message messages.json")
    assert other.session.messages == saved
    await other.ask("and now?")
    assert [message.text for message in other.session.messages[len(saved) :]] == [LOADED, "and now?", "Welcome back."]
    await other.do("%undo")
    await other.do("%undo")
    assert other.session.messages == []


async def test_no_file_is_written_over_unless_that_is_said(make_rig: MakeRig, tmp_path: Path) -> None:
    target = tmp_path / "kept.json"
    target.write_text("kept")
    rig = make_rig(say("One."))
    await rig.ask("first")
    assert "there already" in await rig.refusal("%save_message ~/kept.json")
    assert target.read_text() == "kept"
    await rig.do("%save_message! '~/kept.json'")
    assert len(json.loads(target.read_text())) == 2
    assert os.listdir(tmp_path) == ["kept.json"]


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "missing.json"), (b"{", "not JSON"), (b"\xff\xfe", "UTF-8"), (b'[{"role": "king"}]', "messages[0]")],
)
async def test_what_cannot_be_loaded_leaves_the_conversation(
    make_rig: MakeRig, tmp_path: Path, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "missing.json").write_bytes(content)
    rig = make_rig(say("One."))
    await rig.ask("first")
    assert said in await rig.refusal("%load_message missing.json")
    assert len(rig.session.messages) == 2


@pytest.mark.parametrize(("line", "ending"), [("%markdown", "md"), ("%jupyter", "ipynb")])
async def test_exports_get_a_name_of_their_own(make_rig: MakeRig, tmp_path: Path, line: str, ending: str) -> None:
    rig = make_rig(code("print hello"), say("Done."))
    assert "nothing to export" in await rig.refusal(line)
    await rig.ask("Say: hello/../world!")
    first, second = tmp_path / f"say-hello-world.{ending}", tmp_path / f"say-hello-world-2.{ending}"
    assert quoted(str(first)) in await rig.do(line)
    (tmp_path / "Downloads").mkdir()
    await rig.do(line)
    assert (tmp_path / "Downloads" / first.name).read_text() == first.read_text()
    (tmp_path / "Downloads").rename(tmp_path / "elsewhere")
    await rig.do(line)
    assert "print hello" in second.read_text()
    await rig.do(f"{line} named.{ending}")
    assert (tmp_path / f"named.{ending}").read_text() == second.read_text()


# --- for front ends that show the stream -----------------------------------------------------------------------


def shown(rig: Rig, ticket: Ticket | None) -> list[object]:
    """The contents of all chunks under a ticket's turn id."""
    assert ticket is not None
    entries = rig.session.stream.entries_after(0)
    return [entry.chunk.content for entry in entries if entry.turn_id == ticket.turn_id and entry.chunk.content]


async def test_what_comes_of_a_command_is_in_the_stream_and_not_in_the_conversation(make_rig: MakeRig) -> None:
    rig = make_rig(say("One."))
    assert commands.perform(" %help", rig.session, rig.engine) is None
    assert commands.perform("hello", rig.session, rig.engine) is None
    await rig.ask("first")
    undone = commands.perform("%undo", rig.session, rig.engine)
    unknown = commands.perform("%unod", rig.session, rig.engine)
    await rig.session.idle()
    assert rig.session.messages == []
    _, said, answer, end = shown(rig, undone)
    assert (said, end) == ("%undo", "complete")
    assert "is taken back" in str(answer)
    assert "Did you mean %undo?" in str(shown(rig, unknown))
    assert len(rig.model.requests) == 1


async def test_a_shell_command_is_a_turn_as_ever_and_one_that_is_missing_is_told(make_rig: MakeRig) -> None:
    rig = make_rig()
    ticket = commands.perform("%% print one", rig.session, rig.engine)
    assert ticket is not None
    assert rig.session.snapshot.turn_id == ticket.turn_id
    await rig.session.idle()
    assert [message.text for message in rig.session.messages] == ["print one", "one\n"]
    missing = commands.perform("%%", rig.session, rig.engine)
    await rig.session.idle()
    assert "there is none" in str(shown(rig, missing))


async def test_in_mid_turn_a_command_says_what_it_cannot_do(make_rig: MakeRig) -> None:
    rig = make_rig([asyncio.Event()])
    rig.session.send("first")
    tickets = [commands.perform(line, rig.session, rig.engine) for line in ("%undo", "%reset", "%help")]
    async with asyncio.timeout(60):
        while not all(shown(rig, ticket)[-1:] == ["complete"] for ticket in tickets):
            await asyncio.sleep(0)
    undo, reset, help_ = (str(shown(rig, ticket)) for ticket in tickets)
    assert "Stop the turn first" in undo
    assert "Stop the turn first" in reset
    assert "save_message" in help_
    assert [message.text for message in rig.session.messages] == ["first"]
    rig.session.stop()
    await rig.session.idle()
