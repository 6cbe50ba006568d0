"""The event loop that every interpreter of a process runs on, in a thread of its own.

Whoever calls may be a script, a Jupyter cell or a coroutine with a running loop of its own: none of them is in the way
of the engine, and the engine is not in theirs. The loop starts with the first call and ends with the process.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from oi_engine.errors import OiError

if TYPE_CHECKING:
    from oi_engine.models.worker_client import ModelWorker

T = TypeVar("T")

_EXIT_SECONDS = 5.0
"""How long it may take to close everything when the process ends; kernels and workers end with it in any case."""


class Hub:
    """A loop in a thread, and what all interpreters share on it: a model worker for each set of provider keys."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._workers: dict[frozenset[tuple[str, str]], ModelWorker] = {}
        self._closers: set[Callable[[], Awaitable[None]]] = set()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on the loop and wait for what it returns or raises."""
        return self.start(work).result()

    async def acall(self, work: Coroutine[Any, Any, T]) -> T:
        """The same for a caller that has a loop of its own; cancelling it cancels ``work``."""
        return await asyncio.wrap_future(self.start(work))

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run ``work`` on the loop. Raises ``OiError`` on the loop itself, which would wait for itself for ever."""
        loop = self._running()
        if self._thread is threading.current_thread():
            work.close()
            raise OiError(
                "An interpreter cannot be called from the thread that its engine runs in.",
                "Call it from a plain function; an asynchronous one that is set as `llm.completions` runs there.",
            )
        return asyncio.run_coroutine_threadsafe(work, loop)

    def worker(self, keys: Mapping[str, str]) -> ModelWorker:
        """The model worker that has these provider keys. To be called on the loop."""
        from oi_engine.models.worker_client import ModelWorker

        known = frozenset(keys.items())
        if known not in self._workers:
            self._workers[known] = ModelWorker(keys)
        return self._workers[known]

    def close_at_exit(self, closer: Callable[[], Awaitable[None]]) -> Callable[[], None]:
        """Have ``closer`` run on the loop when the process ends; the answer takes that back."""
        self._closers.add(closer)
        return lambda: self._closers.discard(closer)

    def close(self) -> None:
        """End everything, the loop and its thread too; the next call starts afresh."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None or not thread.is_alive():
            return
        closing = asyncio.run_coroutine_threadsafe(self._close_all(), loop)
        # What fails or lingers here must not keep the process from ending: everything ends with it.
        with contextlib.suppress(Exception):
            closing.result(_EXIT_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_EXIT_SECONDS)

    async def _close_all(self) -> None:
        closers, workers = list(self._closers), list(self._workers.values())
        self._closers.clear()
        self._workers.clear()
        await asyncio.gather(*(closer() for closer in closers), return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in workers), return_exceptions=True)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon: a script that is over must not wait for it.
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="oi-engine", daemon=True)
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


_hubs: list[Hub] = []


def hub() -> Hub:
    """The hub of this process."""
    if not _hubs:
        _hubs.append(Hub())
        atexit.register(_close)
    return _hubs[0]


def _close() -> None:
    while _hubs:
        _hubs.pop().close()


if hasattr(os, "register_at_fork"):
    # A forked child has no such thread: it starts its own.
    os.register_at_fork(after_in_child=_hubs.clear)
