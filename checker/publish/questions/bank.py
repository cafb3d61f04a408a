"""Questions on wrong kernels of a puzzle, each with its answer: which line is wrong?

The kernels are those of `tests/wrong/ID.diff` with one change of a few lines. `make bug` hands some of them out, and
these are not asked about.
"""

from __future__ import annotations

import ast
import random
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from checker import catalog
from checker.check import program_of
from checker.course import places
from checker.course.edits import changes, code_of, read
from checker.grading.viva.lines import Listing, listing
from checker.learner.bugs import listed
from checker.submission.problem import NotASubmission
from checker.submission.read import Submission, from_cells, without_comments

CHOICES = 10  # lines to choose from; and Moodle knows no share of a point that is smaller than a tenth
_FEW = 3  # lines that one mistake may take up


@dataclass(frozen=True)
class Choice:
    """An answer to choose: a line of the listing."""

    text: str
    right: bool
    line: int  # its number


@dataclass(frozen=True)
class Question:
    """A kernel with one mistake, and what it is asked about."""

    puzzle: str
    kernel: str  # its name among the wrong kernels
    lines: tuple[str, ...]  # of its listing
    choices: tuple[Choice, ...]
    says: str  # what the mistake is


@dataclass(frozen=True)
class Wrong:
    """A wrong kernel without its docstring and comments, which might give the mistake away."""

    name: str
    says: str
    submission: Submission
    listing: Listing
    changed: range  # lines of the text, from 1; if some were only taken out, those around them
    in_one_line: bool  # which replaces one of the solution's


def questions(puzzle_id: str, seed: int, root: Path = places.ROOT) -> Iterator[Question]:
    """All questions on a puzzle, in an order that is drawn; the same for the same seed.

    Raises OSError if this copy of the course has no wrong kernels or no solutions, and BadEdit if one of the kernels
    cannot be made.
    """
    draw = random.Random(f"{puzzle_id} line {seed}")
    kernels = wrong_kernels(puzzle_id, root)
    draw.shuffle(kernels)
    return (question for one in kernels if (question := _on_its_line(draw, puzzle_id, one)) is not None)


def wrong_kernels(puzzle_id: str, root: Path = places.ROOT) -> list[Wrong]:
    """The kernels that can be asked about, as their file orders them. Raises OSError and BadEdit."""
    handed_out = listed(root / "solutions" / "bugs.toml").get(puzzle_id, ())
    solution = code_of(places.solution(puzzle_id, root).read_text(encoding="utf-8"))
    found = []
    for name, wrong in read(root / "tests" / "wrong" / f"{puzzle_id}.diff").items():
        if name not in handed_out:
            with suppress(NotASubmission, SyntaxError, tokenize.TokenError):  # nothing to list
                made = _wrong(puzzle_id, name, wrong.says, solution, wrong.made_of(solution))
                found += [made] if made is not None else []
    return found


def _wrong(puzzle_id: str, name: str, says: str, solution: str, code: str) -> Wrong | None:
    """A wrong kernel, unless it has several changes, a long one, or one outside of what is judged."""
    before, after = bare(solution), bare(code)
    places_changed = changes(before, after)
    if len(places_changed) != 1 or len(places_changed[0]) > _FEW:
        return None
    submission = _submission(f"{name}.py", after)
    shown = listing(after, program_of(submission, catalog.load(puzzle_id).kernels, linted=False)[0])
    if not any(line in shown.number for line in places_changed[0]):
        return None
    in_one_line = len(places_changed[0]) == 1 and before.count("\n") == after.count("\n")
    return Wrong(name, says, submission, shown, places_changed[0], in_one_line)


def _submission(name: str, text: str) -> Submission:
    return from_cells([("code", text)], name, numbered=False)


def bare(code: str) -> str:
    """Code without comments, docstrings and blank lines. Raises SyntaxError and TokenError."""
    return "\n".join(line for line in without_comments(code).split("\n") if line.strip())


def _on_its_line(draw: random.Random, puzzle_id: str, one: Wrong) -> Question | None:
    if not one.in_one_line:
        return None
    [wrong] = one.changed
    others = [line for line in _other_statements(one.submission.text, wrong) if line in one.listing.number]
    numbers = sorted(one.listing.number[line] for line in draw.sample(others, min(CHOICES - 1, len(others))))
    right = one.listing.number[wrong]
    choices = tuple(
        Choice(one.listing.lines[number - 1].strip(), number == right, number) for number in sorted([*numbers, right])
    )
    return Question(puzzle_id, one.name, one.listing.lines, choices, one.says)


def _other_statements(text: str, wrong: int) -> list[int]:
    """The first line of each statement but the one that the wrong line is part of."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            if wrong not in range(node.lineno, end) and node.lineno != wrong:
                found.add(node.lineno)
    return sorted(found)
