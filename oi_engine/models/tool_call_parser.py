"""Calls of the tool ``execute(language, code)``, turned into blocks of code while their arguments arrive.

The arguments are a JSON object, ``{"language": "python", "code": "…"}``, split anywhere. The machine reads it
character by character (strings in one sweep), so that code flows on as soon as its language is known, and the work is
linear in the length. What it takes and what it does not:

- The keys in either order; code that comes first is held until the language is there. Other keys are skipped; their
  values are not checked.
- A tool named like a language (``python``) is that language. Arguments that do not begin as a JSON object are taken as
  bare code, of that language or of none (``CodeOpen("")``).
- Raw line ends in strings are accepted, as models write them; half a surrogate pair becomes U+FFFD.
- Calls in parallel are told apart by index, or by a new id where a provider gives all the same index. Their blocks
  come one after the other: a call that starts while another is incomplete waits.
- Anything else is malformed: other tools, arguments without ``code``, text after the object. Then the open block
  closes as incomplete, nothing more is read, and ``error`` says what was wrong, for the session to end the turn with.
  A call that the end of the reply cuts off is malformed too, unless the reply itself broke off (``broken``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from oi_engine.errors import ModelError
from oi_engine.models.model import ToolCallDelta
from oi_engine.models.pieces import CodeClose, CodeOpen, CodeText, Piece

TOOL = "execute"

_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\]*')
_SCALAR = re.compile(r"[^,{}\[\]\"\s]*")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = frozenset("0123456789abcdefABCDEF")


class ToolCallParser:
    """Turns deltas of tool calls into pieces: ``feed`` them as they arrive, then ``finish`` once."""

    def __init__(self, known_languages: Collection[str] = ()) -> None:
        self._known = frozenset(name.lower() for name in known_languages)
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._current = 0
        self._error: ModelError | None = None

    @property
    def error(self) -> ModelError | None:
        """What was malformed (kind ``malformed_reply``), if anything was."""
        return self._error

    @property
    def open(self) -> bool:
        """Whether a block of code is open."""
        return self._current < len(self._calls) and self._calls[self._current].open

    def feed(self, delta: ToolCallDelta) -> list[Piece]:
        """The pieces that ``delta`` completes."""
        call = self._by_index.get(delta.index)
        if call is None or (delta.id is not None and call.id is not None and delta.id != call.id):
            call = _Call(delta.id, delta.name or TOOL, self._known)
            self._by_index[delta.index] = call
            self._calls.append(call)
        call.id = call.id or delta.id
        call.waiting.append(delta.arguments)
        return self._advance(ended=False)

    def end_bare(self) -> list[Piece]:
        """End the open call where it is bare code, which has no end of its own: something else follows it."""
        if self._current == len(self._calls) or not self._calls[self._current].bare:
            return []
        pieces = self._calls[self._current].end(broken=False)
        self._current += 1
        return pieces

    def finish(self, broken: bool = False) -> list[Piece]:
        """The pieces that the end of the reply completes; ``broken``: the reply broke off."""
        pieces = self._advance(ended=True, broken=broken)
        self._current = len(self._calls)
        return pieces

    def _advance(self, *, ended: bool, broken: bool = False) -> list[Piece]:
        pieces: list[Piece] = []
        while self._current < len(self._calls) and self._error is None:
            call = self._calls[self._current]
            last = self._current == len(self._calls) - 1
            pieces += call.read()
            if call.fault is None and not call.done:
                if ended or (call.bare and not last):
                    pieces += call.end(broken=broken and (last or not call.bare))
                else:
                    break
            if call.fault is not None:
                self._error = ModelError(
                    "malformed_reply",
                    f"The model called its tool in a way that cannot be read: {call.fault}.",
                    "Nothing of that call was run. Send your message again, or choose another model.",
                )
                break
            if not call.done or last:
                # A finished call stays current until another begins, so that text after it is noticed.
                break
            self._current += 1
        return pieces


class _Malformed(Exception):
    """The arguments cannot be read; the text says why."""


class _Call:
    """One call: a machine over its arguments. ``_step`` reads from a position on and returns the next one."""

    def __init__(self, call_id: str | None, name: str, known: frozenset[str]) -> None:
        self.id = call_id
        self.waiting: list[str] = []
        self.fault: str | None = None
        self.done = False
        self.bare = False
        self.open = False
        self._pieces: list[Piece] = []
        self._said: list[str] = []
        self._step: Callable[[str, int], int] = self._start
        self._language: str | None = None
        lowered = name.strip().lower()
        if lowered in known:
            self._language = lowered
        elif lowered != TOOL:
            self.fault = f"there is no tool {name[:60]!r}"
        # The text read so far of what is held: leading white space, a key, a language.
        self._held: list[str] = []
        self._key = ""
        self._seen: set[str] = set()
        self._escape: str | None = None
        self._high = 0
        self._depth = 0
        self._in_string = False
        self._skip_escape = False

    def read(self) -> list[Piece]:
        """Read what waits; the pieces that it completes."""
        text = "".join(self.waiting)
        self.waiting.clear()
        if self.fault is None:
            try:
                pos = 0
                while pos < len(text):
                    pos = self._step(text, pos)
            except _Malformed as error:
                self._fail(str(error))
        return self._taken()

    def end(self, *, broken: bool) -> list[Piece]:
        """The reply ended, or something else follows bare code."""
        if self.bare:
            self._say(self._unpaired())
            self._finish(complete=not broken)
        elif not broken:
            self._fail("it breaks off before its end" if self._step != self._start else "it has no code")
        elif self.open:
            self._finish(complete=False)
        return self._taken()

    def _fail(self, why: str) -> None:
        self.fault = why
        if self.open:
            self._finish(complete=False)

    def _finish(self, *, complete: bool) -> None:
        if not self.open:
            self._open(self._language or "")
        self._flush()
        self._pieces.append(CodeClose(complete))
        self.open = False
        self.done = True

    def _taken(self) -> list[Piece]:
        self._flush()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _flush(self) -> None:
        if self.open and self._said:
            text = "".join(self._said)
            self._said.clear()
            if text:
                self._pieces.append(CodeText(text))

    def _open(self, language: str) -> None:
        self.open = True
        self._pieces.append(CodeOpen(language))

    def _say(self, text: str) -> None:
        if text:
            self._said.append(text)

    # Between values.

    def _start(self, text: str, pos: int) -> int:
        pos = self._space(text, pos, hold=True)
        if pos == len(text):
            return pos
        if text[pos] == "{":
            self._held.append("{")
            self._step = self._first_key
            return pos + 1
        return self._begin_bare(pos)

    def _first_key(self, text: str, pos: int) -> int:
        pos = self._space(text, pos, hold=True)
        if pos == len(text):
            return pos
        if text[pos] == "}":
            return self._end_object(pos)
        if text[pos] != '"' and self._language is not None:
            return self._begin_bare(pos)
        return self._next_key(text, pos)

    def _next_key(self, text: str, pos: int) -> int:
        pos = self._space(text, pos)
        if pos == len(text):
            return pos
        if text[pos] != '"':
            raise _Malformed("its arguments are not JSON")
        self._held.clear()
        self._step = self._read_key
        return pos + 1

    def _colon(self, text: str, pos: int) -> int:
        pos = self._space(text, pos)
        if pos == len(text):
            return pos
        if text[pos] != ":":
            raise _Malformed("its arguments are not JSON")
        self._step = self._value
        return pos + 1

    def _value(self, text: str, pos: int) -> int:
        pos = self._space(text, pos)
        if pos == len(text):
            return pos
        if self._key not in ("language", "code"):
            self._depth, self._in_string, self._skip_escape = 0, False, False
            self._step = self._skip
            return self._begin_skip(text, pos)
        if text[pos] != '"':
            raise _Malformed(f"{self._key!r} is not text")
        if self._key in self._seen:
            raise _Malformed(f"{self._key!r} is there twice")
        self._seen.add(self._key)
        if self._key == "language":
            self._held.clear()
            self._step = self._read_language
        else:
            self._step = self._read_code
            if self._language is not None:
                self._open(self._language)
        return pos + 1

    def _after_value(self, text: str, pos: int) -> int:
        pos = self._space(text, pos)
        if pos == len(text):
            return pos
        if text[pos] == "}":
            return self._end_object(pos)
        if text[pos] != ",":
            raise _Malformed("its arguments are not JSON")
        self._step = self._next_key
        return pos + 1

    def _end_object(self, pos: int) -> int:
        if "code" not in self._seen:
            raise _Malformed("it has no code")
        self._finish(complete=True)
        self._step = self._after_object
        return pos + 1

    def _after_object(self, text: str, pos: int) -> int:
        pos = self._space(text, pos)
        if pos < len(text):
            raise _Malformed("text follows its arguments")
        return pos

    def _space(self, text: str, pos: int, *, hold: bool = False) -> int:
        match = _SPACE.match(text, pos)
        assert match is not None
        if hold:
            self._held.append(match.group())
        return match.end()

    # Strings.

    def _read_key(self, text: str, pos: int) -> int:
        pos, ended = self._string(text, pos, self._held)
        if ended:
            self._key = "".join(self._held)
            self._step = self._colon
        return pos

    def _read_language(self, text: str, pos: int) -> int:
        pos, ended = self._string(text, pos, self._held)
        if ended:
            self._step = self._after_value
            if self._language is None or not self.open:
                self._language = "".join(self._held).strip().lower()
            if "code" in self._seen and not self.open:
                self._open(self._language)
        return pos

    def _read_code(self, text: str, pos: int) -> int:
        pos, ended = self._string(text, pos, self._said)
        if ended:
            self._step = self._after_value
        return pos

    def _string(self, text: str, pos: int, sink: list[str]) -> tuple[int, bool]:
        """Read on in a string; the next position, and whether the string ended there."""
        if self._escape is not None:
            self._read_escape(text[pos], sink)
            return pos + 1, False
        match = _PLAIN.match(text, pos)
        assert match is not None
        if match.end() > pos:
            sink.append(self._unpaired())
            sink.append(match.group())
        pos = match.end()
        if pos == len(text):
            return pos, False
        if text[pos] == "\\":
            self._escape = ""
            return pos + 1, False
        sink.append(self._unpaired())
        return pos + 1, True

    def _read_escape(self, char: str, sink: list[str]) -> None:
        """One character after a backslash: ``_escape`` is what has come before it, ``u`` and up to three digits."""
        if self._escape == "":
            if char == "u":
                self._escape = "u"
                return
            if char not in _ESCAPES:
                raise _Malformed(f"a string in it has the escape \\{char}")
            self._escape = None
            sink.append(self._unpaired())
            sink.append(_ESCAPES[char])
            return
        if char not in _HEX:
            raise _Malformed("a string in it has an incomplete \\u escape")
        assert self._escape is not None
        self._escape += char
        if len(self._escape) == 5:
            code, self._escape = int(self._escape[1:], 16), None
            self._unit(code, sink)

    def _unit(self, code: int, sink: list[str]) -> None:
        """One UTF-16 unit of a ``\\u`` escape."""
        if self._high and 0xDC00 <= code <= 0xDFFF:
            sink.append(chr(0x10000 + ((self._high - 0xD800) << 10) + (code - 0xDC00)))
            self._high = 0
            return
        sink.append(self._unpaired())
        if 0xD800 <= code <= 0xDBFF:
            self._high = code
        else:
            sink.append("\ufffd" if 0xDC00 <= code <= 0xDFFF else chr(code))

    def _unpaired(self) -> str:
        """What stands for a high surrogate that no low one followed."""
        if not self._high:
            return ""
        self._high = 0
        return "\ufffd"

    # Values of other keys.

    def _begin_skip(self, text: str, pos: int) -> int:
        if text[pos] in ",}]:":
            raise _Malformed("its arguments are not JSON")
        return pos

    def _skip(self, text: str, pos: int) -> int:
        """Skip a value; it ends before a comma, brace or white space of the object itself."""
        if self._in_string:
            return self._skip_string(text, pos)
        char = text[pos]
        if self._depth == 0 and char in ",} \t\r\n":
            self._step = self._after_value
            return pos
        if char == '"':
            self._in_string = True
        elif char in "{[":
            self._depth += 1
        elif char in "}]":
            self._depth -= 1
            if self._depth < 0:
                raise _Malformed("its arguments are not JSON")
        else:
            match = _SCALAR.match(text, pos)
            assert match is not None
            return max(match.end(), pos + 1)
        return pos + 1

    def _skip_string(self, text: str, pos: int) -> int:
        if self._skip_escape:
            self._skip_escape = False
            return pos + 1
        match = _PLAIN.match(text, pos)
        assert match is not None
        pos = match.end()
        if pos == len(text):
            return pos
        if text[pos] == "\\":
            self._skip_escape = True
        else:
            self._in_string = False
        return pos + 1

    # Bare code.

    def _begin_bare(self, pos: int) -> int:
        self.bare = True
        self._open(self._language or "")
        self._say("".join(self._held))
        self._step = self._read_bare
        return pos

    def _read_bare(self, text: str, pos: int) -> int:
        self._say(text[pos:])
        return len(text)
