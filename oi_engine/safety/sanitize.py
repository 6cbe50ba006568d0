r"""Terminal control taken out of program output, before it reaches a model, a store, a log or a screen.

Of the control characters, newline, tab and carriage return are left; a carriage return that stands before a newline is
dropped, and a run of them is one. Every escape sequence of ECMA-48 (*Control functions for coded character sets*)
disappears, with its 7-bit and its 8-bit introducers; where programs break the rules, the sequence ends as in the state
machine of the VT500 series, with two differences that keep output from vanishing: a character that cannot be part of
a CSI sequence ends it, and a newline ends any string.

A terminal moves its cursor where a carriage return says; ``render_carriage_returns`` shows what would be seen, and
``collapse_carriage_returns`` leaves out the states of a progress bar that nobody can see any more.
"""

from __future__ import annotations

import re

LIMIT = 8192
"""Characters that one escape sequence may have after its introducer; it ends there. Kitty's images come in pieces of
4096 and a header; anything longer is taken for a string whose end was lost."""

_ESC = "\x1b"
_PARAMETER = r"[ -?]"
_STRING = r"[^\x07\x0a\x0d\x18\x1a\x1b\x80-\x9f]"
_STRING_STARTERS = "P]X^_"  # DCS, OSC, SOS, PM, APC; their 8-bit forms are 0x40 above
_C1_STRINGS = "\x90\x9d\x98\x9e\x9f"
_C1_CSI = "\x9b"

_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
_DIRTY = re.compile(rf"[{_CONTROL}\r\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_RETURNS = re.compile(r"\r\r+")
# The character class comes first, so that the search for it runs without the rest of the pattern.
_SEQUENCE = re.compile(
    rf"[{_CONTROL}]"
    rf"(?:(?<=\x1b)(?:\[{_PARAMETER}{{0,{LIMIT}}}[@-~]?"
    rf"|[P\]X^_]{_STRING}{{0,{LIMIT}}}"
    rf"|[ -/]{{0,{LIMIT}}}[0-~]?)"
    rf"|(?<=\x9b){_PARAMETER}{{0,{LIMIT}}}[@-~]?"
    rf"|(?<=[\x90\x9d\x98\x9e\x9f]){_STRING}{{0,{LIMIT}}})?"
)
# Each state in which a sequence can be cut: the run that goes on with it, and the characters that may close it.
_OPEN = {
    "escape": (re.compile(r"[ -/]*"), re.compile(r"[0-~]")),
    "csi": (re.compile(rf"{_PARAMETER}*"), re.compile(r"[@-~]")),
    "string": (re.compile(rf"{_STRING}*"), None),
}


class Sanitizer:
    """One stream of output, fed in pieces of any size: the joined result does not depend on how it was cut.

    Linear in the text; what is kept between pieces is a state, a count and perhaps one carriage return.
    """

    __slots__ = ("_held", "_length", "_state")

    def __init__(self) -> None:
        self._state = ""  # a key of _OPEN, or empty: no sequence is open
        self._length = 0  # characters of the open sequence so far
        self._held = False  # a carriage return waits for what follows it

    def feed(self, text: str) -> str:
        """The harmless part of ``text``. A carriage return at its end comes with the next piece."""
        if not self._state and not self._held and _DIRTY.search(text) is None:
            return text
        return self._fold(self._strip(text))

    def pause(self) -> str:
        """The carriage return that is held back, if one is; for when another stream writes to the same screen."""
        held, self._held = self._held, False
        return "\r" if held else ""

    def finish(self) -> str:
        """What is left at the end of the stream. A sequence that is still open disappears. Ready to be fed anew."""
        self._state = ""
        return self.pause()

    def _strip(self, text: str) -> str:
        """``text`` without sequences and control characters, the state brought up to its end."""
        start = self._resume(text, 0) if self._state else 0
        # An introducer ends whatever was open: what stands before the last one is made of whole sequences.
        last = max(text.rfind(char, start) for char in _introducers(text))
        if last < 0:
            return _SEQUENCE.sub("", text[start:])
        before = _SEQUENCE.sub("", text[start:last])
        return before + _SEQUENCE.sub("", text[self._open(text, last) :])

    def _open(self, text: str, at: int) -> int:
        """Enter the sequence whose introducer is at ``at``, and say where it ends."""
        char = text[at]
        self._state, self._length = "escape", 0
        if char in _C1_STRINGS or char == _C1_CSI:
            self._state = "csi" if char == _C1_CSI else "string"
        return self._resume(text, at + 1)

    def _resume(self, text: str, at: int) -> int:
        """Go on with the open sequence from ``at``; where it ends, or the length of ``text`` if it stays open."""
        if self._state == "escape" and not self._length and at < len(text) and text[at] in "[" + _STRING_STARTERS:
            self._state = "csi" if text[at] == "[" else "string"
            at += 1
        run, closing = _OPEN[self._state]
        reach = min(len(text), at + LIMIT - self._length)
        found = run.match(text, at, reach)
        end = found.end() if found else at
        self._length += end - at
        if end == len(text):
            return end
        self._state = ""
        return end + 1 if closing and closing.match(text, end) else end

    def _fold(self, text: str) -> str:
        """Newlines and surrogates put right, in text without sequences."""
        if not text:
            return ""
        if self._held:
            text = "\r" + text
        if not text.isascii():
            text = _SURROGATE.sub("\ufffd", text)
        if "\r" not in text:
            return text
        text = _RETURNS.sub("\r", text).replace("\r\n", "\n")
        self._held = text.endswith("\r")
        return text[:-1] if self._held else text


def _introducers(text: str) -> str:
    return _ESC if text.isascii() else _ESC + _C1_CSI + _C1_STRINGS


def sanitize(text: str) -> str:
    """The whole of a text, made harmless."""
    sanitizer = Sanitizer()
    return sanitizer.feed(text) + sanitizer.finish()


def render_carriage_returns(text: str) -> str:
    """What a terminal of unlimited width shows of ``text``, which has been sanitized.

    A carriage return moves to the start of the line; what follows it overwrites as much as it is long, and the rest of
    the line stays. A character is taken to be one cell wide. Linear in the length.

    Rendering is idempotent. ``render(render(a) + b) == render(a + b)`` holds where the cursor stands at the end of
    the last line of ``a`` (always so after a newline, and where that line has no carriage return), and where ``b``
    begins with a newline or a carriage return; elsewhere the place of the cursor is lost with the carriage return.
    """
    if "\r" not in text:
        return text
    return "\n".join(_overlay(line.split("\r")) if "\r" in line else line for line in text.split("\n"))


def collapse_carriage_returns(text: str) -> str:
    """``text`` without what is overwritten within it: at most about twice what can be seen of it.

    Whatever stands before and after it, the whole is rendered as with the uncollapsed text, and the cursor ends in the
    same place. What stands before the first carriage return is kept, since the line may have begun before the text.
    """
    if "\r" not in text:
        return text
    lines = text.split("\n")
    whole = [_collapse_line(line, last=False) if "\r" in line else line for line in lines[:-1]]
    return "\n".join([*whole, _collapse_line(lines[-1], last=True)])


def _collapse_line(line: str, *, last: bool) -> str:
    first, *states = line.split("\r")
    if not states:
        return line
    shown = _overlay(states)
    if last and len(shown) > len(states[-1]):  # the cursor has to end where it did
        return f"{first}\r{shown}\r{states[-1]}"
    return f"{first}\r{shown}" if shown else f"{first}\r" if last else first


def _overlay(states: list[str]) -> str:
    """Texts written over each other from the same place, the last one on top."""
    parts: list[str] = []
    shown = 0
    for state in reversed(states):
        if len(state) > shown:
            parts.append(state[shown:])
            shown = len(state)
    return "".join(parts)
