"""The scanner that sessions share: a resident semgrep, and a new one in its place where it fails.

::

    scanner = Scanner(environ)          # starts nothing
    scanner.warm_up()                   # starts semgrep in the background, 0.7 s
    report = await scanner.scan("python", code)     # 10 ms once it is warm; never raises, at most LIMIT seconds
    await scanner.close()

The code is written into a folder under the system's temporary one that only this user can read; the file is gone
after each scan, and the folder with the scanner, or, where the process was killed, at the next start (``temporary``).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path

from oi_engine.safety.scan import semgrep
from oi_engine.safety.scan.pieces import SUFFIXES, Piece, pieces
from oi_engine.safety.scan.report import Finding, Report, put_together
from oi_engine.safety.scan.resident import Resident
from oi_engine.safety.scan.semgrep import ScanFailed
from oi_engine.temporary import TemporaryFolder

log = logging.getLogger(__name__)

LIMIT = 10.0
"""Seconds that one scan may take, with all that goes wrong on the way, waiting for others included."""

RESIDENT_LIMIT = 2.0
"""Seconds that a running semgrep may take for one piece of code."""

START_LIMIT = 6.0
"""Seconds that a resident semgrep may take to get ready."""

IDLE = 600.0
"""Seconds without a scan after which the resident process ends; it starts again by itself."""

CODE_LIMIT = 200_000
"""Characters of a block that is scanned."""

_IN_PART = "The scanner could not read all of this code: it may do more than is said here."


class Scanner:
    """Scans code; see the module. Belongs to one event loop. ``program``: semgrep, if not the one that is found."""

    def __init__(
        self, environ: Mapping[str, str] | None = None, *, program: str | None = None, limit: float = LIMIT
    ) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        self._program = program
        self._limit = limit
        self._folder: TemporaryFolder | None = None
        self._resident: Resident | None = None
        self._turn = asyncio.Lock()
        self._warming: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The resident process, where it runs."""
        return self._resident.pid if self._resident is not None and self._resident.alive else None

    def warm_up(self) -> None:
        """Get the resident process ready, in the background."""
        if self._closed or self.pid is not None or (self._warming is not None and not self._warming.done()):
            return
        self._warming = asyncio.get_running_loop().create_task(self._warm())

    async def scan(self, language: str, code: str) -> Report:
        """What a block of code would do. Never raises for what goes wrong: the report says why it was not scanned."""
        if language not in SUFFIXES:
            return Report(problem=f"Not scanned: there are no rules for {language}.")
        if len(code) > CODE_LIMIT:
            return Report(problem=f"Not scanned: it has more than {CODE_LIMIT:,} characters.")
        try:
            async with asyncio.timeout(self._limit), self._turn:
                return await self._scan(pieces(language, code))
        except TimeoutError:
            return Report(problem=f"Not scanned: semgrep did not answer within {self._limit:g} seconds.")
        except ScanFailed as error:
            return Report(problem=f"Not scanned: {error}")
        except OSError as error:
            return Report(problem=f"Not scanned: the code could not be handed to semgrep ({error.strerror or error}).")

    async def close(self) -> None:
        """End the process and remove the folder."""
        self._closed = True
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait([self._warming])
        async with self._turn:
            await self._drop()
        if self._ending:
            await asyncio.wait(self._ending)
        if self._folder is not None:
            self._folder.remove()

    # --- one scan at a time ------------------------------------------------------------------------------------

    async def _scan(self, parts: list[Piece]) -> Report:
        if self._closed:
            raise ScanFailed("the scanner was closed.")
        program = self._found()
        findings: list[Finding] = []
        whole = True
        for piece in parts:
            found, to_the_end = await self._piece(program, piece)
            findings += found
            whole = whole and to_the_end
        return put_together(findings, "" if whole else _IN_PART)

    async def _piece(self, program: str, piece: Piece) -> tuple[list[Finding], bool]:
        try:
            fresh = self.pid is None
            found, to_the_end = await self._by_resident(program, piece)
            if to_the_end or fresh:
                return found, to_the_end
        except ScanFailed as error:
            log.info("The resident scanner failed: %s", error)
        # Either the code cannot be read, or the process was not sound: a new one tells.
        await self._drop()
        return await self._by_resident(program, piece)

    async def _by_resident(self, program: str, piece: Piece) -> tuple[list[Finding], bool]:
        resident = await self._ready(program)
        sound = False
        try:
            async with asyncio.timeout(RESIDENT_LIMIT):
                answer = await resident.scan(piece)
            sound = True
            return answer
        except TimeoutError:
            raise ScanFailed(f"semgrep did not answer within {RESIDENT_LIMIT:g} seconds.") from None
        finally:
            if not sound:
                self._resident = None
                self._later(resident)

    async def _ready(self, program: str) -> Resident:
        """The resident process, started where it does not run."""
        if self._idle is not None:
            self._idle.cancel()
        if self._resident is None or not self._resident.alive:
            await self._drop()
            try:
                async with asyncio.timeout(START_LIMIT):
                    self._resident = await Resident.start(program, self._place, self._own_environ)
            except TimeoutError:
                raise ScanFailed(f"semgrep was not ready within {START_LIMIT:g} seconds.") from None
        self._idle = asyncio.get_running_loop().call_later(IDLE, self._rest)
        return self._resident

    async def _warm(self) -> None:
        with contextlib.suppress(ScanFailed, OSError):  # said at the scan
            program = self._found()
            async with self._turn:
                await self._ready(program)

    def _rest(self) -> None:
        if not self._turn.locked() and self._resident is not None:
            resident, self._resident = self._resident, None
            self._later(resident)

    def _later(self, resident: Resident) -> None:
        """End a process without waiting for it."""
        task = asyncio.get_running_loop().create_task(resident.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _drop(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        resident, self._resident = self._resident, None
        if resident is not None:
            await resident.close()

    # --- where and with what -----------------------------------------------------------------------------------

    def _found(self) -> str:
        program = self._program or semgrep.find(self._environ)
        if program is None:
            raise ScanFailed(f"semgrep is not installed. Install it with: {semgrep.INSTALL}")
        return program

    @property
    def _place(self) -> Path:
        """The folder of the code: of this user alone, and with nothing that tells semgrep to overlook files."""
        if self._folder is None:
            self._folder = TemporaryFolder("oi-scan-")
            (self._folder.path / "home").mkdir()
            (self._folder.path / "code").mkdir()
            (self._folder.path / "code" / ".semgrepignore").write_text("", encoding="utf-8")
        return self._folder.path / "code"

    @property
    def _own_environ(self) -> dict[str, str]:
        return semgrep.environment(self._environ, self._place.with_name("home"))
