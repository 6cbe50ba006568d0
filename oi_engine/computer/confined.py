"""The first program inside the sandbox: a script for ``python -I -S``, standard library only.

::

    python -I -S confined.py [--memory=MB] [--processes=N] [--network=1] [--told=FD] [--tty=FD]
        -- command [argument …]

It sets limits on itself, writes its process id (as it is inside) as a line to ``told``, and turns into the command, in
a process group of its own that is in the foreground of the terminal ``tty``; without one, in a session of its own.

The limits are those that the kernel counts: writable memory of each process (``RLIMIT_DATA``: what a runtime merely
reserves does not count), processes of this user in the sandbox (``RLIMIT_NPROC``; not counted for root), no core files.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

_MEGABYTE = 1024 * 1024


def main(arguments: list[str]) -> None:
    """Turn into the command of ``arguments`` (as in the module's docstring)."""
    end = arguments.index("--")
    pairs = (argument[2:].split("=", 1) for argument in arguments[:end])
    options = {name: int(value) for name, value in pairs}
    command = arguments[end + 1 :]
    _limit(resource.RLIMIT_CORE, 0)
    if "memory" in options:
        _limit(resource.RLIMIT_DATA, options["memory"] * _MEGABYTE)
    if "processes" in options:
        _limit(resource.RLIMIT_NPROC, options["processes"])
    _lead(options.get("tty"))
    if options.get("network"):
        _leave_abstract_sockets()
    if "told" in options:
        os.write(options["told"], b"%d\n" % os.getpid())
        os.close(options["told"])
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


def _leave_abstract_sockets() -> None:
    """Have the kernel refuse sockets without a path (X11, D-Bus) that are from outside.

    They are in no namespace but that of the network, which is shared (``--network``). From Linux 6.12 on (Landlock,
    ABI 6); before that nothing.
    """
    if sys.platform != "linux":
        return
    import ctypes

    call = ctypes.CDLL(None).syscall
    # landlock_create_ruleset(2), landlock_restrict_self(2)
    if call(444, None, 0, 1) < 6:
        return
    handled_files, handled_network, scoped = 0, 0, 1  # LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
    attributes = (ctypes.c_uint64 * 3)(handled_files, handled_network, scoped)
    rules = call(444, attributes, ctypes.sizeof(attributes), 0)
    if rules >= 0:
        call(446, rules, 0)
        os.close(rules)


def _lead(tty: int | None) -> None:
    if tty is None:
        os.setsid()
        return
    os.setpgid(0, 0)
    # Who is in the background would be stopped for it.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(tty, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)


if __name__ == "__main__":
    main(sys.argv[1:])
