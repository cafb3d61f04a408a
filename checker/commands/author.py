"""Verbs for course authors, and what an instructor has made of the puzzles to hand out or to teach from."""

from __future__ import annotations

import os
from pathlib import Path

import click

from checker.commands.arguments import PATH, of_puzzle
from checker.commands.problems import writing
from checker.course.status import Misuse
from checker.publish import bundle
from checker.publish import ideas as mistakes
from checker.publish.build import build as build_files


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


@click.command("student-bundle")
@click.argument("file", required=False, default="flash-puzzles.tar.gz", type=PATH)
def student_bundle(file: Path) -> None:
    """Write the course for students to FILE: every stub is empty, and solutions, tests and grading are left out."""
    with writing(file):
        names = bundle.write(file)
    click.echo(f"{file}: {len(names)} files.")
