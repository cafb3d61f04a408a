"""Reasons in the text: for an output that was never stored, and for axes of the grid that are forgotten or invented."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from checker.course.case import Case
from checker.course.text import Text, called, stores_to
from checker.course.verdict import Finding, Where
from checker.judge.evidence import Evidence, Locator, tensor_name
from checker.judge.general import finding
from checker.sandbox.inside.coverage import Body, bodies
from checker.submission.extract import Program

OF_PROGRAMS = {"wrong-row-map", "written-twice", "reads-anothers-result", "not-written"}  # what programs do together


def outside(program: Program, kernel: str, seen: Finding, where: Locator) -> Finding | None:
    """Return the finding on lines that stand below the kernel's last one and not in it, in place of another."""
    if kernel not in program.outside:
        return None
    first, last = (where(line).line for line in program.outside[kernel])
    lines = f"Line {first} stands" if first == last else f"Lines {first} to {last} stand"
    place = replace(_at(program.outside[kernel][0], seen.where, where), role="")
    return finding("outside-the-kernel", seen.status, place, lines=lines, kernel=kernel)


def with_reason(program: Program, seen: Finding, evidence: Sequence[Evidence], where: Locator) -> Finding:
    """Return a finding that says why nothing was stored, if it is about that, and the text and what
    was entered tell.
    """
    one = next((e for e in evidence if e.case.id == seen.where.case_id), None)
    if seen.id != "not-written" or seen.where.line or one is None or one.result is None or one.result.on_gpu:
        return seen
    kernel, tensor = one.case.kernel, seen.where.tensor or ""
    if stray := outside(program, kernel, seen, where):
        return stray
    stores = stores_to(tensor)(Text(program.kernels[kernel]))
    if len(stores) != 1:
        return seen
    why = _why(program, kernel, stores[0].line, one.result.reached)
    if why is None:
        return seen
    name = tensor_name(tensor)
    role = f"where {name} is stored" if why.stored else ""
    return finding(why.key, seen.status, replace(_at(why.line, seen.where, where), role=role), tensor=name)


@dataclass(frozen=True)
class _Why:
    key: str
    line: int
    stored: bool = False  # the line is that of the store


def _why(program: Program, kernel: str, store: int, reached: frozenset[int]) -> _Why | None:
    functions = sorted(program.functions.values(), key=lambda function: function.lineno)
    own = [body for body in bodies(functions) if body.function.name == kernel]
    around = [body for body in own if body.statements[0].lineno <= store <= _end(body)]
    if not around or own[0].number not in reached:
        return None
    missed = next((body for body in around if body.number not in reached), None)
    if missed is None:
        return _Why("not-written/mask-never-true", store, stored=True)
    left = [s for body in own if body.number in reached for s in body.statements if isinstance(s, ast.Return)]
    if left:
        return _Why("not-written/returned", left[0].lineno)
    if isinstance(missed.owner, ast.For):
        return _Why("not-written/no-iteration", missed.owner.lineno)
    return _Why("not-written/if-never-true", missed.owner.lineno) if isinstance(missed.owner, ast.If) else None


def _end(body: Body) -> int:
    last = body.statements[-1]
    return last.end_lineno or last.lineno


def _at(line: int, seen: Where, where: Locator) -> Where:
    """Return the place of a finding, at another line."""
    place = where(line)
    return replace(seen, line=place.line, cell=place.cell, source=place.source)


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
