"""Launches that were ended because they did far more than is enough: what they did, or which loop runs so often."""

from __future__ import annotations

import math

from checker.box.protocol.records import TOO_MUCH_WORK
from checker.box.protocol.results import KernelError, LaunchResult
from checker.course.case import Case
from checker.course.puzzle import Puzzle
from checker.course.verdict import Finding, Status
from checker.judge.asked import tiles_of
from checker.judge.endings import LOOPS
from checker.judge.evidence import Locator


def overworked(result: LaunchResult) -> bool:
    """Whether a launch was ended because it did too much."""
    return result.error is not None and result.error.type == TOO_MUCH_WORK


def overwork_finding(puzzle: Puzzle, case: Case, error: KernelError, where: Locator) -> Finding:
    """What is said if nothing else says why it did too much. The error's message is how often its line's loop ran."""
    programs = len(case.programs) or math.prod(case.grid)
    tiles = tiles_of(case, puzzle)
    enough = programs + math.ceil(max(tiles.values(), default=0.0))
    times = int(error.message) if error.message.isdecimal() else 0
    if not error.line or (tiles and times <= enough):
        return Finding(
            "time-limit",
            Status.TIME_LIMIT,
            "Your code does far more than is needed",
            "It was stopped in this case: it had made many times the operations that are enough.",
            "How many operations does your code make for one block, and how many blocks are there?",
            where=where(None, case=case),
        )
    for_all = "one program" if programs == 1 else "all programs together"
    known = f" For {for_all}, {enough} times are more than enough." if tiles else ""
    return Finding(
        "time-limit",
        Status.TIME_LIMIT,
        "Your code did not finish",
        f"In this case the marked loop had run {times:,} times when it was stopped.{known}",
        LOOPS,
        where=where(error.line, case=case),
    )
