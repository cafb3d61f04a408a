"""What happens to a submission on Classroom 50's runner: `python -m checker.publish.classroom50.run CHECKOUT`.

It is judged as `make check` judges it, with the public key and without a cage: the machine is the student's own. Either
everything that was handed in is judged, or no result is written.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from checker.check import Terms, check, unreadable
from checker.course.clean import clean
from checker.course.saving import replace_whole
from checker.course.status import ExitStatus
from checker.course.verdict import Verdict
from checker.grading.cells import Handed
from checker.grading.found import some_of
from checker.publish.autograder.parts import part_of, works_in
from checker.publish.classroom50 import results
from checker.report.as_json import dumps

SETTINGS = "autograder.json"


def main() -> int:
    """Judge what lies in the checkout and write the result there; the exit status."""
    home, checkout = Path.cwd(), Path(sys.argv[1])
    try:
        _judge_all(home, checkout)
    except Exception as reason:  # the checker itself, a full disk: whatever it is, it is no score
        print(f"Not graded: {type(reason).__name__}: {clean(str(reason))}", flush=True)
        return ExitStatus.FAULT
    return ExitStatus.ACCEPTED


def _judge_all(home: Path, checkout: Path) -> None:
    """Raises whatever keeps it from being judged; then there is no result.json."""
    points: dict[str, dict[str, int]] = json.loads((home / SETTINGS).read_text(encoding="utf-8"))["points"]
    works, others = works_in(checkout, list(points))
    if all(work.paths for work in works):
        others = []  # as is usual: who works in a copy of the course has all puzzles

    def judge(puzzle_id: str, handed: Handed, name: str) -> Verdict:
        if handed.submission is None:
            return unreadable(puzzle_id, name, handed.problem).weighed(points[puzzle_id])
        return check(puzzle_id, handed.submission, Terms()).verdict.weighed(points[puzzle_id])

    parts = [part_of(work, sum(points[work.puzzle].values()), judge) for work in works]
    made = results.result(parts, os.environ)
    replace_whole(checkout / "release-body.md", results.page(parts, clean(some_of(others), 1000)).encode())
    replace_whole(checkout / "result.json", dumps(made).encode())  # last: where it is, all was well


if __name__ == "__main__":
    sys.exit(main())
