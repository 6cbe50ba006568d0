"""Magic commands: what each does to a real session, and what is said where one cannot be done."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from oi_engine import magic
from oi_engine.approval import Cell
from oi_engine.errors import OiError, SessionBusy
from oi_engine.factory import Choice, Engine
from oi_engine.magic import COMMANDS, Magic, Offer, complete, offers, parse
from oi_engine.magic_files import LOADED, quoted
from oi_engine.models.model import ModelInfo, Usage
from oi_engine.models.tokens import MESSAGE_TOKENS, TOOL_TOKENS, text_of
from oi_engine.profiles.live import Sources
from oi_engine.safety.approvals import KeptApprovals
from oi_engine.session.session import Session
from oi_engine.session.state import Ticket
from oi_engine.settings import Settings
from oi_engine.settings.tree import all_settings
from tests.fakes.scripted import ScriptedModel, Step, TinyRuntime, code, say

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="


class Rig:
    """A session on a scripted model and an engine beside it, with a folder of its own."""

    def __init__(self, folder: Path, *replies: list[Step]) -> None:
        self.folder = folder
        self.ran: list[str] = []
        self.engine = Engine(Settings())
        self.model = ScriptedModel(replies)
        self.session = Session(
            self.model, lambda language, cwd: TinyRuntime(self.ran), Settings(auto_run=True), cwd=str(folder)
        )

    async def ask(self, text: str) -> None:
        self.session.send(text)
        await self.session.idle()

    async def do(self, line: str) -> str:
        command = parse(line)
        assert command is not None
        said = await magic.run(command, self.session, self.engine)
        await self.session.idle()
        return said

    async def refusal(self, line: str) -> str:
        with pytest.raises(OiError) as caught:
            await self.do(line)
        return str(caught.value)


MakeRig = Callable[..., Rig]


@pytest.fixture
async def make_rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MakeRig]:
    monkeypatch.setenv("HOME", str(tmp_path))
    made: list[Rig] = []

    def make(*replies: list[Step]) -> Rig:
        made.append(Rig(tmp_path, *replies))
        return made[-1]

    yield make
    for rig in made:
        await rig.session.close()
        await rig.engine.close()


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
            await magic.run(command, rig.session, rig.engine)
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
    assert magic.perform(" %help", rig.session, rig.engine) is None
    assert magic.perform("hello", rig.session, rig.engine) is None
    await rig.ask("first")
    undone = magic.perform("%undo", rig.session, rig.engine)
    unknown = magic.perform("%unod", rig.session, rig.engine)
    await rig.session.idle()
    assert rig.session.messages == []
    _, said, answer, end = shown(rig, undone)
    assert (said, end) == ("%undo", "complete")
    assert "is taken back" in str(answer)
    assert "Did you mean %undo?" in str(shown(rig, unknown))
    assert len(rig.model.requests) == 1


async def test_a_shell_command_is_a_turn_as_ever_and_one_that_is_missing_is_told(make_rig: MakeRig) -> None:
    rig = make_rig()
    ticket = magic.perform("%% print one", rig.session, rig.engine)
    assert ticket is not None
    assert rig.session.snapshot.turn_id == ticket.turn_id
    await rig.session.idle()
    assert [message.text for message in rig.session.messages] == ["print one", "one\n"]
    missing = magic.perform("%%", rig.session, rig.engine)
    await rig.session.idle()
    assert "there is none" in str(shown(rig, missing))


async def test_in_mid_turn_a_command_says_what_it_cannot_do(make_rig: MakeRig) -> None:
    rig = make_rig([asyncio.Event()])
    rig.session.send("first")
    tickets = [magic.perform(line, rig.session, rig.engine) for line in ("%undo", "%reset", "%help")]
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


# --- the model and the settings --------------------------------------------------------------------------------


async def test_a_setting_is_shown_and_set(make_rig: MakeRig) -> None:
    rig = make_rig()
    assert "`llm.max_output`: `2800`" in await rig.do("%settings")
    assert "Characters of a program's output" in await rig.do("%settings max_output")
    assert "`99`" in await rig.do("%settings llm.max_output 99")
    assert rig.session.settings.llm.max_output == 99
    await rig.do("%settings custom_instructions Be brief, please.")
    assert rig.session.settings.custom_instructions == "Be brief, please."


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%settings auto_rum", "Did you mean auto_run?"),
        ("%settings auto_run perhaps", "must be true or false or 'sandboxed', not 'perhaps'"),
        ("%settings llm.api_key sk-1", "is a secret"),
        ("%settings conversation_history false", "when a conversation begins"),
        ("%verbose maybe", "must be true or false"),
    ],
)
async def test_a_setting_that_cannot_be_set_stays(make_rig: MakeRig, line: str, said: str) -> None:
    rig = make_rig()
    before = Settings(auto_run=True)
    assert said in await rig.refusal(line)
    assert rig.session.settings == before


async def test_verbose(make_rig: MakeRig) -> None:
    rig = make_rig()
    log = logging.getLogger("oi_engine")
    for line, verbose in (
        ("%verbose", True),
        ("%verbose false", False),
        ("%verbose true", True),
        ("%verbose 0", False),
    ):
        await rig.do(line)
        assert rig.session.settings.verbose is verbose
        assert log.isEnabledFor(logging.DEBUG) is verbose


async def test_info_tells_what_differs_and_no_secrets(make_rig: MakeRig, tmp_path: Path) -> None:
    rig = make_rig()
    rig.session.settings.llm.api_key = "sk-very-secret"
    rig.session.settings.llm.api_base = "http://ada:sk-very-secret@127.0.0.1/v1"
    said = await rig.do("%info")
    assert "`auto_run`: `true`" in said
    assert "`llm.api_key`: `set`" in said
    assert "max_output" not in said
    assert "sk-very-secret" not in said + await rig.do("%settings") + await rig.do("%settings llm.api_key")
    assert str(tmp_path) in said


async def test_tokens_are_estimated_where_no_tokenizer_is_known(make_rig: MakeRig) -> None:
    rig = make_rig(say("One."))
    await rig.ask("first")
    before, after = [await rig.do("%tokens"), await rig.do(f"%tokens {'long ' * 400}")]
    assert "before you write more: about " in before
    assert "(an estimate), no price is known" in before
    assert "this model's own tokenizer is not known" in before
    assert "this message alone: about 667 tokens (an estimate)" in after
    assert [message.text for message in rig.session.messages] == ["first", "One."], "nothing is sent"


class Priced(ScriptedModel):
    """A scripted model of which everything is known: a token is a word."""

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        return ModelInfo(True, True, 3_000, input_price=1e-5, tokenizer=Words(), own_vocabulary=True)


class Words:
    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


async def test_tokens_are_counted_and_priced(make_rig: MakeRig) -> None:
    rig = make_rig()
    rig.session.model = Priced([[*say("word " * 120), Usage(10, 120, 0.25)]] * 2)
    said = await rig.do("%tokens one two three")
    assert "- this message alone: 3 tokens, under $0.0001" in said
    assert "estimate" not in said
    request = (await rig.session.preview()).request
    words = len(text_of(request.messages).split())
    assert f"- the next request, before you write more: {words + MESSAGE_TOKENS + TOOL_TOKENS:,} tokens, $" in (
        await rig.do("%tokens")
    )
    await rig.ask("word " * 3_000)
    await rig.ask("word " * 3_000)
    long = await rig.do("%tokens")
    assert "- the whole conversation, of which a part is sent: 6,137 tokens, $0.061" in long
    assert "- the model reads 3,000 tokens" in long
    assert "- the last turn: 10 tokens read, 120 written, $0.25" in long
    assert "- so far: 20 tokens read, 240 written, $0.50" in long
    rig.session.stream.open("user", "image", "base64.png")
    rig.session.stream.write(PNG)
    rig.session.stream.close()
    assert "each image is taken" in await rig.do("%tokens")


async def test_policy_shows_what_holds_and_revokes(make_rig: MakeRig, tmp_path: Path) -> None:
    rig = make_rig()
    rig.engine.approvals = KeptApprovals(tmp_path / "approvals.json")
    assert "`auto_run`: `true`" in await rig.do("%policy")
    assert "- nothing" in await rig.do("%policy")
    kept = rig.engine.approvals.keep(Cell("s", "shell", "make `x`", str(tmp_path)))
    assert kept.id in await rig.do("%policy")
    assert "Revoked" in await rig.do(f"%policy revoke {kept.id}")
    assert rig.engine.approvals.all() == ()
    assert "No approval" in await rig.refusal(f"%policy revoke {kept.id}")
    assert "is nothing" in await rig.refusal("%policy what")


async def test_sandbox_shows_and_allows(make_rig: MakeRig, tmp_path: Path) -> None:
    rig = make_rig()
    (tmp_path / "out").mkdir()
    assert "nothing more" in await rig.do("%sandbox")
    await rig.do("%sandbox allow network")
    await rig.do(f"%sandbox allow {tmp_path / 'out'}")
    assert f"the network, {tmp_path / 'out'}" in await rig.do("%sandbox")
    assert "whole home" in await rig.refusal(f"%sandbox allow {tmp_path}")
    assert "is nothing" in await rig.refusal("%sandbox deny x")


# --- settings that come from files, stored conversations -------------------------------------------------------


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    """An engine that follows files, with a workspace that holds ``auto_run`` at false."""
    workspace = tmp_path / "workspace"
    (workspace / ".oi").mkdir(parents=True)
    (workspace / ".oi" / "settings.yaml").write_text("auto_run: false\n")
    made = await Engine.open(Sources(environment={}, workspaces=(workspace,), folder=tmp_path / "profiles"))
    made.history = tmp_path / "history.db"
    yield made
    await made.close()


def command(line: str) -> Magic:
    read = parse(line)
    assert read is not None
    return read


async def test_a_workspace_s_guard_holds_and_what_was_set_outlives_other_changes(
    engine: Engine, tmp_path: Path
) -> None:
    session = engine.new_session(cwd=str(tmp_path), model=Choice("tour", "A test."))
    assert "holds it" in await magic.run(command("%settings auto_run true"), session, engine)
    assert session.settings.auto_run is False
    assert "holds it" not in await magic.run(command("%settings loop true"), session, engine)
    await magic.run(command("%settings llm.max_output 7"), session, engine)
    assert (session.settings.loop, session.settings.llm.max_output) == (True, 7)
    with pytest.raises(OiError, match="read when a conversation begins"):
        await magic.run(command("%settings profile default"), session, engine)
    assert "`ollama/none`" in await magic.run(command("%model ollama/none"), session, engine)
    assert "`ollama/none`" in await magic.run(command("%model"), session, engine)
    assert (session.settings.loop, session.settings.llm.model) == (True, "ollama/none")


async def test_a_conversation_is_listed_searched_and_opened(engine: Engine, tmp_path: Path) -> None:
    opens: list[Session] = []

    async def show(conversation_id: str) -> Session:
        opens.append(await engine.reopen(conversation_id))
        return opens[-1]

    tour = Choice("tour", "A test.")
    first = engine.new_session(cwd=str(tmp_path), model=tour)
    first.model = ScriptedModel([say("A lark.")])
    first.send("Which `bird` sings?")
    await first.idle()
    await engine.close_session(first)
    here = engine.new_session(cwd=str(tmp_path), model=tour)
    with pytest.raises(OiError, match="No conversation was listed as 1"):
        await magic.run(command("%open 1"), here, engine, show)
    listed = await magic.run(command("%history"), here, engine, show)
    assert "1. `` Which `bird` sings? ``" in listed
    assert "2 messages" in listed
    assert "No stored conversation has" in await magic.run(command("%history owl"), here, engine, show)
    assert "A lark." in await magic.run(command("%history lark"), here, engine, show)
    with pytest.raises(OiError, match="in another way"):
        await magic.run(command("%open 1"), here, engine)
    await magic.run(command("%open 1"), here, engine, show)
    (opened,) = opens
    assert opened.messages == first.messages
    ticket = magic.perform("%open 1", here, engine, show)
    await here.idle()
    assert ticket is not None
    assert [(e.chunk.format, e.chunk.content) for e in here.stream.entries_after(0) if e.chunk.format] == [
        ("show", first.id)
    ]
    with pytest.raises(OiError, match="the one that is open"):
        await magic.run(command("%open 1"), opened, engine, show)
    with pytest.raises(OiError, match="There is no stored conversation 'x'"):
        await magic.run(command("%open x"), opened, engine, show)
    engine.history = None
    with pytest.raises(OiError, match="not kept"):
        await magic.run(command("%history"), opened, engine, show)


def test_the_documentation_has_every_command() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8").replace("\\|", "|")
    for magic_command in COMMANDS.values():
        assert f"| `{magic_command.usage}` |" in documented
