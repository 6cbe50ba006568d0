"""The terminal that a driver's program writes to and reads from, seen from the side of the person.

The terminal turns no newline into two characters (OPOST off), gives programs whole lines (ICANON), and turns ``^C``
into a signal (ISIG). ECHO is on at rest and off only while an answer is typed, up to its newline: of an answer the
newline alone is printed back, and a program that clears ECHO is asking for a password. One line of input has at most
4095 bytes, as in every terminal.

Linux and macOS. Not on Windows, which has no such terminals.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import termios

READ_BYTES = 65536
"""Bytes read at most in one go, so that other work of the event loop is never kept waiting."""

_ROWS, _COLUMNS = 40, 120
_INPUT, _OUTPUT, _LOCAL, _SPECIAL = 0, 1, 3, 6
"""Places in the list that termios.tcgetattr gives."""
_QUOTED = (termios.VINTR, termios.VQUIT, termios.VERASE, termios.VKILL, termios.VEOF, termios.VSUSP, termios.VLNEXT)

ENVIRONMENT = {
    "TERM": "dumb",
    "COLUMNS": str(_COLUMNS),
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "AWS_PAGER": "cat",
    "BAT_PAGER": "cat",
    "DEBIAN_FRONTEND": "noninteractive",
}
"""What programs are told of this terminal: that it can do nothing, and that no pager is wanted."""


class PseudoTerminal:
    """One pseudo-terminal. ``master`` is the person's side, non-blocking; ``slave`` the program's.

    The slave stays open here, so that a program that closes its own does not end the terminal.
    """

    def __init__(self) -> None:
        self.master, self.slave = os.openpty()
        os.set_blocking(self.master, False)
        settings = termios.tcgetattr(self.slave)
        settings[_INPUT] &= ~termios.IXON
        settings[_OUTPUT] &= ~termios.OPOST
        settings[_LOCAL] |= termios.ICANON | termios.ISIG | termios.ECHO
        termios.tcsetattr(self.slave, termios.TCSANOW, settings)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._at_rest = termios.tcgetattr(self.slave)
        self.device = os.fstat(self.slave).st_rdev

    def close(self) -> None:
        """Give the terminal up."""
        os.close(self.master)
        os.close(self.slave)

    def reset(self) -> None:
        """Undo what programs changed (``stty raw``) and forget what was typed ahead."""
        termios.tcsetattr(self.slave, termios.TCSANOW, self._at_rest)
        termios.tcflush(self.slave, termios.TCIFLUSH)

    def read(self) -> bytes:
        """What programs have written, ``READ_BYTES`` at most; empty where there is nothing.

        On Linux, nothing means nothing: all that any program wrote before the call has been read.
        """
        pieces, size = [], 0
        while size < READ_BYTES:
            try:
                piece = os.read(self.master, READ_BYTES - size)
            except BlockingIOError:
                break
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    @property
    def asks_password(self) -> bool:
        """Whether a program has asked that the line that is typed is not shown."""
        return self._local() & (termios.ECHO | termios.ICANON) == termios.ICANON

    @property
    def is_raw(self) -> bool:
        """Whether a program reads single characters rather than lines."""
        return not self._local() & termios.ICANON

    @property
    def has_input(self) -> bool:
        """Whether typed input waits to be read."""
        return bool(select.select([self.slave], [], [], 0)[0])

    def foreground(self) -> int:
        """The process group that the terminal's signals go to; 0 where there is none."""
        try:
            return os.tcgetpgrp(self.master)
        except OSError:
            return 0

    def type_line(self, text: str) -> None:
        """Type a line and Enter. Control characters are typed as text, a lone ``^D`` as end of input."""
        settings = termios.tcgetattr(self.slave)
        if text == "\x04":
            self._type(settings[_SPECIAL][termios.VEOF])
            return
        line = text.replace("\0", "").encode(errors="replace")
        if settings[_LOCAL] & termios.ICANON:
            next_literal = settings[_SPECIAL][termios.VLNEXT]
            for special in {settings[_SPECIAL][place] for place in _QUOTED} - {b"\x00"}:
                line = line.replace(special, b"\x00" + special)
            line = line.replace(b"\x00", next_literal)
            # The newline hands the line over. By then ECHO is on again: the program may ask for a password at once.
            self._type(line)
            self._write(b"\n")
        else:
            self._type(line + b"\r")

    def interrupt(self) -> None:
        """Interrupt the program in the foreground as ``^C`` does, also where it has switched ``^C`` off."""
        settings = termios.tcgetattr(self.slave)
        group = self.foreground()
        if settings[_LOCAL] & termios.ISIG:
            # Through the terminal the signal reaches programs of other users, too (sudo).
            self._type(settings[_SPECIAL][termios.VINTR])
        elif group > 0:
            try:
                os.killpg(group, signal.SIGINT)
            except (ProcessLookupError, PermissionError):
                pass  # it ended a moment ago, or belongs to another user

    def _local(self) -> int:
        flags: int = termios.tcgetattr(self.slave)[_LOCAL]
        return flags

    def _type(self, data: bytes) -> None:
        settings = termios.tcgetattr(self.slave)
        echoes = settings[_LOCAL] & termios.ECHO
        settings[_LOCAL] &= ~termios.ECHO
        termios.tcsetattr(self.slave, termios.TCSANOW, settings)
        self._write(data)
        # Linux handles typed input in a thread of the kernel; a poll of the other side waits until it has.
        select.select([self.slave], [], [], 0)
        if echoes:
            settings = termios.tcgetattr(self.slave)
            settings[_LOCAL] |= termios.ECHO
            termios.tcsetattr(self.slave, termios.TCSANOW, settings)

    def _write(self, data: bytes) -> None:
        try:
            os.write(self.master, data)
        except BlockingIOError:
            pass  # thousands of typed characters that nobody reads
