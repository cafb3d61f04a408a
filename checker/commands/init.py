"""`flash-puzzles init`: a folder with the course, from an installed package."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from checker.course import places
from checker.course.saving import keep_copy, replace_whole
from checker.course.status import Misuse

OURS = "environment.mk"  # which environment make uses in this folder


@click.command(hidden=not places.SHIPPED.is_dir())
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def init(folder: Path) -> None:
    """Make the course's folder in FOLDER, or bring it up to date after an upgrade.

    Puzzles and notebooks that are there already are yours, and stay as they are.
    """
    if not places.SHIPPED.is_dir():
        raise Misuse("This is a whole copy of the course: there is nothing to make.")
    if folder.is_dir() and any(folder.iterdir()) and not places.holds_course(folder):
        raise Misuse(f"{folder} holds something else than the course. Name a new folder, or an empty one.")
    files = (path for path in places.SHIPPED.rglob("*") if path.is_file() and path.suffix != ".pyc")  # pip makes some
    shipped = {path.relative_to(places.SHIPPED): path.read_bytes() for path in files}
    shipped[Path(OURS)] = (
        f"# Which Python make uses here. `flash-puzzles init` writes it.\nVENV ?= {sys.prefix}\n".encode()
    )
    new, kept, replaced = 0, 0, []
    try:
        for name, data in sorted(shipped.items()):
            path = folder / name
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_whole(path, data)
                new += 1
            elif name.parts[0] in ("puzzles", "notebooks"):
                kept += 1
            elif (old := path.read_bytes()) != data:
                if name != Path(OURS):
                    replaced.append(keep_copy(path, old))
                replace_whole(path, data)
    except OSError as error:
        raise Misuse(f"{error.filename or folder} cannot be written: {error.strerror}.") from error
    there = f" {kept} puzzles and notebooks were there, and stay as they are." if kept else ""
    click.echo(f"{folder}: {new} new files.{there}")
    for copy in replaced:
        click.echo(f"What was in {copy.with_suffix('')} is in {copy}.")
    click.echo(f"Go on with:\n  cd {folder}\n  flash-puzzles check w1")
