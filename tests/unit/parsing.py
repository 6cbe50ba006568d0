"""What the parsers' tests share: every way of splitting a text, and pieces merged for comparison."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from oi_engine.models.pieces import CodeClose, CodeOpen, CodeText, Piece, Prose, Reasoning

LANGUAGES = ("python", "shell", "javascript", "r")


def merged(pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces with neighbours of one kind joined; fails where they are not well formed."""
    found: list[Piece] = []
    inside = False
    for piece in pieces:
        match piece:
            case CodeOpen():
                assert not inside
                inside = True
            case CodeClose():
                assert inside
                inside = False
            case CodeText(text):
                assert inside
                assert text
                if found and isinstance(found[-1], CodeText):
                    found[-1] = CodeText(found[-1].text + text)
                    continue
            case Prose(text):
                assert not inside
                assert text
                if found and isinstance(found[-1], Prose):
                    found[-1] = Prose(found[-1].text + text)
                    continue
            case Reasoning(text):
                assert not inside
                assert text
        found.append(piece)
    assert not inside
    return found


def splits(text: str) -> Iterator[list[str]]:
    """Every way of splitting a text in two, and one character at a time."""
    for at in range(1, len(text)):
        yield [text[:at], text[at:]]
    if text:
        yield list(text)


def cut_at(text: str, places: Sequence[int]) -> list[str]:
    """The text cut at the places (any numbers at all)."""
    edges = sorted({place % (len(text) + 1) for place in places} | {0, len(text)})
    return [text[start:end] for start, end in itertools.pairwise(edges)]
