"""What a large change really changes: some editors send what was changed in a while as one, with what lies between."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from oi_lsp.documents import Change

LARGEST = 100_000
"""Characters, old and new, up to which a change is looked into; it takes some milliseconds."""

_LARGEST_PRODUCT = 40_000
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def parts(before: str, change: Change) -> list[Change]:
    """The changes, in the order of their place, that together are this one; offsets are all in the text ``before``.

    Apply them from the last to the first.
    """
    old, new = before[change.start : change.end], change.text
    if not old or not new or len(old) + len(new) > LARGEST:
        return [change]
    found: list[Change] = []
    old_lines, new_lines = _LINE.findall(old), _LINE.findall(new)
    old_ends, new_ends = _ends(old_lines), _ends(new_lines)
    for start, end, first, last in _unequal(old_lines, new_lines):
        spans = old_ends[start], old_ends[end], new_ends[first], new_ends[last]
        found += _by_character(old, new, *spans, change)
    return found


def _by_character(old: str, new: str, start: int, end: int, first: int, last: int, change: Change) -> list[Change]:
    if (end - start) * (last - first) > _LARGEST_PRODUCT:
        return [Change(change.start + start, change.start + end, new[first:last], change.version)]
    return [
        Change(change.start + start + a, change.start + start + b, new[first + c : first + d], change.version)
        for a, b, c, d in _unequal(old[start:end], new[first:last])
    ]


def _unequal(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    # Among many lines, those that are everywhere (empty ones) tell nothing and cost much; characters always count.
    matcher = SequenceMatcher(None, old, new, autojunk=not isinstance(old, str))
    return [tuple(places) for kind, *places in matcher.get_opcodes() if kind != "equal"]  # type: ignore[misc]


def _ends(lines: list[str]) -> list[int]:
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line))
    return ends
