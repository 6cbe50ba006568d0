"""Fenced code blocks in a reply, found while it arrives.

CommonMark's rules for fences at the top level (https://spec.commonmark.org/0.31.2/#fenced-code-blocks): three or more
backticks or tildes, indented by three spaces at most; the first word after an opening fence is the language; a fence
of backticks has no backtick in the text after it; a closing fence is of the same character, at least as long, with
nothing after it. So backticks within a line are prose, a longer fence holds shorter ones, and a fence with a language
does not close a block.

Decisions where the rules leave room:

- A line of bare fence inside code (a docstring that shows one, say) closes the block, as it does for every Markdown
  reader: a model avoids it with a longer fence or by indenting the inner one by four spaces or more.
- Code has ``\\n`` line ends whatever the reply has, and no line end before its closing fence: ``print(1)``, not
  ``print(1)\\n``. Lines lose as much indentation as the opening fence has.
- The end of a whole reply closes an open block: models often stop before the closing fence. The end of a reply that
  broke off closes it as incomplete.
- A block without a language whose first line is nothing but the name of a known language has that language.

Prose flows on at once; only a line that may still become a fence is held. The work is linear in the length: every
character is looked at once, the few held for a language's name twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

from oi_engine.models.pieces import CodeClose, CodeOpen, CodeText, Piece, Prose

_MAX_INDENT = 3
_MIN_FENCE = 3


class FenceParser:
    """Turns text into pieces: ``feed`` it as it arrives, then ``finish`` once."""

    def __init__(self, known_languages: Collection[str] = ()) -> None:
        self._known = frozenset(name.lower() for name in known_languages)
        self._longest = max(map(len, self._known), default=0)
        self._pieces: list[Piece] = []
        self._said: list[str] = []
        self._step: Callable[[str, int], int] = self._candidate
        self._in_code = False
        # Of the open block: its fence's character, length and indentation.
        self._fence = ""
        self._fence_length = 0
        self._fence_indent = 0
        # A line end of the code that is said only when another line of code follows.
        self._newline_due = False
        self._carriage_return = False
        # Of the line that may become a fence.
        self._phase: Literal["indent", "run", "tail"] = "indent"
        self._held: list[str] = []
        self._indent = 0
        self._char = ""
        self._count = 0

    @property
    def open(self) -> bool:
        """Whether a block of code is open."""
        return self._in_code

    def feed(self, text: str) -> list[Piece]:
        """The pieces that ``text`` completes."""
        self._run(text)
        return self._taken()

    def finish(self, broken: bool = False) -> list[Piece]:
        """The pieces that the end of the reply completes; ``broken``: the reply broke off."""
        if self._step == self._first_line:
            self._end_first_line("".join(self._held), whole=True)
        is_fence = self._step == self._candidate and self._phase != "indent" and self._count >= self._shortest
        if is_fence and not self._in_code:
            self._open()
        elif not is_fence and self._step == self._candidate and self._held:
            self._reject()
        if self._in_code or is_fence:
            self._carriage_return = False
            self._close(complete=not broken)
        return self._taken()

    @property
    def _shortest(self) -> int:
        return self._fence_length if self._in_code else _MIN_FENCE

    def _run(self, text: str) -> None:
        pos = 0
        while pos < len(text):
            pos = self._step(text, pos)

    def _taken(self) -> list[Piece]:
        self._flush()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _flush(self) -> None:
        text = "".join(self._said)
        self._said.clear()
        if text:
            self._pieces.append(CodeText(text) if self._in_code else Prose(text))

    # A line that is known to be no fence.

    def _passing(self, text: str, pos: int) -> int:
        end = text.find("\n", pos)
        if not self._in_code:
            stop = len(text) if end < 0 else end + 1
            self._said.append(text[pos:stop])
        else:
            stop = self._pass_code(text, pos, end)
        if end >= 0:
            self._begin_line()
        return stop

    def _pass_code(self, text: str, pos: int, end: int) -> int:
        if self._carriage_return:
            self._carriage_return = False
            if end != pos:
                self._said.append("\r")
        stop = len(text) if end < 0 else end
        if stop > pos and text[stop - 1] == "\r":
            # Half of a line end, perhaps: the next character tells.
            self._said.append(text[pos : stop - 1])
            self._carriage_return = end < 0
        else:
            self._said.append(text[pos:stop])
        self._newline_due = end >= 0
        return stop if end < 0 else end + 1

    def _begin_line(self) -> None:
        self._step = self._candidate
        self._phase = "indent"
        self._held.clear()
        self._indent = self._count = 0

    # A line that may become a fence.

    def _candidate(self, text: str, pos: int) -> int:
        char = text[pos]
        if self._phase == "tail":
            return self._tail(text, pos)
        if self._phase == "indent":
            if char == " " and self._indent < _MAX_INDENT:
                self._indent += 1
            elif char in (self._fence if self._in_code else "`~"):
                self._phase, self._char, self._count = "run", char, 1
            else:
                return self._reject(pos)
        elif char == self._char:
            self._count += 1
        elif self._count >= self._shortest:
            self._phase = "tail"
            return pos
        else:
            return self._reject(pos)
        self._held.append(char)
        return pos + 1

    def _tail(self, text: str, pos: int) -> int:
        end = text.find("\n", pos)
        stop = len(text) if end < 0 else end
        rest = text[pos:stop]
        if rest.strip(" \t\r") if self._in_code else self._char == "`" and "`" in rest:
            return self._reject(pos)
        self._held.append(rest)
        if end < 0:
            return stop
        if self._in_code:
            self._close(complete=True)
            self._begin_line()
        else:
            self._open()
        return end + 1

    def _reject(self, pos: int = 0) -> int:
        held = "".join(self._held)
        self._held.clear()
        self._step = self._passing
        if self._in_code:
            if self._newline_due:
                self._said.append("\n")
                self._newline_due = False
            held = held[min(self._indent, self._fence_indent) :]
        self._said.append(held)
        return pos

    def _open(self) -> None:
        self._flush()
        info = "".join(self._held)[self._indent + self._count :].split()
        self._in_code = True
        self._newline_due = False
        self._fence, self._fence_length, self._fence_indent = self._char, self._count, self._indent
        self._begin_line()
        if info or not self._known:
            self._pieces.append(CodeOpen(info[0].lower() if info else ""))
        else:
            self._step = self._first_line

    def _close(self, *, complete: bool) -> None:
        if self._step == self._first_line:
            self._pieces.append(CodeOpen(""))
        self._flush()
        self._pieces.append(CodeClose(complete))
        self._in_code = False

    # The first line of a block without a language.

    def _first_line(self, text: str, pos: int) -> int:
        char = text[pos]
        self._held.append(char)
        line = "".join(self._held)
        if char == "\n" or not self._may_be_name(line):
            self._end_first_line(line, whole=char == "\n")
        return pos + 1

    def _may_be_name(self, line: str) -> bool:
        start = line.strip().lower()
        # The longest name, a little white space: a bound, so that a line is not read again and again.
        return len(line) <= self._longest + 4 and any(name.startswith(start) for name in self._known)

    def _end_first_line(self, line: str, *, whole: bool) -> None:
        name = line.strip().lower()
        known = whole and name in self._known
        self._pieces.append(CodeOpen(name if known else ""))
        self._begin_line()
        if not known:
            self._run(line)
