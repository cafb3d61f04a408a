"""Launches that were ended because they did far more than is enough: what they did, or which loop runs so often."""

from __future__ import annotations

import math

from checker.course.case import Case
from checker.course.puzzle import Puzzle
from checker.course.verdict import Finding, Status
from checker.judge.evidence import Locator
from checker.judge.general import finding
from checker.judge.requests import tiles_of
from checker.sandbox.protocol.records import TOO_MUCH_WORK
from checker.sandbox.protocol.results import KernelError, LaunchResult


def overworked(result: LaunchResult) -> bool:
    """Return whether a launch was ended because it did too much."""
    return result.error is not None and result.error.type == TOO_MUCH_WORK


def overwork_finding(puzzle: Puzzle, case: Case, error: KernelError, where: Locator) -> Finding:
    """Return the finding if no other one explains the excess of work. The error's message is how often its line's loop
    ran.
    """
    programs = len(case.programs) or math.prod(case.grid)
    tiles = tiles_of(case, puzzle)
    enough = programs + math.ceil(max(tiles.values(), default=0.0))
    times = int(error.message) if error.message.isdecimal() else 0
    if not error.line or (tiles and times <= enough):
        return finding("time-limit", Status.TIME_LIMIT, where(None, case=case))
    if not tiles:
        return finding("time-limit/loop", Status.TIME_LIMIT, where(error.line, case=case), times=f"{times:,}")
    key = "time-limit/loop-of-one" if programs == 1 else "time-limit/loop-of-all"
    return finding(key, Status.TIME_LIMIT, where(error.line, case=case), times=f"{times:,}", enough=enough)
