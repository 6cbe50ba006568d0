"""What the gate and its policy add to a block of shell code."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.rows import Row, percentile
from oi_engine.approval import Cell, Gate
from oi_engine.safety.approvals import KeptApprovals
from oi_engine.safety.policy import Policy
from oi_engine.settings import Settings
from oi_engine.settings.tree import PolicySettings


async def gate() -> list[Row]:
    """A proposal and the question whether it may run, each of a text that was never seen before."""
    rules = PolicySettings(allow=(*(f"git log{number}" for number in range(50)), "ls *"), deny=("rm", "git push"))
    settings = Settings(policy=rules)
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        kept = KeptApprovals(Path(folder) / "approvals.json")
        for number in range(50):
            kept.keep(Cell("s", "python", f"print({number})", folder))
        asked = Gate(Policy(lambda: settings), kept)
        for number in range(300):
            code = f"for name in *.py; do wc -l $name | sort > out{number}; done\n" * 5
            cell = Cell("s", "shell", f"ls folder{number}" if number % 2 else code, folder)
            begun = time.perf_counter()
            proposal = asked.propose(cell)
            asked.allowed(proposal)
            taken.append((time.perf_counter() - begun) * 1000)
            asked.withdraw(proposal.id)
    return [
        Row("gate: a shell block with 53 rules and 50 approvals, median", percentile(taken, 50), None, "ms", "1 ms")
    ]


BENCHES: list[Callable[[], Awaitable[list[Row]]]] = [gate]
