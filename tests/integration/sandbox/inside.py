"""Real runtimes in sandboxes, and what is run in them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from oi_engine.computer.kernel import PythonKernel
from oi_engine.computer.languages import driver
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.sandbox import Confinement, Sandbox
from oi_engine.factory import Engine
from oi_engine.session.state import Snapshot
from oi_engine.settings import Settings
from tests.fakes.scripted import ScriptedModel, code, say
from tests.integration.cells import DEADLINE, Said, run

STRICT = Sandbox("strict", network=False)
WORKSPACE = Sandbox("workspace", network=True)


def there(path: str) -> bool:
    return os.path.lexists(path)


def shell(place: Path, sandbox: Sandbox = STRICT, **limits: Any) -> ReplRuntime:
    env = {**os.environ, "SSH_AUTH_SOCK": "/tmp/agent", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/bus"}
    confinement = Confinement(sandbox, str(place), **limits)
    found = driver("shell", shell="bash", env=env)
    assert found is not None
    return ReplRuntime(found, cwd=place, env=env, confinement=confinement)


@contextlib.asynccontextmanager
async def kernel(place: Path, sandbox: Sandbox = STRICT, **limits: Any) -> AsyncIterator[PythonKernel]:
    made = PythonKernel(
        cwd=place, env=dict(os.environ), python=sys.executable, confinement=Confinement(sandbox, str(place), **limits)
    )
    try:
        yield made
    finally:
        await made.close()


async def in_shell(place: Path, script: str, sandbox: Sandbox = STRICT, **limits: Any) -> Said:
    runtime = shell(place, sandbox, **limits)
    try:
        return await run(runtime, script)
    finally:
        await runtime.close()


async def cell(runtime: PythonKernel, text: str, answers: list[str] | None = None) -> Said:
    return await run(runtime, text, answers or [])  # type: ignore[arg-type]  # what it needs both have


class Rig:
    """A session of an engine with a scripted model."""

    def __init__(self, place: Path, *blocks: str, language: str = "shell", **settings: Any) -> None:
        replies = [[*code(block, language)] for block in blocks]
        self.engine = Engine(Settings(**settings))
        self.session = self.engine.new_session(cwd=str(place), answering=ScriptedModel([*replies, say("Done.")]))
        self.proposals: list[Any] = []
        self.session.on_state(self._state)

    def _state(self, snapshot: Snapshot) -> None:
        if snapshot.proposal is not None:
            self.proposals.append(snapshot.proposal)

    async def go(self) -> list[str]:
        """Send a message, see the turn through; all that the computer said."""
        async with asyncio.timeout(DEADLINE):
            self.session.send("go")
            await self.session.idle()
        return [m.text for m in self.session.messages if m.role == "computer"]

    async def close(self) -> None:
        await self.engine.close()
