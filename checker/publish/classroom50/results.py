"""Verdicts as the result.json that Classroom 50 reads, a test for each property; and the report for the release's page.

The form is https://github.com/foundation50/classroom50/wiki/Advanced-Autograding, as it stood in August 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from checker.publish.autograder.parts import Credit, Part

# From the runner's environment. It writes whose work it was, and when, over what is said here.
_SAID = {
    "classroom": "CLASSROOM",
    "assignment": "ASSIGNMENT",
    "assignment_type": "ASSIGNMENT_TYPE",
    "owner": "OWNER",
    "submission": "SUBMISSION_TAG",
    "commit": "COMMIT_URL",
    "release": "RELEASE_URL",
    "review": "REVIEW_URL",
}
_LONGEST = 100_000  # characters of a report; GitHub takes 125,000 for a release
_PRACTICE = "This is practice: `make check` finds the same."


class NotStartedByRunner(Exception):
    """The environment lacks what Classroom 50's runner says: a sentence."""


def result(parts: Sequence[Part], environment: Mapping[str, str]) -> dict[str, Any]:
    """The result of a submission that was judged, in the course's points. Raises NotStartedByRunner."""
    if missing := [name for name in _SAID.values() if not environment.get(name)]:
        raise NotStartedByRunner(f"Classroom 50's runner sets {', '.join(missing)}, which is not set.")
    every = [credit for part in parts for credit in part.credits]
    return {
        "schema": "classroom50/result/v1",
        **{name: environment[variable] for name, variable in _SAID.items()},
        "datetime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(credit.earned for credit in every),
        "max-score": sum(credit.possible for credit in every),
        "tests": [_test(credit) for credit in every],
    }


def page(parts: Sequence[Part], others: str = "") -> str:
    """The report in Markdown, where it is a block of code: nothing of a student's is taken for Markdown or HTML.

    `others`: files for other puzzles.
    """
    every = [credit for part in parts for credit in part.credits]
    text = "\n\n".join(part.text for part in parts)[:_LONGEST]
    if others:
        text += f"\n\nThere are files for other puzzles: {others}."
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    score = f"{sum(credit.earned for credit in every)} of {sum(credit.possible for credit in every)} points"
    return f"### {score}\n\n{fence}text\n{text}\n{fence}\n\n{_PRACTICE}\n"


def _test(credit: Credit) -> dict[str, Any]:
    return {
        "test-name": f"{credit.puzzle}: {credit.title}",
        "passed": credit.passed,
        "score": credit.earned,
        "max-score": credit.possible,
        "output": credit.why,
    }
