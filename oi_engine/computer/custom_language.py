"""Languages that somebody brings along, in the shape that Open Interpreter documents for them.

::

    class Sums:                       # a class, made without arguments when it is first used, or an object
        name = "sums"                 # what the model calls it
        aliases = ["sum"]             # optional, as the next two
        file_extension = "txt"
        system_message = "…"          # appended to the model's instructions

        def run(self, code):          # yields dictionaries, LMC messages or chunks; ``role`` may be missing
            yield {"type": "console", "format": "output", "content": "…"}

        def stop(self): ...           # ends what runs
        def terminate(self): ...      # ends whatever there is

``run`` works in a thread that belongs to the language, always the same one; ``stop`` and ``terminate`` are called from
others.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import queue
import threading
import traceback
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from attrs import frozen

from oi_engine.computer.languages import canonical
from oi_engine.computer.runtime import ActiveLine, Finished, Rich, RunEvent, Text
from oi_engine.errors import InvalidSetting, KernelFailed, SessionBusy, UnknownInput

_log = logging.getLogger(__name__)

_BACKLOG = 256
"""Events that wait for the reader; the program waits when there are more."""
_STOP_SECONDS = 0.95
_TERMINATE_SECONDS = 3.0
_IMAGES: dict[str, str] = {".png": "base64.png", ".jpg": "base64.jpeg", ".jpeg": "base64.jpeg"}


@frozen
class CustomLanguage:
    """What is known of a language that was brought along. ``given``: the class or the object itself."""

    name: str
    title: str
    given: Any
    aliases: tuple[str, ...] = ()
    system_message: str = ""
    file_extension: str = ""

    @classmethod
    def of(cls, given: Any) -> CustomLanguage:
        """The language that a class or an object describes. Raises ``InvalidSetting`` with what it lacks."""
        title = getattr(given, "name", None)
        if not isinstance(title, str) or not title.strip():
            raise InvalidSetting(f"computer.languages: {given!r} has no `name` that is a text.")
        for method in ("run", "stop", "terminate"):
            if not callable(getattr(given, method, None)):
                raise InvalidSetting(f"computer.languages: {title} has no method `{method}`.")
        return cls(
            canonical(title) or title.strip().lower(),
            title,
            given,
            tuple(str(alias).lower() for alias in getattr(given, "aliases", None) or ()),
            str(getattr(given, "system_message", None) or ""),
            str(getattr(given, "file_extension", None) or ""),
        )

    def make(self) -> Any:
        """The object that runs code."""
        return self.given() if isinstance(self.given, type) else self.given


class CustomRuntime:
    """Runs the cells of one language that was brought along; see ``Runtime``."""

    def __init__(self, language: CustomLanguage) -> None:
        self._language = language
        self._worker: _Worker | None = None
        self._made: Any = None
        self._cell: _Cell | None = None

    @property
    def alive(self) -> bool:
        """Whether the object is there and can take a cell."""
        return self._worker is not None

    async def start(self) -> None:
        """Make the object; nothing happens where it is there. Raises ``KernelFailed`` where its class fails."""
        if self.alive:
            return
        worker = _Worker(self._language.name)
        try:
            self._made = await worker.call(self._language.make)
        except Exception as error:  # whatever the class raises
            worker.end()
            raise KernelFailed(f"{self._language.title} could not be made: {type(error).__name__}: {error}.") from error
        self._worker = worker

    async def run(self, code: str) -> AsyncGenerator[RunEvent, None]:
        """Run one cell; see ``Runtime.run``. Raises ``SessionBusy`` where one runs already."""
        if self._cell is not None:
            raise SessionBusy("A cell runs already.", "Wait for it, or stop it.")
        cell = self._cell = _Cell()
        try:
            await self.start()
            assert self._worker is not None
            made = self._made
            self._worker.post(lambda: cell.work(made, code))
            async for event in cell.events():
                yield event
        finally:
            if self.alive and not await self.interrupt():
                await self.close()
            self._cell = None

    def answer(self, text: str) -> None:
        """Raises ``UnknownInput``: such a language has no way to ask."""
        raise UnknownInput("No program waits for input.")

    async def interrupt(self) -> bool:
        """Call ``stop``, and read no more of what ``run`` yields; whether the cell has ended within a second."""
        cell = self._cell
        if cell is None or cell.ended.is_set() or not self.alive:
            return True
        cell.stop()
        _call_aside(self._made.stop, f"{self._language.title}: stop() failed.")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(cell.ended.wait(), _STOP_SECONDS)
        return cell.ended.is_set()

    async def close(self) -> None:
        """Call ``terminate``. A thread that does not end is left behind; what it yields is not read."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        if self._cell is not None:
            self._cell.stop()
            self._cell.put(Finished("died", "terminated"))
        called = _call_aside(self._made.terminate, f"{self._language.title}: terminate() failed.")
        worker.end()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(called.wait(), _TERMINATE_SECONDS)


class _Cell:
    """One cell, between the thread that runs it and the reader."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[RunEvent] = asyncio.Queue()
        self._room = threading.Semaphore(_BACKLOG)
        self._stopped = threading.Event()

    def stop(self) -> None:
        """What comes now is not read any more."""
        self._stopped.set()
        self._room.release()

    def put(self, event: RunEvent) -> None:
        """Add an event from the event loop's own thread."""
        self._events.put_nowait(event)
        if isinstance(event, Finished):
            self.ended.set()

    async def events(self) -> AsyncGenerator[RunEvent, None]:
        """What the cell says, up to its end."""
        event: RunEvent | None = None
        while not isinstance(event, Finished):
            event = await self._events.get()
            self._room.release()
            yield event

    # In the thread

    def work(self, made: Any, code: str) -> None:
        """Run the code to its end and say how that was."""
        try:
            chunks = iter(made.run(code) or ())
            for event in (event for chunk in chunks for event in events_of(chunk)):
                if self._stopped.is_set():
                    break
                self._say(event)
            if hasattr(chunks, "close"):
                chunks.close()
            finished = Finished()
        except BaseException as error:  # noqa: BLE001 -- the cell's, whatever it is; SystemExit must not end the thread
            finished = Finished("error", type(error).__name__)
            if not self._stopped.is_set():
                self._say(Text(_described(error), "traceback"))
        self._hand_over(Finished("interrupted") if self._stopped.is_set() else finished)

    def _say(self, event: RunEvent) -> None:
        self._room.acquire()
        if not self._stopped.is_set():
            self._hand_over(event)

    def _hand_over(self, event: RunEvent) -> None:
        _on_loop(self._loop, lambda: self.put(event))


class _Worker:
    """A thread that does one thing after another. Nobody waits for it at the end of the program."""

    def __init__(self, name: str) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=f"language {name}", daemon=True).start()

    def post(self, work: Callable[[], None]) -> None:
        """Have something done that does not fail."""
        self._work.put(work)

    async def call(self, function: Callable[[], Any]) -> Any:
        """Have a function called; what it answers or raises."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def settle(set_outcome: Callable[[Any], None], outcome: Any) -> None:
            _on_loop(loop, lambda: None if answer.done() else set_outcome(outcome))

        def work() -> None:
            try:
                settle(answer.set_result, function())
            except Exception as error:  # noqa: BLE001 -- handed to the caller
                settle(answer.set_exception, error)

        self.post(work)
        return await answer

    def end(self) -> None:
        """End the thread once it has done what it was given."""
        self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()


def _call_aside(function: Callable[[], object], failure: str) -> asyncio.Event:
    """Call a function in a thread of its own, which may take its time; the event says that it has ended."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def call() -> None:
        try:
            function()
        except Exception:  # noqa: BLE001 -- somebody else's code: whatever it raises is told
            _log.warning(failure, exc_info=True)
        _on_loop(loop, ended.set)

    threading.Thread(target=call, daemon=True).start()
    return ended


def _on_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile: nobody listens
        loop.call_soon_threadsafe(call)


def events_of(chunk: Any) -> Iterator[RunEvent]:
    """What an LMC message or chunk says. Raises ``ValueError`` for what is none, ``OSError`` for an image not there."""
    if not isinstance(chunk, Mapping) or "type" not in chunk:
        raise ValueError(f"run() yielded {chunk!r:.200}: it is no LMC message, a dictionary with a `type`.")
    type_, form, content = chunk["type"], chunk.get("format"), chunk.get("content")
    if type_ == "console" and form == "active_line":
        yield ActiveLine(None if content is None else int(content))
    elif content is None:
        return  # it says that a message starts or ends
    elif type_ == "console":
        yield Text(str(content))
    elif type_ == "message":
        yield Text(f"{content}\n")
    elif type_ == "image" or (type_ == "code" and form in ("html", "javascript")):
        yield _rich(type_, form, str(content))
    else:
        raise ValueError(f"run() yielded a message of type {type_!r}, format {form!r}: it cannot be shown.")


def _rich(type_: Literal["image", "code"], form: str | None, content: str) -> Rich:
    if type_ == "image" and form == "path":
        form = _IMAGES.get(Path(content).suffix.lower(), f"path to {Path(content).suffix}")
        content = base64.b64encode(Path(content).read_bytes()).decode()
    if type_ == "image" and form not in _IMAGES.values():
        raise ValueError(f"run() yielded an image of format {form!r}: base64.png, base64.jpeg and path can be shown.")
    return Rich(type_, form or "html", content)


def _described(error: BaseException) -> str:
    """The traceback, without the frames of this module."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))
