"""Grading in Gradescope's container: `python -m checker.publish.gradescope.run /autograder`.

Either everything that was handed in is judged, or there is no score at all: a part of one would look like a whole one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from checker.course import ladder
from checker.course.clean import clean
from checker.course.language import choose
from checker.course.saving import replace_whole
from checker.course.status import ExitStatus
from checker.grading import settings
from checker.grading.chosen import Unresolved, chosen
from checker.grading.found import Work, in_folder, of_assignment, puzzle_of, some_of
from checker.grading.grade import judged, terms_for_grading
from checker.publish.gradescope import results
from checker.publish.gradescope.results import Graded
from checker.report.as_json import dumps

SETTINGS, COURSE, KEY = "autograder.json", "course", "key"


def main() -> int:
    """Grade what was handed in and write the results; the exit status."""
    home = Path(sys.argv[1])
    try:
        asked = json.loads((home / "source" / SETTINGS).read_text(encoding="utf-8"))
        choose(asked["language"])
        made, status = results_of(home, asked["puzzles"]), ExitStatus.ACCEPTED
    except Exception as reason:  # no key, no sandbox, the checker itself: whatever it is, it is no score
        print(f"Not graded: {type(reason).__name__}: {reason}")  # Gradescope shows this to instructors only
        made, status = results.not_graded(), ExitStatus.FAULT
    replace_whole(home / "results" / "results.json", dumps(made).encode())
    return status


def results_of(home: Path, puzzles: Sequence[str]) -> dict[str, Any]:
    """Return the results of what lies in `submission/`. Raises whatever keeps it from being graded."""
    source = home / "source"
    course = settings.read(source / COURSE)
    course = replace(course, key_file=str(source / COURSE / KEY), puzzles=tuple(puzzles))
    terms_for_grading(course)  # no sandbox, no results: not even for those who have handed in nothing
    folder = home / "submission"
    alone = puzzles[0] if len(puzzles) == 1 else None  # nothing else is expected, so that a file may have any name
    paths = of_assignment(folder) if alone else in_folder(folder)
    named = {path: alone or puzzle_of(path, puzzles) for path in paths}
    parts = [_part(Work("", one, tuple(path for path in paths if named[path] == one)), course) for one in puzzles]
    others = [path.relative_to(folder) for path in paths if named[path] not in (None, *puzzles)]
    return results.graded(parts, clean(some_of(others), 1000))


def _part(work: Work, course: settings.Settings) -> Graded:
    """Return what becomes of a puzzle. Raises what keeps it from being judged: then there is no score."""
    stem, possible = ladder.stems()[work.puzzle], course.possible(work.puzzle)
    if not work.paths:
        problem = f"Nothing was handed in: no file is called {stem}.ipynb or {stem}.py."
        return Graded(work.puzzle, possible, problem=problem)
    try:
        _, verdict = judged(work.puzzle, chosen(work), course)
    except Unresolved as reason:
        return Graded(work.puzzle, possible, problem=f"{reason}.", waits=True)
    return Graded(work.puzzle, possible, verdict, detail=course.detail(work.puzzle))


if __name__ == "__main__":
    sys.exit(main())
