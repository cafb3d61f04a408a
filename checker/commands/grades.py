"""`python -m checker grades`: an nbgrader course's grades, for Canvas or Moodle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import click

from checker.commands.arguments import PATH, of_course
from checker.commands.problems import as_misuse, writing
from checker.course.clean import one_line
from checker.course.saving import replace_whole
from checker.course.status import Misuse
from checker.grading import settings
from checker.nbgrader.filled import Filled, filled, number
from checker.nbgrader.platform import PLATFORMS, Platform
from checker.nbgrader.sheet import NoSheet, Sheet, read
from checker.report.screen import console, say

_MOST = 10  # columns that are named

if find_spec("nbgrader") is None:  # which takes 2 s to import: not before its gradebook is wanted, nor for --help
    raise ModuleNotFoundError("nbgrader is missing", name="nbgrader")


@click.command()
@click.argument("roster", type=PATH)
@click.option("--lms", required=True, type=click.Choice(list(PLATFORMS)), help="The learning platform.")
@of_course
@click.option("--to", "file", type=PATH, help="Where to; else grades-LMS.csv in the course.")
def grades(roster: Path, lms: str, folder: Path, file: Path | None) -> None:
    """Fill a course's grades into ROSTER, which the learning platform has exported: for you to import there.

    The grades are those of `nbgrader export`. Only what is graded is filled in, and nothing else is changed. Who is in
    nbgrader or in ROSTER only is listed. ROSTER itself stays as it is.
    """
    from checker.nbgrader.gradebook import NoGradebook, rows_of

    platform, to = PLATFORMS[lms], file or folder / f"grades-{lms}.csv"
    sheet = _export(roster, platform)
    if to.exists() and to.samefile(roster):
        raise Misuse(f"{to} is what {platform.name} has exported, and stays as it is. Name another file: --to FILE.")
    with as_misuse(settings.SettingsError, NoGradebook):
        settings.read(folder.absolute())
        rows = rows_of(folder.absolute())
    made = filled(sheet, platform, rows)
    with writing(to):
        replace_whole(to, made.sheet.data(), mode=0o600)  # it has names in it
    screen = console()
    for sentence in _report(made, platform, _names([roster.name])):
        say(screen, sentence)
    say(screen, f"Written, for {platform.name} to import:", str(to))


def _export(path: Path, platform: Platform) -> Sheet:
    """Return the platform's export. Raises Misuse."""
    try:
        sheet = read(path.read_bytes(), platform.delimiters, lambda header: not platform.lacks(header))
    except OSError as error:
        raise Misuse(f"{path} cannot be read: {error.strerror}.") from error
    except NoSheet as problem:
        raise Misuse(f"{path} {problem}.") from problem
    if lacks := platform.lacks(sheet.header):
        more = f" and {len(sheet.header) - _MOST} more" if len(sheet.header) > _MOST else ""
        others = [f" It may be {one.name}'s." for one in PLATFORMS.values() if not one.lacks(sheet.header)]
        raise Misuse(
            f"{path} is not an export of {platform.name}'s gradebook, in English: it has no column "
            f"{', and no '.join(lacks)}. It has: {_names(sheet.header[:_MOST])}{more}.{''.join(others)}"
        )
    return sheet


def _report(made: Filled, platform: Platform, roster: str) -> Iterator[str]:
    """Print what was done, and what somebody has to look at."""
    for one in made.columns:
        where = "in a new column" if one.new else f"in the column {_names([one.heading])}"
        points = f" They are out of {number(one.possible)}; {platform.name} says {_names([one.there])}!"
        count = f"{one.grades} grade{'s' * (one.grades != 1)}"
        yield f"{_names([one.assignment])}: {count}, {where}.{points * one.differs}"
        if one.waiting:
            yield f"Without a grade yet, and left as they were: {_names(one.waiting)}."
        if one.absent:
            yield f"Not handed in, and left as they were: {one.absent}."
    for assignment, headings in made.unclear.items():
        yield f"{_names([assignment])}: left out, because it may be any of these columns: {_names(headings)}."
    for said, names in (
        (f"in nbgrader whom no line of {roster} fits", made.missing),
        ("in nbgrader who were left out, because they fit several lines, or several of them fit one", made.ambiguous),
        (f"in {roster} whom nobody in nbgrader fits", made.nobody),
        ("left as it was, because two names of nbgrader have a grade for it", made.twice),
        (f"left as {platform.name} has it", made.kept),
    ):
        if names:
            yield f"{len(names)} {said}: {_names(names)}."


def _names(names: Iterable[str]) -> str:
    """For a terminal: names are their bearers' to choose, and have commas in them."""
    return "; ".join(" ".join(one_line(name).split()) or "(no name)" for name in names)
