"""System-call filters. For the child: what arithmetic needs is allowed, everything else fails.

No processes or threads, no network, no signals to anybody, no writing to disk, no lasting settings:
calls that are not on the list fail with EPERM, and so do new ones that a later kernel may bring.
Needs no root and no library, and works for root too, where the process limit (RLIMIT_NPROC) means
nothing. Files can still be opened for reading. A second, looser filter is for whatever runs in a
cage at grading. See seccomp(2) and linux/filter.h.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from pathlib import Path

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMN = {"x86_64": 0, "aarch64": 1}  # of the tables below

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
    # what ends this process if nothing of it is counted, see `work`
    "setitimer": (38, 103),
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

# For everything in a cage, also where the filter above cannot be (assemblers, a GPU's driver): what
# nobody needs there, and what other holes in kernels were reached by.
# fmt: off
DENIED: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "perf_event_open": (298, 241),
    # mounts and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    # keys, programs in the kernel, page faults and input handled from outside
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "userfaultfd": (323, 282), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # the machine
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "adjtimex": (159, 171), "quotactl": (179, 60), "quotactl_fd": (443, 443), "syslog": (103, 116),
    "sethostname": (170, 161), "setdomainname": (171, 162), "vhangup": (153, 58), "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42), "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
    "uselib": (134, None),
}
# Denied with any of these bits in the argument at this position: no new namespaces.
DENIED_WITH: dict[str, tuple[int | None, int | None, int, int]] = {"clone": (56, 220, 0, 0x7E020000)}
# Said not to exist, as in an old kernel: its flags lie in memory, where a filter cannot look.
ABSENT: dict[str, tuple[int | None, int | None]] = {"clone3": (435, 435)}
# fmt: on

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _EPERM, _ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2


def program(machine: str) -> bytes:
    """Return the filter as an array of `struct sock_filter` for `machine` (`x86_64` or `aarch64`)."""
    column, rules = _COLUMN[machine], _beginning(machine)
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
    return _packed([*rules, (_RETURN, 0, 0, _EPERM)])


def cage_program(machine: str) -> bytes:
    """Return the looser filter, for everything that runs in a cage on `machine`: what is on the list fails."""
    column, rules = _COLUMN[machine], _beginning(machine)
    for table, answer in ((DENIED, _EPERM), (ABSENT, _ENOSYS)):
        for numbers in table.values():
            if (number := numbers[column]) is not None:
                rules += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]
    for *calls, argument, bits in DENIED_WITH.values():
        if (number := calls[column]) is not None:
            body = [
                (_LOAD, 0, 0, _ARGUMENTS + 8 * argument),
                (_ANY_BIT, 0, 1, bits),
                (_RETURN, 0, 0, _EPERM),
                (_RETURN, 0, 0, _ALLOW),
            ]
            rules += [(_EQUAL, 0, len(body), number), *body]
    return _packed([*rules, (_RETURN, 0, 0, _ALLOW)])


def _beginning(machine: str) -> list[tuple[int, int, int, int]]:
    """Return the rules that every filter begins with: only this machine's own calls, and its number loaded."""
    rules = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, _AUDIT_ARCH[machine]), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)]
    if machine == "x86_64":
        rules += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _EPERM)]
    return rules


def _packed(rules: list[tuple[int, int, int, int]]) -> bytes:
    return b"".join(struct.pack("<HBBI", *rule) for rule in rules)


def available() -> bool:
    """Return whether this machine is one the filter is written for and its kernel has seccomp filters."""
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
