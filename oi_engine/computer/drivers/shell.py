"""Shell code, in bash 4 or later (the one that macOS brings, 3.2, is not tested) or in zsh.

The person's own start-up files are not read: what they print, ask and redefine would be in every cell's way.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import attrs

from oi_engine.computer.driver import DRIVERS, Driver


def _request(cell: str, path: str) -> bytes:
    """Commands that run the cell at the top level of the shell: in a function ``declare`` would be local.

    An interrupt drops the line that runs; the next one reports.
    """
    quoted = shlex.quote(path)
    lines = (
        f"__oi_begin {cell} {quoted}",
        f'. {quoted} 0<&"$__oi_tty" 1>&"$__oi_tty" 2>&"$__oi_tty"',
        f'__oi_end {cell} "$?"',
    )
    return "".join(f"{line}\n" for line in lines).encode()


def _probe(cell: str) -> bytes:
    return f"__oi_end {cell} 130\n".encode()


BASH = Driver(
    language="shell",
    programs=("bash",),
    arguments=("--noprofile", "--rcfile", str(DRIVERS / "shell.bash"), "--noediting", "-i"),
    remedy="Install it with `apt-get install bash`, `dnf install bash` or `brew install bash`.",
    request=_request,
    probe=_probe,
    reads_requests_on_stdin=True,
)

ZSH = Driver(
    language="shell",
    programs=("zsh",),
    arguments=("-f", "-i", "+Z"),
    remedy="Install it with `apt-get install zsh`, `dnf install zsh` or `brew install zsh`.",
    opening=f". {shlex.quote(str(DRIVERS / 'shell.zsh'))}\n".encode(),
    request=_request,
    probe=_probe,
    reads_requests_on_stdin=True,
)


def shell_driver(wanted: str | None = None, *, env: Mapping[str, str] | None = None) -> Driver:
    """The driver for shell code.

    ``wanted``: a shell by name or path, as the setting ``computer.shell``. ``None``: the shell of ``SHELL`` where that
    is bash or zsh, else bash, else zsh, whichever is there.
    """
    env = os.environ if env is None else env
    path = env.get("PATH")
    if wanted:
        return attrs.evolve(_KINDS.get(Path(wanted).name, BASH), programs=(wanted,))
    own = _KINDS.get(Path(env.get("SHELL", "")).name)
    return next((driver for driver in (own, BASH, ZSH) if driver and driver.find(path)), BASH)


_KINDS = {"bash": BASH, "zsh": ZSH}
