"""Counting tokens: an estimate first, counts where they matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define, field

from oi_engine.errors import ModelError
from oi_engine.models.tokens import count, doubtful, estimate, images_in, size, text_of


@define(eq=False)
class Piece:
    text: str
    tokens: int | None = None
    extra: int = 4

    @property
    def estimate(self) -> int:
        return estimate(self.text) + self.extra


@define
class Counter:
    counts: list[int]
    failure: ModelError | None = None
    asked: list[str] = field(factory=list)

    async def count(self, texts: Sequence[str]) -> list[int]:
        self.asked = list(texts)
        if self.failure is not None:
            raise self.failure
        return self.counts


def test_estimates() -> None:
    assert [estimate(text) for text in ("", "abc", "abcd", "日本", "\ud800")] == [0, 1, 2, 2, 1]


def test_text_of_messages() -> None:
    call = {"function": {"name": "execute", "arguments": "{}"}}
    image = {"type": "image_url", "image_url": {"url": "data:"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "a"}, image]},
        {"role": "assistant", "content": "b", "tool_calls": [call]},
    ]
    assert text_of(messages) == "a\nb\nexecute\n{}"
    assert images_in(messages) == 1


def test_nothing_is_counted_where_everything_surely_fits() -> None:
    assert doubtful([Piece("x" * 300)] * 10, 10_000) == []


def test_only_what_may_fit_is_counted() -> None:
    pieces = [Piece("x" * 300) for _ in range(100)]
    pieces[1].tokens = 100
    asked = doubtful(pieces, 500)
    assert 5 <= len(asked) <= 10
    assert asked[0] is pieces[0]
    assert pieces[1] not in asked


async def test_counts_are_kept() -> None:
    pieces = [Piece("a"), Piece("b")]
    counter = Counter([7, 9])
    await count(counter, pieces)
    assert counter.asked == ["a", "b"]
    assert [size(piece) for piece in pieces] == [11, 13]


async def test_counts_that_cannot_be_had_leave_the_estimate() -> None:
    piece = Piece("abc")
    await count(Counter([], ModelError("worker_died", "Gone.")), [piece])
    await count(None, [piece])
    assert size(piece) == 5
