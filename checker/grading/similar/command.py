"""The command that compares the submissions of a class."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from checker.course.saving import replace_whole
from checker.course.status import ExitStatus, Misuse
from checker.grading.chosen import Unresolved, chosen
from checker.grading.found import NothingFound, found
from checker.grading.similar import pairs
from checker.grading.similar.page import html
from checker.report.screen import console, say
from checker.submission.read import Submission


def similar(places: Sequence[Path], number: int | None, file: Path) -> ExitStatus:
    """Compare, and write the page. Raises Misuse."""
    screen = console()
    try:
        works = [work for work in found(places) if number in (None, work.number)]
    except NothingFound as problem:
        raise Misuse(str(problem)) from problem
    handed: dict[int, list[tuple[str, Submission]]] = defaultdict(list)
    with screen.status("reading"):
        for work in works:
            with contextlib.suppress(Unresolved):
                if (submission := chosen(work)[1].submission) is not None:
                    handed[work.number].append((work.student, submission))
    counted, classes = sum(map(len, handed.values())), []
    for one, submissions in sorted(handed.items()):
        with screen.status(f"comparing puzzle {one}"):
            classes.append(pairs.found(one, submissions))
    try:
        replace_whole(file, html(classes, counted, len(works) - counted).encode(), mode=0o600)  # it has names in it
    except OSError as error:
        raise Misuse(f"{file} could not be written: {error.strerror}.") from error
    say(screen, f"{counted} submissions compared, {sum(one.total for one in classes)} pairs to look at:", str(file))
    return ExitStatus.ACCEPTED
