"""What the prompt of ``oi-lsp chat`` does not wait for is imported after it."""

from __future__ import annotations

import json
import subprocess
import sys

LATER = (
    "oi_engine.computer.kernel",
    "oi_engine.computer.repl",
    "oi_engine.magic",
    "oi_engine.models.worker_client",
    "oi_engine.session.turn",
    "oi_engine.terminal.prose",
    "rich.markdown",
    "rich.syntax",
)
PROGRAM = """
import json, sys
import oi_engine.terminal.ask_keys, oi_engine.terminal.main as main, oi_engine.terminal.render
first = list(sys.modules)
main._preload()
print(json.dumps([first, list(sys.modules)]))
"""


def test_the_prompt_does_not_wait_for_what_a_turn_needs() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=True)
    first, then = json.loads(ran.stdout)
    assert [name for name in LATER if name in first] == []
    assert [name for name in LATER if name not in then] == []
