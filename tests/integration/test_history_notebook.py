"""An exported notebook, run by Jupyter with the real kernel."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from oi_engine.history.export import to_notebook
from oi_engine.history.importing import read_messages
from oi_engine.messages import Message

AT = "2024-05-06T07:08:09.123+00:00"


def block(number: int, language: str, code: str, output: str) -> list[Message]:
    return [
        Message("assistant", "code", code, language, id=f"code{number}", created_at=AT),
        Message("computer", "console", output, "output", id=f"out{number}", created_at=AT, parent=f"code{number}"),
    ]


@pytest.fixture
def own_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``python3`` is this interpreter, whatever kernels the machine knows."""
    folder = tmp_path / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Python 3", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))


def printed(cell: Any) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


async def test_an_exported_notebook_runs_to_its_end(own_kernel: None, tmp_path: Path) -> None:
    failed = "ValueError      Traceback (most recent call last)\n\nValueError: on purpose\n"
    declined = Message("assistant", "code", "open('declined', 'w')", "python", id="no", created_at=AT)
    messages = [
        Message("user", "message", "Count.", id="ask", created_at=AT),
        *block(1, "python", "count = 20\nprint(count + 1)", "21\n"),
        declined,
        Message("computer", "message", "The person declined to run this code.", id="n", created_at=AT, parent="no"),
        *block(2, "python", "raise ValueError('on purpose')", failed),
        *block(3, "shell", "echo from the shell; exit 3", "from the shell\n"),
        *block(4, "javascript", "console.log('' + 6 * 7)", "42\n"),
        *block(5, "cobol", "DISPLAY 'HELLO'.", "HELLO\n"),
        *block(6, "python", "print(count + 2)", "22\n"),
    ]
    text = to_notebook(messages, "Counting")
    assert read_messages(text) == messages
    notebook = nbformat.reads(text, as_version=4)
    client = NotebookClient(notebook, timeout=90, resources={"metadata": {"path": str(tmp_path)}})
    await client.async_execute()
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert printed(codes[0]) == "21\n"
    assert codes[1].outputs[0]["evalue"] == "on purpose"
    assert printed(codes[2]) == "from the shell\n"
    if shutil.which("node"):
        assert printed(codes[3]) == "42\n"
    assert printed(codes[4]) == "22\n"
    assert "declined" not in os.listdir(tmp_path)
    nbformat.validate(notebook)
    again = read_messages(nbformat.writes(notebook))
    assert next(message.text for message in again if message.type == "console") == "21\n"
