"""What of a folder is not followed: caches and the like by their names, and what ``.gitignore`` files say.

The semantics are git's (``gitignore(5)``), by pathspec: the file that is nearest to a path and has a pattern for it
decides, and what lies in an ignored folder is ignored. Files of the folders above count up to the top of the
repository, as does ``.git/info/exclude``. Git's own settings outside of the folder are not read.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from attrs import define, field, frozen
from pathspec import GitIgnoreSpec, RegexPattern

from oi_engine.changes.entries import Signature, signature

log = logging.getLogger(__name__)

ALWAYS = frozenset(
    {
        ".git", ".hg", ".svn", ".jj",
        "node_modules", ".venv", "venv", "site-packages",
        "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".nox", ".hypothesis",
        ".ipynb_checkpoints", ".cache", ".gradle", ".terraform", ".ds_store", "thumbs.db",
    }
)  # fmt: skip
"""Names, in lower case, that are never followed: what others manage, and what is made again by itself."""
CONVERSATIONS, PICTURES = ".oi.md", ".files"
"""Chat documents, and the folders of their pictures, are written while a run goes on, and say what came of it."""

_STAR, _FOLDERS, _ANYWHERE = "[^/]*", "(?:/.+)?", "^(?:.+/)?"
"""What pathspec makes of ``*``, of ``/**`` and of ``**/`` at the beginning."""
_FOLDER = "ps_d"
"""The group by which pathspec's patterns mark the slash behind a folder; the test against git holds it."""

NAME = ".gitignore"
LARGEST = 1_000_000
"""Bytes of a file of patterns that are read."""
LONGEST = 4096
"""Characters of a pattern: a path has no more."""


@frozen(eq=False)
class Patterns:
    """The patterns of one file, for the paths below ``base`` (absolute, with a slash at its end)."""

    base: str
    patterns: tuple[RegexPattern, ...]
    """The last one first, since it decides."""


Chain = tuple[Patterns, ...]
"""What counts in a folder: the patterns from the outermost file to the innermost."""


def ignored(chain: Chain, path: str) -> bool:
    """Whether the patterns ignore an absolute path, which ends with a slash if it is a folder."""
    for patterns in reversed(chain):
        inner = path[len(patterns.base) :]
        for pattern in patterns.patterns:
            if _means(pattern, inner):
                return bool(pattern.include)
    return False


def _means(pattern: RegexPattern, path: str) -> bool:
    """Whether a pattern is of this very path.

    pathspec has it match what lies in a folder that it matches, too. Here an ignored folder is not entered, and what is
    in one that a pattern takes back must be decided by itself, as git does.
    """
    regex = pattern.regex
    if regex is None or (found := regex.search(path)) is None:
        return False
    if _FOLDER not in regex.groupindex:
        return not (path.endswith("/") and found.end() == len(path))  # ``a/**`` is not ``a`` itself
    # The slash after what was matched: none, the one that says that it is a folder, or perhaps an earlier one.
    return found.end(_FOLDER) in (-1, len(path)) or regex.search(path, len(path) - 1) is not None


@define
class PatternFiles:
    """Pattern files that were read, and what they said of names, kept as long as they are as they were."""

    _read: dict[str, tuple[Signature, Patterns]] = field(factory=dict)
    _decided: dict[str, tuple[Chain, dict[str, bool]]] = field(factory=dict)

    def above(self, folder: str) -> Chain:
        """The patterns of the folders above, and of the repository that they are in."""
        if os.path.lexists(os.path.join(folder, ".git")):
            return self._all([(folder, os.path.join(folder, ".git", "info", "exclude"))])
        outer = [str(parent) for parent in Path(folder).parents]
        for at, parent in enumerate(outer):
            if os.path.lexists(os.path.join(parent, ".git")):
                files = [(parent, os.path.join(parent, ".git", "info", "exclude"))]
                return self._all([*files, *((inner, os.path.join(inner, NAME)) for inner in outer[at::-1])])
        return ()

    def of(self, folder: str, found: os.stat_result | None = None) -> Chain:
        """The patterns of the ``.gitignore`` in a folder: one, or none where it has no such file."""
        patterns = self._patterns(folder, os.path.join(folder, NAME), found)
        return () if patterns is None else (patterns,)

    def decisions(self, folder: str, chain: Chain) -> dict[str, bool]:
        """What the chain was found to say of the names in a folder so far; what is added to it is remembered."""
        before, decided = self._decided.get(folder, ((), {}))
        if before != chain:
            decided = {}
        self._decided[folder] = (chain, decided)
        return decided

    def _all(self, files: Iterable[tuple[str, str]]) -> Chain:
        found = (self._patterns(base, path) for base, path in files)
        return tuple(patterns for patterns in found if patterns is not None)

    def _patterns(self, base: str, path: str, found: os.stat_result | None = None) -> Patterns | None:
        try:
            found = os.lstat(path) if found is None else found
            if not stat.S_ISREG(found.st_mode):  # git follows no link here either
                return None
            now = signature(found)
            known = self._read.get(path)
            if known is not None and known[0] == now:
                return known[1]
            with open(path, "rb") as file:
                text = file.read(LARGEST).decode("utf-8", "surrogateescape")
        except OSError:  # there is none, or none that can be read
            return None
        patterns = Patterns(os.path.join(base, ""), _patterns_in(text, path))
        self._read[path] = (now, patterns)
        return patterns


def _patterns_in(text: str, path: str) -> tuple[RegexPattern, ...]:
    """What is written in a file; a line that is no pattern is left out, as git does."""
    found: list[RegexPattern] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        if len(line) > LONGEST:
            continue
        try:
            spec = GitIgnoreSpec.from_lines([line.removesuffix("\r")])
            found += [
                RegexPattern(re.compile(_in_time(pattern.regex.pattern)), pattern.include)
                for pattern in spec.patterns
                if pattern.include is not None and pattern.regex is not None
            ]
        except (ValueError, re.error):
            log.info("A line of %s is no pattern.", path)
    return tuple(reversed(found))


def _in_time(regex: str) -> str:
    """The same regular expression, so that no path takes long: who wrote the patterns may mean harm.

    Where wildcards follow one another, each but the last of them takes the first place at which what comes after it
    fits. No other could be better, since the next wildcard can make up for it; so none is tried (as in ``fnmatch``).
    """
    first, *rest = map(_stars_in_time, regex.split(_FOLDERS))
    if not rest:
        return first
    if first.startswith(_ANYWHERE):
        first = f"^(?>(?:.+?/)??{first.removeprefix(_ANYWHERE)}(?=/))"
    return "".join([first, *(f"(?>(?:/.+?)??{part}(?=/))" for part in rest[:-1]), _FOLDERS, rest[-1]])


def _stars_in_time(regex: str) -> str:
    first, *rest = regex.split(_STAR)
    parts = [f"(?>[^/]*?{part})" if "/" not in part.replace("[^/]", "") else _STAR + part for part in rest[:-1] if part]
    return "".join([first, *parts, *(_STAR + part for part in rest[-1:])])
