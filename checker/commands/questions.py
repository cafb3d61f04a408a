"""`python -m checker questions`: a question bank from a puzzle's wrong kernels."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import click

from checker.commands.arguments import asked_for
from checker.course.saving import replace_whole
from checker.course.status import Misuse
from checker.learner.bugs import BadEdit
from checker.publish.questions import bank, forms
from checker.report.screen import console, say


@click.command()
@click.argument("puzzle", required=False, metavar="PUZZLE")
@click.option("--count", type=click.IntRange(min=1), default=10, show_default=True, help="How many questions.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another number draws other questions.")
@click.option(
    "--folder", type=click.Path(path_type=Path), default="questions", show_default=True, help="Where to write."
)
def questions(puzzle: str | None, count: int, seed: int, folder: Path) -> None:
    """Make questions on wrong kernels: which line was changed?

    Writes questions-PUZZLE.xml for Moodle, the same questions as a notebook to hand out, and a notebook with the
    answers. None of these kernels is handed out by `bug`.
    """
    puzzle_id, screen = asked_for(puzzle, "questions"), console()
    try:
        asked = list(islice(bank.questions(puzzle_id, seed), count))
    except OSError as error:
        raise Misuse(
            f"This copy of the course has no wrong kernels of puzzle {puzzle_id}: they are made from solutions/ and "
            "tests/wrong/, which only the full course has."
        ) from error
    except BadEdit as problem:
        raise Misuse(str(problem)) from problem
    if not asked:
        raise Misuse(f"No wrong kernel of puzzle {puzzle_id} makes a question about a line.")
    stem = f"questions-{puzzle_id}"
    files = {
        folder / f"{stem}.xml": forms.quiz(asked),
        folder / f"{stem}.ipynb": forms.handed_out(asked).encode(),
        folder / f"{stem}-answers.ipynb": forms.with_answers(asked).encode(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, data in files.items():
            replace_whole(file, data)
    except OSError as error:
        raise Misuse(f"{folder} could not be written to: {error.strerror}.") from error
    fewer = f"; there are no more for {count}" if len(asked) < count else ""
    say(screen, f"{len(asked)} questions{fewer}: for Moodle, to hand out, and the answers.", *map(str, files))
