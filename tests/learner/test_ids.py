"""A puzzle's ID, its shorthand and what is none, in every command that takes a puzzle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from checker.commands.cli import cli
from checker.course import ladder
from tests.learner.conftest import STEMS, Course

# The same puzzle in other words: one of the seven, and the first rung that is none of them, once there is one.
SAME = [("p1", "P1", "1"), *[(id, id.upper()) for id in ladder.RUNGS if not id.startswith("p")][:1]]
NONE = [id for id in ("x9", "w1") if id not in ladder.RUNGS]


def taking_a_puzzle() -> dict[str, click.Parameter]:
    """The commands that take a puzzle, each with its parameter, as click knows them."""
    context = click.Context(cli)
    commands = {verb: cli.get_command(context, verb) for verb in cli.list_commands(context)}
    every = {verb: command.params for verb, command in commands.items() if command is not None}
    return {verb: one for verb, parameters in every.items() for one in parameters if one.name == "puzzle"}


TAKING = taking_a_puzzle()


def ran(course: Course, verb: str, puzzle: str) -> tuple[int, str, str]:
    """Exit status, what is said, and what is noted. What would go on for ever is ended once it has begun."""
    (course.root / "progress.txt").unlink(missing_ok=True)
    option = TAKING[verb].opts if isinstance(TAKING[verb], click.Option) else []
    child = subprocess.Popen(
        [sys.executable, "-m", "checker", verb, *option, puzzle],
        cwd=course.root,
        env=course.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert child.stdout is not None
    said = ""
    with child:
        for line in child.stdout:
            said += line
            if "Ctrl-C ends this." in line:
                child.terminate()
                break  # what follows depends on where the signal met it
    return child.returncode, said, course.progress


def hand_in(folder: Path) -> None:
    """What one student has handed in: a file for each puzzle."""
    for stem in STEMS.values():
        place = folder / "student" / stem / f"{stem}.py"
        place.parent.mkdir(parents=True)
        place.write_text(f"# {stem}\n")


def test_what_tab_completes_is_a_puzzle() -> None:
    assert ladder.id_of("puzzles/p1_naive_softmax.py") == ladder.id_of("./puzzles/p1_naive_softmax.py") == "p1"


def test_the_walk_finds_commands_of_both_kinds() -> None:
    assert {"check", "watch", "hint", "trace", "bench", "reset"} <= TAKING.keys()
    assert "progress" not in TAKING and "doctor" not in TAKING


@pytest.mark.parametrize("verb", TAKING)
def test_every_command_takes_an_id_in_any_case_and_a_number(verb: str, course: Course) -> None:
    hand_in(course.root / "course" / "submitted")
    for first, *others in SAME:
        wanted = ran(course, verb, first)
        assert "There is no puzzle" not in wanted[1] and "Traceback" not in wanted[1]
        for other in others:
            assert ran(course, verb, other) == wanted
    for none in NONE:
        status, said, noted = ran(course, verb, none)
        assert (status, f"There is no puzzle '{none}'" in said, noted) == (2, True, "")
        assert "Traceback" not in said
