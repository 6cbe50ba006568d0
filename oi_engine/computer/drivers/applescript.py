"""AppleScript, through macOS's osascript.

Each cell is a script of its own: nothing but what it does to other programs lives on, as with osascript itself. Written
after Apple's documentation; only its loop has been run so far, with another program in the place of osascript.
"""

from __future__ import annotations

import shutil

from oi_engine.computer.driver import DRIVERS, Driver


class _AppleScriptDriver(Driver):
    def find(self, path: str | None = None) -> str | None:
        """The shell that runs the loop, where there is an osascript for it to start."""
        return shutil.which("bash", path=path) if super().find(path) else None


APPLESCRIPT = _AppleScriptDriver(
    language="applescript",
    programs=("osascript",),
    arguments=("--noprofile", "--norc", str(DRIVERS / "applescript.bash")),
    remedy="AppleScript is a part of macOS: it runs there alone, and needs nothing to be installed.",
    suffix=".applescript",
)
