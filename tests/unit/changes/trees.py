"""Trees of files as values, for tests: a path to what is there, and the tree of a folder on disk."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

Node = tuple[str, int, bytes]
"""``("file", mode, content)``, ``("link", 0, target)`` or ``("folder", mode, b"")``."""
Tree = dict[bytes, Node]


def write(root: Path, tree: Mapping[bytes, Node]) -> None:
    """Make a folder be exactly that tree, whatever it was."""
    top = os.fsencode(root)
    for name in os.listdir(top):
        inner = os.path.join(top, name)
        if os.path.isdir(inner) and not os.path.islink(inner):
            shutil.rmtree(inner)
        else:
            os.unlink(inner)
    for path, (kind, mode, content) in sorted(tree.items()):
        inner = os.path.join(top, path)
        if kind == "folder":
            os.mkdir(inner)
        elif kind == "link":
            os.symlink(content, inner)
        else:
            with open(inner, "wb") as file:
                file.write(content)
            os.chmod(inner, mode)
    for path, (kind, mode, _) in tree.items():
        if kind == "folder":
            os.chmod(os.path.join(top, path), mode)


def edit(root: Path, before: Mapping[bytes, Node], after: Mapping[bytes, Node]) -> None:
    """Do to a folder what makes one tree of the other, in place: what is in both and equal is not touched."""
    top = os.fsencode(root)
    for path in sorted(before.keys() - after.keys() | _retyped(before, after), reverse=True):
        inner = os.path.join(top, path)
        os.rmdir(inner) if before[path][0] == "folder" else os.unlink(inner)
    for path, node in sorted(after.items()):
        kind, mode, content = node
        inner = os.path.join(top, path)
        if before.get(path) == node and path not in _retyped(before, after):
            continue
        if kind == "folder":
            os.makedirs(inner, exist_ok=True)
            os.chmod(inner, mode)
        elif kind == "link":
            if os.path.lexists(inner):
                os.unlink(inner)
            os.symlink(content, inner)
        else:
            if os.path.lexists(inner):
                os.chmod(inner, 0o600)
            with open(inner, "wb") as file:
                file.write(content)
            os.chmod(inner, mode)


def _retyped(before: Mapping[bytes, Node], after: Mapping[bytes, Node]) -> set[bytes]:
    return {path for path in before.keys() & after.keys() if before[path][0] != after[path][0]}


def read(root: Path) -> Tree:
    """The tree of a folder."""
    found: Tree = {}
    top = os.fsencode(root)
    for folder, folders, files in os.walk(top):
        for name in [*folders, *files]:
            inner = os.path.join(folder, name)
            path, mode = os.path.relpath(inner, top), os.lstat(inner).st_mode
            if stat.S_ISLNK(mode):
                found[path] = ("link", 0, os.readlink(inner))
            elif stat.S_ISDIR(mode):
                found[path] = ("folder", stat.S_IMODE(mode), b"")
            elif stat.S_ISREG(mode):
                with open(inner, "rb") as file:
                    found[path] = ("file", stat.S_IMODE(mode), file.read())
    return found
