"""What runs change on disk: how long a look at a folder of 10,000 files takes, beside the least that it could."""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.rows import Row
from oi_engine.changes.entries import Snapshot
from oi_engine.changes.revert import revert
from oi_engine.changes.workspace import Workspace

FOLDERS, EACH = 500, 20
_SETTLED = 2.1
"""Seconds after which no time stamp is in doubt."""


def _words(seed: random.Random, size: int) -> bytes:
    """Text about as compressible as source code."""
    names = ["self", "return", "import", "value", "for", "in", "None", "def", "=", "(", ")", ":", "\n    ", "\n"]
    parts: list[str] = []
    length = 0
    while length < size:
        word = seed.choice(names) if seed.random() < 0.7 else f"name_{seed.randrange(5000)}"
        parts.append(word)
        length += len(word) + 1
    return " ".join(parts).encode()


@contextmanager
def _folder() -> Iterator[tuple[Path, Path]]:
    """A workspace of 10,000 files in 500 folders, 4 kB each on the average, and a folder for stores."""
    seed = random.Random(5)
    texts = [_words(seed, 20_000) for _ in range(20)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "work"
        for number in range(FOLDERS):
            inner = root / f"d{number % 25}" / f"s{number}"
            inner.mkdir(parents=True)
            for at in range(EACH):
                text, size = seed.choice(texts), min(int(seed.lognormvariate(7.9, 0.9)), 20_000)
                begin = seed.randrange(20_000 - size + 1)
                (inner / f"f{at}.py").write_bytes(f"# {number} {at}\n".encode() + text[begin : begin + size])
        (root / ".gitignore").write_text("*.log\n*.pyc\nbuild/\n/dist\n!keep.log\n")
        time.sleep(_SETTLED)
        yield root, Path(folder) / "stores"


def _timed(call: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def _median(call: Callable[[], object], rounds: int = 9) -> float:
    return statistics.median(_timed(call) for _ in range(rounds))


def _stat_all(root: str) -> int:
    """The least that has to be done to see every change: list and stat."""
    todo, count = [root], 0
    while todo:
        with os.scandir(todo.pop()) as listing:
            for entry in listing:
                entry.stat(follow_symlinks=False)
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
    return count


def _copy(root: Path, target: Path) -> None:
    """The plain way to keep everything."""
    shutil.copytree(root, target)


def _git(root: Path, store: Path, *words: str) -> None:
    subprocess.run(["git", f"--git-dir={store}", f"--work-tree={root}", *words], check=True, capture_output=True)


async def ten_thousand_files() -> list[Row]:
    """The first look, the next ones, the next process's first one, and taking a change back."""
    with _folder() as (root, stores):
        workspace = Workspace(str(root), stores)
        first = _timed(workspace.snapshot)
        rows = [
            Row("changes: the first look (baseline: copytree)", first, _plain(root, stores), "ms", "≤ 1000 ms"),
            Row("changes: the next look (baseline: stat alone)", *_next(workspace, root), "ms", "≤ 100 ms"),
        ]
        rows.append(_after_a_run(workspace, root))
        rows += _revert(workspace, root)
        size = workspace.store.total / 1e6
        files = sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) / 1e6
        workspace.close()
        again = Workspace(str(root), stores)
        rows.append(Row("changes: the first look of the next process", _timed(again.snapshot), None, "ms", ""))
        again.close()
        rows.append(Row("changes: what is kept (baseline: the files)", size, files, "MB", ""))
        if shutil.which("git"):
            store = stores / "git"
            _git(root, store, "init", "-q")
            rows.append(
                Row("changes: git add of the same, then again", _timed(lambda: _git(root, store, "add", "-A")),
                    _timed(lambda: _git(root, store, "add", "-A")), "ms", "")
            )  # fmt: skip
        return rows


def _plain(root: Path, stores: Path) -> float:
    return _timed(lambda: _copy(root, stores.parent / "copy"))


def _next(workspace: Workspace, root: Path) -> tuple[float, float]:
    before = workspace.snapshot()
    looked = _median(lambda: workspace.changes(before, workspace.snapshot(before)))
    return looked, _median(lambda: _stat_all(str(root)))


def _after_a_run(workspace: Workspace, root: Path) -> Row:
    """A run that wrote 20 files: looked at, compared, recorded."""
    times = []
    for number in range(7):
        before: Snapshot = workspace.snapshot()
        for at in range(20):
            (root / f"d{at}" / f"s{at}" / "f0.py").write_text(f"new {number} {at}\n")

        def look(before: Snapshot = before) -> None:
            workspace.record("s", workspace.changes(before, workspace.snapshot(before)))

        times.append(_timed(look))
    return Row("changes: the look after a run that wrote 20 files", statistics.median(times), None, "ms", "≤ 100 ms")


def _revert(workspace: Workspace, root: Path) -> list[Row]:
    *_, last = workspace.store.sets("s")
    assert len(last.files) == 20
    return [Row("changes: taking 20 files back", _timed(lambda: revert(workspace, last)), None, "ms", "")]


BENCHES = [ten_thousand_files]
