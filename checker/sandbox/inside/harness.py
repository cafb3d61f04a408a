"""The server in the sandbox, which imports Triton once and forks runners for each request: shared by all its children.

The server sees nothing of a submission: what it forks reads the request. A submission is under a system-call filter,
by which it can neither write a file nor reach another process; so nothing of it is left for the next one. All the
same, no other process may look into the memory of a server that is kept.

It speaks through a socket. It says hello, with the versions of what it has imported; then it gets messages with
descriptors (a file with the request, then a pipe to answer and one to print into for each runner), and tells of each
runner how it ended, and of each request when nothing is left of it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import mmap
import os
import resource
import shutil
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from checker.sandbox.inside import children, seccomp
from checker.sandbox.protocol import wire
from checker.sandbox.protocol.supported import UnknownTriton

_PR_SET_DUMPABLE = 4  # linux/prctl.h
MOST_DESCRIPTORS = 253  # of one message, as the kernel has it
ANSWER = 3  # the descriptor that a runner answers into


def main(control: int, module: str, at_once: int, kept: bool) -> None:
    """Serve requests until nobody is there to make one.

    `module`: the file of this folder whose `prepare`, `rehearse` and `serve` are called, such as `runner`: see `_KINDS`
    in `host`. `at_once`: how many runners may run at the same time. `kept`: for more than one request.
    """
    gc.disable()  # nothing that is imported becomes garbage
    children.end_with_parent()
    children.adopt_strays()
    served = import_module(f"checker.sandbox.inside.{module}")
    try:
        served.prepare()
    except UnknownTriton as reason:  # a sentence, which a traceback would hide
        sys.exit(str(reason))
    if kept:
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0)
        served.rehearse()
    own = set(os.listdir())
    gc.freeze()  # or every runner's collector would touch, and so copy, all that is here
    gc.enable()
    with socket.socket(fileno=control) as channel:
        imported = [name for name in ("triton", "numpy", "torch") if name in sys.modules]
        _tell(channel, versions={name: sys.modules[name].__version__ for name in imported})
        while descriptors := socket.recv_fds(channel, 1, MOST_DESCRIPTORS)[1]:
            _serve(served, channel, descriptors, at_once)
            children.end_strays()
            _remove(set(os.listdir()) - own)
            _tell(channel, done=True)


def _serve(served: Any, channel: socket.socket, descriptors: list[int], at_once: int) -> None:
    """Fork the runners of one request, and wait for them."""
    request, *pipes = descriptors
    server, runners = os.getpid(), dict[int, int]()
    for number in range(len(pipes) // 2):
        pid = os.fork()
        if pid == 0:
            children.end_with_parent(server)
            _run(served, number, request, *pipes[2 * number : 2 * number + 2])
        runners[pid] = number
        while len(runners) == at_once:
            _await_one(channel, runners)
    for descriptor in descriptors:
        os.close(descriptor)
    while runners:
        _await_one(channel, runners)


def _await_one(channel: socket.socket, runners: dict[int, int]) -> None:
    """Wait for a process to end; if it is a runner, tell how it ended."""
    pid, status, used = os.wait4(-1, 0)
    if (number := runners.pop(pid, None)) is not None:
        seconds = used.ru_utime + used.ru_stime
        _tell(channel, runner=number, code=os.waitstatus_to_exitcode(status), cpu_seconds=seconds)


def _tell(channel: socket.socket, **message: Any) -> None:
    channel.send(json.dumps(message).encode())


def _run(served: Any, number: int, request: int, answer: int, output: int) -> None:
    """Be a runner: read the request, keep nothing open but its own pipes, serve, end."""
    code = 1
    try:
        private = mmap.mmap(request, 0, mmap.MAP_PRIVATE, mmap.PROT_READ)  # nobody else's, even if it is written to
        header, buffers = next(wire.unpack(private))
        for descriptor, own in ((output, 1), (output, 2), (answer, ANSWER)):
            os.dup2(descriptor, own)
        for name in os.listdir("/proc/self/fd"):
            if int(name) > ANSWER:
                with contextlib.suppress(OSError):  # the descriptor that listed the folder
                    os.close(int(name))
        served.serve(header, buffers, number)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _remove(names: set[str]) -> None:
    """Remove what runners have written: the submission's text, and what an assembler made of it."""
    for name in names:
        with contextlib.suppress(OSError):
            if os.path.isdir(name) and not os.path.islink(name):  # noqa: PTH112, PTH114
                shutil.rmtree(name)
            else:
                os.unlink(name)


def limit(limits: Mapping[str, int], *, filtered: bool) -> None:
    """Lower limits (by their names in `setrlimit`) of this process for good, then enter the system-call filter."""
    for name, value in limits.items():
        # The soft limit on CPU time sends SIGXCPU, which tells what happened; the hard one kills.
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value + (name == "CPU")))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if filtered:
        seccomp.enter()


def written(source: str) -> str:
    """Return the path of a submission's text, for the compiler. It is whole at any time: runners write the same one."""
    path = f"{os.getcwd()}/submission.py"
    with open(f"{path}-{os.getpid()}", "w", encoding="utf-8", newline="") as file:
        file.write(source)
    Path(file.name).replace(path)
    return path


def write_all(descriptor: int, data: bytes) -> None:
    """Write `data`, however many calls that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
