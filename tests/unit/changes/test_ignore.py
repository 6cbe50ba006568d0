"""The ignore rules are git's: on random trees and patterns, what a snapshot has is what git would add."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oi_engine.changes.workspace import Workspace

NAMES = st.sampled_from(["a", "b", "c.log", "d.txt", "x y", ".e"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PATTERNS = st.one_of(
    st.sampled_from(
        ["*.log", "!*.log", "/a", "a/", "!a/", "a/b", "**/b", "a/**", "a/**/b", "*", "!*/", "?", "[ab]", "[!a]",
         "x\\ y", "# no", "\\#", "!", "", " ", "b ", "/", "a/*", "!a/b", ".*", "**", "*.t?t"]
    ),
    st.lists(st.sampled_from(["a", "b", "*", "**", "?", "c.log", "/", "!"]), min_size=1, max_size=5).map("".join),
)  # fmt: skip
FILES = st.lists(PATTERNS, max_size=5).map("\n".join)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=60)
@given(st.lists(PATHS, max_size=8), st.dictionaries(st.sampled_from(["", "a", "b", "a/b"]), FILES, max_size=3))
def test_what_is_followed_is_what_git_would_add(paths: list[str], patterns: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "work"
        root.mkdir()
        made = [*paths, *(f"{at}/.gitignore".lstrip("/") for at in patterns)]
        for path in made:
            try:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(patterns.get(path.removesuffix(".gitignore").rstrip("/"), "x"))
            except (NotADirectoryError, FileExistsError, IsADirectoryError):
                continue  # a file and a folder of one name
        git = ["git", "-c", "core.excludesFile=", "-C", str(root)]
        subprocess.run([*git, "init", "-q"], check=True)
        listed = subprocess.run([*git, "ls-files", "-coz", "--exclude-standard"], check=True, capture_output=True)
        wanted = {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}
        workspace = Workspace(str(root), Path(folder) / "stores")
        try:
            entries = workspace.snapshot().entries
        finally:
            workspace.close()
        assert {path for path, entry in entries.items() if entry.what != "folder"} == wanted
