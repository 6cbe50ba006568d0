"""Content on its way into a chat document, in pieces of any size: what looks like a mark is kept from being one.

The joined result does not depend on how the content was cut. Nothing is held back but the beginning of a line that may
still become a heading; for the rest, the backslash goes in before the last character of what would be a mark.
"""

from __future__ import annotations

import re

from oi_lsp.chat_document.syntax import FenceState, Newline, marker

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_HEADING = re.compile(r"( {0,3})\\*##[ \t]+(?:You|Assistant)")
_MAY_BE_HEADING = re.compile(
    r" {0,3}\\*(?:#{0,2}|##[ \t]+(?:Yo?|A(?:s(?:s(?:i(?:s(?:t(?:an?)?)?)?)?)?)?)?)",
)
_ID = re.compile(r"oi\\*(?==)")
_MAY_BE_ID = re.compile(r"(?:oi\\*|o)\Z")
_RUN = re.compile(r" {0,3}(`+|~+)?")
_RUNS = re.compile(r"(?:\A|[\r\n]) {0,3}(`+)")
_LINE_BEGINS = re.compile(r" {0,3}`*")


class MarkerEscape:
    """Keeps markers of the document from coming about."""

    __slots__ = ("_carry", "_head", "_pattern")

    def __init__(self, nonce: str) -> None:
        self._head = marker(nonce, "").removesuffix(". -->")
        self._pattern = re.compile(rf"{re.escape(self._head)}\\*(?=\.)")
        self._carry = ""  # what the content so far ends with, as far as it may be the beginning of a marker

    def feed(self, text: str) -> str:
        """The next piece, as it goes into the document."""
        whole = self._carry + text
        written = whole
        if "." in text and self._head in whole:
            written = self._pattern.sub(lambda found: found[0] + "\\", whole)
        written = written[len(self._carry) :]
        last = whole[max(whole.rfind("<"), 0) :]
        if last.startswith(self._head) and not last[len(self._head) :].strip("\\"):
            self._carry = last[: len(self._head) + 1]
        else:
            self._carry = last if last and self._head.startswith(last) else ""
        return written


class Newlines:
    """Gives lines the end that the document has."""

    __slots__ = ("_newline", "_returned")

    def __init__(self, newline: Newline) -> None:
        self._newline = newline
        self._returned = False  # whether the last character was a carriage return

    def feed(self, text: str) -> str:
        """The next piece."""
        if self._newline == "\n" or not text:
            return text
        returned, self._returned = self._returned, text.endswith("\r")
        kept, rest = ("\n", text[1:]) if returned and text.startswith("\n") else ("", text)
        return kept + rest.replace("\r\n", "\n").replace("\n", "\r\n")


class _FenceLine:
    """The line that is being written, as far as it may open or close a fence."""

    __slots__ = ("_carry", "_head", "_info", "_run", "_state")

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._state = "head"  # then "info", or "other": no fence
        self._head = self._run = self._info = self._carry = ""

    def feed(self, text: str) -> str:
        """The next piece of the line, without its end; what would be the id of a block is none any more."""
        if self._state == "head":
            whole = self._head + text
            found = _RUN.match(whole)
            end = found.end() if found else 0
            self._run = (found[1] or "") if found else ""
            if end == len(whole):
                self._head = whole
                return text
            self._state = "info" if len(self._run) >= 3 else "other"
            if self._state == "info":
                known = len(text) - (len(whole) - end)
                return text[:known] + self._escaped(text[known:])
        return text if self._state == "other" else self._escaped(text)

    def _escaped(self, text: str) -> str:
        if "`" in text:
            self._info = "`"
        elif text.strip(" \t") and not self._info:
            self._info = "x"
        whole = self._carry + text
        written = _ID.sub(lambda found: found[0] + "\\", whole)[len(self._carry) :]
        found = _MAY_BE_ID.search(whole[whole.rfind("o") :]) if "o" in whole else None
        self._carry = found[0][:3] if found else ""
        return written

    def end(self, fence: FenceState) -> None:
        """The line has ended."""
        if len(self._run) >= 3 and self._state != "other":
            fence.feed(self._run, self._info)
        self._begin()


def escaped(text: str, nonce: str) -> str:
    """A whole text as ``TextEscape`` writes it."""
    escape = TextEscape(nonce)
    return escape.feed(text) + escape.finish()


class TextEscape:
    """Keeps headings, ids of blocks and markers from coming about in text."""

    __slots__ = ("_fence", "_held", "_line", "_line_begins", "_markers")

    def __init__(self, nonce: str) -> None:
        self._markers = MarkerEscape(nonce)
        self._line = _FenceLine()
        self._fence = FenceState()
        self._held = ""
        self._line_begins = True

    def feed(self, text: str) -> str:
        """The next piece, as it goes into the document; the beginning of a line may come with a later one."""
        text, self._held = self._held + text, ""
        written: list[str] = []
        for found in _LINE.finditer(text):
            line = found[0]
            if self._line_begins:
                heading = _HEADING.match(line)
                if heading:
                    line = f"{heading[1]}\\{line[heading.end(1) :]}"
                elif found.end() == len(text) and _MAY_BE_HEADING.fullmatch(line):
                    self._held = line
                    break
            written.append(self._write(line))
        return self._markers.feed("".join(written))

    def finish(self) -> str:
        """What was held back."""
        held, self._held = self._held, ""
        written = self._markers.feed(self._write(held)) if held else ""
        self._line.end(self._fence)
        return written

    @property
    def open_fence(self) -> str:
        """The line that closes the fence that the text, now at its end, leaves open; empty if there is none."""
        return self._fence.mark * self._fence.size

    def _write(self, line: str) -> str:
        words = line.rstrip("\r\n")
        written = self._line.feed(words) + line[len(words) :]
        self._line_begins = len(words) < len(line)
        if self._line_begins:
            self._line.end(self._fence)
        return written


class BlockEscape:
    """Keeps markers from coming about in a block, and measures the fence that its content needs."""

    __slots__ = ("_head", "_markers", "needs")

    def __init__(self, nonce: str) -> None:
        self._markers = MarkerEscape(nonce)
        self._head: str | None = ""  # the line so far, where it may be a fence
        self.needs = 3
        """How many backticks the fence needs."""

    def feed(self, text: str) -> str:
        """The next piece, as it goes into the document."""
        if not text:
            return ""
        whole = ("x" if self._head is None else self._head) + text
        longest = max((len(found[1]) for found in _RUNS.finditer(whole)), default=0)
        self.needs = max(self.needs, longest + 1)
        last = whole[1 + max(whole.rfind("\n"), whole.rfind("\r")) :]
        self._head = last if _LINE_BEGINS.fullmatch(last) else None
        return self._markers.feed(text)


class ConsoleLines:
    """Output in whole lines, each as a terminal shows it after its carriage returns.

    A line that was taken out before its end stays as it is: a carriage return in the rest of it begins a new line.
    """

    __slots__ = ("_parts", "_taken")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._taken = False

    def feed(self, text: str) -> str:
        """The lines that ``text`` ends."""
        from oi_engine.safety.sanitize import collapse_carriage_returns

        whole, newline, rest = text.rpartition("\n")
        if not newline:
            self._parts.append(text)
            if "\r" in text:  # a progress bar may go on for ever
                self._parts = [collapse_carriage_returns("".join(self._parts))]
            return ""
        self._parts.append(whole + newline)
        ready = self.take()
        self._taken = False
        self._parts.append(rest)
        return ready

    @property
    def waiting(self) -> str:
        """What waits for the end of its line, as a terminal shows it."""
        from oi_engine.safety.sanitize import render_carriage_returns

        return render_carriage_returns("".join(self._parts))

    def take(self) -> str:
        """All that waits, though its line has not ended."""
        from oi_engine.safety.sanitize import render_carriage_returns

        text = "".join(self._parts)
        self._parts.clear()
        if not text:
            return ""
        if self._taken:
            line, newline, rest = text.partition("\n")
            text = line.replace("\r", "\n", 1) + newline + rest
        self._taken = True
        return render_carriage_returns(text)
