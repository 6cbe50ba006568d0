"""Which characters of a text are still there, and where, while the text is changed by anyone.

An ``Alignment`` holds a base text, the current text, and the runs of characters that the two have in common. Between
two runs lies a gap: what the base has there was replaced by what the text has there. A gap whose two sides have become
equal again (somebody undid a change) is closed.
"""

from __future__ import annotations

from bisect import bisect_right

from attrs import define, field, frozen

from oi_engine.edits.hunks import hunks
from oi_engine.edits.lines import ends_line, starts_line

_WINDOW = 4
"""Neighbouring gaps that are looked at together."""


@frozen
class Change:
    """One change of a document: the characters ``start:end`` become ``text``. Offsets are those before the change."""

    start: int
    end: int
    text: str

    def applied_to(self, text: str) -> str:
        """The document after it. Raises ``ValueError`` where the document has no such place."""
        if not 0 <= self.start <= self.end <= len(text):
            raise ValueError(f"no place {self.start}:{self.end} in a document of {len(text)} characters")
        return text[: self.start] + self.text + text[self.end :]


@frozen
class _Run:
    """``length`` characters that are at ``base`` in the base text and at ``text`` in the current one."""

    base: int
    text: int
    length: int

    @property
    def base_end(self) -> int:
        return self.base + self.length

    @property
    def text_end(self) -> int:
        return self.text + self.length


@frozen
class Gap:
    """``base0:base1`` of the base text became ``text0:text1`` of the current one."""

    base0: int
    base1: int
    text0: int
    text1: int


@define
class Alignment:
    """A base text, and what became of it."""

    base: str
    text: str = field(init=False)
    _runs: list[_Run] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.text = self.base
        self._runs = [_Run(0, 0, len(self.base))] if self.base else []

    @property
    def gaps(self) -> list[Gap]:
        """Where the two differ, in order."""
        found: list[Gap] = []
        base = text = 0
        for run in [*self._runs, _Run(len(self.base), len(self.text), 0)]:
            if run.base > base or run.text > text:
                found.append(Gap(base, run.base, text, run.text))
            base, text = run.base_end, run.text_end
        return found

    def change(self, change: Change) -> None:
        """The current text was changed. A long change counts as the changes of lines that it comes to."""
        for part in reversed(_parts(self.text, change)):
            self._cut(part)
            self.text = part.applied_to(self.text)
        self._close()

    def place(self, start: int, end: int) -> tuple[int, int] | None:
        """Where the lines ``start:end`` of the base are now, if they are all there and still lines of their own.

        An empty place is where its line before or its line after is; where they are no longer neighbours, after the
        one before.
        """
        for at in self._candidates(start, end):
            stop = at + end - start
            if starts_line(self.text, at) and ends_line(self.text, stop):
                return at, stop
        return None

    def about(self, start: int, end: int) -> tuple[int, int]:
        """Where ``start:end`` of the base is now; where its ends are gone, as much as is left between them."""
        low, high = 0, len(self.text)
        for run in self._runs:
            if run.base <= start:
                low = run.text + min(start - run.base, run.length)
        for run in reversed(self._runs):
            if run.base_end >= end:
                high = run.text + max(end - run.base, 0)
        return low, max(low, high)

    def write(self, start: int, end: int, place: tuple[int, int], new: str) -> None:
        """The lines ``start:end`` of the base, at ``place`` in the text, became ``new``, in the base and the text."""
        change = Change(*place, new)
        self._cut(change)
        self.text = change.applied_to(self.text)
        self._join(start, end, place[0], place[0] + len(new))
        self._close()

    def adopt(self, gap: Gap, start: int, end: int, new: str) -> bool:
        """Whether a gap is nothing but ``new`` in place of ``start:end`` of the base; if so, the base takes it over.

        The gap may lie a little beside: among equal lines it is arbitrary which of them came.
        """
        low, high = min(start, gap.base0), max(end, gap.base1)
        if not (self._is_run(low, gap.base0) and self._is_run(gap.base1, high)):
            return False
        text0, text1 = gap.text0 - (gap.base0 - low), gap.text1 + (high - gap.base1)
        if self.text[text0:text1] != self.base[low:start] + new + self.base[end:high]:
            return False
        self._join(low, high, text0, text1)
        self._close()
        return True

    def adopt_part(self, gap: Gap, start: int, end: int, new: str) -> bool:
        """Whether a gap begins or ends with ``new`` in place of ``start:end`` of the base; if so, the base takes it.

        This is weaker than ``adopt``: for what was about to be written there. The rest of the gap stays one.
        """
        if not new or not gap.base0 <= start <= end <= gap.base1 or len(new) > gap.text1 - gap.text0:
            return False
        if gap.base0 == start and self.text.startswith(new, gap.text0):
            self._join(start, end, gap.text0, gap.text0 + len(new))
        elif gap.base1 == end and self.text.endswith(new, gap.text0, gap.text1):
            self._join(start, end, gap.text1 - len(new), gap.text1)
        else:
            return False
        self._close()
        return True

    def _is_run(self, start: int, end: int) -> bool:
        run = self._run_at(start) if start < end else None
        return start == end or (run is not None and run.base_end >= end)

    def _cut(self, change: Change) -> None:
        """Take what was replaced out of the runs."""
        by = len(change.text) - (change.end - change.start)
        runs: list[_Run] = []
        for run in self._runs:
            if run.text < change.start:
                runs.append(_Run(run.base, run.text, min(run.length, change.start - run.text)))
            if run.text_end > change.end:
                skipped = max(0, change.end - run.text)
                runs.append(_Run(run.base + skipped, run.text + skipped + by, run.length - skipped))
        self._runs = _merged(runs)

    def _join(self, base0: int, base1: int, text0: int, text1: int) -> None:
        """The base has at ``base0:base1`` from now on what the text has at ``text0:text1``."""
        by = (text1 - text0) - (base1 - base0)
        before: list[_Run] = []
        after: list[_Run] = []
        for run in self._runs:
            if run.base < base0:
                before.append(_Run(run.base, run.text, min(run.length, base0 - run.base)))
            if run.base_end > base1:
                skipped = max(0, base1 - run.base)
                after.append(_Run(run.base + skipped + by, run.text + skipped, run.length - skipped))
        self.base = self.base[:base0] + self.text[text0:text1] + self.base[base1:]
        self._runs = _merged([*before, _Run(base0, text0, text1 - text0), *after])

    def _close(self) -> None:
        """Close the gaps whose sides are equal: each alone, or a few with what is between them.

        The latter are where something was taken from among equal lines, and put back beside where it was.
        """
        gaps = self.gaps
        at = 0
        while at < len(gaps):
            last = next(
                (end for end in range(at, min(at + _WINDOW, len(gaps))) if self._same(gaps[at], gaps[end])), None
            )
            if last is not None:
                self._join(gaps[at].base0, gaps[last].base1, gaps[at].text0, gaps[last].text1)
                at = last
            at += 1

    def _same(self, first: Gap, last: Gap) -> bool:
        """Whether base and text are the same from the first gap to the end of the last."""
        if last.base1 - first.base0 != last.text1 - first.text0:
            return False
        return self.base[first.base0 : last.base1] == self.text[first.text0 : last.text1]

    def _candidates(self, start: int, end: int) -> list[int]:
        if start < end:
            run = self._run_at(start)
            return [run.text + start - run.base] if run and run.base_end >= end else []
        before = self._run_at(start - 1) if start else _Run(0, 0, 0)
        after = self._run_at(start) if start < len(self.base) else _Run(start, len(self.text), 0)
        return [run.text + start - run.base for run in (before, after) if run]

    def _run_at(self, base: int) -> _Run | None:
        """The run that has that character of the base."""
        at = bisect_right(self._runs, base, key=lambda run: run.base) - 1
        return self._runs[at] if at >= 0 and self._runs[at].base_end > base else None


def _merged(runs: list[_Run]) -> list[_Run]:
    """The same runs, neighbours in one."""
    merged: list[_Run] = []
    for run in runs:
        last = merged[-1] if merged else None
        if last and last.base_end == run.base and last.text_end == run.text:
            merged[-1] = _Run(last.base, last.text, last.length + run.length)
        elif run.length:
            merged.append(run)
    return merged


def _parts(text: str, change: Change) -> list[Change]:
    """The small changes that a long one comes to, in order: some editors send the whole document each time."""
    change = trimmed(text, change)
    if change.start == change.end or not change.text:
        return [change] if change.start < change.end or change.text else []
    start, end = change.start, change.end
    while not starts_line(text, start):
        start -= 1
    while not ends_line(text, end):
        end += 1
    became = text[start : change.start] + change.text + text[change.end : end]
    found = hunks(text[start:end], became)
    return [trimmed(text, Change(start + hunk.start, start + hunk.end, hunk.new)) for hunk in found]


def trimmed(text: str, change: Change) -> Change:
    """The change without what stays the same at its ends."""
    old, new = text[change.start : change.end], change.text
    head = _common(old, new)
    old, new = old[head:], new[head:]
    tail = _common(old[::-1], new[::-1])
    return Change(change.start + head, change.end - tail, new[: len(new) - tail])


def _common(one: str, other: str) -> int:
    """The length of what two texts have in common at the front."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low
