"""Verdicts as the results.json that Gradescope reads: a test for each property, and the report as plain text.

The form is https://gradescope-autograders.readthedocs.io/en/latest/specs/. Every text is marked as text, so that
nothing of a student's is taken for HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from checker import catalog
from checker.course.verdict import Verdict
from checker.report import words
from checker.report.detail import FULL, Detail, shown_with
from checker.report.screen import plain
from checker.report.terminal import report
from checker.report.translated import said, translated

COLUMNS = 80
# What is printed is for the instructor.
_FRAME = {"output_format": "text", "visibility": "visible", "stdout_visibility": "hidden"}
_OF_A_TEST = {"name_format": "text", "output_format": "text", "visibility": "visible"}
_NOT_GRADED = (
    "This submission could not be graded. That is not the fault of your work, and the 0 here is not a score. Please "
    "tell your instructor, who sees the reason and can grade it again; you need not hand in anything again."
)
_WAITS = (
    "The 0 here is not a score: your instructor will look at what you have handed in. If there is still time, you can "
    "also hand in again."
)


@dataclass(frozen=True)
class Graded:
    """The result of one puzzle."""

    puzzle: str  # its ID
    possible: int  # points
    verdict: Verdict | None = None
    problem: str = ""  # why there is no verdict: nothing was handed in, or it cannot be judged
    waits: bool = False  # it cannot be judged, and might be right: for the instructor
    detail: Detail = FULL  # how much of the verdict the student is told

    @property
    def shown(self) -> Verdict | None:
        """The verdict as the student gets it, in the language that is spoken."""
        return None if self.verdict is None else translated(shown_with(self.verdict, self.detail))

    @property
    def tests(self) -> list[dict[str, Any]]:
        """One for each property that was judged; if none was, one for all of them."""
        verdict = self.shown
        if verdict is None or not verdict.properties:
            why = self._problem if verdict is None else words.plain(verdict)
            return [self._test(1, said(catalog.load(self.puzzle).title), False, self.possible, why)]
        tests = []
        for position, one in enumerate(verdict.properties, start=1):
            counts = verdict.counts(one)
            why = words.why(one) if counts or not one.passed else words.plain(verdict)
            tests.append(self._test(position, one.title, counts, one.weight, why, verdict.worth(one)))
        return tests

    def _test(self, position: int, title: str, passed: bool, possible: int, why: str, score: int = 0) -> dict[str, Any]:
        return {
            "number": f"{self.puzzle}.{position}",
            "name": title,
            "score": score,
            "max_score": possible,
            "status": "passed" if passed else "failed",
            "output": why,
            **_OF_A_TEST,
        }

    @property
    def _problem(self) -> str:
        return " ".join([said(self.problem), *([said(_WAITS)] if self.waits else [])])

    @property
    def text(self) -> str:
        """The report as a terminal without colours shows it."""
        verdict = self.shown
        if verdict is None:
            return f"{said(catalog.load(self.puzzle).heading)}\n{self._problem}"
        return plain(report(verdict), COLUMNS)


def graded(parts: Sequence[Graded], others: str = "") -> dict[str, Any]:
    """Return the results of a submission that was graded, in the course's points. `others`: files for other puzzles."""
    left_out = [said(f"Left out, because this assignment does not ask for their puzzles: {others}.")] if others else []
    tests = [test for part in parts for test in part.tests]
    return {
        "score": sum(test["score"] for test in tests),
        "output": "\n\n".join([*(part.text for part in parts), *left_out]),
        **_FRAME,
        "tests": tests,
        "extra_data": {
            "graded": not any(part.waits for part in parts),
            "puzzles": {part.puzzle: _facts(part) for part in parts},
        },
    }


def not_graded() -> dict[str, Any]:
    """Return the results if nothing could be graded. The form demands a score."""
    why = said(_NOT_GRADED)
    test = {"name": said("Not graded"), "score": 0, "max_score": 0, "status": "failed", "output": why, **_OF_A_TEST}
    return {"score": 0, "output": why, **_FRAME, "tests": [test], "extra_data": {"graded": False}}


def _facts(part: Graded) -> dict[str, Any]:
    """Return what Gradescope keeps for the instructor."""
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
