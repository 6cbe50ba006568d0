"""Lines as editors count them, and which lines of two texts are the same.

The matching is patience diff's: what is equal at both ends is taken off, lines that occur once on either side are
anchors, and the same is done between them. Where no line is unique, a bounded search for the shortest script (Myers,
*An O(ND) difference algorithm*, 1986) decides. All bounds are counts and not times, so that a result never depends on
the machine.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")

_EDITS = 96
"""Edits that the search looks ahead before it settles for the furthest that it came."""

_STEPS = 12_000
"""What all searches of one matching may take; the rest of what has no anchors is taken as replaced."""

Pair = tuple[int, int]


def split_lines(text: str) -> list[str]:
    """The lines with their ends: ``\\n``, ``\\r\\n`` and ``\\r``, as LSP counts them. Joined they are the text."""
    if "\r" in text:
        return _LINE.findall(text)
    lines = text.split("\n")
    last = lines.pop()
    lines = [f"{line}\n" for line in lines]
    return [*lines, last] if last else lines


def starts_line(text: str, at: int) -> bool:
    """Whether a line begins at that offset (or would, at the end of the text)."""
    if at == 0:
        return True
    before = text[at - 1]
    return before == "\n" or (before == "\r" and text[at : at + 1] != "\n")


def ends_line(text: str, at: int) -> bool:
    """Whether a line, or the text, ends at that offset."""
    return at == len(text) or starts_line(text, at)


def matching(old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """Pairs of indices of equal lines, ascending on both sides."""
    codes: dict[str, int] = {}
    a = [codes.setdefault(line, len(codes)) for line in old]
    b = [codes.setdefault(line, len(codes)) for line in new]
    return _Matcher(a, b).pairs()


class _Matcher:
    """One matching of two sequences of codes."""

    def __init__(self, a: list[int], b: list[int]) -> None:
        self._a, self._b = a, b
        self._found: list[Pair] = []
        self._steps = _STEPS

    def pairs(self) -> list[Pair]:
        todo = [(0, len(self._a), 0, len(self._b))]
        while todo:
            a0, a1, b0, b1 = self._trimmed(*todo.pop())
            if a0 == a1 or b0 == b1:
                continue
            anchors = self._anchors(a0, a1, b0, b1)
            if not anchors:
                self._search(a0, a1, b0, b1)
                continue
            self._found += anchors
            for x, y in [*anchors, (a1, b1)]:
                if x > a0 and y > b0:
                    todo.append((a0, x, b0, y))
                a0, b0 = x + 1, y + 1
        self._found.sort()
        return self._found

    def _trimmed(self, a0: int, a1: int, b0: int, b1: int) -> tuple[int, int, int, int]:
        """Without what is equal at both ends."""
        a, b = self._a, self._b
        while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
            self._found.append((a0, b0))
            a0, b0 = a0 + 1, b0 + 1
        while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
            a1, b1 = a1 - 1, b1 - 1
            self._found.append((a1, b1))
        return a0, a1, b0, b1

    def _anchors(self, a0: int, a1: int, b0: int, b1: int) -> list[Pair]:
        """The longest ascending row of lines that occur once on either side."""
        a, b = self._a, self._b
        in_a, in_b = Counter(a[a0:a1]), Counter(b[b0:b1])
        where = {b[y]: y for y in range(b0, b1) if in_b[b[y]] == 1}
        unique = [(x, where[a[x]]) for x in range(a0, a1) if in_a[a[x]] == 1 and a[x] in where]
        tops: list[int] = []
        tails: list[int] = []
        before: list[int] = []
        for at, (_, y) in enumerate(unique):
            pile = bisect_left(tops, y)
            before.append(tails[pile - 1] if pile else -1)
            if pile == len(tops):
                tops.append(y)
                tails.append(at)
            else:
                tops[pile], tails[pile] = y, at
        row: list[Pair] = []
        at = tails[-1] if tails else -1
        while at >= 0:
            row.append(unique[at])
            at = before[at]
        return row[::-1]

    # --- where no line is unique ---------------------------------------------------------------------------------

    def _search(self, a0: int, a1: int, b0: int, b1: int) -> None:
        """Pairs by the shortest script; lines that the other side does not have are no part of the search."""
        here, there = set(self._a[a0:a1]), set(self._b[b0:b1])
        xs = [x for x in range(a0, a1) if self._a[x] in there]
        ys = [y for y in range(b0, b1) if self._b[y] in here]
        a, b = [self._a[x] for x in xs], [self._b[y] for y in ys]
        x = y = 0
        while x < len(a) and y < len(b) and self._steps > 0:
            runs = self._forward(a[x:], b[y:])
            self._found += [(xs[x + i + k], ys[y + j + k]) for i, j, length in runs for k in range(length)]
            i, j, length = runs[-1]
            x, y = x + i + length, y + j + length
        # Out of steps: what is equal at the front is still taken.
        while x < len(a) and y < len(b) and a[x] == b[y]:
            self._found.append((xs[x], ys[y]))
            x, y = x + 1, y + 1

    def _forward(self, a: list[int], b: list[int]) -> list[tuple[int, int, int]]:
        """Equal runs ``(i, j, length)`` from the beginning up to the furthest point that few edits reach.

        The last of them ends there, and may be of length 0.
        """
        furthest = {1: 0}
        history: list[dict[int, int]] = []
        best = (0, 0, 0)
        for edits in range(_EDITS + 1):
            history.append(furthest)
            reached: dict[int, int] = {}
            for k in range(-edits, edits + 1, 2):
                entered = _enter(furthest, k, len(a), len(b))
                if entered is None:
                    continue
                x, y = entered[0], entered[0] - k
                length = _equal(a, x, b, y)
                reached[k] = x + length
                self._steps -= 1 + length // 16
                best = max(best, (2 * (x + length) - k, edits, k))
                if x + length == len(a) and y + length == len(b):
                    return _runs(a, b, history, edits, k)
            furthest = reached
        return _runs(a, b, history, best[1], best[2])


def _enter(furthest: dict[int, int], k: int, width: int, height: int) -> tuple[int, bool] | None:
    """Where one more edit enters the diagonal ``k``, and whether from above (an insertion); not beyond the texts."""
    right, down = furthest.get(k - 1), furthest.get(k + 1)
    if right is not None and right + 1 > width:
        right = None
    if down is not None and down - k > height:
        down = None
    if right is None or (down is not None and down > right):
        return None if down is None else (down, True)
    return right + 1, False


def _runs(a: list[int], b: list[int], history: list[dict[int, int]], edits: int, k: int) -> list[tuple[int, int, int]]:
    """The way to the end of the diagonal ``k``, back to front through what was reached before each edit."""
    runs: list[tuple[int, int, int]] = []
    for furthest in history[edits::-1]:
        entered = _enter(furthest, k, len(a), len(b))
        if entered is None:
            raise RuntimeError("a diagonal that was never entered")
        x, down = entered
        runs.append((x, x - k, _equal(a, x, b, x - k)))
        k += 1 if down else -1
    return runs[::-1]


def _equal(a: list[int], x: int, b: list[int], y: int) -> int:
    """How many items are equal from there on: pieces first, as comparing slices is fast."""
    begin, piece = x, 32
    while a[x : x + piece] == b[y : y + piece] and x + piece <= len(a) and y + piece <= len(b):
        x, y, piece = x + piece, y + piece, piece * 2
    while x < len(a) and y < len(b) and a[x] == b[y]:
        x, y = x + 1, y + 1
    return x - begin
