"""What a session makes of changes on disk: when it looks, what it says; and no run waits for it or fails of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from oi_engine.changes.entries import Snapshot
from oi_engine.changes.workspace import Limits, Workspace
from oi_engine.computer.runtime import RunEvent
from oi_engine.errors import ChangesError, OiError, RevertRefused, SessionBusy
from oi_engine.magic.changes import SHOWN_LINES, changes
from oi_engine.messages import Chunk
from oi_engine.session import effects
from oi_engine.session.session import Session
from oi_engine.settings import Settings
from oi_engine.settings.tree import ChangesSettings
from oi_engine.stream import check_stream
from tests.fakes.scripted import ScriptedModel, TinyRuntime, code, say


class Writer(TinyRuntime):
    """The same with ``write name text`` and ``delete name``, in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__([])
        self._folder = folder

    async def run(self, code: str) -> AsyncGenerator[RunEvent, None]:
        for line in code.splitlines():
            word, name, *rest = [*line.split(" ", 2), ""]
            if word == "write":
                (self._folder / name).write_text(rest[0])
            elif word == "delete":
                (self._folder / name).unlink()
        async for event in super().run(code):
            yield event


class Slow(Workspace):
    """Looks when it is let."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.let = threading.Event()
        self.let.set()

    def snapshot(self, earlier: Snapshot | None = None, stop: Callable[[], bool] = lambda: False) -> Snapshot:
        assert self.let.wait(60)
        return super().snapshot(earlier, stop)


class Rig:
    """A session in a folder whose changes are followed."""

    def __init__(self, tmp_path: Path, *replies: Any, wait: float = 600, **limits: float) -> None:
        self.folder = tmp_path / "work"
        self.folder.mkdir()
        self.workspace = Slow(str(self.folder), tmp_path / "stores", Limits(**limits))  # type: ignore[arg-type]
        self.model = ScriptedModel(replies)
        settings = Settings(auto_run=True, changes=ChangesSettings(wait=wait))
        self.session = Session(
            self.model,
            lambda language, cwd: Writer(self.folder),
            settings,
            cwd=str(self.folder),
            workspace=lambda: self.workspace,
        )
        self.chunks: list[Chunk] = []
        self.session.stream.subscribe(lambda entry: self.chunks.append(entry.chunk))

    async def run(self, source: str) -> None:
        self.session.run("python", source)
        await self.session.idle()
        check_stream(self.chunks)

    @property
    def forms(self) -> list[dict[str, Any]]:
        return [c.content for c in self.chunks if c.format == "changes" and isinstance(c.content, dict)]

    @property
    def words(self) -> list[str]:
        return [m.text for m in self.session.messages if m.recipient == "user"]

    async def close(self) -> None:
        self.workspace.let.set()
        await self.session.close()
        self.workspace.close()


MakeRig = Callable[..., Rig]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[MakeRig]:
    made: list[Rig] = []

    def make(*replies: Any, **more: float) -> Rig:
        made.append(Rig(tmp_path, *replies, **more))
        return made[-1]

    yield make
    for one in made:
        await one.close()


async def test_a_run_that_changes_files_says_so_to_the_person_and_to_programs(rig: MakeRig) -> None:
    made = rig(code("write a.txt one"), say("Done."))
    made.session.send("go")
    await made.session.idle()
    (form,) = made.forms
    assert form["files"] == [{"path": "a.txt", "kind": "added", "what": "file", "size": 3, "added": 1, "removed": 0}]
    (words,) = made.words
    assert words == f"Changed on disk: `a.txt` (new). {effects.HINT}"
    (code_id,) = [m.id for m in made.session.messages if m.type == "code"]
    assert {c.parent for c in made.chunks if c.format == "changes"} == {code_id}
    assert all("Changed on disk" not in str(request.messages) for request in made.model.requests)
    await made.run("write a.txt two")
    assert made.words[1:] == ["Changed on disk: `a.txt` (+1 −1)."]
    first, _ = await made.session.effects.sets()
    assert first.parent == code_id


async def test_what_the_person_does_between_runs_is_not_the_run_s(rig: MakeRig) -> None:
    made = rig()
    await made.run("write a.txt one")
    (made.folder / "a.txt").write_text("mine")
    (made.folder / "b.txt").write_text("mine")
    await made.run("print 1")
    assert len(made.forms) == 1


async def test_names_cannot_write_in_the_conversation(rig: MakeRig) -> None:
    made = rig()
    name = "`x`\n# Heading\x1b[2J"
    await made.run("print 1")
    look = await made.session.effects.before()
    (made.folder / name).write_text("x")
    told = await made.session.effects.after(look, "m")
    assert "`` `x` # Heading ``" in told.words
    assert told.form is not None
    assert told.form["files"][0]["path"] == name


async def test_many_files_are_counted(rig: MakeRig) -> None:
    made = rig()
    await made.run("\n".join(f"write {number:03} x" for number in range(300)))
    assert "`007` (new) and 292 more" in made.words[0]
    assert (len(made.forms[0]["files"]), made.forms[0]["more"]) == (200, 100)


async def test_a_run_does_not_wait_for_a_slow_look_and_says_once_that_it_was_not_followed(rig: MakeRig) -> None:
    made = rig(wait=0)
    made.workspace.let.clear()
    await made.run("write a.txt one")
    await made.run("write a.txt two")
    assert made.words == [effects.SLOW]
    assert made.forms == []
    assert (made.folder / "a.txt").read_text() == "two"


async def test_a_look_that_takes_too_long_after_a_run_is_given_up(rig: MakeRig) -> None:
    made = rig()
    look = await made.session.effects.before()
    made.workspace.let.clear()
    made.session.settings.changes.wait = 0
    assert (await made.session.effects.after(look, "m")).words == effects.LATE


async def test_a_folder_that_is_too_large_is_said_once_and_not_looked_at_again(rig: MakeRig) -> None:
    made = rig(files=1)
    for name in ("a", "b"):
        (made.folder / name).write_text("x")
    await made.run("write c one")
    await made.run("write d one")
    assert ["more than 1 files" in words for words in made.words] == [True]


async def test_a_store_that_fails_costs_no_run(rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    made = rig()

    def fail(*_: object, **__: object) -> Any:
        raise ChangesError("The store is broken.")

    await made.run("print 1")
    monkeypatch.setattr(made.workspace.store, "record", fail)
    await made.run("write a.txt one")
    monkeypatch.setattr(made.workspace, "snapshot", fail)
    await made.run("write a.txt two")
    assert made.words == ["The store is broken."]
    assert (made.folder / "a.txt").read_text() == "two"


async def test_a_stop_while_the_folder_is_looked_at_leaves_the_code_answered(rig: MakeRig) -> None:
    made = rig()
    made.workspace.let.clear()
    running = asyncio.Event()
    made.session.on_state(lambda state: running.set() if state.state == "running" else None)
    made.session.run("python", "write a.txt one")
    await asyncio.wait_for(running.wait(), 60)
    made.session.stop()
    await made.session.idle()
    assert not (made.folder / "a.txt").exists()
    assert any("did not run" in message.text for message in made.session.messages)
    check_stream(made.chunks)


async def test_a_run_that_is_stopped_has_its_changes_told(rig: MakeRig) -> None:
    made = rig()
    waiting = asyncio.Event()
    made.session.stream.subscribe(lambda entry: waiting.set() if entry.chunk.content == "2" else None)
    made.session.run("python", "write a.txt one\nwait")
    await asyncio.wait_for(waiting.wait(), 60)
    with pytest.raises(SessionBusy):
        await made.session.effects.revert("c")
    made.session.stop()
    await made.session.idle()
    assert len(made.forms) == 1


async def test_the_model_is_told_once_what_was_taken_back(rig: MakeRig) -> None:
    made = rig(say("Ok."), say("Ok."))
    await made.run("write a.txt one")
    (made_by_run,) = await made.session.effects.sets()
    await made.session.effects.revert(made_by_run.id)
    (made.folder / "a.txt").write_text("mine")
    with pytest.raises(RevertRefused):
        await made.session.effects.revert(made_by_run.id, "a.txt")
    made.session.send("and now?")
    await made.session.idle()
    made.session.send("and now?")
    await made.session.idle()
    told = [m.text for m in made.session.messages if m.recipient == "assistant"]
    assert told == ["The person took back changes on disk: `a.txt` (deleted)."]
    assert "took back" in str(made.model.requests[0].messages)


async def test_the_shown_difference_hides_nothing_and_has_an_end(rig: MakeRig) -> None:
    made = rig()
    (made.folder / "a.py").write_bytes(b"one\n")
    await made.run("print 1")
    look = await made.session.effects.before()
    (made.folder / "a.py").write_bytes(b"one\nx = 1 # \xe2\x80\xae\x1b[2J\n\xff```\n")
    (made.folder / "long.txt").write_text("line\n" * 1000)
    await made.session.effects.after(look, "m")
    told = await changes(made.session, "diff")
    assert "@@ h1, line 2 @@\n+x = 1 # " in told
    assert not {"\u202e", "\x1b"} & set(told)
    assert "````diff" in told
    assert "\ufffd```" in told
    assert "lines more" in told
    assert told.count("+line") == SHOWN_LINES - 4
    with pytest.raises(OiError, match="knows no differ"):
        await changes(made.session, "differ")
    with pytest.raises(OiError, match="none is named"):
        await changes(made.session, "revert 1 h1")


async def test_nothing_is_followed_where_that_is_off(rig: MakeRig) -> None:
    made = rig()
    made.session.settings.changes.follow = False
    await made.run("write a.txt one")
    assert made.forms == []
    assert await made.session.effects.sets() == []
