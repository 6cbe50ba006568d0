"""What the files of a virtual environment say of it. Nothing of it is run: it may be anybody's.

Formats: ``pyvenv.cfg`` (Python's documentation of ``site``), and the folders ``NAME-VERSION.dist-info`` of installed
packages (the PyPA specification "Recording installed projects").
"""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

from attrs import frozen

_LARGEST = 64 * 1024
"""Characters of ``pyvenv.cfg`` that are read."""
_MOST = 20_000
"""Entries of a folder of packages that are looked at."""
_VERSION = re.compile(r"^version(?:_info)?[ \t]*=[ \t]*(\d{1,3}(?:\.\d{1,5}){1,2})", re.MULTILINE)
_SYSTEM = re.compile(r"^include-system-site-packages[ \t]*=[ \t]*true", re.MULTILINE | re.IGNORECASE)
_PACKAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*?)-[^-]+\.dist-info")


@frozen
class VirtualEnvironment:
    """``version`` of its Python, "" where that is not said; ``packages``: those in it, normalized names.

    ``sees_more``: it has the packages of the Python that it was made of, too, which were not looked at.
    """

    version: str
    packages: frozenset[str]
    sees_more: bool


def read_environment(python: Path) -> VirtualEnvironment | None:
    """The environment that ``FOLDER/bin/python`` is of; ``None`` where its files are not those of one."""
    folder = python.parent.parent
    try:
        said = folder / "pyvenv.cfg"
        if not said.is_file():
            return None
        with said.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_LARGEST)
        packages = frozenset(name for site in folder.glob("lib/python3*/site-packages") for name in _packages(site))
    except OSError:
        return None
    version = _VERSION.search(text)
    return VirtualEnvironment(version[1] if version else "", packages, _SYSTEM.search(text) is not None)


def _packages(site: Path) -> list[str]:
    with os.scandir(site) as entries:
        names = [entry.name for entry in itertools.islice(entries, _MOST)]
    found = (_PACKAGE.fullmatch(name) for name in names)
    return [re.sub(r"[-_.]+", "-", match[1]).lower() for match in found if match]
