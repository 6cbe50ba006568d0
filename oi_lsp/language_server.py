"""The language server: what it registers, and how it lives and ends.

Start-up counts: nothing is imported here beyond what answering ``initialize`` takes. The engine is imported in a thread
once the client has sent ``initialized``; the messages after that wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from oi_engine.errors import OiError
from oi_engine.version import __version__
from oi_lsp import protocol as wire
from oi_lsp.channel import FULL, Channel, PipeWriter, frames
from oi_lsp.client import Client
from oi_lsp.document_tools import DocumentTools
from oi_lsp.editor import Editor
from oi_lsp.features import (
    actions,
    approval,
    changes,
    chat,
    chat_document,
    documents,
    execution,
    history,
    inline_edit,
    looks,
    models,
    selection,
    sessions,
    settings,
)
from oi_lsp.features.handlers import Handler, Query
from oi_lsp.host import ERROR_CODES, EngineLoader, SessionHost
from oi_lsp.outbox import Outbox, Told
from oi_lsp.problems import Problems
from oi_lsp.structure import InvalidField, from_wire, kind_of, shortened, to_wire
from oi_lsp.wire import Protocol, WireError

log = logging.getLogger(__name__)

HOST_FEATURES = (sessions, chat, approval, execution, history, changes, settings, models)
EDITOR_FEATURES = (documents, actions)
DOCUMENT_FEATURES = (chat_document, selection, inline_edit, looks)
"""What acts on the sessions, on what is known of the editor, and on its documents."""

ANSWERING = 64
"""The most commands and queries that wait for their answer at a time."""
QUERY_TIME = 2.0
"""Seconds after which a query of the editor's is answered with nothing: it has asked anew by then."""

_FLUSH_TIME = 1.0
_METHODS = {notification.params: notification.method for notification in wire.NOTIFICATIONS}


class OiLanguageServer(LanguageServer):
    """Hosts sessions for one client."""

    protocol: Protocol

    def __init__(self, load_engine: EngineLoader) -> None:
        super().__init__(
            "oi-lsp", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Incremental, protocol_cls=Protocol
        )
        self.outbox = Outbox(self._tell, lambda: self._writer.pending == 0)
        self.host = SessionHost(load_engine, self.outbox)
        self.host.on_problem = self._warn
        self.editor = Editor(self.host, Client(self.protocol))
        self.tools = DocumentTools(self.editor)
        self.host.on_problems = Problems(partial(self.editor.diagnostics.set, "settings"), self._warn).show
        self.protocol.on_exit = self.end
        self.protocol.on_lost = self.editor.documents.lose
        self._writer: PipeWriter
        self._over: asyncio.Future[int]
        self._loading: asyncio.Task[None] | None = None
        self._answering: set[asyncio.Task[Any]] = set()
        self._register()

    async def serve(self, channel: Channel, on_ending: Callable[[int], None] = lambda _: None) -> int:
        """Serve the client at the other end until it goes or says so. Answers the exit code.

        ``on_ending`` is called with it before sessions are closed.
        """
        loop = asyncio.get_running_loop()
        self._over = loop.create_future()
        self._writer = PipeWriter(channel.write, self.outbox.flush, lambda: self.end(0))
        self.protocol.set_writer(self._writer)
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            with contextlib.suppress(AttributeError, NotImplementedError):  # Windows has neither all nor the method
                loop.add_signal_handler(getattr(signal, name), self.end, 0)
        threading.Thread(target=self._read, args=(channel, loop), name="oi-reader", daemon=True).start()
        code = await self._over
        on_ending(code)
        await self._wind_up()
        return code

    def end(self, code: int) -> None:
        """Have the server end with this exit code."""
        if not self._over.done():
            self._over.set_result(code)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log it: what a client should know is in the answer to its request."""
        log.debug("%s: %s", getattr(source, "__name__", source), error)

    # --- reading -----------------------------------------------------------------------------------------------

    def _read(self, channel: Channel, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread: hand over each message and wait until it has been taken."""
        taken = threading.Semaphore(0)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the server has ended
            try:
                for body in frames(channel.read):
                    loop.call_soon_threadsafe(self._take, body, taken)
                    taken.acquire()
            except OSError as error:
                log.info("The client can no longer be read: %s", error)
            loop.call_soon_threadsafe(self.end, 0)

    def _take(self, body: bytes | None, taken: threading.Semaphore) -> None:
        self.protocol.receive(body)
        waits = []
        if self._loading is not None and not self._loading.done():
            waits.append(self._loading)
        if self._writer.pending > FULL:
            waits.append(asyncio.ensure_future(self._writer.drained()))
        if not waits:
            taken.release()
            return
        waiting = asyncio.gather(*waits, return_exceptions=True)
        waiting.add_done_callback(lambda _: taken.release())

    # --- the life of the server --------------------------------------------------------------------------------

    def _register(self) -> None:
        # pygls puts marks on what is registered, and a bound method takes none.
        self.feature(types.INITIALIZE)(partial(self._on_initialize))
        self.feature(types.INITIALIZED)(partial(self._on_initialized))
        self.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(partial(self._on_configuration))
        on_host: list[tuple[type, Handler]] = [each for module in HOST_FEATURES for each in module.HANDLERS]
        on_documents: list[tuple[type, Handler]] = [each for module in DOCUMENT_FEATURES for each in module.HANDLERS]
        served = {params: partial(handler, self.host) for params, handler in on_host}
        served |= {params: partial(handler, self.tools) for params, handler in on_documents}
        for command in wire.COMMANDS:
            self.command(command.name)(self._served(command, served[command.params]))
        queries: list[tuple[object, Query]] = [
            (self.editor, each) for module in EDITOR_FEATURES for each in module.QUERIES
        ]
        queries += [(self.tools, each) for module in DOCUMENT_FEATURES for each in module.QUERIES]
        for subject, query in queries:
            self.feature(query.method, query.options)(self._answered_by(query, subject))

    def _answered_by(self, query: Query, subject: object) -> Callable[..., Any]:
        def answer(*arguments: Any) -> Any:
            found = query.handler(subject, arguments[0])
            return self._in_time(query.method, found) if asyncio.iscoroutine(found) else found

        return answer

    def _in_time(self, method: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[Any] | None:
        """Have a query answered when its work is done, with nothing where that takes long or many wait for it."""
        if len(self._answering) >= ANSWERING:
            work.close()
            return None

        async def answer() -> Any:
            try:
                return await asyncio.wait_for(work, QUERY_TIME)
            except TimeoutError:
                log.info("%s took more than %g seconds.", method, QUERY_TIME)
                return None

        return self._answer(answer())

    def _answer(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        return task

    def _served(self, command: wire.Command, handler: Callable[[Any], object]) -> Callable[..., Any]:
        # Any, as pygls hands the server to a function whose first parameter could hold one.
        def serve(*arguments: Any) -> Any:
            try:
                with _refusals(command.name):
                    if len(arguments) > 1:
                        raise InvalidField("arguments", "must hold one object.")
                    if self._loading is None:
                        raise WireError(wire.ErrorCode.NOT_INITIALIZED, "The client has not sent `initialized` yet.")
                    answer = handler(from_wire(command.params, arguments[0] if arguments else {}))
                    return self._later(command.name, answer) if asyncio.iscoroutine(answer) else to_wire(answer)
            except _Refusal as error:
                return self._show_refusal(error)

        return serve

    def _show_refusal(self, error: _Refusal) -> None:
        """Show the person what a command of theirs was refused for, where the client is a plain one; else raise it.

        Some of those drop an error, the others show it as one of the server's own, without the remedy.
        """
        if self.host.speaks:
            raise error
        remedy = error.data.get("remedy") if isinstance(error.data, dict) else None
        self._warn(f"{error.message} {remedy or ''}".rstrip())

    def _later(self, name: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[Any]:
        """Have a command answered when its work is done. Raises ``WireError`` where too many wait for that."""
        if len(self._answering) >= ANSWERING:
            work.close()
            raise WireError(wire.ErrorCode.TIMED_OUT, "Too many commands wait for their answer. Try again in a while.")

        async def answer() -> Any:
            try:
                with _refusals(name):
                    try:
                        return to_wire(await asyncio.wait_for(work, wire.ANSWER_TIME))
                    except TimeoutError:
                        problem = f"{name} took more than {wire.ANSWER_TIME:g} seconds. Try again in a while."
                        raise WireError(wire.ErrorCode.TIMED_OUT, problem) from None
            except _Refusal as error:
                return self._show_refusal(error)

        return self._answer(answer())

    def _on_initialize(self, params: types.InitializeParams) -> None:
        try:
            self._read_options(params.initialization_options)
        except InvalidField as error:
            raise _invalid(error) from None
        self.editor.begin(params, self.protocol.workspace.position_encoding)
        if params.process_id is not None:
            _watch(params.process_id, lambda: self.end(0))
        self.protocol.initialized = True
        asyncio.get_running_loop().call_soon(self._answered)

    def _read_options(self, options: Any) -> None:
        """Take in ``initializationOptions``; keys that are others' own are left aside."""
        where = "initializationOptions"
        if options is None:
            return
        if not isinstance(options, dict):
            raise InvalidField(where, f"must be an object, not {kind_of(options)}.")
        own = options.get("oi")
        if own is not None:
            options_of_ours = from_wire(wire.OiOptions, own, f"{where}.oi")
            version = options_of_ours.protocol_version
            if version != wire.VERSION:
                remedy = f"is {shortened(str(version))}; this server speaks version {wire.VERSION}."
                raise InvalidField(f"{where}.oi.protocolVersion", remedy)
            self.host.speaks = True
            self.host.streams = options_of_ours.shows == "chunks"
        given = options.get("settings")
        if not (given is None or isinstance(given, dict)):
            raise InvalidField(f"{where}.settings", f"must be an object, not {kind_of(given)}.")
        self.host.settings = given or {}

    def _on_initialized(self, _: types.InitializedParams) -> None:
        if self._loading is not None:
            return  # it was said before: another engine would know nothing of the sessions
        self._loading = asyncio.get_running_loop().create_task(self._load())
        self._loading.add_done_callback(self._loaded)

    async def _load(self) -> None:
        await self.host.load()
        await self.tools.load()

    def _on_configuration(self, params: types.DidChangeConfigurationParams) -> None:
        """Put the editor's settings in the place of those it gave before; what is for others is left aside."""
        given = params.settings.get("oi") if isinstance(params.settings, dict) else None
        if isinstance(given, dict):
            self.host.change_settings(given)
        elif given is not None:
            self._warn(f"The settings under 'oi' must be an object, not {kind_of(given)}.")

    @staticmethod
    def _answered() -> None:
        """``initialize`` is answered: collect garbage again, but leave aside what was imported."""
        gc.freeze()
        gc.enable()

    def _loaded(self, loading: asyncio.Task[None]) -> None:
        if not loading.cancelled() and loading.exception() is not None:
            log.error("The engine could not be loaded.", exc_info=loading.exception())
            self._show(types.MessageType.Error, f"The engine could not be loaded: {loading.exception()}")
        # Nothing has begun yet, so that a long pause does not matter. Importing left much garbage.
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    async def _wind_up(self) -> None:
        await self.host.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._writer.drained(), _FLUSH_TIME)

    # --- telling -----------------------------------------------------------------------------------------------

    def _tell(self, notification: Told) -> None:
        self.protocol.tell(_METHODS[type(notification)], to_wire(notification))

    def _warn(self, message: str) -> None:
        log.warning("%s", message)
        self._show(types.MessageType.Warning, message)

    def _show(self, kind: types.MessageType, message: str) -> None:
        self.window_show_message(types.ShowMessageParams(kind, message))


class _Refusal(WireError):
    """What the person asked for cannot be done, and they can do something about it."""


@contextlib.contextmanager
def _refusals(name: str) -> Iterator[None]:
    """Errors of a command as the client gets them. Raises ``WireError``."""
    try:
        yield
    except WireError:
        raise
    except InvalidField as error:
        raise _invalid(error) from None
    except OiError as error:
        code, field = next((code, field) for kind, code, field in ERROR_CODES if isinstance(error, kind))
        raise _Refusal(code, error.message, wire.ErrorData(field, error.remedy or None)) from None
    except Exception as error:
        log.exception("%s failed.", name)
        problem = f"Internal error: {type(error).__name__}; the server's log has more."
        raise WireError(wire.ErrorCode.INTERNAL_ERROR, problem) from None


def _invalid(error: InvalidField) -> WireError:
    return WireError(wire.ErrorCode.INVALID_PARAMS, str(error), wire.ErrorData(error.field or None))


def _watch(pid: int, on_end: Callable[[], None]) -> None:
    """Have ``on_end`` called when the process is gone.

    A client in another container has a process id that means nothing here: a process that is not there is not
    watched. Where the system has no event for it, the end of the pipe must do.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError, OverflowError) as error:
        log.info("The client's process cannot be watched: %s", error)
        return
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        on_end()

    loop.add_reader(descriptor, ended)
