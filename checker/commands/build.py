"""`python -m checker build`: what is derived from the puzzles, for course authors."""

from __future__ import annotations

import os

import click

from checker.course.status import Misuse
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
