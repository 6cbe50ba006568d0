"""Folders for tests whose code runs in a sandbox."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")
"""A sandbox has others of its own under these names."""


@contextmanager
def outside_scratch() -> Iterator[Path]:
    """A folder that is seen in a sandbox where it is: in the checkout, or else in the home folder."""
    for parent in (Path(__file__).parents[1], Path.home()):
        if not any(parent.resolve().is_relative_to(scratch) for scratch in SCRATCH):
            with tempfile.TemporaryDirectory(prefix=".outside-", dir=parent) as folder:
                yield Path(folder)
            return
    pytest.skip("the checkout and the home folder are where a sandbox has folders of its own")
