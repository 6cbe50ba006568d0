"""The stored conversations, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from oi_engine.errors import OiError

if TYPE_CHECKING:
    from oi_engine.history.store import Store

T = TypeVar("T")


class Library:
    """One open store, which a thread of its own reads and writes. ``on_notice`` is told what was found on opening."""

    def __init__(self, path: Callable[[], Path | None], on_notice: Callable[[str], None]) -> None:
        self._path = path
        self._on_notice = on_notice
        self._thread = ThreadPoolExecutor(1, "oi-history")
        self._store: Store | None = None

    async def use(self, work: Callable[[Store], T]) -> T:
        """Have work done with the store. Raises ``HistoryError``, and ``OiError`` where nothing is kept."""
        path = self._path()
        if path is None:
            raise OiError("No conversations are kept.", "Set conversation_history to true and start the server anew.")
        loop = asyncio.get_running_loop()

        def do() -> T:
            return work(self._opened(path, loop))

        return await loop.run_in_executor(self._thread, do)

    async def close(self) -> None:
        """Let go of the store. What waits is not done."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._store is not None:
            await asyncio.to_thread(self._store.close)

    def _opened(self, path: Path, loop: asyncio.AbstractEventLoop) -> Store:
        if self._store is None:
            from oi_engine.history.store import Store

            self._store = Store(path)
            for notice in self._store.notices:
                loop.call_soon_threadsafe(self._on_notice, notice)
        return self._store
