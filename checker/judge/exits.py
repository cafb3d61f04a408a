"""Findings from the way in which a runner ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from checker.course.case import Case
from checker.course.verdict import Finding, Status, Where
from checker.judge.general import finding
from checker.judge.overwork import overworked
from checker.sandbox.exchange import Ending
from checker.sandbox.parent import Limits, SandboxResult
from checker.sandbox.protocol.results import KernelError


def endings(
    result: SandboxResult, limits: Limits, cases: Sequence[Case], of_loading: Callable[[KernelError], Finding]
) -> Iterator[Finding]:
    """Yield findings on how the runners of some cases ended. Raises RuntimeError if that has nothing to do with them.

    `of_loading`: what is said of text that cannot be loaded.
    """
    for one in result.passes:
        if one.loading is not None:
            yield of_loading(one.loading)
        elif one.malformed is not None and one.ending in (Ending.FINISHED, Ending.EXITED):
            yield malformed(one.malformed)
        elif any(answer.error and (answer.on_gpu or overworked(answer)) for answer in one.results.values()):
            continue  # after an error a GPU takes no more from the same process, and too much work ends a pass
        elif one.ending is Ending.STOPPED:
            continue  # what happened in the other pass is the news
        elif one.ending is Ending.KILLED_FROM_OUTSIDE:
            raise RuntimeError("the sandbox was killed from outside, as by the system when memory is short")
        elif one.unanswered is not None:
            yield ended(one.ending, one.code, limits, cases[one.unanswered])


def malformed(what: str) -> Finding:
    """Return the finding for an answer that cannot be believed."""
    return finding("malformed-output", Status.MALFORMED_OUTPUT, what=what)


def ended(ending: Ending, code: int, limits: Limits, missing: Case | None = None) -> Finding:
    """Return the finding for a runner that did not answer everything; `missing` is what it was at, if that is known."""
    place = Where() if missing is None else Where(case=missing.name, case_id=missing.id)
    match ending:
        case Ending.FLOODED:
            return finding("output-flood", Status.OUTPUT_FLOOD, place, kilobytes=limits.output_bytes >> 10)
        case Ending.WALL_TIME:  # on a GPU, where no work is counted
            return finding("time-limit/seconds", Status.TIME_LIMIT, place, seconds=f"{limits.wall_seconds:g}")
        case Ending.CPU_TIME:
            return finding("time-limit/one-operation", Status.TIME_LIMIT, place, seconds=f"{limits.patience:g}")
        case Ending.WAITED:
            return finding("crashed", Status.CRASHED, place, seconds=f"{limits.waiting_seconds:g}")
        case Ending.KILLED:
            return finding("crashed/killed", Status.CRASHED, place, signal=code)
        case _:
            return finding("no-output", Status.NO_OUTPUT, place)
