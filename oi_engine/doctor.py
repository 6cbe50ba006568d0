"""What is on this machine that oi-lsp can use, what is missing, and the command that adds it. Facts only: no printing.

Everything is asked at once, each within ``LIMIT`` seconds. Nothing that lies in the workspace is run for it, since
nobody has approved that: its environment is read from its files, and of its programs no version is told.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Mapping
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from oi_engine.computer.container import container_problem
from oi_engine.computer.environment import candidates, choose_python
from oi_engine.computer.languages import LANGUAGES, Language, available
from oi_engine.computer.sandbox import look_for_sandbox
from oi_engine.computer.syscalls import filter_program
from oi_engine.computer.virtual_environment import read_environment
from oi_engine.models.discovery import discover
from oi_engine.safety.programs import lies_in, path_outside
from oi_engine.safety.scan import semgrep
from oi_engine.safety.secrets import scrubbed, take_provider_keys
from oi_engine.version import __version__

LIMIT = 1.8
"""Seconds that anything gets to answer."""

_VERSIONS = """
import importlib.util, json, platform
print(json.dumps({
    "python": platform.python_version(), "matplotlib": importlib.util.find_spec("matplotlib") is not None,
}))
"""
_INSTALLERS = {"apt-get": "sudo apt install", "dnf": "sudo dnf install", "pacman": "sudo pacman -S"}


@frozen
class Fact:
    """One thing that was looked for. ``detail``: what was found; ``remedy``: the command or setting that adds it.

    Without an ``essential`` thing no code runs; the rest adds to what can be done.
    """

    area: str
    name: str
    found: bool
    detail: str = ""
    remedy: str = ""
    essential: bool = False


@frozen
class Report:
    """Everything that was looked for, by area."""

    facts: tuple[Fact, ...]

    @property
    def healthy(self) -> bool:
        """Whether everything essential is there."""
        return all(fact.found for fact in self.facts if fact.essential)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: the version, ``healthy``, and the facts with the fields of ``Fact``."""
        return {"version": __version__, "healthy": self.healthy, "facts": [asdict(fact) for fact in self.facts]}

    def as_text(self) -> str:
        """As a person reads it."""
        lines = [f"oi-lsp {__version__}"]
        width = max(len(fact.name) for fact in self.facts)
        for area, facts in groupby(self.facts, key=lambda fact: fact.area):
            lines += ["", area]
            for fact in facts:
                state = "found  " if fact.found else "missing"
                lines.append(f"  {state}  {fact.name:<{width}}  {fact.detail}".rstrip())
                if fact.remedy:
                    lines.append(f"  {'':<{len(state) + 2 + width}}  → {fact.remedy}")
        return "\n".join(lines)


async def examine(folder: Path | None = None, environ: Mapping[str, str] | None = None) -> Report:
    """Look at this machine, from ``folder``. Values of keys are neither kept nor told."""
    folder = folder or Path.cwd()
    own = dict(os.environ if environ is None else environ)
    env = scrubbed(own)
    keys = take_provider_keys(own)
    languages = (_language(language, folder, env) for language in LANGUAGES if language.runs == "repl")
    found = await asyncio.gather(
        _within(_python(folder, env), Fact("Python", "kernel", False, essential=True)),
        *(_within(asking, Fact("Languages", "program", False)) for asking in languages),
        _within(_models(keys, env), Fact("Models", "local servers", False)),
        _within(_sandbox(folder, env), Fact("Safety", "sandbox", False)),
        _within(_scanner(folder, env), Fact("Safety", "scanner", False)),
    )
    return Report(tuple(fact for facts in found for fact in facts))


async def _within(asking: Awaitable[list[Fact]], otherwise: Fact) -> list[Fact]:
    try:
        return await asyncio.wait_for(asking, LIMIT)
    except TimeoutError:
        return [Fact(otherwise.area, otherwise.name, False, f"no answer within {LIMIT} s", "", otherwise.essential)]


async def _python(folder: Path, env: Mapping[str, str]) -> list[Fact]:
    """Which Python runs the kernel and why, and whether it can plot."""
    path, why = next(candidates(None, folder, folder, env), (Path(sys.executable), ""))
    if lies_in(path, folder):
        return _python_of_workspace(path, why)
    choice = await choose_python(None, folder, folder, env)
    answer = await _output([choice.python, "-I", "-c", _VERSIONS], env)
    try:
        told = json.loads(answer)
        version, plots = str(told["python"]), told["matplotlib"] is True
    except (ValueError, TypeError, KeyError):
        return [Fact("Python", "kernel", False, f"{choice.python} does not answer", essential=True)]
    has_kernel = not choice.own or find_spec("ipykernel") is not None
    pip = f"{shlex.quote(choice.python)} -m pip install"
    return [
        Fact(
            "Python",
            "kernel",
            has_kernel,
            f"{choice.python} {version} ({choice.why})",
            choice.notice or ("" if has_kernel else f"{pip} ipykernel"),
            essential=True,
        ),
        Fact("Python", "matplotlib", plots, "" if plots else "for plots", "" if plots else f"{pip} matplotlib"),
    ]


def _python_of_workspace(python: Path, why: str) -> list[Fact]:
    found = read_environment(python)
    if found is None:
        return [Fact("Python", "kernel", True, f"{python} ({why}; not looked at: nobody has approved it)", "", True)]
    pip = f"{shlex.quote(str(python))} -m pip install"

    def has(package: str) -> bool:
        return package in found.packages or found.sees_more

    plots = has("matplotlib")
    # Without ipykernel the tool's own Python stands in.
    return [
        Fact(
            "Python",
            "kernel",
            True,
            f"{python} {found.version} ({why}, by its files)",
            "" if has("ipykernel") else f"{pip} ipykernel",
            essential=True,
        ),
        Fact("Python", "matplotlib", plots, "" if plots else "for plots", "" if plots else f"{pip} matplotlib"),
    ]


async def _language(language: Language, folder: Path, env: Mapping[str, str]) -> list[Fact]:
    there = available(language.name, env=env)
    if not there.found:
        return [Fact("Languages", language.title, False, "", there.remedy)]
    if lies_in(there.program, folder):
        return [Fact("Languages", language.title, True, f"{there.program} (of this folder, so it was not run)")]
    version = (await _output([there.program, "--version"], env)).partition("\n")[0].strip()
    return [Fact("Languages", language.title, True, f"{there.program} ({version})" if version else there.program)]


async def _models(keys: Mapping[str, str], env: Mapping[str, str]) -> list[Fact]:
    found = await discover(keys, env)
    if not found.candidates:
        remedy = "set a provider's key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a local server (Ollama)"
        return [Fact("Models", "any", False, "`oi-lsp chat` talks to the tour, a script", remedy)]
    return [Fact("Models", candidate.model, True, candidate.why) for candidate in found.candidates]


async def _sandbox(folder: Path, env: Mapping[str, str]) -> list[Fact]:
    if not container_problem():
        return [Fact("Safety", "sandbox", True, "the container that this runs in (`sandbox: container`)")]
    path = shutil.which("bwrap", path=path_outside(env.get("PATH"), folder))
    if path is None and sys.platform == "linux":
        detail = "bubblewrap, for `auto_run: sandboxed` and `sandbox`"
        return [Fact("Safety", "sandbox", False, detail, _install("bubblewrap", env))]
    problem = (await look_for_sandbox(folder)).problem
    holds = "limits are watched, cgroups are not used"
    if sys.platform == "linux":
        holds += f"; system calls are {'' if filter_program() else 'not '}filtered"
    return [Fact("Safety", "sandbox", not problem, problem or f"{path or 'sandbox-exec'} ({holds})")]


async def _scanner(folder: Path, env: Mapping[str, str]) -> list[Fact]:
    program = semgrep.find({**env, "PATH": path_outside(env.get("PATH"), folder)})
    if program is None:
        return [Fact("Safety", "scanner", False, "semgrep, for `safe_mode`", semgrep.INSTALL)]
    return [Fact("Safety", "scanner", True, f"{program} (for `safe_mode`)")]


def _install(package: str, env: Mapping[str, str]) -> str:
    path = env.get("PATH")
    command = next((how for program, how in _INSTALLERS.items() if shutil.which(program, path=path)), "install")
    return f"{command} {package}"


async def _output(command: list[str], env: Mapping[str, str]) -> str:
    """What a program prints; empty where it cannot be run. It is ended where nobody waits for it any more."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return ""
    try:
        output, _ = await process.communicate()
        return output.decode("utf-8", "replace")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
