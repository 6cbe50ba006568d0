"""Magic commands for the model, the settings, the policy and stored conversations."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from oi_engine.approval import Cell
from oi_engine.errors import OiError
from oi_engine.factory import Engine
from oi_engine.magic import commands
from oi_engine.magic.commands import COMMANDS, Magic, parse
from oi_engine.models.chosen import Choice
from oi_engine.models.model import ModelInfo, Usage
from oi_engine.models.tokens import MESSAGE_TOKENS, TOOL_TOKENS, text_of
from oi_engine.profiles.live import Sources
from oi_engine.safety.approvals import KeptApprovals
from oi_engine.session.session import Session
from oi_engine.settings import Settings
from tests.fakes.scripted import ScriptedModel, say
from tests.unit.magic.rig import MakeRig

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="


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
    kept = rig.engine.approvals.keep(Cell("s", "shell", "echo `x`", str(tmp_path)))
    assert kept.id in await rig.do("%policy")
    assert "Revoked" in await rig.do(f"%policy revoke {kept.id}")
    assert rig.engine.approvals.all() == ()
    assert "No approval" in await rig.refusal(f"%policy revoke {kept.id}")
    assert "is nothing" in await rig.refusal("%policy what")


async def test_sandbox_shows_and_allows(make_rig: MakeRig, tmp_path: Path) -> None:
    rig = make_rig()
    (tmp_path / "out").mkdir()
    assert "nothing" in await rig.do("%sandbox")
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
    assert "holds it" in await commands.run(command("%settings auto_run true"), session, engine)
    assert session.settings.auto_run is False
    assert "holds it" not in await commands.run(command("%settings loop true"), session, engine)
    await commands.run(command("%settings llm.max_output 7"), session, engine)
    assert (session.settings.loop, session.settings.llm.max_output) == (True, 7)
    with pytest.raises(OiError, match="read when a conversation begins"):
        await commands.run(command("%settings profile default"), session, engine)
    assert "`ollama/none`" in await commands.run(command("%model ollama/none"), session, engine)
    assert "`ollama/none`" in await commands.run(command("%model"), session, engine)
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
        await commands.run(command("%open 1"), here, engine, show)
    listed = await commands.run(command("%history"), here, engine, show)
    assert "1. `` Which `bird` sings? ``" in listed
    assert "2 messages" in listed
    assert "No stored conversation has" in await commands.run(command("%history owl"), here, engine, show)
    assert "A lark." in await commands.run(command("%history lark"), here, engine, show)
    with pytest.raises(OiError, match="in another way"):
        await commands.run(command("%open 1"), here, engine)
    await commands.run(command("%open 1"), here, engine, show)
    (opened,) = opens
    assert opened.messages == first.messages
    ticket = commands.perform("%open 1", here, engine, show)
    await here.idle()
    assert ticket is not None
    assert [(e.chunk.format, e.chunk.content) for e in here.stream.entries_after(0) if e.chunk.format] == [
        ("show", first.id)
    ]
    with pytest.raises(OiError, match="the one that is open"):
        await commands.run(command("%open 1"), opened, engine, show)
    with pytest.raises(OiError, match="There is no stored conversation 'x'"):
        await commands.run(command("%open x"), opened, engine, show)
    engine.history = None
    with pytest.raises(OiError, match="not kept"):
        await commands.run(command("%history"), opened, engine, show)


def test_the_documentation_has_every_command() -> None:
    documented = (Path(__file__).parents[3] / "docs" / "terminal.md").read_text(encoding="utf-8").replace("\\|", "|")
    for magic_command in COMMANDS.values():
        assert f"| `{magic_command.usage}` |" in documented
