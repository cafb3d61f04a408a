"""What the way in which a runner ended says of the submission."""

from __future__ import annotations

from checker.box.exchange import Ending
from checker.box.parent import Limits
from checker.course.case import Case
from checker.course.verdict import Finding, Status, Where

LOOPS = "Print the bounds and the step of each loop. How many iterations does that make, and how many blocks are there?"


def malformed(what: str) -> Finding:
    """The finding for an answer that cannot be believed."""
    return Finding(
        "malformed-output",
        Status.MALFORMED_OUTPUT,
        "The box sent back something that is not a result",
        f"What came out was {what}.",
        "Leave out whatever is not part of the computation: the checker takes what your code stores or returns, and "
        "nothing else.",
    )


def ended(ending: Ending, code: int, limits: Limits, missing: Case | None = None) -> Finding:
    """The finding for a runner that did not answer everything; `missing` is what it was at, if that is known."""
    match ending:
        case Ending.FLOODED:
            facts = (
                "output-flood",
                Status.OUTPUT_FLOOD,
                "Your code prints too much",
                f"More than {limits.output_bytes >> 10} KB came out in one check.",
                "Print less: one program and one small block. Take the print out when you are done.",
            )
        case Ending.WALL_TIME:  # on a GPU, where no work is counted
            facts = (
                "time-limit",
                Status.TIME_LIMIT,
                "Your code did not finish",
                f"It was stopped after {limits.wall_seconds:g} s.",
                LOOPS,
            )
        case Ending.CPU_TIME:
            facts = (
                "time-limit",
                Status.TIME_LIMIT,
                "Your code did not finish",
                f"It was stopped after {limits.patience:g} s of computing in which no operation ended.",
                "Look for a number or a tuple that becomes very large: Python computes with any number of digits.",
            )
        case Ending.WAITED:
            facts = (
                "crashed",
                Status.CRASHED,
                "Your code has stopped computing",
                f"It was waiting for something for {limits.waiting_seconds:g} s, and nothing will come.",
                "Keep to the allowed operations; if you did, please report this with your code.",
            )
        case Ending.KILLED:
            facts = (
                "crashed",
                Status.CRASHED,
                "The process that ran your code died",
                f"It was ended by signal {code}.",
                "Keep to the allowed operations; if you did, please report this with your code.",
            )
        case _:
            facts = (
                "no-output",
                Status.NO_OUTPUT,
                "Your code ended the process that ran it",
                "No result came back.",
                "Leave out whatever ends the process: your code ends by reaching its last line.",
            )
    return Finding(*facts, where=Where() if missing is None else Where(case=missing.name, case_id=missing.id))
