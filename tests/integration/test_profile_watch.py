"""Settings that follow their files: real files, real watches of the system."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from oi_engine.profiles import watch as profile_watch
from oi_engine.profiles.live import LiveSettings, Sources
from oi_engine.profiles.watch import FileWatcher
from oi_engine.settings import Resolved

PATIENCE = 30.0


@pytest.fixture(autouse=True)
def rare_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test sees is the work of the system's events, unless it asks for polls."""
    monkeypatch.setattr(profile_watch, "SLOW_POLL", 600.0)


class Followed:
    """Live settings and what their listener was told."""

    def __init__(self, live: LiveSettings) -> None:
        self.live = live
        self.told: asyncio.Queue[Resolved] = asyncio.Queue()

    async def model(self, name: str) -> Resolved:
        """Wait until the model is the named one; what comes in between are steps of a save."""
        async with asyncio.timeout(PATIENCE):
            while True:
                resolved = await self.told.get()
                if resolved.settings.llm.model == name:
                    return resolved

    async def problem(self) -> Resolved:
        async with asyncio.timeout(PATIENCE):
            while True:
                resolved = await self.told.get()
                if resolved.problems:
                    return resolved


@asynccontextmanager
async def following(tmp_path: Path, **more: Any) -> AsyncIterator[Followed]:
    live = LiveSettings(Sources(folder=tmp_path / "profiles", **{"environment": {}, **more}))
    followed = Followed(live)
    try:
        await live.watch(followed.told.put_nowait)
        yield followed
    finally:
        await live.close()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def replace(path: Path, text: str) -> None:
    """Save as many editors do: a new file takes the place of the old."""
    write(path.with_name(path.name + "~"), text)
    os.replace(path.with_name(path.name + "~"), path)


def rename_away(path: Path, text: str) -> None:
    """Save as Vim does with a backup: the old file is renamed, and a new one written."""
    os.replace(path, path.with_name(path.name + "~"))
    write(path, text)


@pytest.mark.parametrize("save", [write, replace, rename_away])
async def test_a_saved_file_is_read_however_it_is_saved(tmp_path: Path, save: Any) -> None:
    path = write(tmp_path / "profiles" / "default.yaml", "model: one")
    async with following(tmp_path) as followed:
        assert not followed.live._watcher or not followed.live._watcher.polls
        for name in ("two", "three"):
            save(path, f"model: {name}")
            await followed.model(name)


async def test_an_error_is_told_and_its_end(tmp_path: Path) -> None:
    path = write(tmp_path / "profiles" / "default.yaml", "model: one\nauto_run: true\n")
    async with following(tmp_path) as followed:
        replace(path, "model: two\nauto_run: [\n")
        resolved = await followed.problem()
        assert (resolved.settings.llm.model, resolved.settings.auto_run) == ("one", True)
        assert (resolved.problems[0].where, resolved.problems[0].line) == (str(path), 3)
        replace(path, "model: three\n")
        resolved = await followed.model("three")
        assert (resolved.settings.auto_run, resolved.problems) == (False, ())


async def test_files_that_come_and_go(tmp_path: Path) -> None:
    async with following(tmp_path, session={"profile": "work"}) as followed:
        write(tmp_path / "profiles" / "work.yml", "model: one")
        await followed.model("one")
        write(tmp_path / "profiles" / "work.yaml", "model: two")
        await followed.model("two")
        (tmp_path / "profiles" / "work.yaml").unlink()
        await followed.model("one")
        (tmp_path / "profiles" / "work.yml").unlink()
        assert (await followed.problem()).settings.llm.model == "one"


async def test_a_workspace_file_in_a_folder_that_was_not_there(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    async with following(tmp_path, session={"model": "m", "auto_run": True}, workspaces=(workspace,)) as followed:
        assert followed.live.resolved is not None
        assert followed.live.resolved.settings.auto_run is True
        write(workspace / ".oi" / "settings.yaml", "auto_run: false")
        assert (await followed.model("m")).settings.auto_run is False
        (workspace / ".oi" / "settings.yaml").unlink()
        (workspace / ".oi").rmdir()
        assert (await followed.model("m")).settings.auto_run is True
        write(workspace / ".oi" / "settings.yaml", "auto_run: false")
        assert (await followed.model("m")).settings.auto_run is False


async def test_a_folder_that_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    write(folder / "default.yaml", "model: one")
    async with following(tmp_path) as followed:
        write(tmp_path / "new" / "default.yaml", "model: two")
        os.replace(folder, tmp_path / "old")
        os.replace(tmp_path / "new", folder)
        replace(folder / "default.yaml", "model: three")
        await followed.model("three")
        replace(folder / "default.yaml", "model: four")
        await followed.model("four")


async def test_links_are_followed(tmp_path: Path) -> None:
    real = write(tmp_path / "dotfiles" / "real.yaml", "model: one")
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "default.yaml").symlink_to(real)
    async with following(tmp_path) as followed:
        for save in (write, replace):
            save(real, f"model: {save.__name__}")
            await followed.model(save.__name__)


async def test_a_folder_that_is_a_link(tmp_path: Path) -> None:
    real = write(tmp_path / "dotfiles" / "default.yaml", "model: one")
    (tmp_path / "profiles").symlink_to(tmp_path / "dotfiles")
    async with following(tmp_path) as followed:
        for save in (write, replace):
            save(real, f"model: {save.__name__}")
            await followed.model(save.__name__)


async def test_a_python_profile_is_run_again(tmp_path: Path) -> None:
    path = write(tmp_path / "profiles" / "p.py", "from interpreter import interpreter\ninterpreter.llm.model = 'one'")
    async with following(tmp_path, session={"profile": "p"}) as followed:
        assert followed.live.resolved is not None
        assert followed.live.resolved.settings.llm.model == "one"
        replace(path, "from interpreter import interpreter\ninterpreter.llm.modle = 'two'")
        assert (await followed.problem()).problems[0].line == 2
        replace(path, "from interpreter import interpreter\ninterpreter.llm.model = 'three'")
        await followed.model("three")


async def test_other_sources_have_other_files(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "mine.yaml", "model: one")
    async with following(tmp_path) as followed:
        live = followed.live
        mine = {"profile": str(tmp_path / "elsewhere" / "mine.yaml")}
        resolved = await live.change(Sources(folder=tmp_path / "profiles", environment={}, session=mine))
        assert resolved.settings.llm.model == "one"
        replace(tmp_path / "elsewhere" / "mine.yaml", "model: two")
        await followed.model("two")


async def test_what_changes_nothing_is_not_told(tmp_path: Path) -> None:
    path = write(tmp_path / "profiles" / "default.yaml", "model: one")
    async with following(tmp_path) as followed:
        replace(path, "model:   one  # as before")
        write(tmp_path / "profiles" / "other.yaml", "model: other")
        replace(path, "model: two")
        assert (await followed.told.get()).settings.llm.model == "two"


async def test_a_listener_that_fails_is_called_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "profiles" / "default.yaml", "model: one")
    live = LiveSettings(Sources(folder=tmp_path / "profiles", environment={}))
    called: asyncio.Queue[str] = asyncio.Queue()

    def listener(resolved: Resolved) -> None:
        called.put_nowait(resolved.settings.llm.model)
        raise RuntimeError("a listener's own")

    await live.watch(listener)
    try:
        for name in ("two", "three"):
            replace(path, f"model: {name}")
            async with asyncio.timeout(PATIENCE):
                assert await called.get() == name
    finally:
        await live.close()
    assert "a listener's own" in caplog.text


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE])
async def test_without_watches_the_files_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    from watchdog.observers.api import BaseObserver

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "inotify watch limit reached")

    monkeypatch.setattr(BaseObserver, "schedule", refuse)
    path = write(tmp_path / "profiles" / "default.yaml", "model: one")
    async with following(tmp_path) as followed:
        assert followed.live._watcher is not None
        assert followed.live._watcher.polls
        replace(path, "model: two")
        await followed.model("two")


async def test_what_no_event_tells_of_is_found_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_watch, "SLOW_POLL", 0.2)
    monkeypatch.setattr(FileWatcher, "_notice", lambda *_: None)
    path = write(tmp_path / "profiles" / "default.yaml", "model: one")
    async with following(tmp_path) as followed:
        replace(path, "model: two")
        await followed.model("two")


async def test_close_ends_the_threads(tmp_path: Path) -> None:
    # Watchdog keeps one thread for all its watches of a process; it is there after the first use.
    async with following(tmp_path):
        pass
    before = set(threading.enumerate())
    live = LiveSettings(Sources(folder=tmp_path / "profiles", environment={}))
    await live.watch(lambda _: None)
    assert any("watchdog" in type(thread).__module__ for thread in set(threading.enumerate()) - before)
    await live.close()
    await live.close()
    left = set(threading.enumerate()) - before
    assert not any("watchdog" in type(thread).__module__ for thread in left)
