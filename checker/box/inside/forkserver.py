"""A process that has imported Triton, and forks a child of the box for each submission: its own main.

It sees nothing of a submission: what it forks reads the request, and forks again before it runs anything. A submission
is under a system-call filter, by which it can neither write a file nor reach another process; so nothing of it is left
for the next one. All the same, no other process may look into the memory of this one.

It is told what to do through a socket: a message with descriptors (standard input, output and error, then those of
the child) starts one, the next message ends it. It answers how that was.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import shutil
import signal
import socket
import time
import traceback
from importlib import import_module

from checker.box.inside import children

_PR_SET_DUMPABLE = 4  # linux/prctl.h
MOST_DESCRIPTORS = 16
READY, ENDED, STUCK = b"ready", b"ended", b"stuck"
PATIENCE_SECONDS = 1.0  # for a child that has closed its pipes to be gone


def main(control: int, module: str) -> None:
    """Serve requests until nobody is there to make one. `module`: one with `prepare`, `rehearse` and `serve`."""
    children.end_with_parent()
    children.adopt_strays()
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)
    served = import_module(module)
    served.prepare()
    served.rehearse()
    kept = set(os.listdir())
    gc.freeze()  # or every child's collector would touch, and so copy, all that is here
    with socket.socket(fileno=control) as channel:
        channel.send(READY)
        while descriptors := socket.recv_fds(channel, 1, MOST_DESCRIPTORS)[1]:
            pid = os.fork()
            if pid == 0:
                channel.close()
                _become(descriptors[:3])
                _serve(served, descriptors[3:])
            for descriptor in descriptors:
                os.close(descriptor)
            channel.recv(1)
            answer = ENDED if _well_ended(pid) else STUCK
            children.end_strays()
            _remove(set(os.listdir()) - kept)
            channel.send(answer)


def _become(streams: list[int]) -> None:
    children.end_with_parent()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)


def _serve(served: object, descriptors: list[int]) -> None:
    code = 1
    try:
        served.serve(*descriptors)  # type: ignore[attr-defined]
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _well_ended(pid: int) -> bool:
    """Whether a child ends by itself, and well."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def _remove(names: set[str]) -> None:
    """Remove what a child has written: the submission's text, and what an assembler made of it."""
    for name in names:
        with contextlib.suppress(OSError):
            if os.path.isdir(name) and not os.path.islink(name):  # noqa: PTH112, PTH114
                shutil.rmtree(name)
            else:
                os.unlink(name)
