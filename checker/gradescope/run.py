"""What happens to a submission in Gradescope's container: `python -m checker.gradescope.run /autograder`.

Either everything that was handed in is judged, or there is no score at all: a part of one would look like a whole one.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from checker import catalog
from checker.course import settings
from checker.course.settings import Settings
from checker.gradescope import results
from checker.gradescope.results import Part
from checker.grading.batch import read
from checker.grading.cells import Handed
from checker.grading.found import NothingFound, Work, found
from checker.grading.grade import terms_for_grading, verdict_on
from checker.judge.verdict import ExitStatus
from checker.learner.saving import replace_whole
from checker.report.as_json import dumps
from checker.report.clean import clean
from checker.road import started

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
    numbers: list[int] = json.loads((source / SETTINGS).read_text(encoding="utf-8"))["puzzles"]
    course = settings.read(source / COURSE)
    course = replace(course, key_file=str(source / COURSE / KEY))
    terms_for_grading(course)  # no sandbox, no results: not even for those who have handed in nothing
    works = _works(home / "submission")
    return results.graded([_part(number, works[number], course) for number in numbers])


def _works(folder: Path) -> dict[int, list[Work]]:
    """What was handed in, by puzzle."""
    works: dict[int, list[Work]] = defaultdict(list)
    try:
        for work in found([folder]):
            works[work.number].append(work)
    except NothingFound:
        pass  # said for each puzzle
    return works


def _part(number: int, works: list[Work], course: Settings) -> Part:
    """What becomes of a puzzle. Raises CheckerFault."""
    possible = sum(course.points_of(number).values())
    texts: dict[str, tuple[Work, Handed]] = {}
    for work in works:
        handed = read(work)
        texts.setdefault(str(work.path) if handed.submission is None else handed.submission.text, (work, handed))
    chosen = list(texts.values())
    if len(chosen) > 1:  # a repository has the lesson and its notebook, one of them as it was
        chosen = [one for one in chosen if _begun(number, one[1])] or chosen[:1]
    if not chosen:
        stem = catalog.stems()[number]
        return Part(number, possible, problem=f"Nothing was handed in: no file is called {stem}.ipynb or {stem}.py.")
    if len(chosen) > 1:
        names = " and ".join(sorted(clean(work.path.name, 200) for work, _ in chosen))
        sentence = f"There is more than one file for it, {names}, so it is open which one is meant. Hand in one."
        return Part(number, possible, problem=sentence)
    work, handed = chosen[0]
    return Part(number, possible, verdict_on(number, handed, clean(work.path.name, 200), course))


def _begun(number: int, handed: Handed) -> bool:
    return handed.submission is None or started(number, handed.submission)


if __name__ == "__main__":
    sys.exit(main())
