"""The empty folders that a sandbox makes in a workspace, so that code cannot make them, and how they go again.

While a sandbox is set up in a workspace, and until all that ran in it is gone, a lock is shared on the folder itself:
by whoever starts it, then by its supervisor. The last one to leave, who gets the lock alone, removes what was made and
is still empty (``supervisor.give_back``); before that nothing is removed, as a mount in another sandbox would go too.
What was made is told from what is the person's own by its sticky bit: so it goes later, too, where a machine was
switched off meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from oi_engine.errors import KernelFailed

MADE = 0o1777
"""The mode of a folder that is made here, before the umask."""
_TRIES, _PAUSE = 100, 0.01
"""Whoever leaves holds the lock alone for less than a millisecond."""


@asynccontextmanager
async def held(folder: str) -> AsyncGenerator[int | None, None]:
    """Hold a workspace: a descriptor that keeps the lock in whoever inherits it; ``None`` where there are no locks.

    Raises ``KernelFailed`` where another program keeps the folder locked.
    """
    descriptor = await _locked(folder) if sys.platform == "linux" else None
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


async def _locked(folder: str) -> int | None:
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None  # that it is not there is said where it is used
    try:
        for _ in range(_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                await asyncio.sleep(_PAUSE)
            else:
                return descriptor
    except OSError:
        os.close(descriptor)
        return None  # a file system without locks
    except asyncio.CancelledError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    raise KernelFailed(f"Another program has locked {folder}.", "A sandbox is set up there once it is free.")
