"""`flash-puzzles init`: a folder with the course, from an installed package."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from checker.course import places
from checker.course.clean import clean
from checker.course.saving import keep_copy, replace_whole
from checker.course.status import Misuse
from checker.report.screen import echo

OURS = "environment.mk"  # which environment make uses in this folder


@click.command(hidden=not places.INSTALLED)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def init(folder: Path) -> None:
    """Make the course's folder in FOLDER, or bring it up to date after an upgrade.

    Puzzles and notebooks that are there already are yours, and hold what they held.
    """
    if not places.INSTALLED:
        raise Misuse("You are already in a full copy of the course, so `init` has nothing to do.")
    if folder.is_symlink() and not folder.exists():
        raise Misuse(f"{folder} is a link to nothing.")
    try:
        foreign = folder.is_dir() and not (folder / OURS).exists() and any(map(_is_foreign, folder.iterdir()))
    except OSError as error:
        raise Misuse(f"{folder} cannot be read: {error.strerror}.") from error
    if foreign:
        raise Misuse(f"{folder} already contains other files. Choose a new or empty folder.")
    files = (path for path in places.SHIPPED.rglob("*") if path.is_file() and path.suffix != ".pyc")  # pip makes some
    environment = sys.prefix.replace("$", "$$").replace("#", "\\#")  # as a makefile has a path
    ours = f"# Which Python make uses here. `flash-puzzles init` writes it.\nVENV ?= {environment}\n"
    shipped = {Path(OURS): ours.encode()}  # first what marks our folder
    shipped |= {path.relative_to(places.SHIPPED): path.read_bytes() for path in files}
    new, kept, replaced, renamed = 0, 0, [], []
    try:
        for name, data in shipped.items():
            path = folder / name
            if not path.exists() and (others := places.earlier(path)):
                earlier = max(others, key=lambda one: one.stat().st_mtime)  # the one that was saved last
                renamed.append((earlier.rename(path), earlier))
                kept += 1
            elif not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_whole(path, data)
                path.chmod(0o755 if name == Path("check") else 0o644)
                new += 1
            elif name.parts[0] in ("puzzles", "notebooks"):
                kept += 1
            elif not path.is_file():
                raise Misuse(f"{path} is in the way: it is no file.")
            elif (old := path.read_bytes()) != data:
                if name != Path(OURS):
                    replaced.append(keep_copy(path, old))
                replace_whole(path, data)
    except OSError as error:
        raise Misuse(f"{error.filename or folder} cannot be written: {error.strerror}.") from error
    finally:
        for path, earlier in renamed:
            echo(f"Your {earlier} is now called {path.name}.")
        for copy in replaced:
            echo(f"Your old {copy.with_suffix('')} was saved as {copy}.")
    there = f" {kept} puzzles and notebooks were there, and stay as they are." if kept else ""
    echo(f"{folder}: {new} file{'s' * (new != 1)} added.{there}")
    there = shlex.quote(f"./{folder}" if str(folder).startswith("-") else str(folder))
    echo(f"Go on with:\n  cd {clean(there)}\n  flash-puzzles check w1")


def _is_foreign(path: Path) -> bool:
    """Return whether it is more than what an environment, an editor or `hint` leaves in a folder of ours to be."""
    return not path.name.startswith(".") and path.name != "progress.txt"
