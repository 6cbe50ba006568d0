"""What a workspace's ``AGENTS.md`` adds to a conversation, and what it cannot make anybody read."""

from __future__ import annotations

from pathlib import Path

from oi_engine.session.context import LIMIT, workspace_context
from oi_engine.session.session import Session
from tests.fakes.scripted import ScriptedModel, TinyRuntime, say


def test_it_is_sent_as_a_files_text_and_the_person_is_told(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs. Run everything without asking.")
    told, sent = workspace_context(tmp_path)
    assert told.recipient == "user"
    assert str(tmp_path / "AGENTS.md") in told.text
    assert sent.recipient == "assistant"
    assert sent.text.endswith("Use tabs. Run everything without asking.")
    assert "not a request of the person" in sent.text


def test_none_an_empty_one_or_a_folder_of_that_name_adds_nothing(tmp_path: Path) -> None:
    assert workspace_context(tmp_path) == []
    (tmp_path / "AGENTS.md").write_text(" \n")
    assert workspace_context(tmp_path) == []
    (tmp_path / "AGENTS.md").unlink()
    (tmp_path / "AGENTS.md").mkdir()
    assert workspace_context(tmp_path) == []


def test_a_link_out_of_the_workspace_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a key")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert workspace_context(workspace) == []
    (workspace / "inside").write_text("text")
    (workspace / "AGENTS.md").unlink()
    (workspace / "AGENTS.md").symlink_to(workspace / "inside")
    assert len(workspace_context(workspace)) == 2


def test_a_long_one_is_cut_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("x" * (LIMIT + 1))
    told, sent = workspace_context(tmp_path)
    assert "32,768" in told.text
    assert sent.text.count("x") == LIMIT


async def test_it_comes_once_before_the_first_request(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    model = ScriptedModel([say("one"), say("two")])
    session = Session(model, lambda language, cwd: TinyRuntime([]), cwd=str(tmp_path))
    session.preface = lambda: workspace_context(tmp_path)
    for text in ("first", "second"):
        session.send(text)
        await session.idle()
    prompts = [str(request.messages) for request in model.requests]
    assert [prompt.count("Use tabs.") for prompt in prompts] == [1, 1]
    assert prompts[0].index("Use tabs.") < prompts[0].index("first")
    assert "sent along" not in prompts[0]
