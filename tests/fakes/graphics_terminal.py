"""A terminal with graphics around a program, inside a terminal without.

Run as ``python -m tests.fakes.graphics_terminal FOLDER COMMAND…``. What the program writes is kept in
``FOLDER/written`` and passed on, but for what only such a terminal knows: the question for its name (XTVERSION), which
is answered with the text of ``FOLDER/name``, and application program commands (APC). Its cells have ``CELL`` pixels.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import tty
from pathlib import Path

CELL = (8, 16)
_OURS = re.compile(rb"\x1b\[>q|\x1b_.*?\x1b\\", re.DOTALL)
_BEGUN = re.compile(rb"\x1b(\[>?|_.*)?\Z", re.DOTALL)


def main(folder: Path, command: list[str]) -> int:
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    _resize(terminal)
    signal.signal(signal.SIGWINCH, lambda *_: _resize(terminal))
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        _relay(terminal, folder)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _resize(terminal: int) -> None:
    rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(1, termios.TIOCGWINSZ, b"\0" * 8))
    size = struct.pack("HHHH", rows, columns, columns * CELL[0], rows * CELL[1])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)


def _relay(terminal: int, folder: Path) -> None:
    """Until the program has ended."""
    pending = b""
    with (folder / "written").open("wb", buffering=0) as written:
        while True:
            ready, _, _ = select.select([0, terminal], [], [])
            if 0 in ready:
                _write(terminal, os.read(0, 65536))
            if terminal in ready:
                try:
                    data = os.read(terminal, 65536)
                except OSError:  # what Linux says of the other end's end
                    return
                if not data:
                    return
                written.write(data)
                pending = _pass_on(pending + data, terminal, folder)


def _pass_on(data: bytes, terminal: int, folder: Path) -> bytes:
    """What is left: the beginning of what may be for this terminal."""
    if b"\x1b[>q" in data:
        _write(terminal, b"\x1bP>|%s\x1b\\" % (folder / "name").read_bytes())
    data = _OURS.sub(b"", data)
    begun = _BEGUN.search(data)
    end = begun.start() if begun else len(data)
    _write(1, data[:end])
    return data[end:]


def _write(to: int, data: bytes) -> None:
    while data:
        data = data[os.write(to, data) :]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
