"""Which kernels a function has launched, and how often: each of those that it is for, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from checker.course.misconception import Launches
from checker.course.puzzle import Puzzle
from checker.course.verdict import Finding, Status
from checker.judge.evidence import Evidence, Locator
from checker.judge.general import finding
from checker.judge.naming import ideas


def launch_findings(puzzle: Puzzle, evidence: Evidence, where: Locator) -> Iterator[Finding]:
    """The misconception that explains which kernels a call has launched; or the first one that it does not fit."""
    case, result = evidence.case, evidence.result
    assert result is not None
    every = [kernel for one in puzzle.kernels for kernel in one.launches]  # in the order in which the box has them
    launches = [(every[number], line) for number, line in result.log.launched if number < len(every)]
    times = Counter(name for name, _ in launches)
    asked = puzzle.launched(case.kernel)
    wrong = next((name for name in every if times[name] != asked.count(name)), None)
    if wrong is None:
        return
    line = next((line for name, line in reversed(launches) if name == wrong), None)
    known = ideas(puzzle.misconceptions, Launches)
    if idea := next((one for one in known if any(sign.recognises(times) for sign in one.signs)), None):
        yield idea.finding(Status.OVER_TRAFFIC, where(line, case))
    elif not times[wrong]:
        yield finding("kernel-not-launched", Status.OVER_TRAFFIC, where(None, case), function=wrong)
    else:
        yield finding("launched-too-often", Status.OVER_TRAFFIC, where(line, case), function=wrong, times=times[wrong])
