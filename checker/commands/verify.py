"""`python -m checker verify`, or `own`: the verdict on a file with a softmax or an attention of its author's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from checker.check import Conditions
from checker.check.own import own
from checker.commands.arguments import PATH, as_json, no_compile, of_targets
from checker.commands.output import write
from checker.commands.problems import as_misuse
from checker.course import targets
from checker.course.claims import LAYOUTS, TYPES, Claims
from checker.course.status import Misuse
from checker.learner.practice import fault, misused
from checker.submission.read import Unreadable, from_file
from checker.submission.whole import options_in


def _several(made: Callable[[str], Any], fits: Callable[[str], bool], said: str) -> Callable[..., tuple[Any, ...]]:
    """Return what takes words apart at commas. `said`: what is said of a word that does not fit."""

    def taken(context: click.Context, option: click.Parameter, value: str | None) -> tuple[Any, ...]:
        words = [word.strip() for word in value.split(",")] if value else []
        for word in words:
            if not fits(word):
                raise click.BadParameter(f"{word} {said}.")
        return tuple(map(made, words))

    return taken


_types = _several(str, TYPES.__contains__, f"is none of {', '.join(TYPES)}")
_dimensions = _several(int, lambda word: word.isdigit() and int(word) >= 4, "is no number of dimensions")


@click.command()
@click.argument("file", type=PATH, required=False)
@click.option("--function", metavar="NAME", help="What is called: attention, or FlashAttention.apply.")
@click.option("--as", "call", metavar="'q, k, v'", help="What it is called with: q, k, v, scale, causal; or x.")
@click.option("--layout", type=click.Choice(LAYOUTS), help="Axes of its tensors: batch, heads, n, dimension.")
@click.option("--types", callback=_types, help="Its types; most is asked in the first.", metavar=",".join(TYPES))
@click.option(
    "--head-dim", "head_dims", callback=_dimensions, metavar="16,32,64,80,128", help="The dimensions of a head."
)
@click.option("--no-half", is_flag=True, help="It takes fp32 alone.")
@click.option("--whole-tiles", is_flag=True, help="Lengths are multiples of 128.")
@click.option("--square", is_flag=True, help="There are as many queries as keys.")
@click.option("--dense", is_flag=True, help="Inputs are contiguous.")
@click.option("--causal", is_flag=True, help="It is always causal.")
@click.option("--kv-heads", is_flag=True, help="K and V may have fewer heads than Q.")
@of_targets(f"GPUs that it must compile for, separated by commas; `all`: {', '.join(targets.ALL)}.")
@no_compile
@as_json
@click.pass_context
def verify(context: click.Context, /, file: Path | None, **options: Any) -> NoReturn:
    """Check a softmax or an attention with a signature of its own. The file runs as it is, on this machine.

    Its first line may hold options, too: `# own: --function mine --square`. Exit status: 0 right, 1 wrong, 2 misused, 3
    the checker failed, 4 nothing could be judged.
    """
    targets_, no_compile, json_path = (options.pop(name) for name in ("targets_", "no_compile", "json_path"))
    try:
        if file is None:
            said = "make verify FILE=my_attention.py, or python -m checker verify my_attention.py"
            raise Misuse(f"Say which file: {said}.")
        with as_misuse(Unreadable):
            submission = from_file(file)
        given = {**_in_file(context, submission.text), **{name: value for name, value in options.items() if value}}
        with as_misuse(ValueError):
            conditions = Conditions(targets=() if no_compile else targets.chosen(targets_))
        if given.pop("no_half", False):
            given["types"] = ("fp32",)
        verdict = own(submission, Claims(**given), conditions).verdict
    except Misuse as misuse:
        verdict = misused(str(misuse), "See python -m checker verify --help.")
    except Exception as error:
        verdict = fault(None, error)
    write([verdict], json_path)
    sys.exit(verdict.exit_status)


def _in_file(context: click.Context, text: str) -> dict[str, Any]:
    """Return the options that stand in the first line of a file. Raises Misuse."""
    try:
        made = context.command.make_context("verify", ["file", *options_in(text)])
    except click.ClickException as error:
        raise Misuse(f"In the first line: {error.format_message()}") from None
    others = ("file", "targets_", "no_compile", "json_path")
    return {name: value for name, value in made.params.items() if value and name not in others}
