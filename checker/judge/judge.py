"""Weigh the evidence: findings, properties, traffic."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from checker.course.case import Case
from checker.course.puzzle import Puzzle
from checker.course.text import Text
from checker.course.verdict import Finding, Held, PropertyResult, Status, Traffic
from checker.judge.evidence import Evidence, Locator, counted
from checker.judge.footprint import held
from checker.judge.kernel import judge_kernel
from checker.judge.traffic import remarks, total
from checker.judge.wrong import MOST_EXAMPLES


@dataclass
class Judgement:
    """The judge's results. Cases go by their ids; `failed` has the reason of each, in a few words."""

    findings: list[Finding] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    left_out: set[int] = field(default_factory=set)
    over_traffic: dict[str, str] = field(default_factory=dict)  # kernel → what it does too often, in a few words
    traffic: tuple[Traffic, ...] = ()
    held: tuple[Held, ...] = ()
    remarks: tuple[str, ...] = ()


def judge(
    puzzle: Puzzle, evidence: list[Evidence], where: Locator, kernels: Mapping[str, ast.FunctionDef]
) -> Judgement:
    """Findings on every case that was run. Cases without a result have failed; the caller says why.

    `kernels` are the submission's, with the lines of its text.

    Each kernel is judged by itself, so that a mistake in one does not hide the same one in another.
    """
    assert len({one.case.id for one in evidence}) == len(evidence), "cases go by their ids: see `numbered`"
    made = Judgement()
    for kernel in puzzle.kernels:
        own = [e for e in evidence if e.case.kernel == kernel.name]
        observed, findings = judge_kernel(puzzle, own, where, Text(kernels[kernel.name]))
        if not (kernel.launches and made.findings):  # a function that runs on what those before it have left
            made.findings = _joined(made.findings, findings, kernel.name)
        made.failed |= observed.failed
        made.left_out |= observed.left_out
        if observed.over_traffic:
            made.over_traffic[kernel.name] = observed.over_traffic[0].title
    ran = counted(evidence)
    made.traffic = () if puzzle.pytorch else total(puzzle, ran)
    made.held = held(puzzle, ran)
    made.remarks = () if made.failed or made.over_traffic else remarks(puzzle, ran)
    return made


def _joined(earlier: list[Finding], new: list[Finding], kernel: str) -> list[Finding]:
    """Return the findings of several kernels: a name of an earlier kernel is not explained again."""
    joined = list(earlier)
    for finding in new:
        same = next((n for n, f in enumerate(joined) if f.id == finding.id and finding.named), None)
        if same is None:
            joined.append(finding)
        else:
            line = f", line {finding.where.line}" if finding.where.line else ""
            also = (*joined[same].examples, f"The same in {kernel}{line}.")
            joined[same] = replace(joined[same], examples=also[:MOST_EXAMPLES])
    return joined


def properties(puzzle: Puzzle, cases: list[Case], made: Judgement) -> tuple[PropertyResult, ...]:
    """A property is proven when all its cases passed, and within budget if it is about traffic.

    A case that was left out counts as passed, and the detail says so.
    """
    results = []
    lost = _lost(puzzle, cases, made)
    for p in puzzle.properties:
        proving = [case for case in cases if p.name in case.proves]
        failed = [case for case in proving if case.id in made.failed]
        if p.name not in lost and not p.traffic and len(failed) < len(proving):
            failed = [case for case in failed if lost.isdisjoint(case.asks)]
        detail = f"{failed[0].name}: {made.failed[failed[0].id]}" if failed else ""
        case = failed[0].title if failed else ""
        if p.traffic and failed:
            detail, case = "counted once the results are right", ""
        elif p.traffic:
            detail = next((made.over_traffic[c.kernel] for c in proving if c.kernel in made.over_traffic), "")
        passed = bool(proving) and not detail
        if passed and (left_out := [case.name for case in proving if case.id in made.left_out]):
            detail = f"not run: {left_out[0]}, too large for this GPU"
        results.append(PropertyResult(p.name, p.title, passed, p.weight, detail, case))
    return tuple(results)


def _lost(puzzle: Puzzle, cases: list[Case], made: Judgement) -> set[str]:
    """Return the properties that are lost by themselves: a case that asks for nothing else has failed.

    Where they are asked for as well, a failure tells nothing of other properties, as long as these have passed
    anywhere: if no mask ends with the row, rows that do not fill their blocks are lost, and half precision is not.
    """
    of_values = {p.name for p in puzzle.properties if not p.traffic}
    failed = [case for case in cases if case.id in made.failed and of_values.isdisjoint(case.asks)]
    proven = [of_values.intersection(case.proves) for case in failed]
    return {name for names in proven if len(names) == 1 for name in names}


def in_order_of_cases(findings: list[Finding]) -> list[Finding]:
    """Return findings without a case first, then by case (the catalog's plain ones come first), the severe first.

    Traffic comes last: first make it right, then make it fast.
    """

    def key(finding: Finding) -> tuple[bool, int, int]:
        case = -1 if finding.where.case_id is None else finding.where.case_id
        return finding.status is Status.OVER_TRAFFIC, case, finding.status.severity

    return sorted(findings, key=key)


def status_of(findings: list[Finding], results: tuple[PropertyResult, ...]) -> Status:
    """Return the most severe status of the findings; wrong values with something proven are partly right."""
    if not findings:
        return Status.ACCEPTED if all(p.passed for p in results) else Status.WRONG
    worst = min((f.status for f in findings), key=lambda s: s.severity)
    if worst is Status.WRONG and any(p.passed for p in results):
        return Status.PARTLY_RIGHT
    return worst
