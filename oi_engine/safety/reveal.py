"""Code as it will run, made visible for approval: what hides, reorders or imitates is shown or named.

Characters that cannot be seen, or that move other text about, are written out in the shown text as
``‹U+202E RIGHT-TO-LEFT OVERRIDE›``. Letters that imitate others stay as they are, since a word full of code points can
no longer be read: they are named in a finding. The code that runs is never touched.

Categories and names are those of the Unicode Character Database (``unicodedata``); the invisible characters outside
category Cf are its *default ignorable code points* and the blanks that are no spaces.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from functools import cached_property, lru_cache
from itertools import accumulate, islice
from typing import Literal

from attrs import frozen

LONG_LINE = 500
"""Characters after which a line reaches out of any panel."""
NAMED = 20
"""Findings of one kind that are told one by one; the rest are counted."""
PLACES = 50
"""Places of one finding that are given; the rest are counted."""
LOOKED_AT = 10_000
"""Characters, and words, that are judged one by one; that code has more of them to be judged is told."""

Kind = Literal["bidi", "invisible", "space", "control", "look-alike", "long-line"]


@frozen
class Finding:
    """One thing that the eye would miss. ``line`` and ``column`` (in characters), from 1, say where it is first.

    ``what`` is the sentence without its place, for who shows it at the ``places``: where it begins and ends each time,
    in characters of the code.
    """

    kind: Kind
    line: int
    column: int
    what: str
    places: tuple[tuple[int, int], ...] = ()
    count: int = 1

    @property
    def message(self) -> str:
        """The sentence with the place, and how often it is there."""
        times = "" if self.count == 1 else f", {self.count:,} times"
        return f"Line {self.line}: {self.what}{times}."

    def __str__(self) -> str:
        return self.message


@frozen
class Revealed:
    """``text`` is for showing only; ``found`` is sorted by place."""

    text: str
    found: tuple[Finding, ...] = ()


_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f"
_IGNORABLE = "\u2065\ufff0-\ufff8\U000e0000-\U000e0fff"
_CONTROL_NAMES = {
    0x00: "NULL",
    0x07: "BELL",
    0x08: "BACKSPACE",
    0x0B: "LINE TABULATION",
    0x0C: "FORM FEED",
    0x0D: "CARRIAGE RETURN",
    0x1A: "SUBSTITUTE",
    0x1B: "ESCAPE",
    0x7F: "DELETE",
    0x85: "NEXT LINE",
    0x9B: "CONTROL SEQUENCE INTRODUCER",
}
_KINDS: dict[Kind, str] = {
    "bidi": "changes the order in which text is shown",
    "invisible": "cannot be seen",
    "space": "looks like a plain space or a line's end and is none",
    "control": "is a control character",
}
# Everything outside these characters is plain; what is of them is judged by its category.
_SUSPECTS = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u1680\u180e\u2000-\u200f"
    rf"\u2028-\u202f\u205f-\u206f\u3000\ud800-\udfff\ufeff\ufff9-\ufffb{_BLANK}{_IGNORABLE}"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_SUSPECT = re.compile(rf"[\r{_SUSPECTS}]")
_HIDDEN_RUN = re.compile(rf"(?:[{_SUSPECTS}]|\r(?!\n))+")
_PLAIN = bytes([*b"\t\n", *range(0x20, 0x7F)])

_WORD = re.compile(r"\w+")
_LATIN_TWINS = {
    "CYRILLIC": "аеорсухіјѕһԁԛԝґѵӏАВЕЅІЈКМНОРСТУХԌԚԜӀ",
    "GREEK": "αγηικνορτυχωϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ",
}
# Scripts that are written next to Latin without a space, and look like nothing in it.
_APART = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "MICRO"})


def reveal(code: str) -> Revealed:
    """What to show a person for approval, and what to tell them. Linear in the length; ``code`` is not changed."""
    lines = _Lines(code)
    text, found = (code, []) if _is_plain(code) else _written_out(code, lines)
    found += _look_alikes(code, lines)
    found += _few([_long(number, *span) for number, span in lines.long()])
    return Revealed(text, tuple(sorted(found, key=lambda finding: (finding.line, finding.column))))


def _is_plain(code: str) -> bool:
    """Whether it is printable ASCII in lines, as most code is: told at the speed of copying it."""
    return code.isascii() and not code.replace("\r\n", "\n").encode().translate(None, _PLAIN)


def _written_out(code: str, lines: _Lines) -> tuple[str, list[Finding]]:
    """The text with what hides in it written out, and what that is. After ``LOOKED_AT`` characters it is in short."""
    suspects = list(islice(_SUSPECT.finditer(code), LOOKED_AT))
    places: dict[str, list[tuple[int, int]]] = {}
    counts: Counter[str] = Counter()
    parts: list[str] = []
    done = 0
    for match in suspects:
        char, at = match.group(), match.start()
        if _harmless(code, at, char):
            continue
        parts += [code[done:at], f"‹{_title(char)}›"]
        done = match.end()
        counts[char] += 1
        if counts[char] <= PLACES:
            places.setdefault(char, []).append(match.span())
    found = [_hidden(char, counts[char], tuple(spans), lines) for char, spans in places.items()]
    rest, more = code[done:], None
    if len(suspects) == LOOKED_AT:
        looked_at = suspects[-1].end()
        more = _HIDDEN_RUN.search(code, looked_at)
        rest = code[done:looked_at] + _HIDDEN_RUN.sub("‹…›", code[looked_at:])
    if more is not None:
        what = "From here on each stretch of what hides, or may, is shown as ‹…›"
        found.append(Finding("invisible", *lines.place(more.start()), what, (more.span(),)))
    return "".join([*parts, rest]), found


class _Lines:
    """The lines of a text, and where they end."""

    def __init__(self, code: str) -> None:
        self._lengths = list(map(len, code.split("\n")))

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(self._lengths, lambda end, length: end + 1 + length))

    def place(self, at: int) -> tuple[int, int]:
        index = bisect_left(self._ends, at)
        return index + 1, at - (self._ends[index - 1] if index else -1)

    def long(self) -> list[tuple[int, tuple[int, int]]]:
        if max(self._lengths) <= LONG_LINE:
            return []
        lines = enumerate(zip(self._lengths, self._ends, strict=True), 1)
        return [(number, (end - length, end)) for number, (length, end) in lines if length > LONG_LINE]


def _harmless(code: str, at: int, char: str) -> bool:
    """A carriage return that ends a line with its newline; the characters that put an emoji together."""
    if char == "\r":
        return code.startswith("\n", at + 1)
    if char in "\ufe0e\ufe0f":
        return _is_symbol(code, at - 1)
    if char == "\u200d":
        before = at - 2 if at and code[at - 1] == "\ufe0f" else at - 1
        return _is_symbol(code, before) and _is_symbol(code, at + 1)
    return False


def _is_symbol(code: str, at: int) -> bool:
    if not 0 <= at < len(code):
        return False
    skin_tone = "\U0001f3fb" <= code[at] <= "\U0001f3ff"
    return skin_tone or (code[at] != "\u2800" and unicodedata.category(code[at]) == "So")


def _kind(char: str) -> Kind:
    if char in _BIDI:
        return "bidi"
    category = unicodedata.category(char)
    if category in ("Zs", "Zl", "Zp") or char == "\u2800":
        return "space"
    return "control" if category == "Cc" else "invisible"


def _title(char: str) -> str:
    point = ord(char)
    kind = {"Cc": "CONTROL", "Cs": "SURROGATE"}.get(unicodedata.category(char), "UNASSIGNED")
    return f"U+{point:04X} {_CONTROL_NAMES.get(point) or unicodedata.name(char, kind)}"


def _hidden(char: str, count: int, places: tuple[tuple[int, int], ...], lines: _Lines) -> Finding:
    kind = _kind(char)
    return Finding(kind, *lines.place(places[0][0]), f"{_title(char)} {_KINDS[kind]}", places, count)


def _long(line: int, start: int, end: int) -> Finding:
    what = f"This line has {end - start:,} characters: read it to its end"
    return Finding("long-line", line, LONG_LINE + 1, what, ((start, end),))


def _look_alikes(code: str, lines: _Lines) -> list[Finding]:
    if code.isascii():
        return []
    words = _strange_words(code)
    imitating = _imitating(words[:LOOKED_AT])
    unjudged = set(words[LOOKED_AT:])
    places: dict[str, list[tuple[int, int]]] = {}
    for match in _WORD.finditer(code) if imitating else ():
        if match.group() in imitating:
            places.setdefault(match.group(), []).append(match.span())
    found = _few([_twin(word, spans, lines) for word, spans in places.items()])
    if unjudged:
        start, end = next(match.span() for match in _WORD.finditer(code) if match.group() in unjudged)
        what = f"{len(unjudged):,} more words have letters beyond ASCII, and were not looked at"
        found.append(Finding("look-alike", *lines.place(start), what, ((start, end),)))
    return found


def _imitating(words: list[str]) -> set[str]:
    """Those of all the words of a text beyond ASCII that can be taken for other words.

    Such is a word that mixes Latin with letters of another script (of Greek only those that look Latin, as Δx is plain
    to see); one in letters that Unicode folds into others (Python reads ｅｖａｌ as eval); and one wholly in twins of
    Latin letters, where the code has no other word in that script that would explain it.
    """
    scripts = {word: _scripts(word) for word in words}
    twins = {
        word: next(iter(found))
        for word, found in scripts.items()
        if len(found) == 1 and len(word) > 1 and _all_twins(word, next(iter(found)))
    }
    explained = {script for word, found in scripts.items() if word not in twins and len(found) == 1 for script in found}
    return {
        word
        for word, found in scripts.items()
        if _mixed(word, found) or any(map(_folded, set(word))) or (word in twins and twins[word] not in explained)
    }


def _strange_words(code: str) -> list[str]:
    """The words that are not ASCII alone, each once."""
    strange = " ".join(part for part in dict.fromkeys(code.split()) if not part.isascii())
    return [word for word in dict.fromkeys(_WORD.findall(strange)) if not word.isascii()]


def _scripts(word: str) -> set[str]:
    """Scripts of the letters; of ASCII too."""
    return set(map(_script, set(word))) - {""}


@lru_cache(maxsize=4096)
def _script(char: str) -> str:
    """The script of a letter, by the first word of its name; empty for what is no letter."""
    return unicodedata.name(char, "?").split(" ")[0] if char.isalpha() else ""


def _all_twins(word: str, script: str) -> bool:
    return script in _LATIN_TWINS and all(char in _LATIN_TWINS[script] for char in word if char.isalpha())


def _mixed(word: str, scripts: set[str]) -> bool:
    others = scripts - {"LATIN"} - _APART
    if "LATIN" not in scripts or not others:
        return False
    return others != {"GREEK"} or any(char in _LATIN_TWINS["GREEK"] for char in word)


@lru_cache(maxsize=4096)
def _folded(char: str) -> bool:
    """Whether Unicode folds a letter into another."""
    return char > "\x7f" and char.isalpha() and unicodedata.normalize("NFKC", char).isascii()


def _twin(word: str, spans: list[tuple[int, int]], lines: _Lines) -> Finding:
    strange = [char for char in dict.fromkeys(word) if ord(char) > 127][:8]
    points = ", ".join(_title(char) for char in strange)
    shown = word if len(word) <= 60 else f"{word[:59]}…"
    what = f"“{shown}” is not what it looks like: it has {points}"
    return Finding("look-alike", *lines.place(spans[0][0]), what, tuple(spans[:PLACES]), len(spans))


def _few(found: list[Finding]) -> list[Finding]:
    if len(found) <= NAMED:
        return found
    last = found[NAMED - 1]
    more = f"{len(found) - NAMED + 1:,} more of the kind “{last.kind}” from here on"
    return [*found[: NAMED - 1], Finding(last.kind, last.line, last.column, more, last.places)]
