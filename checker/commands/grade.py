"""`python -m checker grade`: many submissions, a summary, and files for other programs."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click
from rich.table import Table

from checker import catalog
from checker.commands.arguments import PATH, of_course
from checker.commands.problems import as_misuse
from checker.commands.progress import progress
from checker.course import ladder
from checker.course.clean import LONGEST, one_line
from checker.course.saving import reason, replacing
from checker.course.status import ExitStatus, Misuse
from checker.course.verdict import Status, Verdict
from checker.grading import batch, export, settings
from checker.grading.crew import Crew, CrewLost, NoCrew, local
from checker.grading.export import Row
from checker.grading.found import NothingFound, Work, collected, found, some_of
from checker.grading.grade import NotReady, terms_for_grading
from checker.grading.key import KeyProblem
from checker.report.screen import console, say

_COLUMNS = ("all points", "some points", "no points", "not started", "no score")  # of the summary


@click.command()
@click.argument("places", nargs=-1, metavar="[PATH]...", type=PATH)
@of_course
@click.option("--jobs", type=click.IntRange(min=0), default=0, help="Processes; 0: as many as there are cores.")
@click.option(
    "--cluster",
    default="",
    metavar="local|ADDRESS",
    help="Have Dask workers grade: --jobs of this machine, or those of a scheduler that is there already, such as "
    "tls://host:8786.",
)
@click.option("--csv", type=PATH, help="Write a line for each submission to this file.")
@click.option("--json", type=PATH, help="Write all that is known to this file.")
@click.option("--properties", type=PATH, help="Write a line for each property of each submission to this CSV file.")
def grade(places: tuple[Path, ...], folder: Path, jobs: int, cluster: str, **forms: Path | None) -> NoReturn:
    """Grade what lies in PATHs, folders or files; without PATHs, what nbgrader has collected in the course.

    Without PATHs, and unless you name another file, it also writes verdicts.csv in the course's folder. These are not
    grades, because they know of no deadlines, overrides and questions. `nbgrader export` writes grades.

    Submissions for puzzles that course.toml does not name are left out, and named. What was graded before is not graded
    again, and a run that was interrupted continues where it was. `nbgrader autograde` then only reads the results.

    Exit status: 0 every submission has a result, 2 misused, 3 some could not be judged: they have no score.
    """
    written = {form: path for form, path in forms.items() if path is not None}
    if not places and not written.keys() & {"csv", "json"}:
        written["csv"] = folder / "verdicts.csv"
    sys.exit(grade_all(places, folder, jobs, written, cluster))


@as_misuse(settings.SettingsError, KeyProblem, NotReady, NothingFound, NoCrew)
def grade_all(
    places: Sequence[Path], folder: Path, jobs: int, written: Mapping[str, Path], cluster: str = ""
) -> ExitStatus:
    """Grade, show a summary, and write the files that are asked for, by form. Raises Misuse.

    `cluster`: grade there, and not in processes of this machine; see `checker.grading.cluster`.
    """
    screen, started = console(), time.monotonic()
    try:
        course = settings.read(folder.absolute())
        every = found(places, course.puzzles) if places else collected(folder, course.puzzles)
        works = [work for work in every if work.puzzle in course.puzzles]
        others = list(_left_out(work for work in every if work.puzzle not in course.puzzles))
        if not works:
            raise NothingFound(" ".join(["There is nothing to grade.", *others]))
        with _crew(cluster, jobs, course, works) as crew, progress(screen) as tell:
            outcomes = list(batch.grade(works, course.folder, crew, tell))
        rows = export.Rows(outcomes, course)
        for form, path in written.items():
            with replacing(path) as file:
                export.FORMS[form](rows, file)
    except (OSError, CrewLost) as problem:
        why = reason(problem) if isinstance(problem, OSError) else str(problem)
        say(screen, f"Grading has stopped: {one_line(why, LONGEST)}. Nothing is lost: what is done is kept.")
        return ExitStatus.FAULT
    screen.print(_summary(rows))
    known = sum(outcome.known for outcome in outcomes)
    say(screen, f"{len(outcomes)} submissions, {known} of them known before, in {time.monotonic() - started:.0f} s.")
    for path in written.values():
        say(screen, f"Written: {path}")
    for sentence in others:
        say(screen, sentence)
    lost: dict[str, list[str]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.fault:
            lost[outcome.fault].append(one_line(outcome.files, LONGEST))
    for fault, files in lost.items():
        say(screen, f"No score: {', '.join(files)}: {one_line(fault, LONGEST)}.")
    return ExitStatus.FAULT if lost else ExitStatus.ACCEPTED


def _left_out(works: Iterable[Work]) -> Iterator[str]:
    """Yield a sentence for each puzzle that the course does not have, but somebody has handed in."""
    paths: dict[str, list[Path]] = defaultdict(list)
    for work in works:
        paths[work.puzzle] += work.paths
    for puzzle_id in sorted(paths, key=ladder.place_of):
        files = one_line(some_of(paths[puzzle_id]), LONGEST)  # whose names are the students' to choose
        yield f"Left out, because course.toml does not name {puzzle_id}: {files}."


def _crew(cluster: str, jobs: int, course: settings.Settings, works: Sequence[Work]) -> AbstractContextManager[Crew]:
    if not cluster:
        terms_for_grading(course)  # better to say now what is missing than in every process
        return local(jobs)
    try:
        from checker.grading.cluster import cluster as on_cluster
    except ImportError as error:
        raise Misuse(
            f"{error.name} is missing, which grading on a cluster needs: pip install '.[cluster]' in this repository, "
            "or make grade CLUSTER=…, which installs it."
        ) from error
    handed_in = tuple({work.puzzle: None for work in works})
    return on_cluster(cluster, jobs, replace(course, puzzles=handed_in), works[0].paths[0])


def _summary(rows: Iterable[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("", "submissions", *_COLUMNS, "mean"):
        table.add_column(heading, justify="right" if heading else "left")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    earned: Counter[str] = Counter()
    for row in rows:
        counts[row.outcome.work.puzzle][_column(row.verdict)] += 1
        earned[row.outcome.work.puzzle] += 0 if row.verdict is None else row.verdict.earned
    for puzzle_id, of_puzzle in sorted(counts.items(), key=lambda one: ladder.place_of(one[0])):
        every = of_puzzle.total()
        judged = every - of_puzzle["no score"]
        mean = f"{earned[puzzle_id] / judged:.1f}" if judged else ""
        cells = (str(every), *(str(of_puzzle[name]) for name in _COLUMNS), mean)
        table.add_row(f"{puzzle_id} {catalog.load(puzzle_id).title}", *cells)
    return table


def _column(verdict: Verdict | None) -> str:
    if verdict is None:
        return "no score"
    if verdict.status is Status.NOT_STARTED:
        return "not started"
    if not verdict.earned:
        return "no points"
    return "all points" if verdict.earned == verdict.possible else "some points"
