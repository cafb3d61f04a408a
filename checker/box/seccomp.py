"""A system-call filter for the child: no processes, no network, no signals, no writing to disk.

Needs no root and no library: `prctl` is called through ctypes. It works for root too, where the
process limit (RLIMIT_NPROC) means nothing. Calls on the list fail with EPERM. Numbers come from the
kernel's tables for each machine; the filter follows seccomp(2) and linux/filter.h.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from pathlib import Path

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# fmt: off
_DENIED = {
    # name: (x86_64, aarch64); None where the machine does not have the call
    "fork": (57, None), "vfork": (58, None), "clone": (56, 220), "clone3": (435, 435),
    "execve": (59, 221), "execveat": (322, 281),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424),
    "setsid": (112, 157), "setpgid": (109, 154), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "setrlimit": (160, 164), "prlimit64": (302, 261),
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200),
    "unlink": (87, None), "unlinkat": (263, 35), "rename": (82, None), "renameat": (264, 38),
    "renameat2": (316, 276), "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None),
    "link": (86, None), "linkat": (265, 37), "symlink": (88, None), "symlinkat": (266, 36),
    "mknod": (133, None), "mknodat": (259, 33), "creat": (85, None), "truncate": (76, 45),
    "ftruncate": (77, 46), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53),
    "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None), "fchown": (93, 55),
    "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "openat2": (437, 437),
    "memfd_create": (319, 279), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "mount": (165, 40), "umount2": (166, 39), "open_tree": (428, 428), "move_mount": (429, 429),
    "fsopen": (430, 430), "chroot": (161, 51), "pivot_root": (155, 41), "unshare": (272, 97),
    "setns": (308, 268), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217),
    "open_by_handle_at": (304, 265), "init_module": (175, 105), "finit_module": (313, 273),
    "reboot": (169, 142), "swapon": (167, 224), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "sethostname": (170, 161), "shmget": (29, 194), "msgget": (68, 186),
}
_OPEN = {"open": (2, None, 1), "openat": (257, 56, 2)}  # and the position of their flags
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
    for numbers in _DENIED.values():
        if (number := numbers[column]) is not None:
            rules += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _EPERM)]
    for *numbers_of_open, flags in _OPEN.values():
        if (number := numbers_of_open[column]) is not None:
            rules += [
                (_EQUAL, 0, 4, number),
                (_LOAD, 0, 0, _ARGUMENTS + 8 * flags),
                (_ANY_BIT, 0, 1, _WRITING),
                (_RETURN, 0, 0, _EPERM),
                (_RETURN, 0, 0, _ALLOW),
            ]
    rules.append((_RETURN, 0, 0, _ALLOW))
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
