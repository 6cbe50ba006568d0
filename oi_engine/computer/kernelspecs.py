"""Installed Jupyter kernels as languages, each by its own name.

A kernel says in its ``kernel.json`` how it is started (Jupyter's "Kernel specs" documentation). Where Jupyter looks for
those is asked of jupyter_client, in a thread and not before somebody wants to know. What a cell says is as rich as the
kernel's messages; which line runs is not told.
"""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

if TYPE_CHECKING:
    from oi_engine.computer.kernel import JupyterKernel
    from oi_engine.computer.kernel_process import KernelSpec
    from oi_engine.computer.sandbox import Confinement

_PYTHONS = {"python", f"python{sys.version_info[0]}", f"python{sys.version_info[0]}.{sys.version_info[1]}"}
_QUIET = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
"""For ipykernel, whose debugger otherwise warns of itself in the output of the first cell."""


@frozen
class InstalledKernel:
    """One installed kernel. ``name``: its folder's, lower case; ``language``: what it runs, lower case."""

    name: str
    title: str
    language: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    interrupt_by_signal: bool

    def runtime(
        self, *, cwd: Path, env: Mapping[str, str], spill_folder: Path, confinement: Confinement | None = None
    ) -> JupyterKernel:
        """Its runtime, not yet started."""
        from oi_engine.computer.kernel import JupyterKernel  # late, as it takes a while

        async def spec() -> KernelSpec:
            return self.spec(env)

        return JupyterKernel(spec, cwd=cwd, spill_folder=spill_folder, confinement=confinement)

    def spec(self, env: Mapping[str, str]) -> KernelSpec:
        """How it is started in the environment ``env``."""
        from oi_engine.computer.kernel_process import PLAIN_TERMINAL, KernelSpec

        own = {name: string.Template(value).safe_substitute(env) for name, value in self.env.items()}
        return KernelSpec(
            f"{self.title} kernel",
            self.argv,
            {**env, **PLAIN_TERMINAL, **_QUIET, **own},
            remedy=f"See what it says in a terminal: `jupyter console --kernel {self.name}`.",
            interrupt_by_signal=self.interrupt_by_signal,
            speaks_ipc=False,
        )


@define
class InstalledKernels:
    """The kernels of this machine. ``found``: those of the last look, by name; none before the first."""

    found: dict[str, InstalledKernel] = field(factory=dict)

    async def look(self) -> dict[str, InstalledKernel]:
        """Look for them, and remember what was found."""
        from oi_engine.computer.kernel_link import find_kernelspecs

        read = [_installed(name, entry) for name, entry in (await find_kernelspecs()).items()]
        self.found = {kernel.name: kernel for kernel in read if kernel is not None}
        return self.found

    def named(self, name: str) -> InstalledKernel | None:
        """The kernel of that name; else the newest, going by the name, of those that run the language of that name."""
        alike = [kernel for kernel in self.found.values() if name and kernel.language == name]
        return self.found.get(name) or max(alike, key=lambda kernel: _numbered(kernel.name), default=None)


def _installed(name: str, entry: Mapping[str, Any]) -> InstalledKernel | None:
    """A kernel from what jupyter_client knows of it, ``None`` where its file names no program."""
    spec = entry["spec"]
    argv = [str(part).replace("{resource_dir}", entry["resource_dir"]) for part in spec.get("argv") or ()]
    if not argv:
        return None
    # As Jupyter does: such a name stands for the Python that has Jupyter.
    program = sys.executable if argv[0] in _PYTHONS else argv[0]
    return InstalledKernel(
        name.lower(),
        spec.get("display_name") or name,
        (spec.get("language") or "").lower(),
        (program, *(part.replace("{prefix}", sys.prefix) for part in argv[1:])),
        {str(key): str(value) for key, value in (spec.get("env") or {}).items()},
        spec.get("interrupt_mode") != "message",
    )


def _numbered(name: str) -> list[tuple[int, str]]:
    """For sorting: ``julia-1.10`` comes after ``julia-1.9``."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]
