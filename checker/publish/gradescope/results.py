"""Verdicts as the results.json that Gradescope reads: a test for each property, and the report as plain text.

The form is https://gradescope-autograders.readthedocs.io/en/latest/specs/. Every text is marked as text, so that
nothing of a student's is taken for HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from checker.publish.autograder.parts import Credit, Part

# What is printed is for the instructor.
_FRAME = {"output_format": "text", "visibility": "visible", "stdout_visibility": "hidden"}
_OF_A_TEST = {"name_format": "text", "output_format": "text", "visibility": "visible"}
_NOT_GRADED = (
    "This submission could not be graded. That is not the fault of your work, and the 0 here is not a score. Please "
    "tell your instructor, who sees the reason and can grade it again; you need not hand in anything again."
)


def graded(parts: Sequence[Part], others: str = "") -> dict[str, Any]:
    """The results of a submission that was graded, in the course's points. `others`: files for other puzzles."""
    left_out = [f"Left out, because this assignment does not ask for their puzzles: {others}."] if others else []
    every = [credit for part in parts for credit in part.credits]
    return {
        "score": sum(credit.earned for credit in every),
        "output": "\n\n".join([*(part.text for part in parts), *left_out]),
        **_FRAME,
        "tests": [_test(credit) for credit in every],
        "extra_data": {"graded": True, "puzzles": {part.puzzle: _facts(part) for part in parts}},
    }


def not_graded() -> dict[str, Any]:
    """The results if nothing could be graded. The form demands a score."""
    test = {"name": "Not graded", "score": 0, "max_score": 0, "status": "failed", "output": _NOT_GRADED, **_OF_A_TEST}
    return {"score": 0, "output": _NOT_GRADED, **_FRAME, "tests": [test], "extra_data": {"graded": False}}


def _test(credit: Credit) -> dict[str, Any]:
    return {
        "number": f"{credit.puzzle}.{credit.position}",
        "name": credit.title,
        "score": credit.earned,
        "max_score": credit.possible,
        "status": "passed" if credit.passed else "failed",
        "output": credit.why,
        **_OF_A_TEST,
    }


def _facts(part: Part) -> dict[str, Any]:
    """What Gradescope keeps for the instructor."""
    if part.verdict is None:
        return {"verdict": None}
    verdict = part.verdict
    return {
        "verdict": verdict.status.value,
        "findings": list(dict.fromkeys(one.id for one in verdict.findings)),
        "sandbox": verdict.sandbox,
        "submission_sha256": verdict.submission_sha256,
        "versions": verdict.versions,
    }
