"""What several verbs take alike: a puzzle, and an instructor's course."""

from __future__ import annotations

from pathlib import Path

import click

from checker.course.ladder import id_of
from checker.course.status import Misuse

of_course = click.option(
    "--course", "folder", default="course", show_default=True, type=click.Path(path_type=Path), help="The course."
)


def asked_for(puzzle: str | None, verb: str) -> str:
    """The puzzle that a verb was asked for; without one there is a sentence."""
    if puzzle is None:
        raise Misuse(f"Say which puzzle: make {verb} PUZZLE=p1, or python -m checker {verb} p1.")
    return id_of(puzzle)
