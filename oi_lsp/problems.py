"""What is wrong with the person's settings, as the editor shows it: in the file, and in one message."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from oi_engine.settings.layers import Problem

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}


class Problems:
    """Publishes the problems of each file, takes back what is no longer so, and says what is new in one message."""

    def __init__(self, publish: Callable[[str, Sequence[types.Diagnostic]], None], say: Callable[[str], None]) -> None:
        self._publish = publish
        self._say = say
        self._files: set[str] = set()
        self._said: list[str] = []

    def show(self, problems: Iterable[Problem]) -> None:
        """Show these, and no others any more."""
        problems = list(problems)
        files: dict[str, list[types.Diagnostic]] = {file: [] for file in self._files}
        for problem in problems:
            if os.path.isabs(problem.where):
                files.setdefault(problem.where, []).append(_diagnostic(problem))
        for file, found in files.items():
            self._publish(Path(file).as_uri(), found)
        self._files = {file for file, found in files.items() if found}
        now = [str(problem) for problem in problems if problem.severity != "note"]
        if fresh := [sentence for sentence in now if sentence not in self._said]:
            self._say("\n".join(fresh))
        self._said = now


def _diagnostic(problem: Problem) -> types.Diagnostic:
    """The problem at its line, from the column on; at the first line where it is the whole file's."""
    line = max((problem.line or 1) - 1, 0)
    start = types.Position(line, max((problem.column or 1) - 1, 0))
    return types.Diagnostic(
        types.Range(start, types.Position(line + 1, 0)),
        problem.message,
        severity=_SEVERITIES[problem.severity],
        source="oi-lsp",
    )
