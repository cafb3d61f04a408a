"""`python -m checker student-bundle`: the course as students get it."""

from __future__ import annotations

from pathlib import Path

import click

from checker.course.status import Misuse
from checker.publish.bundle import write


@click.command("student-bundle")
@click.argument("file", required=False, default="flash-puzzles.tar.gz", type=click.Path(path_type=Path))
def student_bundle(file: Path) -> None:
    """Write the course for students to FILE: every stub is empty, and solutions, tests and grading are left out."""
    try:
        names = write(file)
    except OSError as error:
        raise Misuse(f"{file} could not be written: {error.strerror}.") from error
    click.echo(f"{file}: {len(names)} files.")
