"""Verbs for course authors, and what an instructor has made of the puzzles to hand out or to teach from."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

import click

from checker.commands.arguments import PATH, of_puzzle
from checker.commands.problems import as_misuse, writing
from checker.course.edits import BadEdit
from checker.course.saving import replace_whole
from checker.course.status import Misuse
from checker.publish import bundle
from checker.publish import ideas as mistakes
from checker.publish.build import build as build_files
from checker.publish.questions import bank, forms
from checker.report.screen import console, say


@click.command()
def build() -> None:
    """Rebuild notebooks, shipped stubs and the README's table from the puzzles (for course authors)."""
    try:
        written = build_files()
    except ImportError as error:
        raise Misuse(f"{error.name} is missing: make lint installs it.") from error
    for path in written:
        click.echo(os.path.relpath(path))
    click.echo(f"{len(written)} files written.")


@click.command()
@of_puzzle
def ideas(puzzle: str) -> None:
    """Print every mistake of a puzzle that a report names: its words, and kernels that make it.

    It is Markdown: `python -m checker ideas p4 > p4.md`.
    """
    try:
        click.echo(mistakes.page(puzzle))
    except OSError as error:
        raise Misuse(
            f"This copy of the course has no wrong kernels of puzzle {puzzle}: they are in tests/wrong/, which only "
            "the full course has."
        ) from error


@click.command()
@of_puzzle
@click.option("--count", type=click.IntRange(1, 10_000), default=10, show_default=True, help="How many questions.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another number draws other questions.")
@click.option("--folder", type=PATH, default="questions", show_default=True, help="Where to write.")
@as_misuse(BadEdit)
def questions(puzzle: str, count: int, seed: int, folder: Path) -> None:
    """Make questions on wrong kernels: which line was changed?

    Writes questions-PUZZLE.xml for Moodle, the same questions as a notebook to hand out, and a notebook with the
    answers. None of these kernels is handed out by `bug`.
    """
    try:
        asked = list(islice(bank.questions(puzzle, seed), count))
    except OSError as error:
        raise Misuse(
            f"This copy of the course has no wrong kernels of puzzle {puzzle}: they are made from solutions/ and "
            "tests/wrong/, which only the full course has."
        ) from error
    if not asked:
        raise Misuse(f"No wrong kernel of puzzle {puzzle} makes a question about a line.")
    stem = f"questions-{puzzle}"
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
    say(console(), f"{len(asked)} questions{fewer}: for Moodle, to hand out, and the answers.", *map(str, files))


@click.command("student-bundle")
@click.argument("file", required=False, default="flash-puzzles.tar.gz", type=PATH)
def student_bundle(file: Path) -> None:
    """Write the course for students to FILE: every stub is empty, and solutions, tests and grading are left out."""
    with writing(file):
        names = bundle.write(file)
    click.echo(f"{file}: {len(names)} files.")
