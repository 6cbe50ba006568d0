"""What a sandbox stopped, as far as the output of a program tells: paths that it may not write to, and the network.

A program says it in words of its own, after the system's error (EROFS, EACCES, EPERM; ENETUNREACH, EAI_AGAIN). What is
told is therefore a guess, and is told as one: "it seems".
"""

from __future__ import annotations

import os
import re

from attrs import define, field

from oi_engine.computer.runtime import Denied, RunEvent, Text
from oi_engine.computer.sandbox import Allowed, Sandbox
from oi_engine.errors import OiError
from oi_engine.safety.sanitize import sanitize

_LONGEST = 20_000
"""Characters of the end of the output that are looked at."""
_MOST = 3
_REFUSED = r"(?:Read-only file system|Permission denied|Operation not permitted|EROFS|EACCES)"
_PATH = r"(/[^\s'\"`:,()\[\]<>]+)"
_PATHS = (
    # touch: cannot touch '/etc/x': Read-only file system · bash: /etc/x: Permission denied
    re.compile(rf"{_PATH}['\"’]?: {_REFUSED}"),
    # [Errno 30] Read-only file system: '/etc/x' · EROFS: read-only file system, open '/etc/x'
    re.compile(rf"{_REFUSED}[^'\"\n]{{0,60}}['\"]{_PATH}['\"]"),
)
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

    def told(self) -> Denied | None:
        """What seems to have been stopped, and how to allow it; ``None`` where nothing does."""
        end = sanitize(self._end)
        paths = tuple((path, _allowable(path)) for path in self._paths(end))
        network = not self._sandbox.network and _NETWORK.search(end) is not None
        lines = [f"the sandbox seems to have kept it from {path}" for path, _ in paths]
        lines += ["the sandbox has no network"] if network else []
        if not lines:
            return None
        said = "; ".join(lines)
        wanted = [*dict.fromkeys(allow for _, allow in paths if allow), *(["network"] if network else [])]
        offer = " or ".join(f"`%sandbox allow {each}`" for each in wanted)
        remedy = (
            f"To allow it for this session: {offer} (the command oi.sandbox.allow); what runs is then started afresh, "
            "and variables go. Or leave it so."
        )
        text = f"{said[0].upper()}{said[1:]}. {remedy if wanted else 'It cannot be allowed.'}"
        return Denied(text, paths, network)

    def _paths(self, end: str) -> list[str]:
        inside = (os.path.realpath(self._folder), "/tmp", "/proc", "/dev", *self._sandbox.folders)
        found = (match for pattern in _PATHS for match in pattern.findall(end))
        refused = (path for path in found if not any(_within(path, folder) for folder in inside) or _guarded(path))
        return list(dict.fromkeys(refused))[:_MOST]


def _allowable(path: str) -> str:
    """What would have to be allowed for a path: itself, or the nearest folder that is there; empty where that is not
    to be had."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    try:
        Allowed().with_folder(path)
    except OiError:
        return ""
    return path


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _guarded(path: str) -> bool:
    return any(f"/{name}" in path for name in (".git", ".vscode", ".oi"))
