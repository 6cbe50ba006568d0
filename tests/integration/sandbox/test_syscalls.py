"""The filter of system calls, asked from inside real runtimes."""

from __future__ import annotations

import ast
import platform
from pathlib import Path

import pytest

from oi_engine.computer import syscalls
from tests.integration.sandbox.inside import WORKSPACE, cell, in_shell, kernel

pytestmark = pytest.mark.skipif(syscalls.filter_program() is None, reason="no filter for this machine")

# Arguments that would do nothing: without a filter most answer EFAULT or EINVAL, and keyctl a key.
CALL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
found = {{}}
for name, number in {calls}.items():
    ctypes.set_errno(0)
    answered = libc.syscall(number, 0, -3, 1, 0, 0, 0)
    found[name] = answered if answered >= 0 else errno.errorcode[ctypes.get_errno()]
print(found)
"""


async def called(place: Path, calls: dict[str, int]) -> dict[str, object]:
    async with kernel(place, WORKSPACE) as runtime:
        found: dict[str, object] = ast.literal_eval((await cell(runtime, CALL.format(calls=calls))).text)
        return found


async def test_what_is_refused_is_refused_and_nothing_else(place: Path) -> None:
    mine = [*syscalls._ARCHITECTURES].index(platform.machine())
    calls = {name: numbers[mine] for name, numbers in syscalls._REFUSED.items()}
    harmless = {"x86_64": {"getpid": 39, "dup": 32}, "aarch64": {"getpid": 172, "dup": 23}}[platform.machine()]
    found = await called(place, {**calls, **harmless})
    assert {name for name, answer in found.items() if answer == "EPERM"} == set(calls)


async def test_the_keys_of_the_system_are_out_of_reach(place: Path) -> None:
    """The one call here that needs no right at all, and answers outside."""
    mine = [*syscalls._ARCHITECTURES].index(platform.machine())
    assert await called(place, {"keyctl": syscalls._REFUSED["keyctl"][mine]}) == {"keyctl": "EPERM"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="of x86_64")
async def test_a_second_set_of_numbers_leads_nowhere(place: Path) -> None:
    assert await called(place, {"getpid": syscalls._X32 | 39}) == {"getpid": "EPERM"}


async def test_nothing_can_be_typed_into_a_terminal(place: Path) -> None:
    script = "python3 -c 'import fcntl; fcntl.ioctl(1, 0x5412, b\"x\")'"
    assert "[Errno 1] Operation not permitted" in (await in_shell(place, script)).text


async def test_who_is_first_inside_is_filtered_too(place: Path) -> None:
    said = await in_shell(place, "grep -h ^Seccomp: /proc/1/status /proc/self/status")
    assert said.text == "Seccomp:\t2\nSeccomp:\t2\n"


def test_where_the_numbers_are_not_known_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert syscalls.filter_program() is None
