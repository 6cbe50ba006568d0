"""Questions to the person: the next message, leave to run, a reason, a line for a program."""

from __future__ import annotations

from typing import Literal, Protocol

Verdict = Literal["yes", "no", "edit", "always", "here", "scan"]
VERDICTS: dict[str, Verdict] = {"y": "yes", "n": "no", "e": "edit", "a": "always", "h": "here", "s": "scan"}

QUESTION = "Run this? y/n/e/a/h "
HELP = (
    "y: run it · n: do not run it · e: edit it first · a: always run exactly this code, in this session · "
    "h: always run exactly this code in this folder (%policy lists and revokes) · s: scan it first"
)
REASON = "Why not? (Enter: no reason) "
FENCE = "```"


class Interrupted(Exception):
    """The person pressed Ctrl-C at a question."""


class Left(Exception):
    """The person pressed Ctrl-D at a question, or its input is at an end."""


class Asker(Protocol):
    """Asks the person. Every method raises ``Interrupted`` or ``Left``; cancelling one takes the question back.

    What was typed before a question was shown does not answer it.
    """

    @property
    def can_ask(self) -> bool:
        """Whether anybody is there to be asked; where not, only ``message`` may be called."""
        ...

    async def message(self) -> str:
        """The person's next message; may have several lines."""
        ...

    async def approval(self) -> Verdict:
        """Whether the code that is shown may run. Anything but a clear answer repeats the question."""
        ...

    async def reason(self) -> str:
        """Why it may not; may be empty."""
        ...

    async def program_input(self, prompt: str, *, password: bool) -> str:
        """A line for the program that runs; a password is not shown."""
        ...

    def interrupt(self) -> None:
        """Ctrl-C came as a signal: the question that waits, if one does, raises ``Interrupted``."""
        ...


def is_open_block(text: str) -> bool:
    """Whether a message that began with three backticks still lacks the three that end it."""
    stripped = text.strip()
    return stripped.startswith(FENCE) and (len(stripped) < 2 * len(FENCE) or not stripped.endswith(FENCE))


def block_content(text: str) -> str:
    """What a message between two lines of three backticks says; other messages as they are."""
    stripped = text.strip()
    if stripped.startswith(FENCE) and not is_open_block(text):
        return stripped[len(FENCE) : -len(FENCE)].strip("\n")
    return text
