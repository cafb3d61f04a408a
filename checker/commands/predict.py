"""`python -m checker predict`: a guess at a number of a launch, and what the learner's own kernel says to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from checker import catalog
from checker.check import Terms, check
from checker.commands.arguments import asked_for
from checker.commands.output import write
from checker.course.places import script, shown
from checker.course.status import ExitStatus, Misuse
from checker.learner import predict as predictions
from checker.learner.practice import fault
from checker.report import screen
from checker.submission.read import Unreadable, from_file


@click.command()
@click.argument("puzzle", required=False, metavar="PUZZLE")
@click.argument("words", nargs=-1, metavar="[NAME=NUMBER]...")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Ask this .py file or .ipynb notebook.")
def predict(puzzle: str | None, words: tuple[str, ...], file: Path | None) -> NoReturn:
    """Compare your guess with what your own accepted kernel does, and say why. Nothing of it is graded.

    Without a guess, the questions are listed; the lesson asks the same ones. The first guess at each is kept in
    progress.txt. The exit status is 0 whether it is right or wrong, and that of `check` if no kernel can answer.
    """
    found = catalog.load(asked_for(puzzle, "predict"))
    guesses = predictions.guesses_of(found, predictions.said_in(words))
    console = screen.console()
    if any(guess is not None for guess in guesses.values()):
        path = file or Path(shown(script(found.id)))
        try:
            outcome = check(found.id, from_file(path), Terms(targets=()))  # what it finds is said by `check` alone
            if not outcome.verdict.accepted:
                which = f' FILE="{file}"' if file else ""
                screen.say(console, predictions.not_accepted(found), f"make check PUZZLE={found.id}{which}")
                sys.exit(outcome.verdict.exit_status)
            answers = predictions.answered(found, outcome, guesses)
        except Unreadable as problem:
            raise Misuse(str(problem)) from problem
        except Misuse:
            raise
        except Exception as error:
            write([fault(found.id, error)], None, table=False)
            sys.exit(ExitStatus.FAULT)
        console.print(screen.lines(predictions.shown(found, answers, predictions.noted(found, answers, path))))
        console.print()
    if still_open := predictions.still_open(found, guesses):
        console.print(screen.lines(predictions.asked(still_open)))
        console.print()
        typed = " ".join(f"{question.name}=..." for question in still_open)
        sentence = "Write your guesses in place of the dots, and type:"
        screen.say(console, sentence, f'make predict PUZZLE={found.id} GUESS="{typed}"')
    sys.exit(ExitStatus.ACCEPTED)
