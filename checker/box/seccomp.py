"""A system-call filter for the child: what arithmetic needs is allowed, everything else fails.

No processes or threads, no network, no signals to anybody, no writing to disk, no lasting settings:
calls that are not on the list fail with EPERM, and so do new ones that a later kernel may bring.
Needs no root and no library, and works for root too, where the process limit (RLIMIT_NPROC) means
nothing. Files can still be opened for reading. See seccomp(2) and linux/filter.h.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from pathlib import Path

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# fmt: off
# name: (number on x86_64, on aarch64); None where the machine does not have the call
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    # memory
    "brk": (12, 214), "mmap": (9, 222), "munmap": (11, 215), "mremap": (25, 216),
    "mprotect": (10, 226), "madvise": (28, 233),
    # open files, and looking at files
    "read": (0, 63), "readv": (19, 65), "pread64": (17, 67), "write": (1, 64), "writev": (20, 66),
    "close": (3, 57), "lseek": (8, 62), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24),
    "stat": (4, None), "fstat": (5, 80), "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291),
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "getcwd": (79, 17),
    "readlink": (89, None), "readlinkat": (267, 78), "getdents64": (217, 61),
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72),
    # time
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153),
    # this thread: its signals, its locks, its end
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132), "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293),
    "membarrier": (324, 283), "sched_yield": (24, 124), "sched_getaffinity": (204, 123),
    "set_tid_address": (218, 96), "exit": (60, 93), "exit_group": (231, 94),
    # who and where am I, random numbers
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174),
    "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "uname": (63, 160),
    "sysinfo": (99, 179), "getrusage": (98, 165), "getrlimit": (97, 163), "getrandom": (318, 278),
}
# Allowed only with certain values of one argument: its position, and the values.
ALLOWED_WITH: dict[str, tuple[int | None, int | None, int, tuple[int, ...]]] = {
    # duplicate, and the close-on-exec flag; not the owner who gets signals
    "fcntl": (72, 25, 1, (0, 1, 2, 3, 1030)),
    # is it a terminal, how large; close-on-exec
    "ioctl": (16, 29, 1, (0x5401, 0x5413, 0x5450, 0x5451)),
}
# Allowed unless the flags (at this position) ask for more than reading.
READ_ONLY: dict[str, tuple[int | None, int | None, int]] = {"open": (2, None, 1), "openat": (257, 56, 2)}
# fmt: on

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _EPERM = 0x7FFF0000, 0x80000000, 0x00050001
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2


def program(machine: str) -> bytes:
    """The filter as an array of `struct sock_filter` for `machine` (`x86_64` or `aarch64`)."""
    column = {"x86_64": 0, "aarch64": 1}[machine]
    rules: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        rules += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _EPERM)]
    for numbers in ALLOWED.values():
        if (number := numbers[column]) is not None:
            rules += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for *calls, argument, values in ALLOWED_WITH.values():
        if (number := calls[column]) is not None:
            checks = [r for value in values for r in ((_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW))]
            body = [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument), *checks, (_RETURN, 0, 0, _EPERM)]
            rules += [(_EQUAL, 0, len(body), number), *body]
    for *opens, flags in READ_ONLY.values():
        if (number := opens[column]) is not None:
            body = [
                (_LOAD, 0, 0, _ARGUMENTS + 8 * flags),
                (_ANY_BIT, 0, 1, _WRITING),
                (_RETURN, 0, 0, _EPERM),
                (_RETURN, 0, 0, _ALLOW),
            ]
            rules += [(_EQUAL, 0, len(body), number), *body]
    rules.append((_RETURN, 0, 0, _EPERM))
    return b"".join(struct.pack("<HBBI", *rule) for rule in rules)


def available() -> bool:
    """Whether this machine is one the filter is written for and its kernel has seccomp filters."""
    return platform.machine() in _AUDIT_ARCH and Path("/proc/sys/kernel/seccomp/actions_avail").exists()


def enter() -> bool:
    """Put this process under the filter, for good. False where the kernel does not let us."""
    machine = platform.machine()
    if machine not in _AUDIT_ARCH:
        return False
    code = program(machine)
    buffer = ctypes.create_string_buffer(code)
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(header), 0, 0) == 0)
