"""A session on a scripted model and an engine, to which magic commands are said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from oi_engine.errors import OiError
from oi_engine.factory import Engine
from oi_engine.magic import commands
from oi_engine.magic.commands import parse
from oi_engine.session.session import Session
from oi_engine.settings import Settings
from tests.fakes.scripted import ScriptedModel, Step, TinyRuntime


class Rig:
    """A session on a scripted model and an engine beside it, with a folder of its own."""

    def __init__(self, folder: Path, *replies: list[Step]) -> None:
        self.folder = folder
        self.ran: list[str] = []
        self.engine = Engine(Settings())
        self.model = ScriptedModel(replies)
        self.session = Session(
            self.model, lambda language, cwd: TinyRuntime(self.ran), Settings(auto_run=True), cwd=str(folder)
        )

    async def ask(self, text: str) -> None:
        self.session.send(text)
        await self.session.idle()

    async def do(self, line: str) -> str:
        command = parse(line)
        assert command is not None
        said = await commands.run(command, self.session, self.engine)
        await self.session.idle()
        return said

    async def refusal(self, line: str) -> str:
        with pytest.raises(OiError) as caught:
            await self.do(line)
        return str(caught.value)


MakeRig = Callable[..., Rig]
