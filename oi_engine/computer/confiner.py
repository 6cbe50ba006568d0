"""The sandboxes of one session: whether there is one for a language, and the runtimes in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from oi_engine.computer import container
from oi_engine.computer.runtime import Runtime
from oi_engine.computer.runtimes import Runtimes
from oi_engine.computer.sandbox import CONTAINER, REMEDY, Confinement, Sandbox, known_sandbox, look_for_sandbox
from oi_engine.errors import LanguageUnavailable
from oi_engine.settings import Settings


@frozen
class Confiner:
    """Makes runtimes in sandboxes. ``settings``: those of the moment, for the limits; ``spill``: for long output;
    ``folder``: the session's.
    """

    runtimes: Runtimes
    settings: Callable[[], Settings]
    spill: Path
    folder: str

    async def look(self) -> None:
        """Find out whether there is a sandbox here, before ``problem`` is asked."""
        await look_for_sandbox(self.folder)

    def problem(self, language: str) -> str:
        """Why code of a language cannot be put into a sandbox; empty where it can."""
        if self.runtimes.runs_here(language):
            return f"{language} runs in this program itself, and not in a sandbox."
        return known_sandbox(self.folder).problem

    def make(self, language: str, cwd: str, sandbox: str) -> Runtime:
        """The runtime of a language in the sandbox that the text stands for. Raises ``LanguageUnavailable``."""
        wanted = Sandbox.parse(sandbox)
        if wanted.level == CONTAINER:
            if problem := container.container_problem():
                raise LanguageUnavailable(f"This must run in a container. {problem}", container.REMEDY)
            return self.runtimes.make(language, cwd, self.spill)
        if problem := self.problem(language):
            raise LanguageUnavailable(f"This must run in a sandbox. {problem}", "" if REMEDY in problem else REMEDY)
        limits = self.settings().sandbox_limits
        confinement = Confinement(wanted, cwd, limits.memory, limits.processes)
        return self.runtimes.make(language, cwd, self.spill, confinement)
