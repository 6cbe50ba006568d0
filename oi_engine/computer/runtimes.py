"""Makes the runtime of a language: a Jupyter kernel, or a process behind the driver protocol."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from oi_engine.computer.kernel import PythonKernel
from oi_engine.computer.languages import LANGUAGES, Availability, available, canonical, driver
from oi_engine.computer.repl import ReplRuntime
from oi_engine.computer.runtime import Runtime
from oi_engine.errors import LanguageUnavailable
from oi_engine.settings import ComputerSettings


@frozen
class RuntimeFactory:
    """Makes runtimes with one environment and one set of settings. ``env`` holds no provider keys."""

    settings: ComputerSettings
    env: Mapping[str, str]

    def languages(self) -> tuple[str, ...]:
        """Canonical names of the languages that can run here, the most used first."""
        runnable = (language.name for language in LANGUAGES if language.runs in ("kernel", "repl"))
        return tuple(name for name in runnable if self._available(name).found)

    def make(self, language: str, cwd: str, spill: Path) -> Runtime:
        """The runtime of ``language``, not yet started; long output goes to the folder ``spill``.

        Raises ``LanguageUnavailable``, with the remedy.
        """
        name = canonical(language)
        found = self._available(language)
        if name is None or not found.found:
            raise LanguageUnavailable(f"{language or 'Code without a language'} cannot be run here.", found.remedy)
        if name == "python":
            return self._python(cwd, spill)
        repl = driver(name, shell=self.settings.shell, env=self.env)
        if repl is None:
            raise LanguageUnavailable(f"{language} is shown, not run.")
        return ReplRuntime(repl, cwd=cwd, env=self.env)

    def _available(self, language: str) -> Availability:
        return available(language, shell=self.settings.shell, env=self.env)

    def _python(self, cwd: str, spill: Path) -> Runtime:
        return PythonKernel(cwd=Path(cwd), env=self.env, python=self.settings.python, spill_folder=spill)
