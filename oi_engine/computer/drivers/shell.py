"""Shell code, in bash."""

from __future__ import annotations

import shlex

from oi_engine.computer.repl import DRIVERS, Driver


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


BASH = Driver(
    language="shell",
    programs=("bash",),
    arguments=("--noprofile", "--rcfile", str(DRIVERS / "shell.bash"), "--noediting", "-i"),
    remedy="Install it with `apt-get install bash`, `dnf install bash` or `brew install bash`.",
    request=_request,
    reads_requests_on_stdin=True,
)
