"""Weigh the evidence: findings, properties, traffic. The parent's only use of expected values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from checker.box.protocol.records import LOAD, STORE
from checker.box.protocol.results import KernelError, LaunchResult, Refusal
from checker.course.puzzle import Case, Puzzle
from checker.course.verdict import Finding, PropertyResult, Status, Traffic
from checker.judge.compare import wrong_elements
from checker.judge.diagnose import UNNAMED, name_errors, name_refusals, name_wrong
from checker.judge.error_map import error_map
from checker.judge.evidence import Evidence, Locator, element_name, tensor_name, written_tensors
from checker.judge.locate import MOST_EXAMPLES, Wrong
from checker.judge.memory import memory_findings, name_gaps, never_stored
from checker.judge.precision import OF_SIZES, most_telling, precision_findings
from checker.judge.roles import Code
from checker.judge.traffic import remarks, total, traffic_findings


@dataclass
class Judgement:
    """What the judge made of the evidence. `failed` says of each case why, in a few words."""

    findings: list[Finding] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)  # cases
    over_traffic: dict[str, str] = field(default_factory=dict)  # kernel → what it does too often, in a few words
    traffic: tuple[Traffic, ...] = ()
    remarks: tuple[str, ...] = ()

    def add(self, case: Case, findings: Iterable[Finding]) -> None:
        """Note findings on a case; the case has failed if there is one."""
        for finding in findings:
            self.failed.setdefault(case.name, finding.title)
            self.findings.append(finding)


def judge(
    puzzle: Puzzle, evidence: list[Evidence], where: Locator, kernels: Mapping[str, ast.FunctionDef]
) -> Judgement:
    """Findings on every case that was run. Cases without a result have failed; the caller says why.

    `kernels` are the submission's, with the lines of its text.

    Each kernel is judged by itself, so that a mistake in one does not hide the same one in another.
    """
    made = Judgement()
    for kernel in puzzle.kernels:
        own = [e for e in evidence if e.case.kernel == kernel.name]
        part = _judge_kernel(puzzle, own, where, Code(kernels[kernel.name]))
        made.findings = _joined(made.findings, part.findings, kernel.name)
        made.failed |= part.failed
        made.left_out |= part.left_out
        made.over_traffic |= part.over_traffic
    ran = _counted(evidence)
    made.traffic = total(puzzle, ran)
    made.remarks = () if made.failed or made.over_traffic else remarks(puzzle, ran)
    return made


def _counted(evidence: list[Evidence]) -> list[Evidence]:
    """The launches whose traffic is summed up: a large one among those chosen for their sizes would outweigh all."""
    return [e for e in evidence if e.result and not e.result.on_gpu and not e.case.once and not e.case.programs]


def _joined(earlier: list[Finding], new: list[Finding], kernel: str) -> list[Finding]:
    """Findings of several kernels: what has been said of an earlier one is not explained again."""
    joined = list(earlier)
    for finding in new:
        same = next((n for n, f in enumerate(joined) if f.id == finding.id and finding.id not in UNNAMED), None)
        if same is None:
            joined.append(finding)
        elif finding not in new[: new.index(finding)]:
            line = f", line {finding.where.line}" if finding.where.line else ""
            also = (*joined[same].examples, f"The same in {kernel}{line}.")
            joined[same] = replace(joined[same], examples=also[:MOST_EXAMPLES])
    return joined


def _judge_kernel(puzzle: Puzzle, evidence: list[Evidence], where: Locator, code: Code) -> Judgement:
    made = Judgement()  # its findings: what the log says of memory
    over: dict[str, Finding] = {}
    errors: list[tuple[Case, KernelError]] = []
    refusals: list[tuple[Case, Refusal]] = []
    wrongs: list[Wrong] = []
    in_half: list[tuple[Case, Finding]] = []
    for one in evidence:
        case = one.case
        stopped = next((r for r in one.results if r.error or r.refused), None)
        if any(result.left_out for result in one.results):
            made.left_out.add(case.name)
            continue
        if one.result is None or (stopped is None and len(one.results) < runs_of(case)):
            made.failed[case.name] = "did not get that far"
        elif stopped is not None and stopped.error is not None:
            errors.append((case, stopped.error))
            made.failed[case.name] = f"stopped with {stopped.error.type}"
        elif stopped is not None and stopped.refused is not None:
            refusals.append((case, stopped.refused))
            did = "wrote" if stopped.refused.store else "read"
            made.failed[case.name] = f"{did} outside {tensor_name(stopped.refused.tensor or 'its tensors')}"
        else:
            made.add(case, memory_findings(one, where) or _differing_runs(one, where))
            wrong = _wrong(puzzle, case, one.result, code)
            rounded = [] if case.name in made.failed else list(precision_findings(one, where))
            in_half += [(case, finding) for finding in rounded]
            if case.name in made.failed:
                pass  # values follow from what was found already
            elif wrong is not None:
                wrongs.append(wrong)
                made.failed[case.name] = _amount(wrong)
            elif rounded:
                made.failed[case.name] = rounded[0].title
            elif not case.programs:  # else some rows are as they were
                made.add(case, _broken_invariants(puzzle, case, one.result, where))
            counted = not over and not one.result.on_gpu and not case.programs
            if case.name not in made.failed and counted:  # of a kernel that is wrong, traffic says little
                summed = [one] if case.once else _counted(evidence)
                over.update({f.id: f for f in traffic_findings(puzzle, one, summed, where)})
    for finding in over.values():
        made.over_traffic.setdefault(evidence[0].case.kernel, finding.title)
    heard = _heard(evidence, {*made.failed, *(f.where.case for f in over.values() if f.where.case)})
    made.findings = _first_of_each([f for f in made.findings if f.where.case is None or f.where.case in heard])
    made.findings = name_gaps(puzzle, made.findings, [e for e in evidence if e.case.name in heard])
    errors = [(case, error) for case, error in errors if case.name in heard]
    refusals = [(case, refusal) for case, refusal in refusals if case.name in heard]
    wrongs = [wrong for wrong in wrongs if wrong.case.name in heard]
    heard_of_traffic = heard - {e.case.name for e in evidence if e.case.once} if wrongs else heard
    too_much = [f for f in over.values() if f.where.case is None or f.where.case in heard_of_traffic]
    failed = [e.case for e in evidence if e.case.name in made.failed]
    right = [e.case for e in evidence if e.case.name not in made.failed]

    outside = list(name_refusals(puzzle, refusals, where))
    address_named = any(f.id not in UNNAMED for f in outside)
    values = list(name_wrong(puzzle, wrongs, failed, right, where))
    unnamed = all(f.id in UNNAMED for f in values)
    if in_half and unnamed:
        # What is wrong with such inputs may come of the digits that are lost: one thing at a time.
        types = {_input_type(case) for case, finding in in_half if finding.id not in OF_SIZES}
        exact = [w for w in wrongs if _input_type(w.case) not in types]
        values = list(name_wrong(puzzle, exact, failed, right, where))
    explained = set() if unnamed else {w.case.name for w in wrongs}
    values = most_telling([*values, *(f for case, f in in_half if case.name in heard - explained)])
    if errors:
        values = [f for f in values if f.id not in UNNAMED | OF_SIZES]  # one thing at a time: what stops the kernel
    if address_named:
        # A wrong address that has a name also explains where programs met, and what came out wrong.
        made.findings = []
        values = [f for f in values if f.id not in UNNAMED | OF_SIZES]
    elif any(f.id == "wrong-row-map" for f in made.findings):  # in other cases it shows in part only
        made.findings = [f for f in made.findings if f.id not in ("written-twice", "not-written")]
    found = [*made.findings, *name_errors(puzzle, errors, where), *outside, *values, *too_much]
    made.findings = _first_of_each([finding for finding in found if finding.id not in UNNAMED])
    made.findings += [finding for finding in found if finding.id in UNNAMED]
    why = {one.case.name: one.case.why for one in evidence}
    made.findings = [_with_reason(_with_map(finding, wrongs), why) for finding in made.findings]
    return made


def _first_of_each(findings: list[Finding]) -> list[Finding]:
    """Each id once, with the first case that shows it."""
    return list({finding.id: finding for finding in reversed(findings)}.values())[::-1]


def _input_type(case: Case) -> np.dtype[np.generic]:
    return next(iter(case.tensors.values())).values.dtype


def _with_map(finding: Finding, wrongs: list[Wrong]) -> Finding:
    """The finding with a map of its output, if it is about wrong values."""
    where = finding.where
    item = next((w for w in wrongs if w.case.name == where.case and where.tensor in w.wrong), None)
    return finding if item is None else replace(finding, error_map=error_map(item, where.tensor or ""))


def _with_reason(finding: Finding, why: Mapping[str, str]) -> Finding:
    """The finding, saying first why its case was run if other submissions do not get it."""
    reason = why.get(finding.where.case or "", "")
    return replace(finding, explanation=f"{reason} {finding.explanation}") if reason else finding


def _heard(evidence: list[Evidence], faulty: set[str]) -> set[str]:
    """Of the cases that something is wrong with, those that are worth a diagnosis.

    With a single column, say, most mistakes look alike, and a launch in huge tensors trips over every
    mistake in an address. They are heard only if there is nothing wrong with any other.
    """
    return {e.case.name for e in evidence if e.case.name in faulty and e.case.telling} or faulty


def properties(puzzle: Puzzle, cases: list[Case], made: Judgement) -> tuple[PropertyResult, ...]:
    """A property is proven when all its cases passed, and within budget if it is about traffic.

    A case that was left out counts as passed, and the detail says so.
    """
    results = []
    for p in puzzle.properties:
        proving = [case for case in cases if p.name in case.proves]
        failed = [case for case in proving if case.name in made.failed]
        detail = f"{failed[0].name}: {made.failed[failed[0].name]}" if failed else ""
        case = failed[0].name if failed else ""
        if p.traffic and failed:
            detail, case = "counted once the results are right", ""
        elif p.traffic:
            detail = next((made.over_traffic[c.kernel] for c in proving if c.kernel in made.over_traffic), "")
        passed = bool(proving) and not detail
        if passed and (left_out := [case.name for case in proving if case.name in made.left_out]):
            detail = f"not run: {left_out[0]}, too large for this GPU"
        results.append(PropertyResult(p.name, p.title, passed, p.weight, detail, case))
    return tuple(results)


def in_order_of_cases(findings: list[Finding], cases: list[Case]) -> list[Finding]:
    """Findings on the box first, then as the catalog orders its cases: what is basic before what is special.

    Traffic comes last: first make it right, then make it fast.
    """
    position = {case.name: number for number, case in enumerate(cases)}

    def key(finding: Finding) -> tuple[bool, int, int]:
        over = finding.status is Status.OVER_TRAFFIC
        return over, position.get(finding.where.case or "", -1), finding.status.severity

    return sorted(findings, key=key)


def status_of(findings: list[Finding], results: tuple[PropertyResult, ...]) -> Status:
    """The most severe status of the findings; wrong values with something proven are partly right."""
    if not findings:
        return Status.ACCEPTED if all(p.passed for p in results) else Status.WRONG
    worst = min((f.status for f in findings), key=lambda s: s.severity)
    if worst is Status.WRONG and any(p.passed for p in results):
        return Status.PARTLY_RIGHT
    return worst


def runs_of(case: Case) -> int:
    """How many runs a case gets: one if it asks for no more, or only one order of its programs exists."""
    return 1 if case.once or (np.prod(case.grid) == 1 and not case.on_gpu) else 2


def _wrong(puzzle: Puzzle, case: Case, result: LaunchResult, code: Code) -> Wrong | None:
    """The case as a wrong one, or None if every output that was stored is right, whatever masked lanes held."""
    expected = puzzle.expected(case)
    wrong = {}
    for name in written_tensors(case):
        mask = wrong_elements(result.tensors[name], expected[name]) & ~never_stored(case, result, name)
        if mask.any():
            wrong[name] = mask
    differs = {name: _differs(result, name) for name in written_tensors(case)}
    undefined = {name: mask for name, mask in differs.items() if mask.any()}
    if not wrong and not undefined:
        return None
    positions = list(case.tensors)
    stores = {name: _last_store(result, positions.index(name)) for name in wrong or undefined}
    load, last = _padded_load(result, undefined=bool(undefined)), _last_load(result)
    return Wrong(case, result.tensors, bool(undefined), expected, wrong or undefined, stores, load or last, load, code)


def _differs(result: LaunchResult, name: str) -> npt.NDArray[np.bool_]:
    """Which elements of a tensor are others when undefined masked lanes hold any of the other values."""
    first = result.tensors[name]
    others = [~((o[name] == first) | (np.isnan(o[name]) & np.isnan(first))) for o in result.filled]
    return np.any(others, axis=0) if others else np.zeros(first.shape, bool)


def _last_store(result: LaunchResult, tensor: int) -> int | None:
    """Line of the last store to a tensor."""
    lines = result.log.line[(result.log.kind == STORE) & (result.log.tensor == tensor)]
    return int(lines[-1]) if lines.size else None


def _padded_load(result: LaunchResult, *, undefined: bool) -> int | None:
    """Line of the first load whose masked lanes hold something that could count, or are undefined."""
    lines = result.log.line[result.log.undefined if undefined else result.log.padded]
    return int(lines[0]) if lines.size else None


def _last_load(result: LaunchResult) -> int | None:
    lines = result.log.line[result.log.kind == LOAD]
    return int(lines[-1]) if lines.size else None


def _amount(wrong: Wrong) -> str:
    name, mask = next(iter(wrong.wrong.items()))
    return f"{mask.sum()} of {mask.size} elements of {tensor_name(name)} are wrong"


def _broken_invariants(puzzle: Puzzle, case: Case, result: LaunchResult, where: Locator) -> Iterable[Finding]:
    for invariant in puzzle.invariants:
        broken = np.flatnonzero(invariant.broken(case, result.tensors))
        if broken.size:
            yield Finding(
                invariant.id,
                Status.WRONG,
                invariant.title,
                f"{invariant.explanation} Row {broken[0]} does not.",
                "Every element is close to its reference, so look for a small error that adds up.",
                where(None, case=case.name),
            )


def _differing_runs(evidence: Evidence, where: Locator) -> Iterable[Finding]:
    """The second run has the same inputs and another order of programs: every bit must be the same."""
    first, second = evidence.ordered, evidence.shuffled
    if first is None or second is None:
        return
    for name in written_tensors(evidence.case):
        a, b = first.tensors[name], second.tensors[name]
        if a.tobytes() != b.tobytes() and not np.array_equal(a, b, equal_nan=True):
            index = tuple(int(i) for i in np.argwhere(~((a == b) | (np.isnan(a) & np.isnan(b))))[0])
            yield Finding(
                "order-dependent",
                Status.NOT_DETERMINISTIC,
                f"{tensor_name(name)} depends on the order in which programs run",
                f"{element_name(name, index)} was {a[index]:.6g} with the programs in order, and {b[index]:.6g} "
                "with the same inputs and the programs shuffled. A GPU promises no order.",
                "No program may use what another one writes, nor keep anything from one program to the next.",
                where(None, case=evidence.case.name, tensor=name, index=index),
            )
