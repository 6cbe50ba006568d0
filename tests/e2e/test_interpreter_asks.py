"""``interpreter.chat`` asks the person: in a real terminal (tmux), and in the cell of a real Jupyter kernel."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.manager import AsyncKernelManager

from tests.e2e.test_terminal import Terminal

MODEL = """
from oi_engine import OpenInterpreter
interpreter = OpenInterpreter()
asked = 0
def model(messages, model, stream, max_tokens):
    global asked
    asked += 1
    reply = "```python\\nprint(6 * 7)\\n```" if asked % 2 else "That is all."
    yield {"choices": [{"delta": {"content": reply}}]}
interpreter.llm.completions = model
"""
DEADLINE = 60


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    made = Terminal(tmp_path)
    try:
        yield made
    finally:
        made.stop()


def start(terminal: Terminal, rest: str) -> None:
    script = terminal.folder / "script.py"
    script.write_text(MODEL + rest)
    homes = {f"XDG_{kind}_HOME": str(terminal.folder / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")}
    terminal.start(f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}", **homes)


def test_a_script_asks_in_its_terminal(terminal: Terminal) -> None:
    start(terminal, 'messages = interpreter.chat("Run it")\nprint("messages:", len(messages))\ninput("left? ")\n')
    terminal.until("Run this? y/n/e/a")
    terminal.keys("y")
    screen = terminal.until("messages: 4")
    assert "42" in screen
    assert "That is all." in screen
    terminal.until("left?")
    terminal.say("yes")  # the terminal is the script's own again
    assert terminal.until_ended() == 0


def test_a_stream_asks_once_the_script_has_seen_the_confirmation(terminal: Terminal) -> None:
    rest = (
        'for chunk in interpreter.chat("Run it", stream=True):\n'
        '    if chunk["type"] == "confirmation":\n'
        '        input("seen? ")\n'
        'print("messages:", len(interpreter.messages))\n'
    )
    start(terminal, rest)
    assert "Run this?" not in terminal.until("seen?")
    terminal.say("yes")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("n")
    terminal.until("Why not?")
    terminal.keys("Enter")
    terminal.until("messages: 4")
    assert terminal.until_ended() == 0


def test_a_conversation_and_an_interrupt(terminal: Terminal) -> None:
    start(terminal, 'print("hello")\nmessages = interpreter.chat()\nprint("messages:", len(messages))\n')
    terminal.until_prompt()
    terminal.say("Run it")
    terminal.until("Run this? y/n/e/a")
    terminal.keys("C-c")
    terminal.until_prompt()
    terminal.keys("C-d")
    terminal.until("messages:")
    assert terminal.until_ended() == 0


async def test_a_notebook_asks_in_the_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    manager = AsyncKernelManager(kernel_name="python3")
    await manager.start_kernel(cwd=str(tmp_path))
    client = manager.client()
    client.start_channels()
    questions: list[str] = []
    printed: list[str] = []

    def answer(message: dict[str, dict[str, str]]) -> None:
        questions.append(message["content"]["prompt"])
        client.input("y")

    def hear(message: dict[str, dict[str, str]]) -> None:
        printed.append(str(message["content"].get("text", message["content"].get("traceback", ""))))

    try:
        await client.wait_for_ready(timeout=DEADLINE)
        cell = MODEL + (
            'print("messages:", len(interpreter.chat("Run it")))\n'
            'chunks = list(interpreter.chat("Again", stream=True))\n'
            'print("chunks:", [c["content"] for c in chunks if c.get("format") == "output"])\n'
        )
        reply = await client.execute_interactive(
            cell, timeout=DEADLINE, allow_stdin=True, stdin_hook=answer, output_hook=hear
        )
        shown = "".join(printed)
        assert reply["content"]["status"] == "ok", shown
        assert questions == ["Run this? y/n/e/a/h "] * 2
        assert "messages: 4" in shown
        assert "chunks: ['42\\n']" in shown
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
