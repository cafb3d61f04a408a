"""Judging processes of this machine. `checker.grading.cluster` has those of a cluster."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from checker.sandbox.inside.children import end_with_parent

WINDOW = 1000  # calls that are begun at a time
RENEWED = 500  # calls that judge, after which a process is replaced: whatever it has gathered is gone
_T = TypeVar("_T")


class WorkerLost(Exception):
    """The process that was to do this has ended."""


class NoCrew(Exception):
    """The judging processes cannot work as they are: a sentence for the instructor."""


class CrewLost(Exception):
    """There is nobody any more to judge: the rest of a sentence, why."""


class Crew:
    """Whoever makes calls elsewhere."""

    def __init__(self, submit: Callable[[Callable[..., Any], tuple[Any, ...]], Future[Any]]):
        """`submit`: begins a call. Of the future only these are used: add_done_callback, and result once it is done."""
        self.submit = submit

    def run(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], window: int = WINDOW
    ) -> Iterator[tuple[int, Any]]:
        """(number of a call, what came of it) as the calls end: a result, or the exception that it raised.

        WorkerLost stands for a process that ended without an answer. At most `window` calls are begun at a time.
        Raises NoCrew and CrewLost if there is nobody.
        """
        ended: queue.SimpleQueue[int] = queue.SimpleQueue()
        begun: dict[int, Future[Any]] = {}
        waiting = iter(enumerate(calls))
        while True:
            for number, arguments in itertools.islice(waiting, window - len(begun)):
                begun[number] = self.submit(function, arguments)
                begun[number].add_done_callback(lambda _, number=number: ended.put(number))  # type: ignore[misc]
            if not begun:
                return
            number = self._awaited(lambda seconds: ended.get(timeout=seconds))
            yield number, self._answer(begun.pop(number))

    # Who waits for other machines looks whether they are still there.

    def _awaited(self, wait: Callable[[float | None], _T]) -> _T:
        """Return what comes of waiting for so many seconds; None: until it comes."""
        return wait(None)

    def _answer(self, future: Future[Any]) -> Any:
        return future.result()


def here(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future[Any]:
    """Make a call in this process, for a Crew."""
    done: Future[Any] = Future()
    try:
        done.set_result(function(*arguments))
    except Exception as problem:
        done.set_result(problem)
    return done


@contextmanager
def local(jobs: int = 0, renewed: int = RENEWED) -> Iterator[Crew]:
    """So many processes of this machine; 0: as many as there are cores to use. One that ends takes only its own call.

    `renewed`: calls that a process makes. Left by an exception, it ends all of them at once.
    """
    threads, processes = ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))), Processes(renewed)
    try:
        yield Crew(lambda function, arguments: threads.submit(processes.call, function, arguments))
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.kill()
        raise
    finally:
        processes.close()  # before the threads, with which they would be killed
        threads.shutdown()


class Processes:
    """A process for each thread that makes calls, and a new one when it has ended.

    A process ends with the thread that has made its first call, so the threads must live as long.
    """

    def __init__(self, renewed: int = RENEWED) -> None:
        self.own, self.pools, self.renewed = threading.local(), set[ProcessPoolExecutor](), renewed

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return the result, or the exception that was raised; WorkerLost if the process has ended
        without an answer.
        """
        if not hasattr(self.own, "pool"):
            self.own.pool, self.own.made = _pool(), 0
            self.pools.add(self.own.pool)
        answer: Any
        try:
            answer = self.own.pool.submit(function, *arguments).result()
        except BrokenProcessPool:
            answer = WorkerLost()
        except Exception as problem:
            answer = problem
        self.own.made += 1
        if isinstance(answer, WorkerLost) or self.own.made == self.renewed:
            self.own.pool.shutdown()
            self.pools.remove(self.own.pool)
            del self.own.pool
        return answer

    def close(self) -> None:
        """End all processes, once nobody calls any more."""
        for pool in list(self.pools):
            with contextlib.suppress(OSError):  # of one that was killed: what that was for is to be told
                pool.shutdown()


def _pool() -> ProcessPoolExecutor:
    # Not forked: this process has threads, and its own files open.
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=spawn, initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    """End when the grader does, however it ends. Ctrl-C is the grader's to answer."""
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
