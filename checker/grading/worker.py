"""A Dask worker: it checks whether it is fit for a batch, and has a process of its own make the call.

Dask makes calls in threads, others next to them, and a call that ends its process would end the worker. A check wants
the main thread of a process, and no other check besides it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checker.grading import key, record, settings
from checker.grading.crew import Processes

NO_DASHBOARD = "127.0.0.1:0"  # Dask always serves pages, to everybody if nothing is said: a free port, and only here

_processes = Processes()
_fit: set[Path] = set()  # marks of the batches that this worker can take part in


@dataclass(frozen=True)
class Needs:
    """Things that a worker must share with the grader: else its records would be lost, or of something else."""

    course: Path
    mark: Path  # which the grader has put among the records
    current: Path  # folder, to which names are relative
    sample: Path  # of what was handed in
    puzzles: tuple[str, ...]  # which were handed in
    judging: dict[str, Any]  # see `record.judging`


class Unfit(Exception):
    """This worker would not judge as the grader does: a sentence."""


def needs(course: settings.Settings, mark: Path, sample: Path) -> Needs:
    """Return what workers need to judge for this grader the puzzles of such a course. Raises KeyProblem."""
    return Needs(course.folder, mark, Path.cwd(), sample, course.puzzles, record.judging(course))


class Call:
    """A call that is made by unpickling it: as a task of pickle's. A task that cannot be loaded ends a Dask worker."""

    def __init__(self, needs: Needs, function: Callable[..., Any], arguments: tuple[Any, ...]):
        self.parts = needs, function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return called, self.parts


def dask_setup(worker: object) -> None:
    """Set up a worker, as Dask calls it, that the grader has started: Ctrl-C is the grader's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def called(needs: Needs, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the result of a call, or the exception that it raised. An exception of Dask's is none of these."""
    if needs.mark not in _fit and (reason := _why_unfit(needs)):
        return Unfit(
            f"The worker on {socket.gethostname()} cannot grade together with this machine: {reason}. All workers "
            "need the same checker, and must see the course, its key and the submissions under the same names, on "
            "shared file systems."
        )
    _fit.add(needs.mark)
    # Dask's nanny has made this process a daemon, and those may have no children, because they would outlive it. These
    # do not.
    multiprocessing.current_process().daemon = False
    return _processes.call(_there, (needs.current, function, arguments))


def _there(current: Path, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    os.chdir(current)
    return function(*arguments)


def _why_unfit(needs: Needs) -> str:
    """Return why this worker cannot take part in the batch; nothing if it can."""
    if not needs.mark.exists():
        return f"it does not see what is written to {needs.mark.parent} here"
    if not (needs.current / needs.sample).exists():
        return f"it does not see {needs.current / needs.sample}"
    try:
        course = replace(settings.read(needs.course), puzzles=needs.puzzles)
        here, there = record.judging(course), needs.judging
    except (settings.SettingsError, key.KeyProblem) as problem:
        return str(problem).rstrip(".")
    reasons = {
        "checker": "its checker is a different one",
        "triton": f"its triton is {here['triton'] or 'missing'}, and {there['triton']} here",
        "torch": f"its torch is {here['torch'] or 'missing'}, and {there['torch'] or 'missing'} here",
        "key": f"its {course.key_path} is a different key",
    }
    return next((reason for name, reason in reasons.items() if here[name] != there[name]), "")
