"""A kernel's process and what belongs to it on this machine: its folder, its pipes, its environment."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from attrs import frozen

from oi_engine.computer.sandbox import Confinement, limit_passed
from oi_engine.computer.supervised import Supervised, start_supervised
from oi_engine.temporary import TemporaryFolder, temporary_parents

Stream = Literal["stdout", "stderr"]

PLAIN_TERMINAL = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Nobody sits at a terminal: no colours, no pager that waits, no prompt that nobody sees."""
_LONGEST_SOCKET_PATH = 100  # sockaddr_un has 104 bytes on macOS, 108 on Linux, the final zero included
_LAST_WORDS = 8_000  # characters
_READ = 65_536  # bytes


@frozen
class KernelSpec:
    """How a kernel is started.

    ``argv`` may hold ``{connection_file}``, ``{spill_folder}``, ``{stdout}`` and ``{stderr}``; the last two stand for
    descriptors of the reading ends of the process's own output, for a kernel that reads them itself
    (``reads_own_output``). ``interrupt_by_signal``: as ``interrupt_mode`` in a kernelspec. ``speaks_ipc``: it listens
    at paths, too, and not by TCP alone, as many kernels do. ``notice``: for the person.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    remedy: str = ""
    interrupt_by_signal: bool = False
    speaks_ipc: bool = True
    reads_own_output: bool = False
    notice: str | None = None


class RuntimeFolder:
    """A folder of the person's alone (mode 0700) with a path short enough for sockets, where the system has one."""

    def __init__(self) -> None:
        self._folder = TemporaryFolder("oi-kernel-", temporary_parents()[0])
        self.path = self._folder.path
        self.sockets = self.path / "k"

    @property
    def takes_sockets(self) -> bool:
        """Whether the path of a socket fits into the system's address."""
        return len(os.fsencode(f"{self.sockets}-1")) < _LONGEST_SOCKET_PATH

    async def remove(self) -> None:
        """Delete the folder and what is in it."""
        await asyncio.to_thread(self._folder.remove)


class _Output:
    """One of the process's own streams: a pipe whose reading end stays open here until the very end."""

    def __init__(self, stream: Stream, take: Callable[[Stream, str], None]) -> None:
        self.stream: Stream = stream
        self._take = take
        self.reader, self.writer = os.pipe()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Read whatever comes and hand it on."""
        self._task = asyncio.create_task(self._read(), name=f"kernel {self.stream}")

    async def stop(self) -> None:
        """Stop reading; the pipe stays."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    def rest(self) -> str:
        """What is in the pipe now."""
        os.set_blocking(self.reader, False)
        data = b""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.reader, _READ):
                data += piece
        return self._decoder.decode(data)

    def close(self) -> None:
        os.close(self.reader)

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        file = os.fdopen(os.dup(self.reader), "rb", 0)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
        try:
            while data := await reader.read(_READ):
                self._take(self.stream, self._decoder.decode(data))
        finally:
            transport.close()


class KernelProcess:
    """A kernel under its supervisor. Until ``hand_over`` its own output is read here; afterwards by the kernel."""

    def __init__(self, spec: KernelSpec, folder: RuntimeFolder, confinement: Confinement | None = None) -> None:
        self.spec, self.folder = spec, folder
        self._confinement = confinement
        self.supervised: Supervised | None = None
        self._said = ""
        self._on_text: Callable[[Stream, str], None] | None = None
        self._outputs = [_Output("stdout", self._take), _Output("stderr", self._take)]

    async def start(self, connection_file: Path, spill_folder: Path, cwd: Path) -> None:
        """Start the process. Raises ``KernelFailed``."""
        stdout, stderr = self._outputs
        places = {
            "{connection_file}": str(connection_file),
            "{spill_folder}": str(spill_folder),
            "{stdout}": str(stdout.reader),
            "{stderr}": str(stderr.reader),
        }
        argv = [_replaced(argument, places) for argument in self.spec.argv]
        env = {**self.spec.env, "IPYTHONDIR": str(self.folder.path / "ipython")}
        readers = (stdout.reader, stderr.reader) if self.spec.reads_own_output else ()
        confinement = self._confinement
        if confinement is not None:
            # The last one: what is inside must not tell the owner where to connect to.
            confinement = confinement.sharing((self.folder.path, True), (spill_folder, True), (connection_file, False))
        try:
            self.supervised = await start_supervised(
                argv,
                env=env,
                cwd=cwd,
                stdout=stdout.writer,
                stderr=stderr.writer,
                pass_fds=readers,
                confinement=confinement,
            )
        finally:
            for output in self._outputs:
                os.close(output.writer)
        for output in self._outputs:
            output.begin()

    @property
    def limit_passed(self) -> str:
        """The limit of the sandbox that ended the process, in words; empty where none did."""
        over = self.supervised.over if self.supervised else ""
        return limit_passed(over, self._confinement) if over else ""

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self.supervised is not None and self.supervised.alive

    async def hand_over(self, on_text: Callable[[Stream, str], None]) -> None:
        """The kernel is ready: it reads its own output from here on, or ``on_text`` is called with what it says."""
        if self.spec.reads_own_output:
            for output in self._outputs:
                await output.stop()
        else:
            self._on_text = on_text

    def last_words(self) -> str:
        """The end of what the process wrote to its own stdout and stderr and nobody has been told."""
        if self._on_text is None:
            self._said = (self._said + "".join(output.rest() for output in self._outputs))[-_LAST_WORDS:]
        said, self._said = self._said, ""
        return said

    def forget_words(self) -> None:
        """What was said until now is of no interest: the kernel has started."""
        self._said = ""

    async def close(self) -> None:
        """End the process and all that it started, and remove its folder."""
        if self.supervised is not None:
            await self.supervised.close()
        for output in self._outputs:
            await output.stop()
            output.close()
        await self.folder.remove()

    def _take(self, stream: Stream, text: str) -> None:
        if self._on_text is not None:
            self._on_text(stream, text)
        else:
            self._said = (self._said + text)[-_LAST_WORDS:]


def environment_of(python: str, env: Mapping[str, str]) -> dict[str, str]:
    """``env`` as if the environment of ``python`` were active, where it is one."""
    folder = Path(python).parent
    if not (folder.parent / "pyvenv.cfg").is_file():
        return dict(env)
    return {
        **env,
        "VIRTUAL_ENV": str(folder.parent),
        "PATH": f"{folder}{os.pathsep}{env.get('PATH', os.defpath)}",
    }


def _replaced(argument: str, places: Mapping[str, str]) -> str:
    for place, value in places.items():
        argument = argument.replace(place, value)
    return argument
