"""Watches files of settings: says so, on the event loop, when one of them has become another.

The system's events (watchdog) only say when to look: what counts is whether a file's identity, size or times are others
than before. So it does not matter how an editor saves (in place, or a new file in the place of the old), and a file may
come and go. Where the system has no watches left, the files are looked at once a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch

log = logging.getLogger(__name__)

QUIET = 0.1
"""Seconds without an event after which the files are looked at: an editor saves in several steps."""
LATEST = 1.0
"""Seconds after the first event at which they are looked at in any case."""
POLL = 1.0
"""Seconds between two looks where the system tells of nothing."""
SLOW_POLL = 10.0
"""Seconds between two looks where it tells of most things: network file systems do not tell."""

Signature = tuple[int, int, int, int] | None


class FileWatcher:
    """Calls ``changed`` on the event loop, one call at a time, after any of ``files()`` has changed.

    ``files`` is asked again at each look, so that it may answer others with time. The files need not exist, nor their
    folders. ``start`` before reading them for the first time, so that no change is missed.
    """

    def __init__(self, files: Callable[[], Iterable[Path]], changed: Callable[[], Awaitable[None]]) -> None:
        self._files = files
        self._changed = changed
        self._touched = asyncio.Event()
        self._seen: dict[Path, Signature] = {}
        self._watched: dict[Path, tuple[ObservedWatch, int]] = {}  # with the folder's own number
        self._gone: set[Path] = set()
        self._observer: BaseObserver | None = None
        self._task: asyncio.Task[None] | None = None
        self._polls = False
        self._scheduling = threading.Lock()

    @property
    def polls(self) -> bool:
        """Whether there are no events of the system, so that the files are looked at once a second."""
        return self._polls

    async def start(self) -> None:
        """Begin. What changes from here on is told."""
        self._observer = await asyncio.to_thread(_make_observer)
        self._polls = self._observer is None
        await self._follow()
        self._seen = await asyncio.to_thread(self._look)
        self._task = asyncio.create_task(self._run(), name="watch settings")

    def look(self) -> None:
        """Take up ``files()`` anew, after it has come to answer others."""
        self._touched.set()

    async def close(self) -> None:
        """End, the thread of the observer included. Can be called twice."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self._end_observer()

    async def _run(self) -> None:
        while True:
            await self._wait()
            await self._follow()
            now = await asyncio.to_thread(self._look)
            if now == self._seen:
                continue
            self._seen = now
            try:
                await self._changed()
            # Whatever a listener raises is its own; the next change must still be told.
            except Exception:
                log.exception("what follows a change of settings failed")

    async def _wait(self) -> None:
        """Return when it is time to look: a little after an event, or after a while without."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POLL if self._polls else SLOW_POLL):
                await self._touched.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LATEST):
                while self._touched.is_set():
                    self._touched.clear()
                    await asyncio.sleep(QUIET)
        self._touched.clear()

    def _look(self) -> dict[Path, Signature]:
        return {path: _signature(path) for path in self._files()}

    async def _follow(self) -> None:
        """Watch the folders in which something can happen to the files, and no others."""
        if self._observer is None:
            return
        try:
            await asyncio.to_thread(self._schedule, self._observer, asyncio.get_running_loop())
        except OSError as error:
            log.info("no watches left (%s): settings are looked at once a second", error)
            self._polls = True
            await self._end_observer()

    def _schedule(self, observer: BaseObserver, loop: asyncio.AbstractEventLoop) -> None:
        with self._scheduling:
            if self._observer is not observer:
                return  # it has been ended meanwhile
            wanted = _folders(self._files())
            gone, self._gone = self._gone, set()
            for folder, (watch, number) in list(self._watched.items()):
                if folder in gone or wanted.get(folder) != number:
                    observer.unschedule(watch)
                    del self._watched[folder]
            for folder, number in wanted.items():
                if folder not in self._watched:
                    handler = _handler(folder, lambda gone: loop.call_soon_threadsafe(self._notice, gone))
                    self._watched[folder] = observer.schedule(handler, str(folder)), number
            if not observer.is_alive():
                observer.start()

    def _notice(self, gone: Path | None) -> None:
        if gone is not None:
            self._gone.add(gone)
        self._touched.set()

    async def _end_observer(self) -> None:
        observer, self._observer = self._observer, None
        if observer is not None:
            await asyncio.to_thread(self._stop, observer)

    def _stop(self, observer: BaseObserver) -> None:
        with self._scheduling:
            self._watched.clear()
            observer.stop()
            if observer.is_alive():
                observer.join()


def _make_observer() -> BaseObserver | None:
    """Watchdog's observer for this system; ``None`` where it has none but polling, which is done here."""
    from watchdog.observers import Observer
    from watchdog.observers.polling import PollingObserver

    observer = Observer()
    return None if isinstance(observer, PollingObserver) else observer


def _handler(folder: Path, notice: Callable[[Path | None], object]) -> FileSystemEventHandler:
    """Passes events on from the observer's thread; with the folder, if it is itself no longer there."""
    from watchdog.events import EVENT_TYPE_CLOSED_NO_WRITE, EVENT_TYPE_OPENED, FileSystemEventHandler

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            if event.event_type in (EVENT_TYPE_OPENED, EVENT_TYPE_CLOSED_NO_WRITE):
                return  # somebody reads; we do, after each change
            itself = event.event_type in ("deleted", "moved") and event.src_path == str(folder)
            with contextlib.suppress(RuntimeError):  # the loop has closed
                notice(folder if itself else None)

    return Handler()


def _folders(files: Iterable[Path]) -> dict[Path, int]:
    """The folders to watch, with the number (inode) of each.

    For each file, and for what it is if it is a link: its folder and the one above, where it is seen if the folder is
    renamed; or, if there is no such folder, the nearest one above that there is.
    """
    found = {}
    for path in {place for file in files for place in (file, file.resolve())}:
        there = [folder for folder in path.parents if folder.is_dir()]
        for folder in there[: 2 if path.parent in there else 1]:
            with contextlib.suppress(OSError):  # it has just gone: what is above it tells
                found[folder] = folder.stat().st_ino
    return found


def _signature(path: Path) -> Signature:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
