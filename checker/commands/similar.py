"""`python -m checker similar`: which submissions of a class share what few others have."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import click

from checker.commands.arguments import PATH, of_course
from checker.commands.problems import as_misuse, writing
from checker.course import ladder
from checker.course.saving import replace_whole
from checker.grading.chosen import Unresolved, chosen
from checker.grading.found import NothingFound, Work, collected, found
from checker.grading.similar import pairs
from checker.grading.similar.page import html
from checker.report.screen import console, say
from checker.submission.read import Submission


@click.command()
@click.argument("places", nargs=-1, metavar="[PATH]...", type=PATH)
@of_course
@click.option("--puzzle", metavar="PUZZLE", help="Only this puzzle.")
@click.option("--against", type=PATH, help="A folder of an earlier class, which is compared with this one as well.")
@click.option("--file", default="similar.html", show_default=True, type=PATH, help="Where to.")
def similar(places: tuple[Path, ...], folder: Path, puzzle: str | None, against: Path | None, file: Path) -> None:
    """Show which submissions share passages that few others have: in PATHs, or in what nbgrader has collected.

    It makes one page, for you to read and to judge: that two kernels are alike proves nothing about anybody. Nothing
    is executed.
    """
    puzzle_id = None if puzzle is None else ladder.id_of(puzzle)
    screen = console()
    with as_misuse(NothingFound):
        works = [work for work in (found(places) if places else collected(folder)) if puzzle_id in (None, work.puzzle)]
        others = [] if against is None else found((against,))
    with screen.status("reading"):
        handed, earlier = _read(works), _read(others, f"{against}: ")
    counted, classes = sum(map(len, handed.values())), []
    for one, submissions in sorted(handed.items(), key=lambda one: ladder.place_of(one[0])):
        with screen.status(f"comparing puzzle {one}"):
            classes.append(pairs.found(one, submissions, earlier=earlier.get(one, [])))
    page = html(classes, counted, len(works) - counted)
    with writing(file):
        replace_whole(file, page.encode(), mode=0o600)  # it has names in it
    say(screen, f"{counted} submissions compared, {sum(one.total for one in classes)} pairs to look at:", str(file))


def _read(works: Iterable[Work], before: str = "") -> dict[str, list[tuple[str, Submission]]]:
    """(student, submission) of what can be read, by puzzle; `before`: what stands before each name."""
    handed: dict[str, list[tuple[str, Submission]]] = defaultdict(list)
    for work in works:
        with contextlib.suppress(Unresolved):
            handed[work.puzzle].append((before + work.student, chosen(work)[0].submission))
    return handed
