"""Compare with the solution: run a wrong kernel again on recorded launches, say where it first differs, and prove it.

It begins when the verdict is fixed: what it finds is words, and changes no points.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from checker.course.case import Case
from checker.course.puzzle import Puzzle
from checker.course.text import Text
from checker.course.verdict import Finding, Status
from checker.judge.difference.comparison import MOST_TRIED, Compared, compared, is_right
from checker.judge.difference.finding import GENERIC, to_tell, told
from checker.judge.difference.recordings import cases_of, recordings
from checker.judge.evidence import Locator
from checker.judge.requests import launch_of
from checker.sandbox.exchange import TooBusy
from checker.sandbox.processes import SandboxFailed
from checker.sandbox.protocol.launch import GIVEN, Launch
from checker.sandbox.protocol.results import LaunchResult
from checker.sandbox.protocol.steps import MOST_STEPS
from checker.submission.extract import Program

OF_VALUES = frozenset({Status.WRONG, Status.NOT_A_NUMBER})
MOST_EARLIER = 4  # names without a partner that are tried before one that cures
MOST_RIGHT = 2  # launches that are compared to tell style from mistakes
Run = Callable[[str, list[Launch]], Mapping[int, LaunchResult]]  # a text and launches of it


def beside(
    puzzle: Puzzle,
    program: Program,
    kernel: str,
    findings: tuple[Finding, ...],
    known: Mapping[int, bool],
    where: Locator,
    run: Run,
) -> tuple[Finding, ...]:
    """Return the findings, the first one with where its kernel differs from the solution, if that can be told.

    If the solution's value of one name makes the kernel right, other findings are dropped unless they are certain.
    `known`: whether launches of practice came out right, by the ids of their cases, as far as they have run.
    """
    if findings[0].status not in OF_VALUES:
        return findings
    try:
        seen = _compared(puzzle, program, kernel, known, run)
        seen, cure = _proven(puzzle, program, seen, run) if seen else (None, "")
    except (SandboxFailed, TooBusy):  # the verdict stands without it
        return findings
    first = seen and to_tell(seen, cure, nameless=findings[0].id in GENERIC)
    if not (seen and first):
        return findings
    others = (one for one in findings[1:] if one.certain or not cure)  # one thing is wrong, and that is proven
    return (told(puzzle.id, findings[0], seen, first, cure, where), *others)


def _compared(puzzle: Puzzle, program: Program, kernel: str, known: Mapping[int, bool], run: Run) -> Compared | None:
    """Return the kernel on recorded launches: the first one that is wrong, and some that are right."""
    recorded = {one.case: one for one in recordings(puzzle.id).get(kernel, ())}
    cases = _telling([case for case in cases_of(puzzle, kernel) if case.name in recorded], known)
    if not cases:
        return None
    results = run(program.source, [replace(launch_of(case, puzzle), most_steps=MOST_STEPS) for case in cases])
    if len(results) < len(cases):
        return None
    launches = [(case, recorded[case.name], results[n]) for n, case in enumerate(cases)]
    return compared(puzzle, program.source, Text(program.kernels[kernel]), launches)


def _telling(cases: list[Case], known: Mapping[int, bool]) -> list[Case]:
    """Cases that are worth running: all, or, if their outcomes are known, one that is wrong and some that are right."""
    if not all(case.id in known for case in cases):
        return cases
    wrong = [case for case in cases if not known[case.id]][:1]
    return [*wrong, *[case for case in cases if known[case.id]][:MOST_RIGHT]] if wrong else []


def _proven(puzzle: Puzzle, program: Program, seen: Compared, run: Run) -> tuple[Compared, str]:
    """Return the first name that, with the solution's values, makes the kernel right, or nothing; and what is compared.

    Each is tried in a process of its own, which gets the values of this one name. First come names with a partner. If
    one of them cures, names without a partner are tried that are assigned before it, because the fault may lie there.
    """
    text = tapped(program.source, seen.case.kernel)

    def cured(tried: Iterable[tuple[Compared, str]]) -> tuple[Compared, str] | None:
        for joined, name in tried:
            launch = replace(launch_of(seen.case, puzzle), given=joined.given(name))
            if is_right(puzzle.expected, seen.case, run(text, [launch]).get(0)):
                return joined, name
        return None

    candidates = seen.candidates
    first = cured((seen, name) for name in candidates)
    most = MOST_EARLIER if first else max(0, MOST_TRIED - len(candidates))
    guesses = seen.guesses_before(first[1] if first else None)[:most]
    return cured((seen.joined(own, other), own) for own, other in guesses) or first or (seen, "")


class _Taps(ast.NodeTransformer):
    """Pass each value that a name is assigned through GIVEN, except in assignments to several names at once."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            node.value = _passed(node.targets[0].id, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        if node.value is not None and isinstance(node.target, ast.Name):
            node.value = _passed(node.target.id, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign | ast.Assign:
        if not isinstance(node.target, ast.Name):
            return node
        own = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.Assign([ast.Name(node.target.id, ast.Store())], _passed(node.target.id, own))


def tapped(source: str, kernel: str) -> str:
    """Return the text with taps in one kernel."""
    tree = ast.parse(source)
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == kernel:
            tree.body[place] = _Taps().visit(node)
    return ast.unparse(ast.fix_missing_locations(tree))


def _passed(name: str, value: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(GIVEN, ast.Load()), [ast.Constant(name), value], [])
