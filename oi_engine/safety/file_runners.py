"""Code whose own text does not say what it runs: it has a program run what is in a file.

An approval *always* is of a text. Of ``python build.py`` or ``make`` the text stays the same while the file becomes
another, so such code is not kept as approved. The file cannot be bound instead: which one it is depends on where the
live shell has gone, and it may read others.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from oi_engine.approval import Cell
from oi_engine.safety.programs import lies_in
from oi_engine.safety.shell_words import RUNS_OTHERS, names, program_words

UNTOLD = "what it runs cannot be told from its text"

_TAKES_NO_FILE = names(": [ [[ getopts let mapfile read readarray set shopt unset")
_BY_PROJECT = names(
    "ant bazel brew bundle bunx cargo cmake composer conda ctest dotnet flutter gem go gradle gradlew grunt gulp hatch",
    "invoke jest just lein mamba maven meson mix mocha mvn ninja nox npm nx pdm pip pip3 pnpm poetry pre-commit pytest",
    "rails rake rspec rustc sbt scons stack swift task terraform tox ts-node tsc tsx turbo vagrant vite vitest yarn",
    "yarnpkg zig",
)
"""Programs that run what the files of a project say, without being told which."""
_MAGIC = re.compile(r"^[ \t]*(?:[\w,. \t\[\]'\"]+=)?[ \t]*(?:!|%(?!matplotlib\b|%?time(?:it)?\b[^!%\n]*$)\S)", re.M)
"""A line that IPython takes for a shell command, or for a magic that may run one or a file."""


def file_runner(cell: Cell) -> str:
    """What in a cell runs a file's text, in words; empty where nothing is seen to.

    Of a language that is no shell only IPython's shell commands and magics are seen, and not what its own functions do.
    """
    if cell.language == "python":
        return "a shell command or a magic command in it may run what is in a file" if _MAGIC.search(cell.code) else ""
    if cell.language == "powershell":
        return UNTOLD
    if cell.language != "shell":
        return ""
    programs = program_words(cell.code)
    if programs is None:
        return UNTOLD
    return next((f"{name} runs what is in a file" for name in programs if _runs_a_file(name, cell.cwd)), "")


def _runs_a_file(program: str, folder: str) -> bool:
    name = program.rpartition("/")[2]
    if name in _BY_PROJECT or name in RUNS_OTHERS - _TAKES_NO_FILE:
        return True
    if "/" in program:
        return lies_in(program, folder)
    path = shutil.which(program)
    # A folder that holds the person's home is where their own programs are.
    return path is not None and lies_in(path, folder) and not lies_in(Path.home(), folder)
