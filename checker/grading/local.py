"""A crew of processes on this machine."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from types import TracebackType
from typing import Any

from pebble import ProcessExpired, ProcessPool

from checker.grading.batch import WorkerLost

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
RENEWED = 500  # submissions, after which a process is replaced: whatever it has gathered is gone


class Local:
    """So many processes. One that ends is replaced, and only what it was doing is lost. Use as a context manager."""

    def __init__(self, processes: int = 0):
        """`processes`: 0 for as many as there are cores to use."""
        self.processes = processes or len(os.sched_getaffinity(0))

    def __enter__(self) -> Local:
        # Not forked: this process has threads, and its own files open.
        spawn = multiprocessing.get_context("spawn")
        self.pool = ProcessPool(
            self.processes, max_tasks=RENEWED, initializer=_end_with, initargs=(os.getpid(),), context=spawn
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.pool.close()  # type: ignore[no-untyped-call]
        else:
            self.pool.stop()
        self.pool.join()

    def run(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """(number of a call, result or exception) as the calls end."""
        futures: dict[Future[Any], int] = {
            self.pool.schedule(function, args=call): number for number, call in enumerate(calls)
        }
        for future in as_completed(futures):
            try:
                answer = future.result()
            except ProcessExpired as problem:
                answer = WorkerLost(str(problem))
            except Exception as problem:
                answer = problem
            yield futures.pop(future), answer


def _end_with(parent: int) -> None:
    """End when the grader does, however it ends. Ctrl-C is the grader's to answer."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended meanwhile
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
