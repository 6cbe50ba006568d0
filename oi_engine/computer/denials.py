"""What a sandbox stopped, as far as the output of a program tells: paths that it may not write to, and the network.

A program says it in words of its own, after the system's error (EROFS, EACCES, EPERM; ENETUNREACH, EAI_AGAIN). What is
told is therefore a guess, and is told as one: "it seems".
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from attrs import define, field

from oi_engine.computer.runtime import Denied, RunEvent, Text
from oi_engine.computer.sandbox import CONTAINER, Allowed, Sandbox, hidden_paths
from oi_engine.errors import OiError
from oi_engine.safety.programs import GUARDED
from oi_engine.safety.sanitize import sanitize

_LONGEST = 20_000
"""Characters of the end of the output that are looked at."""
_MOST = 3
_SCRATCH = ("/tmp", "/proc", "/dev")
"""Of the sandbox's own: what is refused there is not refused by its walls."""
_PATH = r"(/[^\s'\"`:,()\[\]<>]+)"


def _refusals(error: str) -> tuple[re.Pattern[str], ...]:
    return (
        # touch: cannot touch '/etc/x': Read-only file system · bash: /etc/x: Permission denied
        re.compile(rf"{_PATH}['\"’]?: (?:{error})"),
        # [Errno 30] Read-only file system: '/etc/x' · EROFS: read-only file system, open '/etc/x'
        re.compile(rf"(?:{error})[^'\"\n]{{0,60}}['\"]{_PATH}['\"]"),
    )


_READ_ONLY = _refusals("Read-only file system|EROFS")
"""Hardly anything but a sandbox causes it: it counts where the program went on, and ended well, too."""
_REFUSED = _refusals("Read-only file system|Permission denied|Operation not permitted|EROFS|EACCES")
_NETWORK = re.compile(
    r"Network is unreachable|ENETUNREACH|EAI_AGAIN|Temporary failure in name resolution|Could not resolve host"
    r"|Name or service not known|getaddrinfo"
)


@define
class Denials:
    """Reads along with one run in a sandbox."""

    _sandbox: Sandbox
    _folder: str
    _end: str = field(default="", init=False)

    def take(self, event: RunEvent) -> None:
        """An event of the run."""
        if isinstance(event, Text):
            self._end = (self._end + event.text)[-_LONGEST:]

    def told(self, *, failed: bool) -> Denied | None:
        """What seems to have been stopped, and what of it one may simply allow; ``None`` where nothing does.

        ``failed``: whether the program did.

        A path that is not there is allowed by its folder. What the sandbox keeps from code for a reason of its own
        (keys, what other programs run or believe) is not among what is offered: who wants that names it.
        """
        end = sanitize(self._end)
        refused = self._paths(end, _REFUSED if failed else _READ_ONLY)
        if self._sandbox.level == CONTAINER:
            return _told_of_container(refused) if refused else None
        network = failed and not self._sandbox.network and _NETWORK.search(end) is not None
        lines = [f"the sandbox seems to have kept it from {path}" for path in refused]
        lines += ["the sandbox has no network"] if network else []
        if not lines:
            return None
        said = "; ".join(lines)
        allowable = tuple(dict.fromkeys(found for path in refused if (found := _allowable(path))))
        wanted = [*allowable, *(["network"] if network else [])] or ["PATH"]
        commands = " or ".join(f"`%sandbox allow {each}`" for each in wanted)
        text = (
            f"{said[0].upper()}{said[1:]}. To allow it for this session: {commands} (the command oi.sandbox.allow); "
            "what runs is then started afresh, and variables go. Or leave it so."
        )
        return Denied(text, allowable, network)

    def _paths(self, end: str, refusals: Sequence[re.Pattern[str]]) -> list[str]:
        inside = (os.path.realpath(self._folder), *_SCRATCH, *self._sandbox.folders)
        found = (match for pattern in refusals for match in pattern.findall(end))
        refused = (path for path in found if not any(_within(path, folder) for folder in inside) or _guarded(path))
        return list(dict.fromkeys(refused))[:_MOST]


def _told_of_container(refused: Sequence[str]) -> Denied:
    return Denied(
        f"The container seems to have kept it from {', '.join(refused)}. What is in it, and what may be written, is "
        "said where it is started (docs/docker.md)."
    )


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _guarded(path: str) -> bool:
    return any(f"/{name}" in path for name in GUARDED)


def _allowable(path: str) -> str:
    """The path, or its folder, where that can be allowed and nothing speaks against it; else nothing."""
    there = os.path.realpath(path if os.path.exists(path) else os.path.dirname(path))
    if _guarded(there) or any(_within(there, each) or _within(each, there) for each in hidden_paths()):
        return ""
    try:
        Allowed().with_folder(there)
    except OiError:
        return ""
    return there
