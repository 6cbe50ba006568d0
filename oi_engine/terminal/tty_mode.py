"""The terminal's own modes while a turn is under way: what is typed is neither shown nor kept."""

from __future__ import annotations

import contextlib
import termios
from collections.abc import Iterator

from attrs import define, field


@define
class TtyMode:
    """The modes of the terminal behind ``fd``. Ctrl-C and Ctrl-Z keep their meaning throughout."""

    fd: int
    _original: list[int | list[bytes | int]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Remember how the terminal was found."""
        self._original = termios.tcgetattr(self.fd)

    def quiet(self) -> None:
        """Show nothing that is typed, and hold no lines back."""
        self._set(termios.ECHO | termios.ICANON)

    def no_echo(self) -> None:
        """Take lines, but do not show them."""
        self._set(termios.ECHO)

    def restore(self) -> None:
        """As the terminal was found."""
        termios.tcsetattr(self.fd, termios.TCSADRAIN, self._original)

    def forget_typed(self) -> None:
        """Throw away what was typed and not yet read."""
        termios.tcflush(self.fd, termios.TCIFLUSH)

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Lend the terminal, as it was found, to another program."""
        now = termios.tcgetattr(self.fd)
        self.restore()
        try:
            yield
        finally:
            termios.tcsetattr(self.fd, termios.TCSADRAIN, now)

    def _set(self, without: int) -> None:
        modes = termios.tcgetattr(self.fd)
        assert isinstance(modes[3], int)
        modes[3] &= ~without
        termios.tcsetattr(self.fd, termios.TCSADRAIN, modes)
