"""`python -m checker train`: a small GPT learns, with your own attention kernels and with PyTorch's."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click

from checker.check import Conditions, check
from checker.check.linking import own
from checker.commands.arguments import PATH, into_folder
from checker.commands.output import can_draw, end
from checker.course.ladder import RUNGS
from checker.course.places import script, shown
from checker.course.status import ExitStatus, Misuse
from checker.learner.practice import outcome_of
from checker.learner.progress import opened
from checker.report.screen import console, echo
from checker.sandbox.exchange import TooBusy
from checker.train import session
from checker.train.result import Training, page
from checker.train.sizes import SIZES


@click.command()
@click.option("--file", "file", type=PATH, help="Train the GPT of this .py file or notebook.")
@click.option("--device", type=click.Choice([*SIZES]), default="cpu", show_default=True, help="Where it is trained.")
@click.option("--steps", type=click.IntRange(min=1), help="How long it is trained.")
@into_folder("train", "the picture and the numbers")
def train(file: Path | None, device: str, steps: int | None, into: Path) -> NoReturn:
    """Train a small GPT with the attention of puzzle c1, and the same one with PyTorch's attention.

    Ctrl-C ends it after the current step, and keeps what there is.
    """
    screen = console()
    path = file or Path(shown(script("c1")))
    size = SIZES[device]
    if steps is not None:
        size = replace(size, steps=steps, warm_up=min(size.warm_up, steps // 10))
    session.insist(device, into)
    outcome = outcome_of("c1", path, Conditions(targets=()), believing=True)
    if not outcome.verdict.accepted or outcome.submission is None:
        end(outcome.verdict, "Nothing was trained: the attention has to be right first.")
    stop = session.Stop()
    with stop.by_interrupt():
        session.prepare(device)
        training = session.trained(outcome.submission, size, screen, stop)
        if training.steps:
            session.show(screen, training)
            _keep(training, into)
    if training.problem:
        screen.print(f"\n{training.problem}", soft_wrap=True)
        sys.exit(ExitStatus.REFUSED)
    if stop.asked:
        kept = "what there was is kept" if training.steps else "there is nothing to keep"
        screen.print(f"\nInterrupted after {training.steps} of {size.steps} steps: {kept}.", soft_wrap=True)
        sys.exit(ExitStatus.INTERRUPTED)
    sys.exit(ExitStatus.ACCEPTED)


def _keep(training: Training, folder: Path) -> None:
    """Write the files, with what the judge says of the kernels that were run, and say where they are."""
    if not can_draw():
        click.echo()
        echo("Nothing was drawn: matplotlib is missing.")
    verdicts = []
    with suppress(TooBusy):  # then the page goes without
        verdicts = [check(needed, own(needed), Conditions(targets=())).verdict for needed in RUNGS["c1"].launches]
    found = opened().progress
    text = page(training, verdicts, sum(found.of(puzzle_id).solved for puzzle_id in RUNGS), len(RUNGS))
    try:
        written = session.save(training, text, folder)
    except OSError as error:
        raise Misuse(f"The results could not be written to {folder}: {error.strerror}.") from error
    click.echo()
    echo("Written: " + ", ".join(map(os.path.relpath, written)))
