"""An output to which nothing was stored: what of the text kept the kernel from it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from checker.course.text import Text, stores_to
from checker.course.verdict import Finding, Where
from checker.judge.evidence import Evidence, Locator, tensor_name
from checker.judge.general import finding
from checker.sandbox.inside.coverage import Body, bodies
from checker.submission.extract import Program


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
