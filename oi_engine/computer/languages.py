"""The languages: their names, how each runs, and whether what runs it is installed.

Names and aliases are Open Interpreter's, and the usual tags of Markdown code blocks. What is not here (``text``,
``output``, ``json``, ``diff`` …) is not code that runs.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Literal, Protocol

from attrs import frozen

from oi_engine.computer.driver import Driver
from oi_engine.computer.drivers.applescript import APPLESCRIPT
from oi_engine.computer.drivers.java import JAVA
from oi_engine.computer.drivers.node import NODE
from oi_engine.computer.drivers.powershell import POWERSHELL
from oi_engine.computer.drivers.r import R
from oi_engine.computer.drivers.ruby import RUBY
from oi_engine.computer.drivers.shell import shell_driver

Runs = Literal["kernel", "repl", "shown"]


@frozen
class Language:
    """One language.

    ``name``: the canonical one, lower case. ``runs``: in a Jupyter ``kernel``, behind the driver protocol (``repl``),
    or ``shown`` to the person instead of run. ``title``: the name for a person.
    """

    name: str
    title: str
    runs: Runs
    aliases: tuple[str, ...] = ()


@frozen
class Availability:
    """Whether a language can run here. ``program``: its path, where one runs it; ``remedy``: what to do if not."""

    found: bool
    program: str = ""
    remedy: str = ""


LANGUAGES: tuple[Language, ...] = (
    Language("python", "Python", "kernel", ("py", "python3", "ipython")),
    Language("shell", "Shell", "repl", ("bash", "sh", "zsh", "batch", "bat")),
    Language("javascript", "JavaScript", "repl", ("js", "node", "nodejs", "mjs", "cjs")),
    Language("html", "HTML", "shown", ("htm",)),
    Language("react", "React", "shown", ("jsx",)),
    Language("r", "R", "repl", ("rscript",)),
    Language("ruby", "Ruby", "repl", ("rb",)),
    Language("java", "Java", "repl"),
    Language("powershell", "PowerShell", "repl", ("pwsh", "ps1")),
    Language("applescript", "AppleScript", "repl", ("osascript",)),
)
"""Every language, the most used first."""

_BY_NAME = {name: language for language in LANGUAGES for name in (language.name, *language.aliases)}

_DRIVERS = {each.language: each for each in (NODE, R, RUBY, JAVA, POWERSHELL, APPLESCRIPT)}

KNOWN_NAMES = frozenset(_BY_NAME)
"""Every name and alias."""


class Naming(Protocol):
    """Which names mean which language: the built-in ones, or those and what is installed or was brought along."""

    def canonical(self, name: str) -> str | None:
        """The name of the language that is meant, however it is written; ``None`` for what is none."""
        ...

    def known_names(self) -> frozenset[str]:
        """Every name and alias that ``canonical`` knows."""
        ...


@frozen
class BuiltInNames:
    """The names of the built-in languages."""

    def canonical(self, name: str) -> str | None:
        """See ``Naming``."""
        return canonical(name)

    def known_names(self) -> frozenset[str]:
        """See ``Naming``."""
        return KNOWN_NAMES


def canonical(name: str) -> str | None:
    """The canonical name of a language, however it is written; ``None`` for what is no language that is known."""
    language = _BY_NAME.get(name.strip().lower())
    return language.name if language else None


def language(name: str) -> Language | None:
    """The language of that name or alias, ``None`` where there is none."""
    return _BY_NAME.get(name.strip().lower())


def driver(name: str, *, shell: str | None = None, env: Mapping[str, str] | None = None) -> Driver | None:
    """The driver that runs a language, ``None`` where none does. ``shell``: the setting ``computer.shell``."""
    known = canonical(name)
    return shell_driver(shell, env=env) if known == "shell" else _DRIVERS.get(known or "")


def available(name: str, *, shell: str | None = None, env: Mapping[str, str] | None = None) -> Availability:
    """Whether a language, by name or alias, can run here. ``env``: with the PATH; ``None``: this process's."""
    found = language(name)
    if found is None:
        return Availability(False, remedy=f"{name} is not a language that is known here.")
    if found.runs == "shown":
        return Availability(True)
    if found.runs == "kernel":
        # The kernel finds its own Python; the one that this runs in is always there.
        return Availability(True, sys.executable)
    repl = driver(found.name, shell=shell, env=env)
    assert repl is not None
    program = repl.find(env.get("PATH") if env is not None else None)
    return Availability(True, program) if program else Availability(False, remedy=repl.remedy)
