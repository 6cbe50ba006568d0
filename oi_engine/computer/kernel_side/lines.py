"""Which line of the cell runs, wrote something, or failed."""

from __future__ import annotations

import asyncio
import linecache
import sys
import threading
import traceback
from itertools import islice
from typing import Any

SAMPLE_SECONDS = 0.05
"""How often the active line is looked up."""
DEPTH = 200
"""Frames above a write in which the cell is looked for."""
TOLD = 500
"""Changes of the writing line that a cell tells; what it writes after them is nobody's."""


class ActiveLine:
    """Looks from a thread of its own at the line where the main thread is: the program itself is not slowed down."""

    def __init__(self, shell: Any, kernel: Any) -> None:
        self._shell, self._kernel = shell, kernel
        self._main = threading.main_thread().ident
        self._file: str | None = None
        self._code: list[str] = []
        self._has_lines = False
        self._parent: Any = None
        self._running = threading.Event()
        self._ended = threading.Event()
        remember = shell.compile.cache

        def cache(*arguments: Any, **named: Any) -> Any:
            name = remember(*arguments, **named)
            if self._file is None:
                self._file = name
            return name

        shell.compile.cache = cache
        threading.Thread(target=self._sample, name="oi-active-line", daemon=True).start()

    def begin(self, parent: Any, code: str) -> None:  # ``parent`` is the cell's request
        self._file, self._parent, self._code = None, parent, code.split("\n")
        # A cell magic's lines are not the cell's.
        self._has_lines = not next((line for line in self._code if line.strip()), "").startswith("%%")
        self._ended.clear()
        self._running.set()

    def end(self) -> None:
        self._running.clear()
        self._ended.set()
        self._has_lines = False

    def place(self, trace: Any) -> str:
        """Where in the cell a traceback is, in words."""
        lines = [line for frame, line in traceback.walk_tb(trace) if frame.f_code.co_filename == self._file]
        return f" at line {lines[-1]}" if lines else ""

    def writing(self) -> int:
        """The line of the cell that the calling thread is at, 0 where it is at none."""
        name = self._file
        if name is None or not self._has_lines or threading.get_ident() != self._main:
            return 0
        frame: Any = sys._getframe(1)
        depth = DEPTH
        while frame is not None and depth:
            if frame.f_code.co_filename == name:
                return frame.f_lineno or 0
            frame, depth = frame.f_back, depth - 1
        return 0

    def failure(self) -> dict[str, Any] | None:
        """Where in the cell the error is that ended it; nothing where it is elsewhere."""
        result = self._shell.last_execution_result
        if result is None or self._file is None or not self._has_lines:
            return None
        error = result.error_in_exec if result.error_before_exec is None else result.error_before_exec
        if error is None:
            return None
        if issubclass(type(error), SyntaxError) and error.filename == self._file:
            # Their ends are told since Python 3.10.
            last, end = getattr(error, "end_lineno", 0), getattr(error, "end_offset", 0)
            place = self._place(error.lineno, last, error.offset, end)
            return place and {**place, "message": str(error.msg)}
        found = None
        trace = BaseException.__dict__["__traceback__"].__get__(error)
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self._file:
                found = trace
            trace = trace.tb_next
        return found and self._place(found.tb_lineno, *self._columns(found))

    def _columns(self, trace: Any) -> tuple[int | None, int | None, int | None]:
        """The last line, and the columns from 1, of what a frame was at; Python tells since 3.11."""
        code = trace.tb_frame.f_code
        if not hasattr(code, "co_positions"):
            return None, None, None
        positions: Any = islice(code.co_positions(), trace.tb_lasti // 2, None)
        place: tuple[Any, ...] = next(positions, (None,) * 4)
        line, last, start, end = place
        if line != trace.tb_lineno or None in (last, start, end):
            return None, None, None
        return last, 1 + self._characters(line, start), 1 + self._characters(last, end)

    def _characters(self, number: int, size: int) -> int:
        line = linecache.getline(self._file or "", number)
        return len(line.encode()[:size].decode(errors="ignore"))

    def _place(self, line: Any, last: Any, start: Any, end: Any) -> dict[str, Any] | None:
        """As it is told: columns from 0, and only in lines that ran as they were written."""
        if not line or line > len(self._code):
            return None
        told = {"line": line}
        last = last or line
        if start and self._as_written(line) and last <= len(self._code):
            told["column"] = start - 1
            if end and end > 0 and self._as_written(last) and (last, end) > (line, start):
                told.update(end_line=last, end_column=end - 1)
        return told

    def _as_written(self, number: int) -> bool:
        """Whether IPython has left the line as it was: a magic command becomes a call."""
        return linecache.getline(self._file or "", number).rstrip("\r\n") == self._code[number - 1].rstrip("\r")

    def _sample(self) -> None:
        while True:
            self._running.wait()
            shown = None
            while not self._ended.wait(SAMPLE_SECONDS):
                name, parent = self._file, self._parent
                line = self._line(name) if name else None
                if line is not None and (line, name) != shown and not self._ended.is_set():
                    shown = (line, name)
                    self._kernel.session.send(self._kernel.iopub_socket, "oi_active_line", {"line": line}, parent)

    def _line(self, name: str) -> int | None:
        frame = sys._current_frames().get(self._main)  # type: ignore[arg-type]
        while frame is not None:
            if frame.f_code.co_filename == name:
                return frame.f_lineno
            frame = frame.f_back
        return self._awaited_line(name)

    def _awaited_line(self, name: str) -> int | None:
        """The line of a cell that waits in ``await``: it is in no thread's stack."""
        try:
            tasks = asyncio.all_tasks(self._kernel.io_loop.asyncio_loop)
        except RuntimeError:
            return None  # the tasks changed all the while
        for task in tasks:
            line: int | None = None
            coroutine: Any = task.get_coro()
            while coroutine is not None and hasattr(coroutine, "cr_frame"):
                frame = coroutine.cr_frame
                if frame is not None and frame.f_code.co_filename == name:
                    line = frame.f_lineno
                coroutine = coroutine.cr_await
            if line is not None:
                return line
        return None


class Written:
    """Which lines wrote what: kept beside the text on its way, and put into the messages that take it out."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[list[int]]] = {}
        self.left = 0
        """How many more changes the cell may tell; where none is left, every write is nobody's."""

    def begin(self) -> None:
        """A cell begins."""
        self.left = TOLD

    def note(self, stream: str, line: int, size: int) -> None:
        """So many characters were put on a stream, by that line (0: nobody knows)."""
        pieces = self._pieces.get(stream)
        if pieces and pieces[-1][0] == line:
            pieces[-1][1] += size
            return
        if line:
            self.left -= 1
        self._pieces.setdefault(stream, []).append([line, size])

    def forget(self) -> None:
        """In a forked child: what the parent had written is the parent's to send."""
        self._pieces = {}

    def told(self, content: dict[str, Any]) -> dict[str, Any]:
        """The content of a ``stream`` message, with the lines that wrote it, where they account for all of it."""
        pieces = self._pieces.pop(content["name"], [])
        if not any(line for line, _ in pieces) or sum(size for _, size in pieces) != len(content["text"]):
            return content
        return {**content, "oi_lines": pieces}
