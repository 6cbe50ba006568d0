"""What the fuzzer's tests share: how inputs are counted, and texts made of what means something somewhere.

An example of Hypothesis holds many inputs, as each example costs more than most inputs do. ``FUZZ=10`` in the
environment does ten times as many.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

T = TypeVar("T")

TIMES = int(os.environ.get("FUZZ", "1"))
PLANNED: dict[str, int] = {}
"""How many inputs each test does at least."""

_PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)


def fuzzed(
    inputs: st.SearchStrategy[T], count: int, *, each: int = 20, examples: Iterable[T] = ()
) -> Callable[[Callable[[T], object]], Callable[[], None]]:
    """Make a test of a function that is given one input: it gets ``count`` of them, and the ``examples`` first.

    The test fails where the function does, and where fewer inputs were done than were asked for.
    """

    def made(check: Callable[[T], object]) -> Callable[[], None]:
        PLANNED[f"{check.__module__}.{check.__name__}"] = count

        def test() -> None:
            run_all(inputs, check, count * TIMES, each=each, examples=examples)

        test.__name__, test.__module__, test.__doc__ = check.__name__, check.__module__, check.__doc__
        return test

    return made


def run_all(
    inputs: st.SearchStrategy[T],
    check: Callable[[T], object],
    count: int,
    *,
    each: int = 20,
    examples: Iterable[T] = (),
) -> None:
    """Give ``check`` so many inputs, ``each`` of them in one example."""
    done = 0

    def run(batch: Sequence[T]) -> None:
        nonlocal done
        for one in batch:
            try:
                check(one)
            except Exception as error:
                error.add_note(f"The input was {one!r}")
                raise
            done += 1

    test: Any = given(st.lists(inputs, min_size=each, max_size=each))(run)
    for one in examples:
        test = example([one])(test)
    settings(max_examples=-(-count // each), phases=_PHASES, suppress_health_check=list(HealthCheck))(test)()
    assert done >= count, f"only {done} of {count} inputs were done"


def texts(*pieces: str, length: int = 12) -> st.SearchStrategy[str]:
    """Texts of so many pieces at most: those given, which mean something to a reader, and now and then another."""
    # Bytes are drawn in one go, which is ten times as fast as a list of pieces.
    table = [*pieces, *_OTHERS]
    assert len(table) <= 256
    return st.binary(max_size=length).map(lambda data: "".join([table[byte % len(table)] for byte in data]))


_OTHERS = ("a", "\x00", "\x1b", "\x7f", "\x85", "\u202e", "\u2028", "é", "\U0001f600", "\ud800", "²", "\r", "\n", "0" * 30)

CUTS = st.binary(max_size=10).map(lambda data: [byte % 10 for byte in data])
"""Where a text is cut: the lengths of its pieces; what is left over is the last."""


def cut(text: T, lengths: Sequence[int]) -> Iterator[T]:
    """A text, or bytes, in pieces of these lengths and a rest; a piece may be empty."""
    whole: Any = text
    edges = [0, *(at for at in accumulate(lengths) if at < len(whole)), len(whole)]
    for start, end in pairwise(edges):
        yield whole[start:end]


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 300)
    | st.sampled_from([2**31, 2**63, -(2**70), 1e308, float("nan"), float("-inf"), 0.5, "", "\ud800", "x" * 300])
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
"""Any value of JSON, and what Python's reader takes besides: numbers that are none, half surrogate pairs."""
