"""What happens to a submission in Gradescope's container: `python -m checker.publish.gradescope.run /autograder`.

Either everything that was handed in is judged, or there is no score at all: a part of one would look like a whole one.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from checker.course.clean import clean
from checker.course.saving import replace_whole
from checker.course.status import ExitStatus
from checker.course.verdict import Verdict
from checker.grading import settings
from checker.grading.cells import Handed
from checker.grading.found import Work, in_folder, some_of
from checker.grading.grade import terms_for_grading, verdict_on
from checker.publish.autograder.parts import part_of, works_in
from checker.publish.gradescope import results
from checker.report.as_json import dumps

SETTINGS, COURSE, KEY = "autograder.json", "course", "key"


def main() -> int:
    """Grade what was handed in and write the results; the exit status."""
    home = Path(sys.argv[1])
    try:
        made, status = results_of(home), ExitStatus.ACCEPTED
    except Exception as reason:  # no key, no sandbox, the checker itself: whatever it is, it is no score
        print(f"Not graded: {type(reason).__name__}: {reason}")  # Gradescope shows this to instructors only
        made, status = results.not_graded(), ExitStatus.FAULT
    replace_whole(home / "results" / "results.json", dumps(made).encode())
    return status


def results_of(home: Path) -> dict[str, Any]:
    """The results of what lies in `submission/`. Raises whatever keeps it from being graded."""
    source = home / "source"
    puzzles: list[str] = json.loads((source / SETTINGS).read_text(encoding="utf-8"))["puzzles"]
    course = settings.read(source / COURSE)
    course = replace(course, key_file=str(source / COURSE / KEY), puzzles=tuple(puzzles))
    terms_for_grading(course)  # no sandbox, no results: not even for those who have handed in nothing
    folder = home / "submission"
    works, others = works_in(folder, puzzles)
    if len(puzzles) == 1:  # nothing else is expected, so that a file may have any name
        works, others = [Work("", puzzles[0], in_folder(folder))], []

    def judge(puzzle_id: str, handed: Handed, name: str) -> Verdict:
        return verdict_on(puzzle_id, handed, name, course)

    parts = [part_of(work, course.possible(work.puzzle), judge, course.detail(work.puzzle)) for work in works]
    return results.graded(parts, clean(some_of(others), 1000))


if __name__ == "__main__":
    sys.exit(main())
