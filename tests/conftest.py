"""What every test has: no way to the network."""

from __future__ import annotations

import os
import socket
import tempfile
from typing import Any

import pytest
from hypothesis import settings

# A deadline for each example would be a timed assertion, and this machine may be busy. CI looks at the same examples
# each time; whoever works on the code looks at new ones.
settings.register_profile("calm", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("calm")


def _in_memory() -> str | None:
    """A folder in memory, where there is a roomy one in which programs can be run."""
    folder = "/dev/shm"
    try:
        about = os.statvfs(folder)
    except OSError:
        return None
    usable = os.access(folder, os.W_OK) and not about.f_flag & os.ST_NOEXEC
    return folder if usable and about.f_bavail * about.f_frsize > 4 * 2**30 else None


# Each database that a test opens and closes waits for the disk some dozen times, which is most of what many tests take.
if "TMPDIR" not in os.environ and (_memory := _in_memory()):
    os.environ["TMPDIR"], tempfile.tempdir = _memory, None

# Nothing of the person who runs the tests is read or written: profiles, conversations, keys.
_HOME = tempfile.TemporaryDirectory(prefix="oi-tests-")
for _kind in ("CONFIG", "DATA", "STATE", "CACHE"):
    os.environ[f"XDG_{_kind}_HOME"] = os.path.join(_HOME.name, _kind.lower())
for _name in [name for name in os.environ if name.endswith("_API_KEY") or name.startswith("OI_")]:
    del os.environ[_name]

_LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")


class NetworkBlocked(AssertionError):
    """A test tried to reach something that is not this machine."""


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a socket connect to loopback and to paths, and fail the test that tries anything else."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(host: Any) -> None:
        if isinstance(host, str) and not host.startswith(_LOOPBACK):
            raise NetworkBlocked(f"a test tried to reach {host}")

    def guarded(self: socket.socket, address: Any) -> Any:
        check(address[0] if isinstance(address, tuple) else None)
        return connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> Any:
        check(address[0] if isinstance(address, tuple) else None)
        return connect_ex(self, address)

    def guarded_lookup(host: Any, *rest: Any, **named: Any) -> Any:
        check(host)
        return getaddrinfo(host, *rest, **named)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_lookup)
    # Child processes cannot be patched from here: point their proxies at a closed port, so that none gets out.
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost,::1")
