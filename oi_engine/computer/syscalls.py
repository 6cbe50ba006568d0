"""System calls that code in the sandbox has no use for, and that have let others out of theirs: a seccomp filter.

The program is what bubblewrap's ``--seccomp`` takes: ``struct sock_filter`` (linux/filter.h) over ``struct
seccomp_data`` (linux/seccomp.h, seccomp(2)). What is named here fails with EPERM; so do all calls of another
architecture than the machine's own (32-bit programs), for which numbers mean something else.
"""

from __future__ import annotations

import errno
import os
import platform
import struct

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 (linux/audit.h)."""
_REFUSED = {
    # Keys of the system's own key ring, which has no namespace.
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # Large parts of the kernel that faults are found in.
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # What needs rights that nobody has inside.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "acct": (163, 89),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "open_by_handle_at": (304, 265),
}
"""By name, the numbers on x86_64 and aarch64."""
_IOCTL = (16, 29)
_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which type into a terminal."""
_X32 = 0x40000000
"""On x86_64, the bit of the numbers of a second set of calls."""

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _SECOND_ARGUMENT = 0, 4, 24
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000 | errno.EPERM


def filter_program() -> bytes | None:
    """The filter; ``None`` where there are none, or where this machine's numbers are not known."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES or not os.path.exists("/proc/sys/kernel/seccomp"):
        return None
    mine = [*_ARCHITECTURES].index(machine)
    program = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, _ARCHITECTURES[machine]), (_RETURN, 0, 0, _FAIL)]
    program += [(_LOAD, 0, 0, _NUMBER)]
    if machine == "x86_64":
        program += _refuse(_AT_LEAST, _X32)
    for numbers in _REFUSED.values():
        program += _refuse(_EQUAL, numbers[mine])
    program += [(_EQUAL, 1, 0, _IOCTL[mine]), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, _SECOND_ARGUMENT)]
    for request in _REQUESTS:
        program += _refuse(_EQUAL, request)
    program += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _refuse(comparison: int, value: int) -> list[tuple[int, int, int, int]]:
    return [(comparison, 0, 1, value), (_RETURN, 0, 0, _FAIL)]
