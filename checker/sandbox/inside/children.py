"""Processes that do not outlive who started them: those inside of the sandbox, and those that grade."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def end_with_parent(parent: int = 0) -> None:
    """End when the process that has started this one does. `parent`: its number, in case it already has."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent and os.getppid() != parent:
        os._exit(1)


def adopt_strays() -> None:
    """Make what a child leaves behind a child of this process, so that it does not get away."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_strays() -> None:
    """Kill every child of this process, and what they leave behind."""
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            strays = [int(word) for word in file.read().split()]
        if not strays:
            return
        for pid in strays:
            os.kill(pid, signal.SIGKILL)
        for pid in strays:
            os.waitpid(pid, 0)
