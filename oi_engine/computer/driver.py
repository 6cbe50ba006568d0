"""The driver protocol, version 1: how a language is run in a long-lived process of its own.

A *driver* is a small program in the language itself. It runs the cells; the terminal (``pseudo_terminal.py``) is the
program's descriptors 0, 1 and 2; what the driver and ``repl.py`` say to one another goes over two pipes, which cells
know nothing of. Output can therefore never be taken for a report.

Starting. The driver finds three numbers in its environment and removes them from it: ``OI_REQUESTS``, the
descriptor to read requests from (0 where ``Driver.reads_requests_on_stdin``), ``OI_REPORTS``, the one to write reports
to, and ``OI_TTY``, the terminal. They are at 60 or above, where scripts seldom look. End of file on the requests
means: leave.

Requests, one line each, UTF-8. ``ID`` is a word that no other cell has; the cell's code is in the file ``PATH``::

    run ID PATH
    interrupt ID          only where Driver.interrupted_by_request; repeated every 50 ms until the cell is done

A shell reads commands of its own instead, which ``Driver.request`` gives; they too end with the report ``done``. It may
lose what it had read of them when it is interrupted: ``Driver.probe`` then asks for the report ``done`` anew.

Reports, one line each, UTF-8::

    ready 1 NAME VERSION  the first, when the driver can take a cell; 1 is the version of the protocol
    line ID N             line N of the cell, from 1, runs now
    text ID STREAM JSON   text beside the terminal: JSON string; STREAM is result, traceback, stdout or stderr
    input ID yes | no     the program waits for a line from the terminal, or no longer does (optional)
    done ID ok            the cell ended; the driver takes the next
    done ID error DETAIL  the same; DETAIL is for the person and may be empty

A report about another cell than the running one is ignored, but for ``text``, which goes to the next. What a cell wrote
to the terminal before a report comes before it here.

Interrupting: SIGINT to the driver, ``^C`` on the terminal, and the request where the driver wants it, repeated every
50 ms; a driver survives all of them in any state. After 0.4 s programs in the foreground get SIGTERM, after 0.7 s
SIGKILL; the driver itself never does.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import field, frozen

DRIVERS = Path(__file__).with_name("drivers")
"""Where the drivers' sources are."""


def run_request(cell: str, path: str) -> bytes:
    """The request ``run``, as most drivers read it."""
    return f"run {cell} {path}\n".encode()


@frozen
class Driver:
    """What has to be known of one driver.

    ``programs``: names of the program that runs it, the preferred first. ``arguments``: those of the program.
    ``remedy``: how the program is installed, for a person. ``suffix``: of the files that cells are written to.
    ``opening``: what is written to the requests first, where the program has to be told to read the driver.
    ``request``, of an ID and a PATH, and ``probe``, of an ID: see above. ``environment``: added to the person's.
    ``one_interrupt_is_enough``: a second signal would cut short what runs when the first one stops a
    cell (the ``finally`` of R); the others are signalled directly as well, before their children.
    ``reports_input``: the driver says by itself when it waits for input (programs that it starts need not).
    """

    language: str
    programs: tuple[str, ...]
    arguments: tuple[str, ...]
    remedy: str
    suffix: str = ""
    environment: Mapping[str, str] = field(factory=dict)
    opening: bytes = b""
    request: Callable[[str, str], bytes] = run_request
    reads_requests_on_stdin: bool = False
    probe: Callable[[str], bytes] | None = None
    interrupted_by_request: bool = False
    one_interrupt_is_enough: bool = False
    reports_input: bool = False

    def find(self, path: str | None = None) -> str | None:
        """The program's path, looked for in ``path`` (as in PATH; ``None``: this process's); ``None``: not there."""
        return next((found for name in self.programs if (found := shutil.which(name, path=path))), None)
