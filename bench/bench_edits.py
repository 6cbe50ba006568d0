"""Inline edits: the hunks of long files, beside difflib's opcodes of the same lines."""

from __future__ import annotations

import difflib
import random
import statistics
import time
from collections.abc import Callable

from bench.rows import Row
from oi_engine.edits.alignment import Change
from oi_engine.edits.hunks import apply, hunks
from oi_engine.edits.proposal import Proposal

LINES = 10_000
_TARGET = "≤ 50 ms"


def _source() -> list[str]:
    """Lines as programs have them: some alike, many not, some blank."""
    rng = random.Random(4)
    lines: list[str] = []
    while len(lines) < LINES:
        name = f"part_{len(lines)}"
        lines += [f"def {name}(value):\n", f"    total = value * {rng.randrange(99)}\n"]
        lines += [f"    total += step({rng.randrange(9999)})\n" for _ in range(rng.randrange(4, 9))]
        lines += ["    return total\n", "\n", "\n"]
    return lines[:LINES]


def _scattered(lines: list[str]) -> list[str]:
    rng = random.Random(5)
    new = list(lines)
    for at in sorted(rng.sample(range(LINES), 100), reverse=True):
        new[at : at + rng.randrange(2)] = [f"    changed({at})\n"] * rng.randrange(3)
    return new


def _identical() -> list[str]:
    rng = random.Random(6)
    return ["pass\n"] * (LINES // 2) + [f"line({rng.randrange(10**9)})\n" for _ in range(LINES // 2)]


def _twice(lines: list[str]) -> list[str]:
    """No line is unique."""
    return [line for line in lines[: LINES // 2] for _ in range(2)]


def _shuffled(lines: list[str]) -> list[str]:
    return random.Random(7).sample(lines, len(lines))


def _median(call: Callable[[], object], rounds: int) -> float:
    """Milliseconds."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


async def long_files() -> list[Row]:
    """The hunks of 10,000 lines, in several shapes."""
    source, identical, twice = _source(), _identical(), _twice(_source())
    shapes = {
        "100 scattered edits": (source, _scattered(source)),
        "every line reindented": (source, [f"    {line}" if line.strip() else line for line in source]),
        "5,000 equal lines, 100 edits": (identical, _scattered(identical)),
        "no line unique, 100 edits": (twice, _scattered(twice)),
        "shuffled": (source, _shuffled(source)),
        "no line unique, shuffled": (twice, _shuffled(twice)),
    }
    rows = []
    for name, (old, new) in shapes.items():
        before, after = "".join(old), "".join(new)
        assert apply(before, hunks(before, after)) == after
        measured = _median(lambda before=before, after=after: hunks(before, after), 7)  # type: ignore[misc]
        # difflib needs minutes for what it can do nothing with: it is not asked for that.
        slow = "shuffled" in name
        baseline = None if slow else _median(lambda old=old, new=new: _difflib(old, new), 1)  # type: ignore[misc]
        rows.append(Row(f"hunks of 10,000 lines: {name} (baseline: difflib)", measured, baseline, "ms", _TARGET))
    return rows


def _difflib(old: list[str], new: list[str]) -> None:
    difflib.SequenceMatcher(None, old, new).get_opcodes()


async def one_edit() -> list[Row]:
    """An edit of a file of 10,000 lines with about 100 hunks: while the model streams it, and while somebody types."""
    source = _source()
    old, new = "".join(source), _scattered(source)
    edit = Proposal("e", old, 0, len(old))
    heads = ["".join(new[:size]) for size in range(0, LINES, 1000)]
    streamed = [_median(lambda head=head: edit.update(head, complete=False), 1) for head in heads]  # type: ignore[misc]
    edit.update("".join(new), complete=True)
    at = old.index("part_")
    typed = _median(lambda: edit.changed(Change(at, at, "x")), 25)
    whole = _median(lambda: edit.changed(Change(0, len(edit.text), f"{edit.text[:at]}y{edit.text[at:]}")), 7)
    accepted = []
    for hunk_id in edit.open[:25]:
        began = time.perf_counter()
        write = edit.accept(hunk_id)
        edit.changed(Change(write.start, write.end, write.text))
        edit.applied(hunk_id)
        accepted.append((time.perf_counter() - began) * 1000)
    return [
        Row("edit of 10,000 lines: an update by the stream, the slowest", max(streamed), None, "ms", _TARGET),
        Row("edit with 100 hunks: a key is typed", typed, None, "ms", "≤ 5 ms"),
        Row("edit with 100 hunks: the same, all of the text is sent", whole, None, "ms", "≤ 20 ms"),
        Row("edit with 100 hunks: one is accepted", statistics.median(accepted), None, "ms", "≤ 5 ms"),
    ]


BENCHES = [long_files, one_edit]
