"""An installed Jupyter kernel is a language of its own name: in a reply, and for the person's own code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from oi_engine.factory import Engine
from oi_engine.messages import Chunk
from oi_engine.settings import Settings
from tests.fakes.scripted import ScriptedModel, say


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a kernel that is installed for this test alone."""
    folder = tmp_path / "share" / "kernels" / "oi-test"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "A test's own", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share"))
    return "oi-test"


async def test_a_block_in_the_kernels_name_runs_in_it(kernel: str, tmp_path: Path) -> None:
    model = ScriptedModel([say(f"So:\n```{kernel}\nx = 6 * 7\nprint(x)\n```")], tools=False)
    engine = Engine(Settings(auto_run=True))
    try:
        session = engine.new_session(cwd=str(tmp_path), answering=model)
        session.send("go")
        await session.idle()
        session.run(kernel, "print(x + 1)")
        await session.idle()
        outputs = [message.text for message in session.messages if message.type == "console"]
        codes = [message.format for message in session.messages if message.type == "code"]
    finally:
        await engine.close()
    assert outputs == ["42\n", "43\n"]
    assert codes == [kernel, kernel]


async def test_own_code_finds_it_without_a_model_and_is_told_to_have_failed(kernel: str, tmp_path: Path) -> None:
    engine = Engine()
    try:
        session = engine.new_session(cwd=str(tmp_path), answering=ScriptedModel())
        session.run(kernel, "print(1)")
        await session.idle()
        assert [message.text for message in session.messages if message.type == "console"] == ["1\n"]
        told: list[Chunk] = []
        session.stream.subscribe(lambda entry: told.append(entry.chunk))
        session.run(kernel, "1 / 0")
        await session.idle()
        assert [chunk.content for chunk in told if chunk.format == "run"] == [{"state": "running"}, {"state": "error"}]
    finally:
        await engine.close()
