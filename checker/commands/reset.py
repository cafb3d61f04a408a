"""`python -m checker reset`: back to the stub, with a backup."""

from __future__ import annotations

import os
from pathlib import Path

import click

from checker.commands.arguments import asked_for
from checker.course import places
from checker.course.status import Misuse
from checker.learner import stub


@click.command()
@click.argument("puzzle", required=False, metavar="PUZZLE")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Reset only this one of the puzzle's two files.")
def reset(puzzle: str | None, file: Path | None) -> None:
    """Put the stub of a puzzle back into its file and its notebook.

    What they held is kept beside them, as .bak, .bak2 and so on. Only the kernels become stubs again, and a
    notebook's results are cleared; whatever else you have written stays.
    """
    puzzle_id = asked_for(puzzle, "reset")
    paths = [path for path in (places.script(puzzle_id), places.notebook(puzzle_id)) if path.parent.is_dir()]
    if file is not None:
        if not places.is_own(file, puzzle_id):
            names = " and ".join(map(places.shown, paths))
            raise Misuse(f"{file} is not a file of puzzle {puzzle_id}, so it has no stub. These have one: {names}.")
        paths = [path for path in paths if os.path.realpath(path) == os.path.realpath(file)]
    done = False
    try:
        for plan in [stub.planned(puzzle_id, path) for path in paths]:
            name = places.shown(plan.path)
            if not plan.needed:
                click.echo(f"{name} is the stub already.")
                continue
            backup = stub.carry_out(plan)
            kept = "" if backup is None else f" What it held is in {places.shown(backup)}."
            click.echo(f"{name} is the stub again.{kept}")
            done = True
    except (stub.NoStub, stub.Changed) as problem:
        raise Misuse(str(problem)) from problem
    except OSError as error:
        raise Misuse(
            f"{error.filename or 'A file'} cannot be read or written: {error.strerror}. Nothing is lost."
        ) from error
    if done:
        click.echo("If it is open in an editor or in JupyterLab, load it again there.")
