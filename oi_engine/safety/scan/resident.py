"""A semgrep that is kept running: ``semgrep lsp`` over pipes, which scans a file in a few milliseconds.

It reads files on disk, and only those that it was told of (``workspace/didCreateFiles``); what it read of a file it
keeps. So each scan has a file of its own, which is gone afterwards. The process ends when its input does: it does not
outlive this one.
The wire is that of language servers (https://microsoft.github.io/language-server-protocol/specification).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oi_engine.safety.scan.pieces import SUFFIXES, Piece, pieces
from oi_engine.safety.scan.report import Finding
from oi_engine.safety.scan.rulebook import FILES
from oi_engine.safety.scan.semgrep import ScanFailed, end, read

_MESSAGE_LIMIT = 8 << 20

_CLOSE_LIMIT = 2.0
"""Seconds for what it still says to come in, once it was killed."""


class Resident:
    """One running process. Not for two scans at a time; after a failure or a cancelled scan it is of no use."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._in = process.stdin
        self._out = process.stdout
        self._folder = folder

    @classmethod
    async def start(cls, program: str, folder: Path, environ: Mapping[str, str]) -> Resident:
        """Start it and see that it finds what it should in every language. Raises ``ScanFailed``."""
        try:
            process = await asyncio.create_subprocess_exec(
                *(program, "lsp"),
                cwd=folder,
                env=dict(environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise ScanFailed(f"semgrep could not be started ({error.strerror or error}).") from error
        resident = cls(process, folder)
        try:
            await resident._begin()
        except BaseException:
            await resident.close()
            raise
        return resident

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    async def scan(self, piece: Piece) -> tuple[list[Finding], bool]:
        """As ``semgrep.read``. Raises ``ScanFailed`` where the process is gone or says what it should not.

        The caller bounds the time.
        """
        file = self._folder / f"{piece.number}.{piece.suffix}"
        file.write_text(piece.text, encoding="utf-8", errors="replace")
        uri = file.as_uri()
        document = {"uri": uri, "languageId": piece.language, "version": 1, "text": piece.text}
        self._send("workspace/didCreateFiles", {"files": [{"uri": uri}]})
        self._send("textDocument/didOpen", {"textDocument": document})
        try:
            while True:
                found = self._found(await self._receive(), uri)
                if found is not None:
                    return read(found, piece)
        finally:
            file.unlink()
            self._send("textDocument/didClose", {"textDocument": {"uri": uri}})
            self._send("workspace/didDeleteFiles", {"files": [{"uri": uri}]})

    @staticmethod
    def _found(message: dict[str, Any], uri: str) -> list[tuple[Any, Any, Any]] | None:
        """What a message says of a file, as ``read`` takes it; ``None`` where it says nothing of it."""
        try:
            if message.get("method") == "window/showMessage" and message["params"]["type"] == 1:
                raise ScanFailed("semgrep failed at this code.")
            if message.get("method") != "textDocument/publishDiagnostics" or message["params"]["uri"] != uri:
                return None
            diagnostics = message["params"]["diagnostics"]
            return [(one["code"], one["range"]["start"]["line"] + 1, one["message"]) for one in diagnostics]
        except (TypeError, KeyError) as error:
            raise ScanFailed("semgrep said something that could not be read.") from error

    async def close(self) -> None:
        """End it."""
        self._in.close()
        end(self._process)
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(_CLOSE_LIMIT):
                while await self._out.read(1 << 16):
                    pass  # only at the end of the file is the pipe closed
        await self._process.wait()

    async def _begin(self) -> None:
        uri = self._folder.as_uri()
        scan = {"configuration": [str(file) for file in FILES], "exclude": [], "include": [], "jobs": 1}
        limits = {"maxMemory": 0, "maxTargetBytes": 0, "timeout": 5, "timeoutThreshold": 3}
        options = {
            "scan": {**scan, **limits, "onlyGitDirty": False, "ci": False},
            "metrics": {"enabled": False, "isNewAppInstall": False, "sessionId": ""},
            "doHover": False,
        }
        params = {
            "processId": os.getpid(),
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": "scan"}],
            "capabilities": {},
            "initializationOptions": options,
        }
        self._send("initialize", params, id=1)
        while (await self._receive()).get("id") != 1:
            pass
        self._send("initialized", {})
        while (await self._receive()).get("method") != "semgrep/rulesRefreshed":
            pass
        for language in SUFFIXES:
            _, to_the_end = await self.scan(pieces(language, "")[0])
            if not to_the_end:
                raise ScanFailed("semgrep does not find what it should.")

    def _send(self, method: str, params: dict[str, Any], **more: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self._in.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def _receive(self) -> dict[str, Any]:
        try:
            head = await self._out.readuntil(b"\r\n\r\n")
            fields = dict(line.split(b":", 1) for line in head.lower().split(b"\r\n") if line)
            length = int(fields[b"content-length"])
            if not 0 <= length <= _MESSAGE_LIMIT:
                raise ValueError(length)
            message = json.loads(await self._out.readexactly(length))
        except asyncio.IncompleteReadError as error:
            raise ScanFailed("semgrep ended unexpectedly.") from error
        except (asyncio.LimitOverrunError, ValueError, KeyError, RecursionError, OSError) as error:
            raise ScanFailed("semgrep said something that could not be read.") from error
        if not isinstance(message, dict):
            raise ScanFailed("semgrep said something that could not be read.")
        return message
