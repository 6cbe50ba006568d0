"""A conversation in steps: what was said, and each block of code with what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attrs import define, field, frozen

from oi_engine.messages import Message


@frozen
class Placed:
    """A message and its position in the conversation."""

    at: int
    message: Message


@frozen
class Said:
    """A message that is no code to run and answers none."""

    placed: Placed


@define
class Run:
    """A block of code: as it was written, as the person edited it, and what answers it, in order."""

    code: Placed
    edit: Placed | None = None
    answers: list[Placed] = field(factory=list)

    @property
    def final(self) -> Message:
        """The code as it ran, or would have."""
        return (self.edit or self.code).message

    @property
    def language(self) -> str:
        """The language, in lower case; may be empty."""
        return (self.code.message.format or "").lower()

    @property
    def ran(self) -> bool:
        """Whether it was run: then there is a console, be it empty. Words alone say why it was not."""
        return any(placed.message.type != "message" for placed in self.answers)

    @property
    def outputs(self) -> list[Placed]:
        """What the program left."""
        return [placed for placed in self.answers if placed.message.type != "message"]

    @property
    def notes(self) -> list[Placed]:
        """Words on how it went."""
        return [placed for placed in self.answers if placed.message.type == "message"]

    @property
    def printed(self) -> str:
        """All that it printed."""
        return "".join(placed.message.text for placed in self.outputs if placed.message.type == "console")


@frozen
class Failure:
    """An error at the end of what a Python program printed: where it begins, its type and its words."""

    start: int
    name: str
    words: str


def steps(messages: Iterable[Message]) -> list[Said | Run]:
    """The steps, each at the place of its first message.

    What names a ``parent`` answers that block; messages from elsewhere name none: what the computer shows answers the
    block before it.
    """
    found: list[Said | Run] = []
    blocks: dict[str, Run] = {}
    last: Run | None = None
    for at, message in enumerate(messages):
        placed = Placed(at, message)
        owner = blocks.get(message.parent) if message.parent is not None else None
        if owner is None and message.parent is None and message.role == "computer" and message.type != "message":
            owner = last
        if owner is not None:
            _answer(owner, placed)
        elif message.type == "code" and message.role != "computer":
            last = blocks[message.id] = Run(placed)
            found.append(last)
        else:
            found.append(Said(placed))
            if message.role != "computer":
                last = None
    return found


def _answer(run: Run, placed: Placed) -> None:
    if run.edit is None and placed.message.role == "user" and placed.message.type == "code":
        run.edit = placed
    else:
        run.answers.append(placed)


# CPython's header; IPython's, which names the error before it and draws a line above; and IPython's for syntax errors.
_BEGINS = re.compile(
    r"^(?:-{20,}\n)?(?:(?P<name>[A-Za-z_][\w.]*) +)?Traceback \(most recent call last\):?[ ]*$"
    r"|^ *(?:Cell In\s?\[\d+\]|File .{1,200}), line \d+$",
    re.MULTILINE,
)
_ENDS = re.compile(r"^(?P<name>[A-Za-z_][\w.]*)(?:: (?P<words>.*))?$")


def failure(printed: str) -> Failure | None:
    """The error with which a Python program ended, by what it printed."""
    begins = _BEGINS.search(printed)
    if begins is None:
        return None
    for line in reversed(printed[begins.end() :].splitlines()):
        ends = _ENDS.match(line)
        if ends is not None and begins["name"] in (None, ends["name"], ends["name"].rpartition(".")[2]):
            return Failure(begins.start(), ends["name"], ends["words"] or "")
    return Failure(begins.start(), begins["name"], "") if begins["name"] else None
