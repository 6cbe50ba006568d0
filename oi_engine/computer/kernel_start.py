"""Runs inside the kernel's process: an ipykernel whose output is bounded and that tells the line it is at.

Started as ``python kernel_start.py CONNECTION_FILE SPILL_FOLDER STDOUT_FD STDERR_FD`` by whichever Python the workspace
has, so it uses nothing but the standard library and ipykernel (6.29 or later), and no newer syntax than Python 3.9's.
The two descriptors are the reading ends of the pipes that are the process's own stdout and stderr: what child
processes and C code write is read here and joins the cell's output in its place; when this process dies, the owner,
which holds the same ends, reads the last words.

``kernel_side`` is loaded from beside it; the requests of ``kernel_side.looks`` are described there.

To Jupyter's messages is added, where it is known: to ``stream`` ``"oi_lines": [[line, characters], …]``, the lines of
the cell that wrote the text, 0 for a part that none of them did; to ``execute_result``, ``display_data`` and
``update_display_data`` ``"oi_line": line``; to ``execute_reply`` ``"oi_failure": {"line": int, "column"?: int,
"end_line"?: int, "end_column"?: int, "message"?: str}``, where in the cell it failed (lines from 1, columns in
characters from 0).

Beside Jupyter's messages, two of our own go out on iopub, with the cell's request as their parent:

- ``oi_active_line`` ``{"line": int}``: the line of the cell, from 1, that runs now; only changes are sent;
- ``oi_spilled`` ``{"omitted": int, "path": str, "tail": str, "problem": str}``: the cell printed more than
  ``TEXT_LIMIT`` characters; ``path`` holds all of it, or what ``problem`` has left of it, ``tail`` its end, ``omitted``
  is how many characters lie between what was sent before and the tail. Sent at the end of the cell, and before a
  traceback.
"""

from __future__ import annotations

import asyncio
import codecs
import faulthandler
import importlib.util
import os
import select
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

TEXT_LIMIT = 2_000_000
"""Characters of printed text that a cell sends; the rest goes to a file."""
LATE_LIMIT = 64_000
"""Characters that threads may print after their cell has ended; the rest is dropped."""
TAIL = PIECE = 64_000
"""Characters of the end that are sent after all; characters of one message at most."""
SPILL_LIMIT = 2_000_000_000
SPILL_SHARE = 4
"""The file takes so many bytes at most, and no more than this part of what is free on its disk."""
RICH_LIMIT = 8_000_000
"""Characters of images and markup that a cell sends; the rest goes to files."""
VALUE_LIMIT = 256_000
"""Characters of a shown value, of a traceback's line, of any other text in a message."""
RICH = ("image/png", "image/jpeg", "image/svg+xml", "text/html", "text/markdown", "application/javascript")
"""What the owner can show beside plain text; of other forms nothing is sent."""
FLUSH_SECONDS = 0.02
"""How long printed text may wait for more of it."""
_PIPE_READ, _PIPE_ROUNDS = 65_536, 4  # a pipe holds 64 KiB: what is there now is had in two rounds


class Cap:
    """Lets a cell's first ``limit`` characters through; keeps all of it in a file when there are more."""

    def __init__(self, limit: int, folder: str | None) -> None:
        self._room, self._folder = limit, folder
        self._path = ""
        self._file: Any = None
        self._left = self._most = 0
        self._problem = ""
        self._unwritten: list[str] = []
        self._late = 0  # characters of it that came when there was no room
        self._kept_back = 0
        self._tail = ""

    def take(self, text: str) -> str:
        """The part of ``text`` that may be sent."""
        if self._folder is not None:
            self._unwritten.append(text)
        if len(text) <= self._room:
            self._room -= len(text)
            return text
        sent = text[: self._room]
        self._room = 0
        if self._folder is not None:
            self._kept_back += len(text) - len(sent)
            self._late += len(text)
            if self._late >= PIECE:
                self._keep()
        return sent

    def tell(self) -> dict[str, Any] | None:
        """The content of ``oi_spilled`` for what was kept back since the last time."""
        if not self._kept_back:
            return None
        self._keep()
        if self._file is not None:
            self._do(self._file.flush)
        tail = self._tail[-self._kept_back :]
        content = {"omitted": self._kept_back - len(tail), "path": self._path, "tail": tail}
        self._kept_back, self._tail = 0, ""
        return {**content, "problem": self._problem}

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._do(self._file.close)

    def _keep(self) -> None:
        """Put what is not in the file there: many small pieces at once, as each by itself costs as much."""
        text = "".join(self._unwritten)
        self._unwritten, self._late = [], 0
        self._tail = (self._tail + text)[-TAIL:]
        if not self._path:
            self._do(self._open)
        size = len(text.encode())
        if not self._problem and size > self._left:
            self._problem = f"a file may have {self._most:,} bytes"
        self._left -= size
        self._do(lambda: self._file.write(text))

    def _open(self) -> None:
        assert self._folder is not None
        self._path = new_path(self._folder, "output", "txt")
        self._left = self._most = min(SPILL_LIMIT, shutil.disk_usage(self._folder).free // SPILL_SHARE)
        self._file = open(self._path, "w", encoding="utf-8", newline="")  # noqa: SIM115

    def _do(self, step: Callable[[], object]) -> None:
        """Do something with the file. A failure costs the file, and is told; it is no failure of the program."""
        if self._problem:
            return
        try:
            step()
        except OSError as error:
            self._problem = error.strerror or type(error).__name__


def new_path(folder: str, stem: str, suffix: str) -> str:
    """A name in ``folder`` that no other file of this kernel has."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, f"{stem}-{os.getpid()}-{time.time_ns()}.{suffix}")


def sound(text: str) -> str:
    """``text`` as it can be sent: half a surrogate pair, which UTF-8 cannot hold, in its escaped form."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="backslashreplace").decode()
    return text


class Output:
    """Printed text on its way out: bounded, in order, in messages of bounded size."""

    def __init__(self, stream_class: Any, folder: str, written: Any) -> None:
        self._folder, self._written = folder, written
        self.line: Callable[[], int] = int
        self._lock = threading.RLock()
        self._cap = Cap(LATE_LIMIT, None)
        self._last: Any = None
        self._unsent = 0
        self._flushed = 0.0
        self._write, self._push = stream_class.write, stream_class._flush
        wait_flushed = stream_class.flush
        self._pipes: dict[int, Pipe] = {}
        self._written_to = select.poll()
        self._reading = threading.RLock()  # a signal's handler may print while its own thread reads
        output = self

        def write(stream: Any, text: Any) -> Any:
            if not isinstance(text, str):
                return output._write(stream, text)  # raises, in the stream's own words
            output.drain()
            output.write(stream, sound(text), output.line() if output._written.left else 0)
            return len(text)

        def flush(stream: Any) -> None:
            # A program that flushes after each character would send a message for each: the stream flushes by itself
            # in FLUSH_SECONDS, and whatever else is sent pushes the text out before it (see ``push_out_before``).
            now = time.monotonic()
            if now - output._flushed >= FLUSH_SECONDS / 2:
                output._flushed = now
                wait_flushed(stream)

        def push(stream: Any) -> None:
            output.push(stream)

        os.register_at_fork(after_in_child=self._forked)
        stream_class.write, stream_class.flush, stream_class._flush = write, flush, push
        stream_class.flush_interval = FLUSH_SECONDS

    def push(self, stream: Any) -> None:
        """Queue a stream's text to be sent. The lock keeps what two threads push in the order of their taking it."""
        with self._lock:
            self._push(stream)

    def write(self, stream: Any, text: str, line: int = 0) -> None:
        """Put text on a stream, piece by piece, as far as the cell may send it. ``line``: that of the cell."""
        with self._lock:
            text = self._cap.take(text)
            if not text:
                return
            if self._last is not stream:
                # The streams have buffers of their own: send the other's first, so that the order stays.
                if self._last is not None:
                    self.push(self._last)
                self._last = stream
            while text:
                piece, text = text[: PIECE - self._unsent], text[PIECE - self._unsent :]
                self._unsent += len(piece)
                self._write(stream, piece)
                self._written.note(stream.name, line, len(piece))
                if self._unsent == PIECE:
                    self._unsent = 0
                    self.push(stream)

    def _forked(self) -> None:
        """In a forked child another thread may have held the lock, and the pipes are the parent's to read."""
        self._lock, self._reading = threading.RLock(), threading.RLock()
        self._pipes, self._written_to = {}, select.poll()
        self._written.forget()

    def follow(self, *pipes: Pipe) -> None:
        """Have what is written to the other ends of pipes join their streams."""
        for pipe in pipes:
            self._pipes[pipe.descriptor] = pipe
            self._written_to.register(pipe.descriptor, select.POLLIN)
        threading.Thread(target=self._watch, name="oi-output", daemon=True).start()

    def drain(self) -> None:
        """Take in what child processes have written until now. Asked before each write: it costs one system call."""
        with self._reading:  # an empty pipe says nothing while the other thread holds what it has read from it
            for descriptor, _ in self._written_to.poll(0):
                pipe = self._pipes[descriptor]
                for text in pipe.read():
                    self.write(pipe.stream, text)

    def _watch(self) -> None:
        mine = select.poll()
        for descriptor in self._pipes:
            mine.register(descriptor, select.POLLIN)
        while True:
            mine.poll()
            self.drain()

    def begin(self) -> None:
        """A cell begins."""
        self.drain()
        with self._lock:
            self._cap = Cap(TEXT_LIMIT, self._folder)
            self._written.begin()

    def tell(self) -> dict[str, Any] | None:
        """The content of ``oi_spilled``, where the cell printed too much since the last time."""
        self.drain()
        with self._lock:
            return self._cap.tell()

    def end(self) -> None:
        """The cell has ended; what threads still print has little room."""
        with self._lock:
            cap, self._cap = self._cap, Cap(LATE_LIMIT, None)
            cap.close()

    def push_out_before(self, thread_class: Any) -> None:
        """Let every message that is not printed text be preceded by the text that was printed before it."""
        send = thread_class.send_multipart

        def ordered(thread: Any, message: Any, *arguments: Any, **named: Any) -> None:
            if self._last is not None and not message[0].startswith(b"stream."):
                self.push(self._last)
            if threading.current_thread() is thread.thread:
                # ``send`` would wait for this very thread, were its queue full.
                thread._events.append(lambda: thread._really_send(message, *arguments, **named))
                thread.io_loop.add_callback(thread._handle_event, None)
            else:
                send(thread, message, *arguments, **named)

        thread_class.send_multipart = ordered


class Pipe:
    """The process's own stdout or stderr (descriptor 1 or 2), read back in, and the stream that it joins."""

    def __init__(self, stream: Any, descriptor: int) -> None:
        self.stream, self.descriptor = stream, descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        os.set_inheritable(descriptor, False)
        os.set_blocking(descriptor, False)

    def read(self) -> Iterator[str]:
        """What is there now, without waiting for more."""
        for _ in range(_PIPE_ROUNDS):
            try:
                data = os.read(self.descriptor, _PIPE_READ)
            except BlockingIOError:
                return
            yield self._decoder.decode(data)


class Bounds:
    """Keeps every message within bounds: images and markup by the cell, any other text by itself."""

    def __init__(self, session: Any, folder: str, written: Any) -> None:
        self._folder = folder
        self.line: Callable[[], int] = int
        self._room = RICH_LIMIT
        serialize = session.serialize

        def bounded(message: Any, *arguments: Any, **named: Any) -> Any:
            kind, content = message.get("msg_type"), message.get("content")
            if kind in ("display_data", "update_display_data", "execute_result"):
                line = {"oi_line": self.line()}
                message = {**message, "content": {**content, "data": self._within_room(content["data"]), **line}}
            elif kind == "stream":
                message = {**message, "content": written.told(content)}
            else:
                message = {**message, "content": self._cut(content)}
            return serialize(message, *arguments, **named)

        session.serialize = bounded

    def begin(self) -> None:
        """A cell begins."""
        self._room = RICH_LIMIT

    def _within_room(self, data: dict[str, Any]) -> dict[str, Any]:
        kept = {"text/plain": self._cut(data.get("text/plain", ""))}
        for mime in [mime for mime in RICH if mime in data]:
            value = sound(data[mime])
            if len(value) <= self._room:
                self._room -= len(value)
                kept[mime] = value
            else:
                where = self._keep(value, mime.split("/")[-1].split("+")[0])
                kept["text/plain"] += f"\n({len(value):,} characters of {mime} are too much to show; {where})"
        return kept

    def _cut(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._cut(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._cut(item) for item in value]
        if not isinstance(value, str):
            return value
        value = sound(value)
        if len(value) <= VALUE_LIMIT:
            return value
        where = self._keep(value, "txt")
        half = VALUE_LIMIT // 2
        between = f"\n… {len(value) - 2 * half:,} characters left out; {where} …\n"
        return value[:half] + between + value[-half:]

    def _keep(self, value: str, suffix: str) -> str:
        """Write it to a file; where it is then, in words."""
        try:
            path = new_path(self._folder, "value", suffix)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(value)
        except OSError as error:
            return f"the whole could not be kept ({error.strerror})"
        return f"the whole is in {path}"


def keep_line_numbers(lines: list[str]) -> list[str]:
    """IPython drops the empty lines before a cell's first, which shifts every line number; a cell magic needs that."""
    for number, line in enumerate(lines):
        if line.strip():
            return lines[number:] if line.startswith("%%") else lines
    return lines


def load_beside() -> list[Any]:
    """``kernel_side``'s ``lines``, ``looks`` and ``forked``, under a name that no package of the workspace has."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel_side")
    path = os.path.join(folder, "__init__.py")
    spec: Any = importlib.util.spec_from_file_location("_oi_kernel_side", path, submodule_search_locations=[folder])
    package = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    return [importlib.import_module(f"{spec.name}.{name}") for name in ("lines", "looks", "forked")]


def prepare(kernel: Any, output: Output, bounds: Bounds, active: Any) -> None:
    """Tie what is done at a cell's beginning and end to the kernel's own way to run a cell."""
    shell = kernel.shell
    output.line = bounds.line = active.writing
    transforms = shell.input_transformer_manager.cleanup_transforms
    for number, transform in enumerate(transforms):
        if getattr(transform, "__name__", "") == "leading_empty_lines":
            transforms[number] = keep_line_numbers
    execute, send_traceback, show_traceback = kernel.do_execute, shell._showtraceback, shell.showtraceback

    def tell() -> None:
        spilled = output.tell()
        if spilled is not None:
            kernel.session.send(kernel.iopub_socket, "oi_spilled", spilled, kernel.get_parent())

    async def do_execute(code: str, *arguments: Any, **named: Any) -> Any:
        # A signal handler makes the loop wake up at any signal; without one, an interrupt of a cell in ``await`` is
        # noticed only when something else happens. SIGWINCH does nothing by itself.
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, bool)
        # An interrupt is for the cell, not for what is done around it; ipykernel sets its own handler afterwards.
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        output.begin()
        bounds.begin()
        active.begin(kernel.get_parent(), code)
        signal.signal(signal.SIGINT, handler)
        try:
            reply = await execute(code, *arguments, **named)
            place = active.failure() if reply.get("status") == "error" else None
            return {**reply, "oi_failure": place} if place else reply
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            active.end()
            tell()
            output.end()

    def tell_and_send_traceback(*arguments: Any) -> None:
        tell()  # the end of the output belongs before the error
        send_traceback(*arguments)

    def show_traceback_or_stop(*arguments: Any, **named: Any) -> None:
        kind, error, trace = sys.exc_info()
        if kind is KeyboardInterrupt:
            # The person wants it to be over: IPython's traceback may take a third of a second. Interrupts are sent
            # again until their effect is seen; one more, before the cell is done, would be an error in the error.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            shell._showtraceback(kind, error, [f"KeyboardInterrupt: stopped{active.place(trace)}"])
        else:
            show_traceback(*arguments, **named)

    kernel.do_execute, shell._showtraceback = do_execute, tell_and_send_traceback
    shell.showtraceback = show_traceback_or_stop


def configured(app_class: Any) -> Any:
    """The kernel's application: nothing of the person's IPython set-up, no history on disk, no colours."""
    import IPython
    from traitlets.config import Config

    class App(app_class):  # type: ignore[misc]
        def _bind_socket(self, socket: Any, port: int) -> Any:
            socket.set_hwm(0)  # else what the owner is slow to take would be dropped without a word
            return super()._bind_socket(socket, port)

    app = App.instance()
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor" if IPython.version_info[0] >= 9 else "NoColor"
    config.InteractiveShell.banner1 = ""
    # Descriptors 1 and 2 are read by ``Pipe``; a parent that is 1 means: no thread that watches the parent.
    config.IPKernelApp.capture_fd_output = False
    config.IPKernelApp.parent_handle = 1
    app.update_config(config)
    return app


def main(connection_file: str, folder: str, stdout: int, stderr: int) -> None:
    """Start the kernel and stay until it ends."""
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.abspath(sys.path[0]) == here:
        del sys.path[0]  # ours are not the workspace's modules; IPython puts the working directory there
    sys.argv = [""]
    faulthandler.enable(all_threads=False)

    from ipykernel.iostream import IOPubThread, OutStream
    from ipykernel.kernelapp import IPKernelApp
    from ipykernel.zmqshell import ZMQInteractiveShell

    # It would set TERM, FORCE_COLOR and the like for a coloured terminal; the owner has set them for a plain one.
    ZMQInteractiveShell.init_environment = lambda self: None
    # Since version 9 IPython keeps all that a cell prints, and formats every error twice, to keep that too.
    ZMQInteractiveShell._tee = lambda self, channel: nullcontext()
    kept = {"ename": "", "evalue": "", "traceback": []}
    ZMQInteractiveShell._format_exception_for_storage = lambda self, *_: kept
    lines, looks, forked = load_beside()
    written = lines.Written()
    output = Output(OutStream, folder, written)
    output.push_out_before(IOPubThread)
    forked.listen_by_path(IOPubThread, connection_file)
    app = configured(IPKernelApp)
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else the debugger prints a warning into the first cell
    try:
        app.initialize(["-f", connection_file])
        bounds = Bounds(app.kernel.session, folder, written)
        prepare(app.kernel, output, bounds, lines.ActiveLine(app.kernel.shell, app.kernel))
        looks.Looker(app.kernel)
    except BaseException:  # noqa: BLE001 - the threads of a kernel half made would keep the process from ending
        traceback.print_exc(file=sys.__stderr__)
        os._exit(1)
    del os.environ["PYDEVD_DISABLE_FILE_VALIDATION"]
    output.follow(Pipe(sys.stdout, stdout), Pipe(sys.stderr, stderr))
    app.start()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
