"""Makes ``docs/demo.svg``: runs ``oi-lsp demo`` in a terminal (tmux), answers it as a person would, draws the screen.

Nothing is posed: what is in the picture is what the terminal showed. ``.venv/bin/python docs/make_demo.py``.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).with_name("demo.svg")
COLUMNS, ROWS = 88, 38
TMUX = ("tmux", "-L", "oi-lsp-demo")
DEADLINE = 60.0


def tmux(*arguments: str) -> str:
    return subprocess.run([*TMUX, *arguments], capture_output=True, text=True, check=True).stdout


def wait_for(text: str, times: int = 1) -> None:
    end = time.monotonic() + DEADLINE
    while tmux("capture-pane", "-p").count(text) < times:
        if time.monotonic() > end:
            raise SystemExit(f"The demo never showed {text!r}:\n{tmux('capture-pane', '-p')}")
        time.sleep(0.05)


def screen_of_a_demo(folder: str) -> str:
    """The screen, with its colours, at the second question of a demo that plots."""
    # As in an activated environment, whose Python then runs the kernel.
    command = f"VIRTUAL_ENV={sys.prefix} XDG_STATE_HOME=state {sys.executable} -m oi_lsp demo"
    size = ["-x", str(COLUMNS), "-y", str(ROWS)]
    tmux("-u", "-f", "/dev/null", "new-session", "-d", "-c", folder, *size, "-e", "LC_ALL=C.UTF-8", command)
    try:
        wait_for("\n>")
        tmux("send-keys", "-l", "plot a sine wave")
        tmux("send-keys", "Enter")
        wait_for("Run this?")
        tmux("send-keys", "y")
        wait_for("── python", times=2)
        wait_for("Run this?")
        return tmux("capture-pane", "-e", "-p").rstrip()
    finally:
        tmux("kill-server")


def drawn(screen: str) -> str:
    """The screen as SVG. It fetches nothing: fonts are the reader's own."""
    console = Console(record=True, file=io.StringIO(), width=COLUMNS, force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(screen), soft_wrap=True)
    svg = console.export_svg(title="oi-lsp demo", unique_id="demo")
    svg = svg.replace("<text ", '<text xml:space="preserve" ')
    svg = re.sub(r"\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        PICTURE.write_text(drawn(screen_of_a_demo(temporary)), encoding="utf-8")
