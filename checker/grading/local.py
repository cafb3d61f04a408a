"""A crew of processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any

from checker.box.inside.children import end_with_parent
from checker.grading.batch import WorkerLost

RENEWED = 500  # calls, after which a process is replaced: whatever it has gathered is gone
Call = tuple[int, Callable[..., Any], tuple[Any, ...]]


class Local:
    """So many processes, each with a pool of its own: one that ends takes only its own call with it.

    Use as a context manager. Left by an exception, it ends all of them at once.
    """

    def __init__(self, processes: int = 0):
        """`processes`: 0 for as many as there are cores to use."""
        self.processes = processes or len(os.sched_getaffinity(0))
        self.calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()

    def __enter__(self) -> Local:
        # Each process is started by a thread that lives as long as it may: with that thread it would end.
        self.threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(self.processes)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            while not self.calls.empty():
                self.calls.get()
        for _ in self.threads:
            self.calls.put(None)
        if kind is not None:
            for process in multiprocessing.active_children():
                process.kill()
        for thread in self.threads:
            thread.join()

    def run(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """(number of a call, result or exception) as the calls end."""
        for number, arguments in enumerate(calls):
            self.calls.put((number, function, arguments))
        for _ in calls:
            yield self.answers.get()

    def _serve(self) -> None:
        """Have one process make one call after the other, and a new one when it has ended."""
        caller = Caller()
        while (call := self.calls.get()) is not None:
            number, function, arguments = call
            self.answers.put((number, caller.call(function, arguments)))
        caller.close()


class Caller:
    """One process that makes one call after the other, and a new one when it has ended.

    It ends with the thread that has made its first call.
    """

    def __init__(self) -> None:
        self.pool, self.made = _pool(), 0

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """The result, or the exception that was raised; WorkerLost if the process has ended without an answer."""
        try:
            answer = self.pool.submit(function, *arguments).result()
        except BrokenProcessPool:
            answer = WorkerLost()
        except Exception as problem:
            answer = problem
        self.made += 1
        if isinstance(answer, WorkerLost) or self.made == RENEWED:
            self.close()
            self.pool, self.made = _pool(), 0
        return answer

    def close(self) -> None:
        """End the process."""
        self.pool.shutdown()


def _pool() -> ProcessPoolExecutor:
    # Not forked: this process has threads, and its own files open.
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=spawn, initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    """End when the grader does, however it ends. Ctrl-C is the grader's to answer."""
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
