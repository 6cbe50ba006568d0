"""A terminal of a test's own, in which an editor runs.

tmux tells nothing of what happens on a screen or in a file, so both are asked, at one place (``until``), until the
awaited thing is there or a deadline passes.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil
from attrs import define, field

DEADLINE = 60.0
"""Seconds after which what did not come about is a failure; generous for a loaded machine."""

MARK = "OI_LSP_EDITOR"
"""Environment variable by which the processes of one test are known."""


def until(condition: Callable[[], object], what: Callable[[], str], deadline: float = DEADLINE) -> None:
    """Ask again and again until it is so. Fails with ``what`` after ``deadline`` seconds."""
    end = time.monotonic() + deadline
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.03)


@define
class Tmux:
    """One tmux server with one window."""

    name: str = field(factory=lambda: f"oi-{uuid.uuid4().hex[:12]}")
    # tmux leaves its socket behind; a path of pytest's would be too long for one.
    sockets: tempfile.TemporaryDirectory[str] = field(factory=lambda: tempfile.TemporaryDirectory(prefix="oi-tmux-"))

    def start(self, command: Sequence[str], cwd: Path, env: Mapping[str, str], size: tuple[int, int]) -> None:
        """Run a command in a window of ``size`` columns and rows."""
        variables = [f"{key}={value}" for key, value in {**env, MARK: self.name}.items()]
        # Without remain-on-exit the screen would be gone with the command; an Escape is one at once.
        options = ["set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-s", "escape-time", "0", ";"]
        columns, rows = size
        window = ["new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(cwd)]
        # tmux gives a window the PATH of whoever asked for it, whatever -e says: env is what sets it.
        self._run("-u", "-f", "/dev/null", *options, *window, "--", "env", *variables, *command)

    def keys(self, *keys: str) -> None:
        """Press keys, by tmux's names for them (``C-x``, ``Enter``, ``Escape``)."""
        self._run("send-keys", "--", *keys)

    def type(self, text: str) -> None:
        """Type text as it is."""
        self._run("send-keys", "-l", "--", text)

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self._run("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self) -> str:
        """What the screen shows."""
        return self._run("capture-pane", "-p")

    def styled(self) -> str:
        """What the screen shows, with the escape codes of its colours."""
        return self._run("capture-pane", "-p", "-e")

    def ended(self) -> bool:
        """Whether the command has ended."""
        return self._run("list-panes", "-F", "#{pane_dead}").strip() == "1"

    def processes(self) -> list[psutil.Process]:
        """What runs on behalf of this window, tmux itself not counted."""
        found = []
        for process in psutil.process_iter():
            try:
                ours = process.environ().get(MARK) == self.name and process.status() != psutil.STATUS_ZOMBIE
            except psutil.Error:
                continue
            if ours:
                found.append(process)
        return found

    def stop(self) -> None:
        """End the window, and wait until all that was started in it has ended. Fails where something stays."""
        self._tmux("kill-server")
        try:
            until(lambda: not self.processes(), lambda: f"left behind: {self.processes()}")
        finally:
            for process in self.processes():
                process.kill()
            self.sockets.cleanup()

    def _run(self, *arguments: str) -> str:
        ran = self._tmux(*arguments)
        assert ran.returncode == 0, f"tmux {arguments}: {ran.stderr}"
        return ran.stdout

    def _tmux(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "TMUX_TMPDIR": self.sockets.name}
        return subprocess.run(
            ["tmux", "-L", self.name, *arguments], capture_output=True, text=True, env=env, check=False
        )
