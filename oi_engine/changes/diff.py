"""What a change did to the lines of a file, and the same lines taken out of what the file has become since."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from itertools import accumulate

from attrs import frozen

from oi_engine.changes.entries import FileChange
from oi_engine.edits.hunks import Hunk, hunks
from oi_engine.edits.lines import matching, split_lines
from oi_engine.errors import RevertRefused, UnknownChange

_LOOKED_AT = 8000
"""Bytes at the beginning of a file of which none may be zero in a text, as git has it."""


@frozen
class FileDiff:
    """One changed file. ``hunks`` are empty where there are no lines to show, and then ``why`` may say why.

    ``lines`` has for each hunk the old line at which it begins, from 0.
    """

    change: FileChange
    hunks: tuple[Hunk, ...] = ()
    lines: tuple[int, ...] = ()
    why: str = ""
    binary: bool = False

    @property
    def added(self) -> int:
        """How many lines came."""
        return sum(len(split_lines(hunk.new)) for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """How many lines went."""
        return sum(len(split_lines(hunk.old)) for hunk in self.hunks)


def text_of(data: bytes) -> str | None:
    """The text that a file holds, from which the same bytes can be made (``bytes_of``); ``None`` for a binary file."""
    return None if b"\0" in data[:_LOOKED_AT] else data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The bytes of a text."""
    return text.encode("utf-8", "surrogateescape")


def difference(change: FileChange, old: str, new: str) -> FileDiff:
    """The lines of a change that made one text of another."""
    made = hunks(old, new)
    offsets = _offsets(split_lines(old))
    return FileDiff(change, tuple(made), tuple(bisect_left(offsets, hunk.start) for hunk in made))


def without(before: str, after: str, current: str, wanted: Collection[str] | None = None) -> str:
    """``current``, which came of ``after``, without what made ``after`` of ``before``: all hunks of it or the wanted.

    A hunk is taken out where its lines are as it left them, and so is the line on either side of it. Raises
    ``RevertRefused`` where one is not, and ``UnknownChange`` for a hunk that there is not.
    """
    made = hunks(before, after)
    unknown = set(wanted or ()) - {hunk.id for hunk in made}
    if unknown:
        raise UnknownChange(f"There is no hunk {min(unknown)} in this change.", f"It has {len(made)}, from h1 on.")
    old, new = split_lines(after), split_lines(current)
    place = {-1: -1, len(old): len(new), **dict(matching(old, new))}
    old_at, new_at = _offsets(old), _offsets(new)
    parts: list[str] = []
    done = moved = 0
    for hunk in made:
        low = bisect_left(old_at, hunk.start + moved)
        high = bisect_left(old_at, hunk.start + moved + len(hunk.new))
        moved += len(hunk.new) - len(hunk.old)
        if wanted is not None and hunk.id not in wanted:
            continue
        first = place.get(low - 1)
        if first is None or any(place.get(at) != first + 1 + at - low for at in range(low, high + 1)):
            raise RevertRefused(
                f"Lines of {hunk.id}, or right beside it, have changed since.",
                "Take the others back, or edit the file.",
            )
        parts += [current[done : new_at[first + 1]], hunk.old]
        done = new_at[first + 1 + high - low]
    return "".join([*parts, current[done:]])


def _offsets(lines: Sequence[str]) -> list[int]:
    return [0, *accumulate(map(len, lines))]
