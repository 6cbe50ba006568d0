"""What the computer needs of one language's runtime, and what a runtime says while code runs.

A runtime is a live process (a Jupyter kernel, or a driver behind the driver protocol) that keeps its state between
cells. It runs one cell at a time. It neither asks nor decides: whoever calls ``run`` holds the approval.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Literal, Protocol

from attrs import frozen

TextStream = Literal["stdout", "stderr", "result", "twin", "traceback"]

END_OF_INPUT = "\x04"
"""As an answer: the program's input ends here (``^D`` in a terminal)."""


@frozen
class Text:
    """Output of the program, as it came: not yet sanitized, not yet bounded. ``stream`` tells errors apart.

    ``twin``: what comes next as ``Rich``, in words, for the model and for who cannot show that.

    ``line``: the line of the cell, from 1, that wrote it, where that is known for certain.
    """

    text: str
    stream: TextStream = "stdout"
    line: int | None = None


@frozen
class ActiveLine:
    """The line of the cell that runs now, from 1; ``None`` when none does."""

    line: int | None


@frozen
class Rich:
    """Output that is more than text, already in LMC terms.

    ``type`` and ``format`` as in LMC messages: ``image`` with ``base64.png`` or ``base64.jpeg``, ``code`` with
    ``html`` or ``javascript``; ``content`` is the base64 text or the source. ``line`` as in ``Text``.
    """

    type: Literal["image", "code"]
    format: str
    content: str
    line: int | None = None


@frozen
class InputRequest:
    """The program waits for a line from the person. ``password``: do not show what is typed."""

    prompt: str
    password: bool = False


@frozen
class InputTaken:
    """The program no longer waits (it was answered, stopped, or went on by itself)."""


@frozen
class Spilled:
    """The runtime itself cut output short: ``omitted`` characters are not in the stream; ``path`` holds the whole.

    Where there is a ``problem``, in words, the path holds a part of it, and may be empty.
    """

    omitted: int
    path: str
    problem: str = ""


@frozen
class Notice:
    """A word for the person and the model (the kernel fell back to another Python, say)."""

    text: str


@frozen
class Denied(Notice):
    """What a sandbox seems to have stopped, in words, and what of it may be asked for: writing to ``paths``, which are
    there, and the network.
    """

    paths: tuple[str, ...] = ()
    network: bool = False


@frozen
class Failure:
    """Where in the cell's own text the error is that ended it; comes before ``Finished``, where it is known.

    Of a Python traceback, the innermost place that is in the cell. Lines count from 1; columns from 0, in characters,
    and ``end_column`` is behind the last one. ``name`` is the error's class, ``message`` what it says.
    """

    line: int
    name: str
    message: str = ""
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


@frozen
class Finished:
    """The cell ended; always the last event.

    ``ok``; ``error`` (an exception, an exit status other than 0); ``interrupted`` (by ``interrupt``); ``died`` (the
    process is gone: the next run starts a fresh one, variables are lost). ``detail`` is a short word for the person,
    such as ``exit status 3``.
    """

    status: Literal["ok", "error", "interrupted", "died"] = "ok"
    detail: str = ""


RunEvent = Text | ActiveLine | Rich | InputRequest | InputTaken | Spilled | Notice | Denied | Failure | Finished


class Runtime(Protocol):
    """One language's live process."""

    @property
    def alive(self) -> bool:
        """Whether the process is there and can take a cell."""
        ...

    async def start(self) -> None:
        """Start the process. Raises ``LanguageUnavailable`` or ``KernelFailed``, each with a remedy."""
        ...

    def run(self, code: str) -> AsyncGenerator[RunEvent, None]:
        """Run one cell, starting the process first where it is not alive. Ends with one ``Finished``.

        Closing the generator early interrupts the cell.
        """
        ...

    def answer(self, text: str) -> None:
        """Give the waiting program its line (without the newline). Raises ``UnknownInput`` where none waits.

        As in a terminal the line shows in the output, unless it is a password.
        """
        ...

    async def interrupt(self) -> bool:
        """Stop the running cell and keep the state; returns within a second.

        False where the cell does not stop, in which case the caller decides on a restart.
        """
        ...

    async def close(self) -> None:
        """End the process and everything that it started."""
        ...
