"""What the way in which a runner ended says of the submission."""

from __future__ import annotations

from checker.course.case import Case
from checker.course.verdict import Finding, Status, Where
from checker.judge.general import finding
from checker.sandbox.exchange import Ending
from checker.sandbox.parent import Limits


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
