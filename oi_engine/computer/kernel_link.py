"""The sockets to one kernel. This is the only module that imports jupyter_client and zmq.

It does so when the first kernel starts, in a thread, because that takes a tenth of a second and more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from oi_engine.computer.kernel_messages import UNREADABLE, Idle, Inbox, Input, Reply, events_of, input_of, reply_of
from oi_engine.computer.looks import LOOK_SECONDS

_log = logging.getLogger(__name__)

_INPUT_GRACE = 0.2
"""Seconds for the output before a prompt, where the kernel does not say that all of it is out."""
_ASK_AGAIN = 0.1
_RECONNECT_MILLISECONDS = 10
_CHANNELS = ("shell", "iopub", "stdin", "control", "hb")


@frozen
class Jupyter:
    """What is used of jupyter_client and zmq."""

    client: Any
    write_connection_file: Any
    context: Any
    reconnect_interval: Any


async def load_jupyter() -> Jupyter:
    """Import the libraries, which is slow the first time, off the event loop."""
    return await asyncio.to_thread(_load)


def _load() -> Jupyter:
    from jupyter_client.asynchronous import AsyncKernelClient
    from jupyter_client.connect import write_connection_file
    from zmq.asyncio import Context
    from zmq.constants import SocketOption

    return Jupyter(AsyncKernelClient, write_connection_file, Context, SocketOption.RECONNECT_IVL)


async def find_kernelspecs() -> dict[str, Any]:
    """The installed kernels, by name: ``resource_dir`` and ``spec``, the content of ``kernel.json``."""
    return await asyncio.to_thread(_find_kernelspecs)


def _find_kernelspecs() -> dict[str, Any]:
    from jupyter_client.kernelspec import KernelSpecManager

    found: dict[str, Any] = KernelSpecManager().get_all_specs()
    return found


def write_connection_file(jupyter: Jupyter, path: Path, sockets: Path | None) -> None:
    """Write the file that tells a kernel where to listen: at paths that begin with ``sockets``, else on loopback."""
    key = secrets.token_hex(32).encode()
    if sockets is None:
        jupyter.write_connection_file(str(path), ip="127.0.0.1", key=key)
    else:
        ports = {f"{name}_port": number for number, name in enumerate(_CHANNELS, 1)}
        jupyter.write_connection_file(str(path), transport="ipc", ip=str(sockets), key=key, **ports)


class KernelLink:
    """Requests go out; what comes in is read by tasks and put into the inbox.

    ``on_reply`` is called with the id of a cell's request and what its ``execute_reply`` says, even while the inbox is
    full.
    """

    def __init__(
        self,
        jupyter: Jupyter,
        connection_file: Path,
        inbox: Inbox,
        on_reply: Callable[[str, Reply], None],
    ) -> None:
        self._inbox, self._on_reply = inbox, on_reply
        self._context = jupyter.context()
        self._context.setsockopt(jupyter.reconnect_interval, _RECONNECT_MILLISECONDS)
        self._client = jupyter.client(context=self._context, connection_file=str(connection_file))
        self._client.load_connection_file()
        self._client.start_channels(hb=False)
        self._ready = asyncio.Event()
        self._heard: set[str] = set()
        self._held: dict[str, Input] = {}
        self._cell = ""
        self._looks: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._interrupts = 0
        self._interrupts_done = asyncio.Event()
        takers = {
            "iopub": self._take_iopub,
            "shell": self._take_shell,
            "stdin": self._take_stdin,
            "control": self._take_control,
        }
        self._channels = {name: getattr(self._client, f"{name}_channel") for name in takers}
        self._tasks = [asyncio.create_task(self._pump(name, take), name=name) for name, take in takers.items()]

    async def wait_ready(self, death: Coroutine[Any, Any, int], timeout: float) -> bool:
        """Whether the kernel answers, on shell and on iopub, before it dies and within ``timeout`` seconds."""
        dead = asyncio.ensure_future(death)
        ready = asyncio.ensure_future(self._ready.wait())
        deadline = asyncio.get_running_loop().time() + timeout
        try:
            # What iopub said before it was subscribed to is lost, so the question is asked again until both are heard.
            while not ready.done() and not dead.done() and asyncio.get_running_loop().time() < deadline:
                self._send("shell", "kernel_info_request", {})
                await asyncio.wait({dead, ready}, timeout=_ASK_AGAIN, return_when=asyncio.FIRST_COMPLETED)
            return ready.done() and not dead.done()
        finally:
            for task in (dead, ready):
                task.cancel()
            await asyncio.wait({dead, ready})

    def execute(self, code: str) -> str:
        """Send a cell; the id of the request."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": True,
            # A failed cell must not make the kernel refuse the next one: nothing is queued behind it.
            "stop_on_error": False,
        }
        self._cell = self._send("shell", "execute_request", content)
        return self._cell

    async def look(self, channel: str, kind: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request that runs nothing; the content of its reply. Raises ``TimeoutError`` (``LOOK_SECONDS``)."""
        reply: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        request = self._send(channel, kind, content)
        self._looks[request] = reply
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await reply
        finally:
            del self._looks[request]

    def answer(self, text: str) -> None:
        """The person's line."""
        self._send("stdin", "input_reply", {"value": text.encode(errors="replace").decode()})

    def interrupt(self) -> None:
        """Ask the kernel to interrupt itself."""
        self._interrupts += 1
        self._interrupts_done.clear()
        self._send("control", "interrupt_request", {})

    async def interrupts_done(self, deadline: float) -> None:
        """Wait until every interrupt has arrived, but not past ``deadline`` (of the loop's clock)."""
        if self._interrupts:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await self._interrupts_done.wait()

    def ask_to_leave(self) -> None:
        """Ask the kernel to end."""
        self._send("control", "shutdown_request", {"restart": False})

    async def close(self) -> None:
        """Close the sockets. Who waits for the reply to a look waits until its time is over."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        for channel in self._channels.values():
            channel.stop()
        self._context.term()

    def _send(self, channel: str, kind: str, content: Mapping[str, Any]) -> str:
        """Send a message; its id."""
        session = self._client.session
        message = session.msg(kind, content)
        # Not by jupyter_client's own ``send``: it goes past the asynchronous socket, which then may miss that something
        # came in meanwhile, and wait for ever.
        self._channels[channel].socket.send_multipart(session.serialize(message))
        return str(message["msg_id"])

    async def _pump(self, name: str, take: Callable[[str, Mapping[str, Any], str], None]) -> None:
        session, socket = self._client.session, self._channels[name].socket
        while True:
            frames = await socket.recv_multipart()
            try:
                _, frames = session.feed_identities(frames)
                message = session.deserialize(frames)
                del frames
                self._hear(name)
                take(message["msg_type"], message["content"], str(message["parent_header"].get("msg_id", "")))
            except UNREADABLE as error:
                _log.warning("A message on %s was not understood: %s", name, type(error).__name__)
            if name == "iopub":
                await self._inbox.room()

    def _hear(self, name: str) -> None:
        if not self._ready.is_set():
            self._heard.add(name)
            if {"iopub", "shell"} <= self._heard:
                self._ready.set()

    def _take_iopub(self, kind: str, content: Mapping[str, Any], request: str) -> None:
        if kind == "status" and content.get("execution_state") == "idle":
            if request == self._cell:
                self._inbox.put(Idle(request))
            self._release(request)
        for event in events_of(kind, content):
            self._inbox.put(event)

    def _take_shell(self, kind: str, content: Mapping[str, Any], request: str) -> None:
        if kind == "execute_reply":
            self._on_reply(request, reply_of(content))
        self._take_look(content, request)

    def _take_stdin(self, kind: str, content: Mapping[str, Any], request: str) -> None:
        if kind == "input_request":
            # The output before the prompt comes by another socket. A question on the control channel, which the kernel
            # answers while the program waits, is echoed on that socket: what was said before it has then come.
            asked = input_of(request, content)
            mark = self._send("control", "kernel_info_request", {})
            self._held[mark] = asked
            asyncio.get_running_loop().call_later(_INPUT_GRACE, self._release, mark)

    def _release(self, mark: str) -> None:
        item = self._held.pop(mark, None)
        if item is not None:
            self._inbox.put(item)

    def _take_control(self, kind: str, content: Mapping[str, Any], request: str) -> None:
        if kind == "interrupt_reply":
            self._interrupts -= 1
            if self._interrupts == 0:
                self._interrupts_done.set()
        self._take_look(content, request)

    def _take_look(self, content: Mapping[str, Any], request: str) -> None:
        reply = self._looks.get(request)
        if reply is not None and not reply.done():
            reply.set_result(content)
