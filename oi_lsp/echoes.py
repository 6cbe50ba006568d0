"""What the client's changes say of an insertion that it was asked for: made, made elsewhere, or not to be seen.

An echo may be exact, merged with what the person typed, cut to what differs, or altered (white space, line ends).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from attrs import frozen

from oi_lsp.differences import parts
from oi_lsp.documents import Change, common_head, common_tail

_CANDIDATES = 1000
_CLOSEST = 3
_DISTINCT = 8
_SHORTEST = 2
_MOST = 0.8
_LARGEST_PRODUCT = 250_000
_TOKEN = re.compile(r"\w+|\s|[^\w\s]")
_INESSENTIAL = re.compile(r"[\s\x00-\x1f\ud800-\udfff\ufffd]+")


@frozen
class Sighting:
    """An insertion that was seen: it is now from ``start`` to ``end``.

    ``typed`` is what else has changed, as if that had come first. ``right`` is whether it is where it belongs.
    """

    start: int
    end: int
    typed: Change | None = None
    right: bool = True


def is_distinct(text: str) -> bool:
    """Whether it is unlikely that the person types the same text by chance."""
    return len(_essence(text)) >= _DISTINCT


def sighting(before: str, after: str, change: Change, offset: int, text: str) -> Sighting | None:
    """Look for a text, wanted at an offset of ``before``, in a change that made ``after`` of it."""
    size = len(text)
    if len(after) - len(before) == size and before[:offset] + text + before[offset:] == after:
        return Sighting(offset, offset + size)
    change = _turned(before, after, change, offset)
    everything = parts(before, change)
    wanted = _places(offset, everything)[0]
    found = sorted(_candidates(after, change, text), key=lambda start: abs(start - wanted))
    limit, misplaced = _cost(everything), None
    for start in found[:_CLOSEST]:
        seen = _judged(before, after, change, offset, start, size, limit)
        if seen is not None and seen.right:
            return seen
        misplaced = misplaced or seen
    if change.start == change.end == offset and _holds(change.text, text):
        return Sighting(offset, offset + len(change.text))
    if not is_distinct(text):
        return None
    for start, length in _edited(change, text):
        seen = _judged(before, after, change, offset, start, length, limit)
        if seen is not None and seen.right:
            return seen
    return misplaced


def _judged(before: str, after: str, change: Change, offset: int, start: int, size: int, limit: int) -> Sighting | None:
    """What it means if the text is what is now from ``start`` on."""
    typed = _typed(before, after, change, start, size)
    rest = parts(before, typed)
    # Without our text there must be less left for the person to have done; else it is what was there before.
    if _cost(rest) >= limit:
        return None
    for place in _places(offset, rest):
        if _is_same(after, start, place, size):
            return Sighting(place, place + size, typed)
    return Sighting(start, start + size, typed, right=False)


def _is_same(after: str, one: int, other: int, size: int) -> bool:
    """Whether it makes no difference at which of two places something was inserted."""
    return one == other or after[:one] + after[one + size :] == after[:other] + after[other + size :]


def _turned(before: str, after: str, change: Change, offset: int) -> Change:
    """An insertion of what repeats itself can be told of as being at several places: here, if that is one of them."""
    if change.start != change.end or change.start == offset:
        return change
    text = after[offset : offset + len(change.text)]
    if before[:offset] + text + before[offset:] != after:
        return change
    return Change(offset, offset, text, change.version)


def _candidates(after: str, change: Change, text: str) -> Iterator[int]:
    """Where the text is, in or beside what has changed: at its edges it may look like what was there before."""
    if not change.text:
        return
    until = change.start + len(change.text) + len(text)
    start = after.find(text, max(0, change.start - len(text)), until)
    for _ in range(_CANDIDATES):
        if start < 0:
            return
        yield start
        start = after.find(text, start + 1, until)


def _typed(before: str, after: str, change: Change, start: int, size: int) -> Change:
    """What else was changed, where the text is from ``start`` on."""
    first = min(change.start, start)
    last = max(change.start + len(change.text), start + size)
    old = before[first : last - change.delta]
    new = after[first:start] + after[start + size : last]
    head = common_head(old, new)
    tail = common_tail(old[head:], new[head:])
    return Change(first + head, first + len(old) - tail, new[head : len(new) - tail], change.version)


def _places(offset: int, changes: list[Change]) -> tuple[int, int]:
    """Where an offset is after these changes: before and after what was inserted right there."""
    delta = inserted = 0
    for change in changes:
        if change.start >= offset:
            inserted = len(change.text) if change.start == change.end == offset else 0
            break
        if change.end > offset:
            return (change.start + delta + len(change.text),) * 2
        delta += change.delta
    return offset + delta, offset + delta + inserted


def _cost(changes: list[Change]) -> int:
    return sum(len(change.text) + change.end - change.start for change in changes)


def _holds(typed: str, text: str) -> bool:
    """Whether all of a text is there, with something typed into it."""
    rest = iter(typed)
    return len(text) >= _SHORTEST and all(character in rest for character in text)


def _edited(change: Change, text: str) -> list[tuple[int, int]]:
    """Where most of the text is: the person may have changed some of it by now, or the editor may have indented it."""
    ours, theirs = _TOKEN.findall(text), _TOKEN.findall(change.text)
    if len(ours) * len(theirs) > _LARGEST_PRODUCT:
        return []
    blocks = SequenceMatcher(None, theirs, ours, autojunk=False).get_matching_blocks()[:-1]
    same = sum(len(_essence("".join(theirs[block.a : block.a + block.size]))) for block in blocks)
    if same < _DISTINCT or same < _MOST * len(_essence(text)):
        return []
    first, last = blocks[0].a, blocks[-1].a + blocks[-1].size
    return [(change.start + len("".join(theirs[:first])), len("".join(theirs[first:last])))]


def _essence(text: str) -> str:
    return _INESSENTIAL.sub("", text)
