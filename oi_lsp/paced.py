"""Calling something soon, but not too often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Paced:
    """Calls something soon after it is asked for, but no more often than every ``pace`` seconds; ``late``: the first
    time as well."""

    def __init__(self, pace: float, call: Callable[[], None], *, late: bool = False) -> None:
        self.pace = pace
        self._call = call
        self._last = asyncio.get_running_loop().time() if late else float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def ask(self) -> None:
        """Have it called; asked for several times before it is, it is called once."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(0, self._last + self.pace - loop.time()), self._due)

    def cancel(self) -> None:
        """Call it no more for what was asked before."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        self._call()
        self._last = asyncio.get_running_loop().time()
