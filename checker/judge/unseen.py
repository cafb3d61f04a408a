"""Launches besides the cases: for outcomes that no launch has had, and in grading of sizes between those of cases.

Outcomes are those of each comparison and integer operation that could have them.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from checker.course.case import Case
from checker.course.puzzle import Draw, Puzzle
from checker.course.space import Ints, Points, Space, drawn, points
from checker.judge.evidence import Evidence, Locator
from checker.judge.text.possible import KEPT, Possible
from checker.sandbox.inside.outcomes import ABOVE, BELOW, FALSE, TRUE, ZERO, complete, expressions
from checker.submission.extract import Program

TIGHT = 0.0025  # of an output's largest absolute value: a bound that shows one percent
MOST_LAUNCHES = 60
WHY = "Line {line} can have an outcome that no launch has had, so your kernel was also run with inputs that have it."
DRAWN = "In grading, your kernel was also run with sizes that are drawn for it."
NEVER = "line {line}: this comparison had the same outcome in each launch and at each size that was tried."
LARGEST = 1e12  # written number: what is more may stand for infinity
_OUTCOMES = {FALSE: "is False", TRUE: "is True", BELOW: "< 0", ZERO: "== 0", ABOVE: "> 0"}
_ODD = ast.Mod | ast.FloorDiv | ast.BitAnd | ast.BitXor | ast.RShift | ast.Mult


def unseen(
    puzzle: Puzzle, program: Program, evidence: Sequence[Evidence], draw: Draw, where: Locator
) -> tuple[list[Case], list[int]]:
    """Return launches for outcomes that are possible, as far as is known, and that no launch has shown.

    Also the lines of odd comparisons that were the same in each launch and at all points.
    """
    telling = [one for one in evidence if _several(puzzle, one.case) and _tight(puzzle, one.case)]
    told, shown = _seen(evidence), _seen(telling)
    texts = expressions(program.functions.values())
    cases: list[Case] = []
    never: list[int] = []
    for kernel, space in puzzle.spaces.items():
        functions = [program.functions[name] for name in {kernel, *program.calls[kernel]}]
        own = {id(text) for text in expressions(functions)}
        lacking = any(not complete(shown.get(n, 0)) for n, text in enumerate(texts) if id(text) in own)
        if program.empty(kernel) or not lacking:
            continue
        random, written = draw.case(f"points of {kernel}"), _written([*program.constants.values(), *functions])
        some = points(space, random, written)
        possible = Possible(program, kernel, some, shown, random)
        for (number, outcome), at in possible.at.items():
            text = texts[number]
            if told.get(number, 0) & outcome and not some.several[at].any():
                continue
            line = where(text.lineno).line
            said = " < ".join(map(ast.unparse, text.args if isinstance(text, ast.Call) else [text]))
            title = f"for line {line}: {said[:50]} {_OUTCOMES[outcome]}"
            for case in _witnesses(puzzle, space, some, at, title, random):
                cases.append(replace(case, informative=False, once=True, why=WHY.format(line=line)))
            odd = any(isinstance(getattr(node, "op", None), _ODD) for node in ast.walk(text))
            if odd and not len(at) and number in possible.varying and told.get(number) in (FALSE, TRUE):
                never.append(line or 0)
    return cases[:MOST_LAUNCHES], never


def of_drawn_sizes(puzzle: Puzzle, draw: Draw) -> Iterator[Case]:
    """Yield launches of each kernel for each of its long sizes: a condition may have an outcome there that cannot be
    computed ahead.
    """
    for kernel, space in puzzle.spaces.items() if not puzzle.pytorch else ():
        random = draw.case(f"sizes of {kernel}")
        for at, numbers in drawn(space, random):
            case = space.case("drawn sizes", at, numbers, random)
            yield replace(case, informative=False, once=True, why=DRAWN)


def _seen(evidence: Iterable[Evidence]) -> dict[int, int]:
    """Return the outcomes that each expression has had."""
    seen: dict[int, int] = {}
    for result in (result for one in evidence for result in one.results):
        for number, bits in result.outcomes.items():
            seen[number] = seen.get(number, 0) | bits
    return seen


def _several(puzzle: Puzzle, case: Case) -> bool:
    """Return whether a launch is causal, if it can be, and has several programs along each axis of its grid."""
    causal = all(case.constexprs.get(name, True) for name in ("CAUSAL", "causal"))
    return causal and (puzzle.pytorch or all(extent > 1 for extent in case.grid))


def _tight(puzzle: Puzzle, case: Case) -> bool:
    """Return whether one percent would show in each output."""
    for name, right in puzzle.expected(case).items():
        asked = case.asked.get(name, True) & np.isfinite(right.values)
        largest = np.max(np.abs(right.values), where=asked, initial=0.0)
        if np.max(right.tolerance, where=asked, initial=0.0) > TIGHT * largest or not asked.any():
            return False
    return True


def _witnesses(
    puzzle: Puzzle, space: Space, of: Points, at: Ints, title: str, random: np.random.Generator
) -> Iterator[Case]:
    """Yield two launches that would show one percent, at cheap points with their numbers, at others with usual data."""

    def made(point: int, usual: bool) -> Case:
        drawn = {name: int(values[point]) for name, values in of.drawn.items()}
        numbers = {name: float(x[point]) for name, x in of.numbers.items() if not (usual and name.endswith("_ptr"))}
        return space.case(title, drawn, numbers, random)

    for some, usual in ((at[:KEPT], False), (at[KEPT:], True)):
        every = (made(point, data) for point in some.tolist() for data in (usual, not usual))
        yield from itertools.islice((case for case in every if _tight(puzzle, case)), 1)


def _written(tops: Iterable[ast.AST]) -> list[float]:
    """Return the numbers in some text."""
    constants = (node.value for top in tops for node in ast.walk(top) if isinstance(node, ast.Constant))
    numbers = (float(n) for n in constants if isinstance(n, int | float) and not isinstance(n, bool))
    return sorted({n for n in numbers if abs(n) < LARGEST})
