"""Axes of the grid: one that a kernel never asks for, and one that it asks for though there is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from checker.course.case import Case
from checker.course.text import called
from checker.course.verdict import Finding
from checker.judge.evidence import Locator
from checker.judge.general import finding
from checker.submission.extract import Program

OF_PROGRAMS = {"wrong-row-map", "written-twice", "reads-anothers-result", "not-written"}  # what programs do together


def with_axis(program: Program, seen: Finding, cases: dict[int, Case], where: Locator) -> Finding:
    """Return a finding that names the axis, if this one is about which program has what, and the text tells."""
    case = cases.get(-1 if seen.where.case_id is None else seen.where.case_id)
    if seen.id not in OF_PROGRAMS or case is None:
        return seen
    asked = dict(_asked(program, case.kernel))
    if None in asked:  # an axis that is no number: anything may be meant
        return seen
    axes = len(case.grid)
    if beyond := [axis for axis in asked if axis is not None and axis >= axes]:
        place = where(asked[beyond[0]], case)
        numbers = "The only axis is number 0" if axes == 1 else f"Axes are numbered from 0 to {axes - 1}"
        return finding("axis-without-grid", seen.status, place, axis=beyond[0], axes=_axes(case), numbers=numbers)
    if idle := [axis for axis, extent in enumerate(case.grid) if extent > 1 and axis not in asked]:
        said = finding("axis-not-asked", seen.status, seen.where, axis=idle[0], axes=_axes(case))
        return replace(said, examples=(seen.explanation, *seen.examples))
    return seen


def _asked(program: Program, kernel: str) -> Iterator[tuple[int | None, int]]:
    """(axis, line) of each tl.program_id in the kernel and in what it calls."""
    for name in sorted({kernel, *program.calls.get(kernel, ())}):  # so that its line is the same each time
        for node in ast.walk(program.functions[name]) if name in program.functions else ():
            if isinstance(node, ast.Call) and called(node) == "program_id":
                given = [*node.args, *(k.value for k in node.keywords)]
                match given:
                    case [ast.Constant(value=int(axis))]:
                        yield axis, node.lineno
                    case _:
                        yield None, node.lineno


def _axes(case: Case) -> str:
    counts = " by ".join(map(str, case.grid))
    return "one axis" if len(case.grid) == 1 else f"{len(case.grid)} axes, {counts} programs"
