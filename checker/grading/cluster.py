"""A crew on a Dask cluster: one of this machine, or one that is there already.

Dask hands out calls, and hands them out again if a worker is lost. What counts is in the records, so whatever of Dask
ends, nothing else is lost than what was under way.
"""

from __future__ import annotations

import logging
import pickle
import queue
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import cryptography  # noqa: F401 (Dask makes keys with it, and would say too late that it is missing)
import dask
from dask.utils import parse_timedelta
from distributed import CancelledError, Client, Future, KilledWorker, LocalCluster, Security, TimeoutError
from distributed.scheduler import NoWorkerError

from checker.grading.crew import Crew, CrewLost, NoCrew, WorkerLost
from checker.grading.settings import Settings
from checker.grading.worker import NO_DASHBOARD, Call, Needs, Unfit, needs

PATIENCE = "10 minutes"  # without any worker, if Dask's configuration says nothing else
_LOOK = 5.0  # seconds after which to look whether there are workers
_T = TypeVar("_T")


@contextmanager
def cluster(where: str, jobs: int, course: Settings, sample: Path) -> Iterator[Crew]:
    """Dask workers that make calls, each in a process of its own. Raises NoCrew, CrewLost, KeyProblem and OSError.

    `where`: local, or a scheduler's address. `jobs`: workers to start on this machine; 0: one for each core.
    `course`: with the puzzles that were handed in. `sample`: a submission, which all workers must see.
    """
    for name in ("distributed", "distributed.client"):  # what matters of it is said in a sentence
        logging.getLogger(name).setLevel(logging.CRITICAL)
    course.records.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=course.records, prefix=".cluster-") as mark, ExitStack() as stack:
        wanted = needs(course, Path(mark), sample)
        client = stack.enter_context(_client(where, jobs, stack))
        yield _Cluster(where, client, wanted)


def _client(where: str, jobs: int, stack: ExitStack) -> Client:
    if where == "local":
        return Client(stack.enter_context(_local(jobs)), set_as_default=False)
    if not re.fullmatch(r"(?:tcp|tls)://\S+:\d+", where):
        raise NoCrew(f"{where} is neither local nor a Dask scheduler's address, such as tls://host:8786.")
    if jobs:
        raise NoCrew(f"{where} has its workers already: leave --jobs out.")
    try:
        return Client(where, set_as_default=False)
    except (OSError, TimeoutError) as problem:
        raise CrewLost(f"no Dask scheduler answers at {where}") from problem


def _local(jobs: int) -> LocalCluster:
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


class _Cluster(Crew):
    """The workers that a client reaches."""

    def __init__(self, where: str, client: Client, wanted: Needs):
        super().__init__(self._submit)
        self.where, self.client, self.wanted = where, client, wanted
        set_up = dask.config.get("distributed.scheduler.no-workers-timeout") or PATIENCE
        self.patience: float = parse_timedelta(set_up)

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Future:
        return self.client.submit(pickle.loads, pickle.dumps(Call(self.wanted, function, arguments)), pure=False)

    def _answer(self, future: Future) -> Any:
        try:
            answer = self._awaited(future.result)
        except KilledWorker:
            return WorkerLost()
        except NoWorkerError as problem:
            raise self._alone() from problem
        except (CancelledError, OSError) as problem:
            raise self._gone() from problem
        except Exception as problem:  # not of the call: that would be its answer
            raise NoCrew(
                f"A Dask worker cannot load the checker: {problem}. It needs the same checker as here."
            ) from problem
        if isinstance(answer, Unfit):
            raise NoCrew(str(answer))
        return answer

    def _awaited(self, wait: Callable[[float | None], _T]) -> _T:
        """Return what comes of waiting. Raises CrewLost if there is nobody any more to wait for."""
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
