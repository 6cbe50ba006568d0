"""The model worker's client: LiteLLM's models, without LiteLLM in this process.

``ModelWorker`` is the child process and its lifetime; one serves any number of sessions. ``WorkerModel`` is its face
as a ``Model``. The wire is described in ``worker``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any, cast

import attrs

from oi_engine.errors import ModelError
from oi_engine.models.deltas import delta_events, usage_event
from oi_engine.models.discovery import is_local
from oi_engine.models.failures import redacted
from oi_engine.models.model import ModelEvent, ModelInfo, ModelRequest, Notice, ProviderMessage
from oi_engine.models.resending import Sent

IDLE_TIMEOUT = 600.0
"""Seconds without a request after which the worker ends; it starts again by itself."""

_EVENTS_IN_A_ROW = 64
"""A consumer that never waits gets so many events, then the loop's others get their turn."""

_STDERR_LINES = 20

_ASK_AGAIN = 60.0
"""Seconds after which a server is asked anew about a model that it said nothing of."""


class ModelWorker:
    """One worker process, started at the first request, ended when idle, started again after its death.

    ``keys`` are the provider keys (see ``safety.secrets.take_provider_keys``): they go to the worker by its pipe and
    nowhere else. ``environ`` is its environment (default: this process's). Belongs to one event
    loop; on Linux the process also ends with the thread that runs that loop.
    """

    def __init__(
        self,
        keys: Mapping[str, str] | None = None,
        *,
        idle_timeout: float = IDLE_TIMEOUT,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._keys = dict(keys or {})
        self._environ = environ
        self._idle_timeout = idle_timeout
        self._process: _Process | None = None
        self._retired: list[_Process] = []
        self._starting = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self._numbers = 0
        self._infos: dict[tuple[str, str | None], tuple[ModelInfo, float]] = {}

    @property
    def pid(self) -> int | None:
        """The worker's process, where it runs."""
        return self._process.pid if self._process is not None and self._process.alive else None

    async def start(self) -> None:
        """Start the process where it does not run. Raises ``ModelError`` (``worker_died``) where it cannot."""
        await self._running()
        self._rest()

    def change_keys(self, keys: Mapping[str, str]) -> None:
        """Have other provider keys from the next request on, which a fresh process answers.

        So nothing is left that LiteLLM remembers of the old ones. Requests under way end in the process that has them.
        """
        if keys == self._keys:
            return
        self._keys = dict(keys)
        self._retired = [process for process in self._retired if not process.gone.is_set()]
        if self._process is not None:
            self._process.retire()
            self._retired.append(self._process)
            self._process = None

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        """What LiteLLM's table, or the server at ``api_base``, knows. Raises ``ModelError`` (``worker_died``)."""
        now = time.monotonic()
        known, until = self._infos.get((model, api_base), (ModelInfo(), now))
        if until <= now:
            fields = await self.know({"op": "info", "model": model, "api_base": api_base})
            # What a server of one's own does not say now it may say when it has started: ask again, but not each turn.
            until = math.inf if fields.pop("certain") else now + _ASK_AGAIN
            known = ModelInfo(**fields)
            self._infos[model, api_base] = known, until
        return known

    async def know(self, request: Mapping[str, Any]) -> Any:
        """The answer to an operation that has just one, as ``info`` and ``count`` have. Raises ``ModelError``."""
        async with contextlib.aclosing(self.ask(request)) as messages:
            async for message in messages:
                return message["answer"]
        raise ModelError("worker_died", "The model worker gave no answer.", "Run `oi-lsp doctor`.")

    async def ask(self, request: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """The worker's events for one request; closing the generator cancels it.

        Raises ``ModelError`` after the events that came before the failure.
        """
        process = await self._running()
        self._numbers += 1
        number = self._numbers
        inbox = process.open(number)
        over = False
        try:
            process.ask(number, request)
            async for message in inbox:
                if error := message.get("error"):
                    over = True
                    raise ModelError(**error)
                over = "done" in message or "answer" in message
                if "done" not in message:
                    yield message
                if over:
                    return
        finally:
            process.shut(number)
            if not over:
                process.send({"id": number, "op": "cancel"})
            self._rest()

    async def close(self) -> None:
        """End the process; requests under way fail."""
        if self._idle is not None:
            self._idle.cancel()
        async with self._starting:
            processes = self._retired if self._process is None else [*self._retired, self._process]
            self._process, self._retired = None, []
            for process in processes:
                process.end()
            for process in processes:
                await process.gone.wait()

    async def _running(self) -> _Process:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        async with self._starting:
            while self._process is None or not self._process.alive:
                keys = self._keys
                process = await self._spawn(keys)
                if keys is self._keys:
                    self._process = process
                else:
                    process.end()
            return self._process

    async def _spawn(self, keys: Mapping[str, str]) -> _Process:
        loop = asyncio.get_running_loop()
        try:
            _, process = await loop.subprocess_exec(
                lambda: _Process(keys),
                sys.executable,
                # Without the working directory on the path, and in a directory that is nobody's workspace: a file
                # there must not be imported, nor a .env be read, by the one process that has the keys.
                "-P",
                "-m",
                "oi_engine.models.worker",
                str(os.getpid()),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environ,
                cwd=os.sep,
                # Ctrl-C in a terminal is for the session, not for the worker.
                start_new_session=True,
            )
        except OSError as error:
            raise ModelError(
                "worker_died", f"The model worker could not be started: {error}.", "Run `oi-lsp doctor`."
            ) from error
        return process

    def _rest(self) -> None:
        """Set the idle timer where nothing is under way."""
        process = self._process
        if process is None or process.busy or not process.alive:
            return
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_timeout, process.end)


class WorkerModel:
    """A ``Model`` whose replies come from a ``ModelWorker``, which may serve others too."""

    def __init__(self, worker: ModelWorker) -> None:
        self._worker = worker

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Ask for a reply; see ``Model.stream``."""
        asked = {"op": "stream", **attrs.asdict(request, recurse=False)}
        messages = self._worker.ask(asked)
        try:
            count = 0
            async for message in messages:
                for event in _events(message):
                    yield event
                    count += 1
                    if count % _EVENTS_IN_A_ROW == 0:
                        await asyncio.sleep(0)
        finally:
            await messages.aclose()

    async def info(self, model: str, api_base: str | None = None) -> ModelInfo:
        """What LiteLLM's table knows of a model; nothing where the worker is not to be had."""
        local = is_local(model, api_base, os.environ)
        try:
            known = await self._worker.info(model, api_base)
        except ModelError:
            return ModelInfo(local=local)
        return attrs.evolve(
            known, local=local, tokenizer=WorkerTokenizer(self._worker, model), images=WorkerImages(self._worker)
        )

    async def warm_up(self) -> None:
        """Start the worker, which then makes itself ready; never raises."""
        try:
            await self._worker.start()
        except ModelError:
            # The first request will say it.
            return

    async def close(self) -> None:
        """Nothing to let go of: the worker is its owner's, and streams end with their generators."""


@attrs.frozen
class WorkerTokenizer:
    """Counts tokens in the worker, with the vocabularies that come with LiteLLM."""

    _worker: ModelWorker = attrs.field(repr=False)
    model: str

    async def count(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text; see ``Tokenizer``."""
        found: list[int] = await self._worker.know({"op": "count", "model": self.model, "texts": list(texts)})
        return found


@attrs.frozen
class WorkerImages:
    """Makes images fit in the worker, which does so with all that is sent."""

    _worker: ModelWorker = attrs.field(repr=False)

    async def fit(self, messages: Sequence[ProviderMessage]) -> tuple[list[ProviderMessage], int]:
        """The messages with images that fit, and how many were left out; see ``Images``."""
        found = await self._worker.know({"op": "fit", "model": "", "messages": list(messages)})
        return found["messages"], found["left_out"]


def _events(message: Mapping[str, Any]) -> list[ModelEvent]:
    if deltas := message.get("deltas"):
        return [event for delta in deltas for event in delta_events(delta)]
    if usage := message.get("usage"):
        return [usage_event(usage)]
    return [Notice(message["notice"])] if "notice" in message else []


class _Inbox:
    """What has come for one request and was not yet taken."""

    def __init__(self) -> None:
        self._messages: deque[dict[str, Any]] = deque()
        self._news = asyncio.Event()
        self._failure: ModelError | None = None

    def put(self, message: dict[str, Any]) -> None:
        self._messages.append(message)
        self._news.set()

    def fail(self, error: ModelError) -> None:
        self._failure = error
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        while True:
            while self._messages:
                yield self._messages.popleft()
            if self._failure is not None:
                raise self._failure
            self._news.clear()
            await self._news.wait()


class _Process(asyncio.SubprocessProtocol):
    """The child process: its pipes, and who waits for what comes out of them."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        self.gone = asyncio.Event()
        self.pid = 0
        self._keys = keys
        self._inboxes: dict[int, _Inbox] = {}
        self._rest = b""
        self._stderr: deque[bytes] = deque(maxlen=_STDERR_LINES)
        self._stderr_rest = b""
        self._ending = False
        self._retiring = False
        self._sent = Sent()

    @property
    def alive(self) -> bool:
        """Whether requests can be sent."""
        return not (self._ending or self.gone.is_set() or self._transport.get_returncode() is not None)

    @property
    def busy(self) -> bool:
        """Whether requests are under way."""
        return bool(self._inboxes)

    def open(self, number: int) -> _Inbox:
        """Where the events of a request will be."""
        inbox = self._inboxes[number] = _Inbox()
        if self.gone.is_set():
            inbox.fail(self._death())
        return inbox

    def shut(self, number: int) -> None:
        """Nobody waits for that request any more."""
        self._inboxes.pop(number, None)
        if self._retiring and not self.busy:
            self.end()

    def ask(self, number: int, request: Mapping[str, Any]) -> None:
        """Send a request; of a prompt, what is new of it."""
        prompt = self._sent.fields(number, request["messages"]) if request["op"] == "stream" else {}
        self.send({"id": number, **request, **prompt})

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message; nothing where the process is gone: its requests fail by its death."""
        if not self._input.is_closing():
            self._input.write(json.dumps(message, separators=(",", ":"), default=_plain).encode() + b"\n")

    def retire(self) -> None:
        """End the process when nothing is under way any more."""
        self._retiring = True
        if not self.busy:
            self.end()

    def end(self) -> None:
        """End the process: it has nothing to save."""
        self._ending = True
        if not self.gone.is_set():
            self._transport.kill()

    # asyncio's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.pid = self._transport.get_pid()
        self._input = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        self.send(self._keys)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            *lines, self._stderr_rest = (self._stderr_rest + data).split(b"\n")
            self._stderr.extend(lines)
            # A line without end must not grow.
            self._stderr_rest = self._stderr_rest[-4096:]
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            inbox = self._inboxes.get(message["id"])
            if inbox is not None:
                inbox.put(message)

    def connection_lost(self, exc: Exception | None) -> None:
        # Called when the process has ended and its pipes are read to the end.
        self.gone.set()
        self._transport.close()
        for inbox in self._inboxes.values():
            inbox.fail(self._death())

    def _death(self) -> ModelError:
        if self._ending:
            return ModelError("worker_died", "The model worker was ended while the model replied.", "")
        lines = [line.decode(errors="replace").strip() for line in (*self._stderr, self._stderr_rest)]
        last = next((line for line in reversed(lines) if line), "")
        said = f" Its last words: {redacted(last, self._keys.values())[:300]}" if last else ""
        return ModelError(
            "worker_died",
            f"The model worker ended unexpectedly ({_ending(self._transport.get_returncode())}).{said}",
            "Send your message again: a new worker starts. If it happens again, run `oi-lsp doctor`.",
        )


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"


def _plain(value: object) -> object:
    """Mappings that are not ``dict``, for the encoder."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be sent to the model worker")
