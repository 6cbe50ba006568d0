"""The hunks between two texts: by lines, small, without context, exact to the byte."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from attrs import evolve, frozen

from oi_engine.edits.lines import Pair, matching, split_lines

_SLIDE = 200
"""Lines that an insertion or deletion is moved at most, to where it reads well."""


@frozen
class Hunk:
    """Lines ``old`` of a text that become ``new``.

    ``start`` and ``end`` are character offsets in the old text; an insertion has ``start == end``.
    """

    id: str
    start: int
    end: int
    old: str
    new: str


@frozen
class _Span:
    """Lines ``a0:a1`` of the old text that become ``b0:b1`` of the new one."""

    a0: int
    a1: int
    b0: int
    b1: int


def hunks(old: str, new: str, *, open_end: bool = False) -> list[Hunk]:
    """What makes ``new`` of ``old``, in order; between two hunks there is at least one line that stays.

    ``open_end``: ``new`` is the beginning of a text that is still written. It is then compared with the beginning of
    ``old`` that it seems to stand for, and what comes after that is left as it is.
    """
    a, b = split_lines(old), split_lines(new)
    pairs = matching(a, b)
    if open_end:
        # After the last line that is surely the same, a line stands for a line until more is known.
        last = pairs[-1] if pairs else (-1, -1)
        a = a[: last[0] + len(b) - last[1]]
    spans = [_slid(span, a, b, room) for span, room in _spans(pairs, len(a), len(b))]
    offsets = [0, *accumulate(map(len, a))]
    return [
        Hunk(f"h{at}", offsets[s.a0], offsets[s.a1], "".join(a[s.a0 : s.a1]), "".join(b[s.b0 : s.b1]))
        for at, s in enumerate(spans, 1)
    ]


def apply(old: str, chosen: Iterable[Hunk]) -> str:
    """The text with these hunks of its own (in order) written."""
    parts: list[str] = []
    at = 0
    for hunk in chosen:
        parts += [old[at : hunk.start], hunk.new]
        at = hunk.end
    return "".join([*parts, old[at:]])


def with_line_ends_of(old: str, new: str) -> str:
    """``new`` with the line ends of ``old``: lines that it keeps keep theirs, others get those of the line before."""
    kept = split_lines(old)
    ends = [_end_of(line) for line in kept]
    usual = max(set(filter(None, ends)), key=ends.count, default="\n")
    lines = split_lines(new)
    same: dict[int, int] = {}
    if len(set(filter(None, ends))) > 1:
        bare = [line.rstrip("\r\n") for line in kept]
        same = {y: x for x, y in matching(bare, [line.rstrip("\r\n") for line in lines])}
    parts: list[str] = []
    end = next(filter(None, ends), usual) if same else usual
    for y, line in enumerate(lines):
        if y in same and ends[same[y]]:
            end = ends[same[y]]
        written = line.rstrip("\r\n") + (end if _end_of(line) else "")
        # After a line that ends with a mere carriage return, an empty one would become a part of its line end.
        parts.append("\r" if written == "\n" and parts and parts[-1].endswith("\r") else written)
    return "".join(parts)


def _end_of(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _spans(pairs: Sequence[Pair], height: int, width: int) -> Iterable[tuple[_Span, tuple[int, int]]]:
    """What is not matched, each with how many lines match before and after it."""
    found: list[_Span] = []
    a = b = 0
    for x, y in [*pairs, (height, width)]:
        if x > a or y > b:
            found.append(_Span(a, x, b, y))
        a, b = x + 1, y + 1
    for at, span in enumerate(found):
        before = found[at - 1].a1 if at else 0
        after = found[at + 1].a0 if at + 1 < len(found) else height
        # A line must stay between two hunks, whichever of them slides.
        yield span, (max(0, span.a0 - before - (1 if at else 0)), 0 if at + 1 < len(found) else after - span.a1)


def _slid(span: _Span, a: Sequence[str], b: Sequence[str], room: tuple[int, int]) -> _Span:
    """An insertion or a deletion where it reads best: whole blocks, as far down as that is so.

    Of equal lines before and after it, it is arbitrary which of them is the one that was added.
    """
    if span.a0 < span.a1 and span.b0 < span.b1:
        return span
    lines, low, high = (b, span.b0, span.b1) if span.a0 == span.a1 else (a, span.a0, span.a1)
    up = down = 0
    while up < min(room[0], _SLIDE) and lines[low - up - 1] == lines[high - up - 1]:
        up += 1
    while down < min(room[1], _SLIDE) and lines[low + down] == lines[high + down]:
        down += 1
    if not up and not down:
        return span
    shift = min(range(-up, down + 1), key=lambda by: (_looks(lines, low + by, high + by), -by))
    return evolve(span, a0=span.a0 + shift, a1=span.a1 + shift, b0=span.b0 + shift, b1=span.b1 + shift)


def _looks(lines: Sequence[str], low: int, high: int) -> tuple[int, bool]:
    """How torn a block looks: its first line's indentation, and whether no blank line sets it off."""
    first = next((line for line in lines[low:high] if line.strip()), "")
    blank = not lines[high - 1].strip() or low == 0 or not lines[low - 1].strip()
    return len(first) - len(first.lstrip()), not blank
