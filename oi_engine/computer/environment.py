"""Which Python runs the kernel: the workspace's own, so that code finds the packages that the workspace has.

In this order: the setting ``computer.python`` (which is how an editor hands on the interpreter that the person chose),
``.venv`` or ``venv`` in the session's folder or in a folder above it up to the workspace's root, the environment that
is active (``VIRTUAL_ENV``, ``CONDA_PREFIX``), ``python3`` on the ``PATH``. The first of these that is there is meant;
where it has no ipykernel, the tool's own Python stands in for it, and a notice says so with the command that helps.

Asking a Python runs it, and a workspace may hold any program under that name: choose only when code that the person
approved is about to run there anyway.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import evolve, frozen

from oi_engine.computer.guards import held
from oi_engine.computer.sandbox import Confinement
from oi_engine.computer.supervisor import give_back

_ASK_SECONDS = 15.0
_QUESTION = """
import importlib.util, json, os, sys, sysconfig
has = lambda name: importlib.util.find_spec(name) is not None
managed = os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED"))
print(json.dumps({
    "executable": sys.executable, "ipykernel": has("ipykernel"), "pip": has("pip"),
    "managed": managed and sys.prefix == sys.base_prefix,
}))
"""


@frozen
class Choice:
    """The Python of a kernel: its path; in a few words why it is the one; what the person should be told, if anything.

    ``own`` where it is the tool's own Python, standing in for another.
    """

    python: str
    why: str
    notice: str | None = None
    own: bool = False


@frozen
class _Answer:
    executable: str
    ipykernel: bool
    pip: bool
    managed: bool


async def choose_python(
    setting: str | None, folder: Path, root: Path, env: Mapping[str, str], confinement: Confinement | None = None
) -> Choice:
    """Choose the Python for a session in ``folder`` of the workspace ``root``.

    ``env`` is what the kernel will have; ``confinement`` its sandbox, in which a Python is asked too.

    Takes about 40 ms, for asking the Python. Never fails: the tool's own Python is always there.
    """
    for path, why in candidates(setting, folder, root, env):
        if not os.access(path, os.X_OK) or path.is_dir():
            return _own(f"The Python of the setting computer.python is not there: {path}.", "Correct the setting.")
        answer = await _ask(path, env, confinement)
        if answer is None:
            return _own(f"{path} ({why}) does not work as a Python.", "Repair it or name another in computer.python.")
        if answer.ipykernel:
            return Choice(answer.executable, why)
        return _own(f"{path} ({why}) has no ipykernel.", f"Install it with: {_install_command(answer)}")
    return Choice(sys.executable, "the tool's own, for want of another", own=True)


def candidates(setting: str | None, folder: Path, root: Path, env: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """The Pythons that there are, first choice first, each with the reason; a setting is taken at its word.

    None is run for it.
    """
    if setting:
        named = folder / os.path.expanduser(setting)
        yield (named / "bin" / "python" if os.path.isdir(named) else named), "the setting computer.python"
    above = [folder, *folder.parents]
    for place in above[: above.index(root) + 1] if root in above else [folder]:
        for name in (".venv", "venv"):
            python = place / name / "bin" / "python"
            if os.access(python, os.X_OK):
                yield python, "the workspace's environment"
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        python = Path(env.get(variable) or os.devnull) / "bin" / "python"
        if os.access(python, os.X_OK):
            yield python, "the active environment"
    on_path = shutil.which("python3", path=env.get("PATH", os.defpath))
    if on_path:
        yield Path(on_path), "python3 on the PATH"


async def _ask(python: Path, env: Mapping[str, str], confinement: Confinement | None) -> _Answer | None:
    """What that Python has; ``None`` where it does not answer."""
    command = [str(python), "-I", "-c", _QUESTION]
    if confinement is None:
        return await _answer(command, env)
    async with held(confinement.folder) as workspace:
        confined = evolve(confinement, held=workspace is not None)
        try:
            return await _answer(confined.command(command), confined.environment(env))
        finally:
            if workspace is not None:
                give_back(workspace)


async def _answer(command: list[str], env: Mapping[str, str]) -> _Answer | None:
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _ASK_SECONDS)
        return _Answer(**json.loads(output))
    except (TimeoutError, ValueError, TypeError):
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _own(problem: str, remedy: str) -> Choice:
    notice = f"{problem} For now code runs in the tool's own Python, without that environment's packages. {remedy}"
    return Choice(sys.executable, "the tool's own", notice, own=True)


def _install_command(answer: _Answer) -> str:
    python = shlex.quote(answer.executable)
    if answer.managed:
        return f"{python} -m venv .venv && .venv/bin/python -m pip install ipykernel"
    if answer.pip:
        return f"{python} -m pip install ipykernel"
    return f"uv pip install --python {python} ipykernel"
