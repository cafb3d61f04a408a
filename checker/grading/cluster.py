"""A crew on a Dask cluster: one of this machine, one that is there already, or Slurm jobs.

Dask hands out calls, and hands them out again if a worker is lost. What counts is in the records, so whatever of Dask
ends, nothing else is lost than what was under way.
"""

from __future__ import annotations

import itertools
import logging
import pickle
import queue
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import cryptography  # noqa: F401 (Dask makes keys with it, and would say too late that it is missing)
import dask
from dask.utils import parse_timedelta
from distributed import CancelledError, Client, Future, KilledWorker, LocalCluster, Security, TimeoutError
from distributed.scheduler import NoWorkerError

from checker.grading.batch import CrewLost, NoCrew, WorkerLost
from checker.grading.settings import Settings
from checker.grading.worker import NO_DASHBOARD, Call, Unfit, needs

WINDOW = 1000  # calls that Dask knows of at a time
PATIENCE = "10 minutes"  # without any worker, if Dask's configuration says nothing else
_LOOK = 5.0  # seconds after which to look whether there are workers
_T = TypeVar("_T")


class Cluster:
    """Dask workers that make calls, each in a process of its own.

    Use as a context manager: raises NoCrew, CrewLost, KeyProblem and OSError.
    """

    def __init__(self, where: str, jobs: int, course: Settings, sample: Path):
        """`where`: local, slurm, or a scheduler's address. `jobs`: workers to start; 0 on this machine: its cores.

        `sample`: a submission, which all workers must see.
        """
        self.where, self.jobs, self.course, self.sample = where, jobs, course, sample
        set_up = dask.config.get("distributed.scheduler.no-workers-timeout") or PATIENCE
        self.patience: float = parse_timedelta(set_up)

    def __enter__(self) -> Cluster:
        for name in ("distributed", "distributed.client"):  # what matters of it is said in a sentence
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with ExitStack() as stack:
            self.course.records.mkdir(parents=True, exist_ok=True, mode=0o700)
            mark = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=self.course.records, prefix=".cluster-")))
            self.needs = needs(self.course, mark, self.sample)
            self.client = stack.enter_context(self._client(mark, stack))
            self.leave = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave.close()

    def _client(self, private: Path, stack: ExitStack) -> Client:
        if self.where == "local":
            return Client(stack.enter_context(local(self.jobs)), set_as_default=False)
        if self.where == "slurm":
            from checker.grading import slurm

            cluster = stack.enter_context(slurm.cluster(private))
            slurm.hand_in(cluster, self.jobs)
            return Client(cluster, set_as_default=False)
        if not re.fullmatch(r"(?:tcp|tls)://\S+:\d+", self.where):
            raise NoCrew(
                f"{self.where} is neither local nor slurm nor a Dask scheduler's address, such as tls://host:8786."
            )
        if self.jobs:
            raise NoCrew(f"{self.where} has the workers that it has: leave --jobs out.")
        try:
            return Client(self.where, set_as_default=False)
        except (OSError, TimeoutError) as problem:
            raise CrewLost(f"no Dask scheduler answers at {self.where}") from problem

    def run(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """(number of a call, result or exception) as the calls end. Raises NoCrew and CrewLost."""
        suspected = []
        for number, answer in self._made(function, enumerate(calls), WINDOW):
            if isinstance(answer, KilledWorker):
                suspected.append(number)
            else:
                yield number, answer
        # When a worker is lost, Dask suspects every call that had been given to it. Alone, each can only be lost by
        # what it does itself.
        for number, answer in self._made(function, ((number, calls[number]) for number in suspected), 1):
            yield number, WorkerLost() if isinstance(answer, KilledWorker) else answer

    def _made(
        self, function: Callable[..., Any], calls: Iterable[tuple[int, tuple[Any, ...]]], window: int
    ) -> Iterator[tuple[int, Any]]:
        """The calls as they end; at most so many are begun at a time."""
        ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        begun: dict[str, tuple[int, Future]] = {}
        waiting = iter(calls)
        while True:
            for number, arguments in itertools.islice(waiting, window - len(begun)):
                call = pickle.dumps(Call(self.needs, function, arguments))
                future = self.client.submit(pickle.loads, call, pure=False)
                begun[future.key] = number, future
                future.add_done_callback(ended.put)
            if not begun:
                return
            done = self._awaited(lambda seconds: ended.get(timeout=seconds))
            number, future = begun.pop(done.key)
            yield number, self._answer(future)

    def _answer(self, future: Future) -> Any:
        try:
            answer = self._awaited(future.result)
        except KilledWorker as problem:
            return problem
        except NoWorkerError as problem:
            raise self._alone() from problem
        except (CancelledError, OSError) as problem:
            raise self._gone() from problem
        except Exception as problem:  # not of the call: that would be its answer
            raise NoCrew(
                f"A Dask worker cannot load the checker: {problem}. It needs the same one as here."
            ) from problem
        if isinstance(answer, Unfit):
            raise NoCrew(str(answer))
        return answer

    def _awaited(self, wait: Callable[[float], _T]) -> _T:
        """What comes of waiting. Raises CrewLost if there is nobody any more to wait for."""
        since = time.monotonic()
        while True:
            try:
                return wait(min(_LOOK, self.patience))
            except (queue.Empty, TimeoutError):
                if self._workers():
                    since = time.monotonic()
                elif time.monotonic() - since >= self.patience:
                    raise self._alone() from None

    def _workers(self) -> int:
        try:
            return len(self.client.nthreads())
        except Exception as problem:
            raise self._gone() from problem

    def _alone(self) -> CrewLost:
        return CrewLost(f"for {self.patience:.0f} s there was no Dask worker")

    def _gone(self) -> CrewLost:
        return CrewLost(f"the Dask scheduler has gone ({self.where})")


def local(jobs: int = 0) -> LocalCluster:
    """So many workers on this machine, or one for each core; nobody else on it can have them do something."""
    return LocalCluster(
        n_workers=jobs or None,
        threads_per_worker=1,
        memory_limit=None,  # a submission has its own
        preload="checker.grading.worker",
        dashboard_address=NO_DASHBOARD,
        worker_dashboard_address=NO_DASHBOARD,
        security=Security.temporary(),
        silence_logs=logging.CRITICAL,
    )
