"""What the fuzzer's tests share: how inputs are made of random bytes and counted, and what many of them are made of.

Each input is an example of Hypothesis, made of random bytes (``fuzz_one_input``): its own way of looking for examples
tries the same ones often, and small ones first. What fails is then given to it to be made small. ``FUZZ=10`` in the
environment does ten times as many inputs; with ``CI`` they are the same each time.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

T = TypeVar("T")

TIMES = int(os.environ.get("FUZZ", "1"))
SEED = 0 if "CI" in os.environ else None
PLANNED: dict[str, int] = {}
"""How many different inputs each test does at least."""

_BYTES = 2000
"""Random bytes for one input: more than any takes."""
_TRIES = 3
"""How often, on average, an input may turn out as one that was done before."""


def fuzzed(
    inputs: st.SearchStrategy[T], count: int, *, examples: Iterable[T] = ()
) -> Callable[[Callable[[T], object]], Callable[[], None]]:
    """Make a test of a function that is given one input: it gets the ``examples`` and ``count`` different inputs.

    The test fails where the function does, and where fewer inputs were done than were asked for.
    """

    def made(check: Callable[[T], object]) -> Callable[[], None]:
        PLANNED[f"{check.__module__}.{check.__name__}"] = count

        def test() -> None:
            with asyncio.Runner() as runner:
                run_all(inputs, check, count, examples, runner)

        test.__name__, test.__module__, test.__doc__ = check.__name__, check.__module__, check.__doc__
        return test

    return made


def run_all(
    inputs: st.SearchStrategy[T],
    check: Callable[[T], object],
    count: int,
    examples: Iterable[T] = (),
    runner: asyncio.Runner | None = None,
) -> None:
    """Give ``check`` the examples and ``count`` different inputs, times ``FUZZ``. One that is asynchronous runs in
    ``runner``."""
    wanted = count * TIMES
    seen: set[int] = set()

    def run(one: T) -> None:
        done = check(one)
        if asyncio.iscoroutine(done) and runner is not None:
            runner.run(done)
        seen.add(hash(repr(one)))

    quiet = settings(database=InMemoryExampleDatabase(), suppress_health_check=list(HealthCheck))
    test: Any = quiet(given(inputs)(run))
    source = random.Random(SEED)
    for one in examples:
        run(one)
    for _ in range(wanted * _TRIES):
        if len(seen) >= wanted:
            return
        try:
            test.hypothesis.fuzz_one_input(source.randbytes(_BYTES))
        except Exception:
            test()  # it has kept the input, and fails with the smallest that does the same
            raise
    raise AssertionError(f"only {len(seen)} of {wanted} inputs were different")


def property_of(test: Any) -> Any:
    """What a test of Hypothesis, for which there is one already, does with one input."""
    return test.hypothesis.inner_test


class Dice:
    """Choices made of bytes; when there are no more, the first of everything. Two are alike that chose alike."""

    def __init__(self, data: bytes) -> None:
        self._data = iter(data)
        self._chosen: list[int] = []

    def __repr__(self) -> str:
        return f"<{self._chosen}>"

    def below(self, count: int) -> int:
        """A number from 0 to less than ``count``, which is 256 at most."""
        self._chosen.append(next(self._data, 0) % count)
        return self._chosen[-1]

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def some(self, options: Sequence[T], most: int) -> list[T]:
        """Some of the options, in any order and often."""
        return [self.pick(options) for _ in range(self.below(most + 1))]

    def text(self, pieces: Sequence[str], most: int = 6) -> str:
        """Some of the pieces in a row."""
        return "".join(self.some(pieces, most))

    def json(self, depth: int = 3) -> Any:
        """Any value of JSON, and what Python's reader takes besides: numbers that are none, half surrogate pairs."""
        kind = self.below(len(ATOMS) + 12)
        if kind < len(ATOMS) or depth == 0:
            return ATOMS[kind % len(ATOMS)]
        if kind % 2:
            return [self.json(depth - 1) for _ in range(self.below(4))]
        return {self.pick(NAMES): self.json(depth - 1) for _ in range(self.below(4))}


ODD = ("a", "\x00", "\x1b", "\x7f", "\x85", "\u202e", "\u2028", "é", "\U0001f600", "\ud800", "²", "\r", "\n", "0" * 30)
"""Characters that are trouble somewhere."""
ATOMS: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        300,
        2**31,
        2**63,
        -(2**70),
        10**400,
        0.5,
        -0.0,
        1e308,
        float("nan"),
        float("-inf"),
    ),
    *("", "x", "é\U0001f600", "\ud800", "\x00\x1b[2J", "x" * 300, "../..", "%help", "true", "0", "²", [], {}),
)
NAMES = (
    "",
    "id",
    "type",
    "text",
    "content",
    "language",
    "code",
    "role",
    "jsonrpc",
    "method",
    "__proto__",
    "\ud800",
    "é",
)


def dice(size: int = 80) -> st.SearchStrategy[Dice]:
    """Choices, for inputs that are made by hand. They are drawn as one number, which is the quickest."""
    return st.integers(0, 256**size - 1).map(lambda number: Dice(number.to_bytes(size, "little")))


def texts(*pieces: str, length: int = 12) -> st.SearchStrategy[str]:
    """Texts of so many pieces at most: those given, which mean something to a reader, and now and then another."""
    table = (*pieces, *ODD)
    return dice(length + 1).map(lambda drawn: drawn.text(table, length))


CUTS = dice(11).map(lambda drawn: drawn.some(range(10), 10))
"""Where a text is cut: the lengths of its pieces; what is left over is the last."""


def cut(text: T, lengths: Sequence[int]) -> Iterator[T]:
    """A text, or bytes, in pieces of these lengths and a rest; a piece may be empty."""
    whole: Any = text
    edges = [0, *(at for at in accumulate(lengths) if at < len(whole)), len(whole)]
    for start, end in pairwise(edges):
        yield whole[start:end]
