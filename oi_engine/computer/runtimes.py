"""Makes the runtime of a language: a Jupyter kernel, a process behind the driver protocol, or what somebody brought."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from attrs import field, frozen

from oi_engine.computer.custom_language import CustomLanguage, CustomRuntime
from oi_engine.computer.kernelspecs import InstalledKernel, InstalledKernels
from oi_engine.computer.languages import (
    KNOWN_NAMES,
    LANGUAGES,
    Availability,
    Naming,
    available,
    canonical,
    driver,
    language,
)
from oi_engine.computer.runtime import Runtime
from oi_engine.computer.sandbox import Confinement
from oi_engine.computer.shown import ShownRuntime
from oi_engine.errors import LanguageUnavailable
from oi_engine.settings import ComputerSettings


class Runtimes(Naming, Protocol):
    """What makes the runtimes of a session, and says which languages it has."""

    def languages(self) -> tuple[str, ...]:
        """Canonical names of the languages that can run here."""
        ...

    async def discover(self) -> tuple[str, ...]:
        """Look for those that take a while to be found; ``languages`` after that."""
        ...

    def make(self, language: str, cwd: str, spill: Path, confinement: Confinement | None = None) -> Runtime:
        """The runtime of a language, not yet started. Raises ``LanguageUnavailable``, with the remedy."""
        ...

    def runs_here(self, language: str) -> bool:
        """Whether a language runs in this process itself, so that it cannot be put into a sandbox."""
        ...


@frozen
class RuntimeFactory:
    """Makes runtimes with one environment, by the settings of the moment. ``env`` holds no provider keys.

    ``offered``: the languages that there are, built-in ones by name beside custom ones, of which one with the name of a
    built-in one takes its place; ``None``: every built-in one and every installed Jupyter kernel. ``kernels`` may be
    shared; those kernels are known after ``discover``.
    """

    settings: Callable[[], ComputerSettings]
    env: Mapping[str, str]
    offered: tuple[str | CustomLanguage, ...] | None = None
    kernels: InstalledKernels = field(factory=InstalledKernels)

    async def discover(self) -> tuple[str, ...]:
        """Look for installed Jupyter kernels, which takes a moment the first time; ``languages`` after that."""
        if self.offered is None:
            await self.kernels.look()
        return self.languages()

    def languages(self) -> tuple[str, ...]:
        """Canonical names of the languages that can run here, the most used first, then custom ones.

        React is left out: it is shown, but not rendered. Of the Jupyter kernels, those are named that add a language.
        """
        custom = self._custom()
        built_in = (each.name for each in LANGUAGES if each.name != "react" and self._offers(each.name))
        names = [name for name in built_in if name in custom or self._available(name).found]
        names += [name for name in custom if name not in names]
        if self.offered is None:
            kernels = self.kernels.found.values()
            names += [kernel.name for kernel in kernels if self._kernel(kernel.language) is kernel]
        return tuple(names)

    def known_names(self) -> frozenset[str]:
        """Every name and alias under which ``canonical`` finds a language."""
        own = {name for custom in self._custom().values() for name in (custom.name, *custom.aliases)}
        names = {*KNOWN_NAMES, *self.kernels.found, *(kernel.language for kernel in self.kernels.found.values())}
        return frozenset(name for name in own | names if self.canonical(name))

    def canonical(self, name: str) -> str | None:
        """The name of the language that is meant, however it is written; ``None`` for what is none here."""
        written = name.strip().lower()
        customs = self._custom()
        if (custom := next((c for c in customs.values() if written in (c.name, *c.aliases)), None)) is not None:
            return custom.name
        if (known := canonical(written)) is not None:
            return known if known in customs or self._offers(known) else None
        kernel = self._kernel(written)
        return kernel.name if kernel else None

    def system_messages(self) -> tuple[str, ...]:
        """What the custom languages add to the model's instructions."""
        return tuple(custom.system_message for custom in self._custom().values() if custom.system_message)

    def runs_here(self, language: str) -> bool:
        """Whether it is a custom language."""
        return (self.canonical(language) or language) in self._custom()

    def make(self, language: str, cwd: str, spill: Path, confinement: Confinement | None = None) -> Runtime:
        """The runtime of ``language``, not yet started; long output goes to the folder ``spill``.

        With a ``confinement`` it runs in that sandbox. Raises ``LanguageUnavailable``, with the remedy.
        """
        name = self.canonical(language)
        if name is None:
            raise self._unknown(language)
        if (custom := self._custom().get(name)) is not None:
            if confinement is not None:
                raise LanguageUnavailable(f"{custom.title} runs in this program itself, and not in a sandbox.")
            return CustomRuntime(custom)
        if (kernel := self._kernel(name)) is not None:
            return kernel.runtime(cwd=Path(cwd), env=self.env, spill_folder=spill, confinement=confinement)
        found = self._available(name)
        if not found.found:
            raise LanguageUnavailable(f"{language} cannot be run here.", found.remedy)
        # Imported late: that takes a while, and a session without code needs neither.
        if name == "python":
            from oi_engine.computer.kernel import PythonKernel

            return PythonKernel(
                cwd=Path(cwd),
                env=self.env,
                python=self.settings().python,
                spill_folder=spill,
                confinement=confinement,
            )
        from oi_engine.computer.repl import ReplRuntime

        repl = driver(name, shell=self.settings().shell, env=self.env)
        if repl is None:
            return ShownRuntime(name)
        return ReplRuntime(repl, cwd=cwd, env=self.env, confinement=confinement)

    def _custom(self) -> dict[str, CustomLanguage]:
        return {each.name: each for each in self.offered or () if isinstance(each, CustomLanguage)}

    def _offers(self, name: str) -> bool:
        """Whether a built-in language, or a custom one in its place, is offered."""
        if self.offered is None:
            return True
        return any(
            name == (each.name if isinstance(each, CustomLanguage) else canonical(each)) for each in self.offered
        )

    def _kernel(self, name: str) -> InstalledKernel | None:
        """The installed kernel of that name or language, where no built-in language has it."""
        return None if self.offered is not None or language(name) is not None else self.kernels.named(name)

    def _available(self, name: str) -> Availability:
        return available(name, shell=self.settings().shell, env=self.env)

    def _unknown(self, name: str) -> LanguageUnavailable:
        return LanguageUnavailable(
            f"{name or 'Code without a language'} cannot be run here.",
            f"What runs here: {', '.join(self.languages())}; others, where their Jupyter kernels are installed.",
        )
