"""The output of one cell, made harmless and bounded, between a runtime and the stream.

The first ``head`` characters go on at once. What comes after them is held: the last ``tail`` characters are given when
the cell ends, after a line that says how much was left out and which file has the whole. Memory is of the order of
``head + tail``, whatever the program prints; work is linear in what it prints.
"""

from __future__ import annotations

import base64
import binascii
from collections import deque
from pathlib import Path

from attrs import evolve

from oi_engine.computer.runtime import (
    Failure,
    Finished,
    InputRequest,
    Notice,
    Rich,
    RunEvent,
    Spilled,
    Text,
    TextStream,
)
from oi_engine.computer.spill import SpillFile, create_private
from oi_engine.messages import new_id
from oi_engine.safety.sanitize import Sanitizer, collapse_carriage_returns, sanitize

HEAD = 256 * 1024
TAIL = 64 * 1024
FILE_CAP = 1 << 30
RICH_SIZE = 10_000_000
RICH_COUNT = 50
_WORD = 2_000  # characters of a prompt, a notice or a detail
_LINE = 64 * 1024  # characters of an unfinished line that may wait
_JOIN = 1_024  # pieces shorter than this are joined in the tail

Piece = tuple[TextStream, str]


class OutputLimiter:
    """Takes a cell's events in order and gives those that may go into the stream.

    ``Text`` is sanitized and bounded, ``Rich`` bounded in size (10 MB) and number (50 a cell), every other word of the
    program sanitized and shortened. ``Spilled`` is not passed on: its figure and its path go into the one line that
    says what was left out. ``folder`` is the session's (see ``spill_folder``), made when something is written to it.
    The file leaves out the states of a line that a progress bar has overwritten, and is otherwise the whole output.
    A folder that cannot be written to costs the file, never the output. The events end with ``Finished``; where they
    break off, call ``finish``, which also closes the file.
    """

    def __init__(self, folder: Path, *, head: int = HEAD, tail: int = TAIL, file_cap: int = FILE_CAP) -> None:
        name = new_id("cell")
        self._sanitizers: dict[TextStream, Sanitizer] = {}
        self._stream: TextStream = "stdout"
        self._line: int | None = None
        self._lines = _Lines()
        self._room = head
        self._shown: list[str] = []  # what went on at once, for the file, should there be one
        self._line_open = False
        self._holding = False
        self._tail = _Tail(tail)
        self._file = SpillFile(folder / f"{name}.txt", file_cap)
        self._spilled = 0
        self._elsewhere: list[str] = []
        self._gallery = _Gallery(folder, name, file_cap)

    def feed(self, event: RunEvent) -> list[RunEvent]:
        """What goes on because of ``event``: nothing, the event, or others. ``Finished`` brings all that was held."""
        match event:
            case Text(text, stream, line):
                # What a line has left unfinished is that line's.
                before = self._flush() if line != self._line else []
                self._line = line
                return [*before, *self._text(stream, text)]
            case Rich():
                return [*self._flush(), *self._gallery.feed(event)]
            case InputRequest(prompt):
                flushed = self._flush()
                prompt = prompt or (self._tail.last_line() if self._holding else "")
                return [*flushed, evolve(event, prompt=_brief(prompt, from_end=True))]
            case Notice(text):
                return [*self._flush(), evolve(event, text=_brief(text))]
            case Spilled():
                return self._elsewhere_too(event)
            case Failure(name=name, message=message):
                return [*self._flush(), evolve(event, name=_brief(name), message=_brief(message))]
            case Finished(detail=detail):
                return [*self.finish(), evolve(event, detail=_brief(detail))]
            case _:
                return [event]

    def finish(self) -> list[RunEvent]:
        """What was held, where the events broke off before ``Finished``. A second call gives nothing."""
        last: list[Piece] = [(stream, sanitizer.finish()) for stream, sanitizer in self._sanitizers.items()]
        events = [event for stream, text in last for event in self._put(self._lines.feed(stream, text))]
        events += self._flush()
        pieces, dropped = self._tail.take()
        self._file.close()
        if dropped + self._spilled:
            events.append(Text(self._marker(dropped + self._spilled)))
        if self._elsewhere or not dropped:
            self._file.discard()
        events += [Text(text, stream) for stream, text in pieces]
        self._spilled = 0
        return [*events, *self._gallery.finish()]

    def _text(self, stream: TextStream, text: str) -> list[RunEvent]:
        sanitizer = self._sanitizers.setdefault(stream, Sanitizer())
        events: list[RunEvent] = []
        if stream != self._stream:
            before = self._sanitizers.get(self._stream)
            events = self._put(self._lines.feed(self._stream, before.pause())) if before else []
            self._stream = stream
        return [*events, *self._put(self._lines.feed(stream, sanitizer.feed(text)))]

    def _flush(self) -> list[RunEvent]:
        return self._put(self._lines.flush())

    def _put(self, pieces: list[Piece]) -> list[RunEvent]:
        events: list[RunEvent] = []
        for stream, text in pieces:
            live = "" if self._holding else text[: self._room]
            if live:
                self._room -= len(live)
                self._shown.append(live)
                self._line_open = not live.endswith("\n")
                events.append(Text(live, stream, self._line))
            if len(live) < len(text):
                events += self._hold(stream, text[len(live) :])
        return events

    def _hold(self, stream: TextStream, text: str) -> list[RunEvent]:
        events: list[RunEvent] = []
        if not self._holding:
            self._holding = True
            self._file.write("".join(self._shown))
            self._shown.clear()
            events = [Notice("The output is long: the rest is held back, and its end is shown when the code has run.")]
        if not self._elsewhere:
            self._file.write(text)
        self._tail.push(stream, text)
        return events

    def _elsewhere_too(self, spilled: Spilled) -> list[RunEvent]:
        """The runtime cut the output here and has the whole in a file of its own, so that ours has no use."""
        events = self._flush()
        self._spilled += spilled.omitted
        path, problem = _brief(spilled.path), _brief(spilled.problem)
        where = f"the whole output is in {path}"
        if problem:
            where = f"a part of it is in {path} ({problem})" if path else f"they could not be kept ({problem})"
        if where not in self._elsewhere:
            self._elsewhere.append(where)
        self._holding = True  # what comes now belongs after the line that says what is missing
        self._shown.clear()
        self._file.discard()
        return events

    def _marker(self, omitted: int) -> str:
        where = " and ".join(self._elsewhere) or self._file.describe()
        return f"{chr(10) if self._line_open else ''}… {omitted:,} characters left out; {where} …\n"


class _Lines:
    """Thins out the states of a line that overwrites itself, so that a progress bar costs next to nothing.

    Within a piece, only what can still be seen is kept. From piece to piece, the first hundred states of a line go on;
    after that, one whenever the number of states has grown by a hundredth, and the last one: a bar of ten million
    states costs about 1,300 and still moves by the percent. What is given is rendered like what was fed.
    """

    __slots__ = ("_due", "_kept", "_parts", "_size", "_states", "_stream", "_waits")

    def __init__(self) -> None:
        self._stream: TextStream = "stdout"
        self._parts: list[str] = []  # the end of the line that waits
        self._size = 0
        self._kept = 0  # its size when it was last collapsed
        self._states = 0  # of the line so far
        self._due = 0  # the state that goes on next
        self._waits = False

    def feed(self, stream: TextStream, text: str) -> list[Piece]:
        if not text:
            return []
        before = self.flush() if stream != self._stream else []
        self._stream = stream
        self._parts.append(text)
        self._size += len(text)
        if "\n" in text:
            self._states, self._due, self._waits = 0, 0, False
        elif "\r" in text:
            self._states += 1
            self._waits = self._states < self._due
            if not self._waits:
                self._due = self._states + 1 + self._states // 100
        if not self._waits:
            return [*before, *self.flush()]
        if self._size > 2 * self._kept + 4096:
            self._collapse()
        return [*before, *self.flush()] if self._size > _LINE else before

    def flush(self) -> list[Piece]:
        """What waits, whatever it waits for."""
        if not self._parts:
            return []
        self._collapse()
        text = self._parts.pop()
        self._size = self._kept = 0
        return [(self._stream, text)] if text else []

    def _collapse(self) -> None:
        text = collapse_carriage_returns("".join(self._parts))
        self._parts = [text]
        self._size = self._kept = len(text)


class _Tail:
    """The last ``size`` characters of what is pushed, with the streams that they came on."""

    __slots__ = ("_dropped", "_held", "_pieces", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._pieces: deque[Piece] = deque()
        self._held = 0
        self._dropped = 0

    def push(self, stream: TextStream, text: str) -> None:
        if len(text) > self._size:
            self._dropped += len(text) - self._size
            text = text[len(text) - self._size :]
        self._held += len(text)
        if self._pieces and self._pieces[-1][0] == stream and len(self._pieces[-1][1]) < _JOIN:
            text = self._pieces.pop()[1] + text
        self._pieces.append((stream, text))
        # Only whole pieces are dropped here, so that a push costs no more than its own length: at most twice the
        # size is kept.
        while self._pieces and self._held - len(self._pieces[0][1]) >= self._size:
            self._drop(len(self._pieces.popleft()[1]))

    def take(self) -> tuple[list[Piece], int]:
        """The pieces and how many characters are missing before them; and begin anew."""
        excess = self._held - self._size
        if excess > 0:
            stream, first = self._pieces.popleft()
            self._pieces.appendleft((stream, first[excess:]))
            self._drop(excess)
        taken = list(self._pieces), self._dropped
        self._pieces.clear()
        self._held = self._dropped = 0
        return taken

    def _drop(self, count: int) -> None:
        self._held -= count
        self._dropped += count

    def last_line(self) -> str:
        """What stands on the last line of the last piece."""
        return self._pieces[-1][1].rpartition("\n")[2] if self._pieces else ""


class _Gallery:
    """Bounds the pictures and pages of one cell; those that are too large or too many go to files."""

    def __init__(self, folder: Path, name: str, cap: int) -> None:
        self._folder = folder
        self._name = name
        self._room = cap
        self._count = 0
        self._surplus = 0
        self._failure = ""

    def feed(self, item: Rich) -> list[RunEvent]:
        self._count += 1
        if self._count > RICH_COUNT:
            self._surplus += 1
            self._failure = self._save(item)[1] or self._failure
            return []
        if len(item.content) <= RICH_SIZE:
            return [evolve(item, content=sanitize(item.content))]
        path, failure = self._save(item)
        where = f"It could not be kept: {failure}." if failure else f"It is in {path}."
        noun = "A picture" if item.type == "image" else "A page"
        return [Notice(f"{noun} of {len(item.content):,} characters is too large to show. {where}")]

    def finish(self) -> list[RunEvent]:
        if not self._surplus:
            return []
        where = f"not all of them could be kept: {self._failure}" if self._failure else f"they are in {self._folder}"
        surplus, self._surplus = self._surplus, 0
        return [Notice(f"{surplus:,} pictures or pages after the first {RICH_COUNT} are not shown; {where}.")]

    def _save(self, item: Rich) -> tuple[Path, str]:
        """Write it to a file; the path, and why that failed."""
        ending = {"base64.png": "png", "base64.jpeg": "jpg", "html": "html", "javascript": "js"}.get(item.format, "txt")
        path = self._folder / f"{self._name}-{self._count}.{ending}"
        data = _decoded(item)
        if len(data) > self._room:
            return path, "the files of this cell have reached their limit"
        try:
            with create_private(path) as file:
                file.write(data)
        except OSError as error:
            return path, error.strerror or type(error).__name__
        self._room -= len(data)
        return path, ""


def _decoded(item: Rich) -> bytes:
    if item.type == "image":
        try:
            return base64.b64decode(item.content)
        except (binascii.Error, ValueError):
            pass  # not base64 after all: keep what came
    return item.content.encode("utf-8", "replace")


def _brief(text: str, *, from_end: bool = False) -> str:
    """A word of the program, harmless and short; of a long one the start, or the end."""
    if len(text) > _WORD:
        text = f"…{text[1 - _WORD :]}" if from_end else f"{text[: _WORD - 1]}…"
    return sanitize(text)
