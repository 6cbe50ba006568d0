"""Starts the language server on a channel: standard input and output, or one connection on loopback.

Nothing heavy is imported at the top: the garbage collector is off while pygls and lsprotocol are imported, which saves
a fifth of the time until ``initialize`` is answered, and the descriptors are in place before anything can write.
"""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oi_engine.factory import Engine
    from oi_lsp.host import EngineLoader, EngineMaker

log = logging.getLogger(__name__)

_LAST_RESORT = 4.0


def load_engine() -> EngineMaker:
    """Import the engine. What comes back makes it: by the editor's settings, the profiles, the workspace."""
    from pathlib import Path

    import oi_engine.magic.commands  # noqa: F401 -- for the first message, which is answered at once
    from oi_engine.factory import Engine, preload
    from oi_engine.profiles.live import Sources

    preload()

    async def make(given: Mapping[str, object], workspace: str, on_problem: Callable[[str], None]) -> Engine:
        folders = (Path(workspace),) if workspace else ()
        # What is wrong with files of settings is shown by the listener of the host.
        return await Engine.open(Sources(editor=given, workspaces=folders), log.info)

    return make


def serve_stdio(load: EngineLoader = load_engine) -> int:
    """Serve the client on standard input and output. Answers the exit code.

    From here on, descriptor 1 is standard error and descriptor 0 is empty, for this process and its children: nothing
    but the protocol gets on the wire.
    """
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return _serve(lambda count: os.read(source, count), lambda data: os.write(sink, data), load)


def serve_tcp(port: int, load: EngineLoader = load_engine) -> int:
    """Serve the first client that connects to the port on loopback, and end with it. Answers the exit code.

    Which client that may be: see ``loopback``.
    """
    from oi_lsp.loopback import accept

    with socket.create_server(("127.0.0.1", port)) as listener:
        log.warning("Waiting for a client on 127.0.0.1:%d.", listener.getsockname()[1])
        connection = accept(listener)
    with connection:
        return _serve(connection.recv, connection.send, load)


def _serve(read: Callable[[int], bytes], write: Callable[[memoryview], int], load: EngineLoader) -> int:
    gc.disable()
    # The event loop gets its turn from a thread that computes (the history's, when it looks for keys) after half a
    # millisecond and not after five, of which an answer would wait for several.
    sys.setswitchinterval(0.0005)
    try:
        import asyncio

        from oi_lsp import light_types

        light_types.load()
        from oi_lsp.channel import Channel
        from oi_lsp.language_server import OiLanguageServer

        if not log.isEnabledFor(logging.DEBUG):
            # It logs the bodies of messages at every level.
            logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
        server = OiLanguageServer(load)
        return asyncio.run(server.serve(Channel(read, write), on_ending=_end_in_any_case))
    finally:
        gc.enable()


def _end_in_any_case(code: int) -> None:
    """End the process in a while, whatever still hangs by then."""
    timer = threading.Timer(_LAST_RESORT, os._exit, [code])
    timer.daemon = True
    timer.start()
