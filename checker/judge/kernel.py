"""Judgement of one kernel: observations case by case, their explanations, and the choice of findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from checker.course.case import Case
from checker.course.puzzle import Puzzle
from checker.course.text import Text
from checker.course.verdict import Finding, Status
from checker.judge.errors import OUTSIDE, Raised, name_errors
from checker.judge.evidence import Evidence, Locator, counted, element_name, first_of_each, tensor_name, written_tensors
from checker.judge.footprint import footprint_findings
from checker.judge.general import finding
from checker.judge.launches import IDLE, kept_in_half, launch_findings
from checker.judge.memory import WRITTEN_TWICE, memory_notes, name_gaps
from checker.judge.notes import Left, Loss, Note
from checker.judge.overwork import overwork_finding, overworked
from checker.judge.precision import losses, most_telling
from checker.judge.refusals import Refused, name_refusals
from checker.judge.requests import runs_of
from checker.judge.traffic import named_findings, traffic_findings
from checker.judge.values import name_wrong
from checker.judge.wrong import Wrong, error_map, wrong_outputs

# If a finding of the first column's kinds was made, those of the second are dropped; the third says why. Rows apply
# from first to last, each to what is left by those above. `_diagnose` gives the kinds; `_seen` adds the finding's id,
# and "named KIND" if it says what is wrong, not only where. Within a case `_observe` has chosen one kind before.
ORDER: tuple[tuple[set[str], str, str], ...] = (
    ({"named address"}, "memory", "It also explains where programs meet, and which elements stay unwritten."),
    ({"wrong map"}, "gap", "A wrong map from programs to rows shows only in part in other cases."),
    ({"wrong map"}, WRITTEN_TWICE, "Likewise."),
    ({"named value"}, OUTSIDE, "A wrong stride leaves the memory in one layout, and gives wrong values in another."),
    ({"named address", "error"}, "inconclusive value", "The values may be wrong because of that."),
    ({"wrong output"}, "traffic of sizes", "Cases chosen for their sizes say little about a wrong kernel's traffic."),
    ({"wrong output", "error", "address"}, IDLE, "Idle programs may come from that mistake, or explain it."),
)


@dataclass
class Observed:
    """Observations on one kernel, before anything is explained. Cases go by their ids."""

    failed: dict[int, str] = field(default_factory=dict)  # why, in a few words
    left_out: set[int] = field(default_factory=set)
    unseen: set[int] = field(default_factory=set)  # failed for want of a result: an earlier one ended the process
    raised: list[Raised] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    memory: list[Note] = field(default_factory=list)  # and what differs between runs, or breaks a law
    wrong: list[Wrong] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    over_traffic: list[Finding] = field(default_factory=list)  # of the first launch that moves too much
    overwork: list[Finding] = field(default_factory=list)  # of the first launch that was ended, if nothing explains it


def judge_kernel(
    puzzle: Puzzle, evidence: list[Evidence], where: Locator, code: Text
) -> tuple[Observed, list[Finding]]:
    """Return the observations on a kernel, and its findings, named ones first, as `in_order_of_cases` keeps them."""
    observed = _observe(puzzle, evidence, where, code)
    found = _diagnose(puzzle, observed, evidence, where, code)
    named = first_of_each([finding for finding in found if finding.named], lambda finding: finding.id)
    located = [finding for finding in found if not finding.named]
    cases = {one.case.id: one.case for one in evidence}
    return observed, [_with_reason(_with_map(finding, observed.wrong), cases) for finding in (*named, *located)]


def _observe(puzzle: Puzzle, evidence: list[Evidence], where: Locator, code: Text) -> Observed:
    """Return the observations in each case."""
    observed = Observed()
    for one in evidence:
        case = one.case
        stopped = next((r for r in one.results if r.error or r.refused), None)
        if one.left_out:
            observed.left_out.add(case.id)
            if one.result is None:
                continue
        if one.result is None or (stopped is None and len(one.results) + bool(one.left_out) < runs_of(case, puzzle)):
            observed.failed[case.id] = "did not get that far"
            observed.unseen.add(case.id)
        elif stopped is not None and stopped.error is not None and overworked(stopped):
            observed.failed[case.id] = "did not finish"
            if not observed.over_traffic and not puzzle.pytorch:
                observed.over_traffic += named_findings(puzzle, one, counted(evidence), where)
            if not observed.over_traffic and not observed.overwork:
                observed.overwork.append(overwork_finding(puzzle, case, stopped.error, where))
        elif stopped is not None and stopped.error is not None:
            observed.raised.append(Raised(case, stopped.error))
            observed.failed[case.id] = f"stopped with {stopped.error.type}"
        elif stopped is not None and stopped.refused is not None:
            observed.refused.append(Refused(case, stopped.refused))
            did = "wrote" if stopped.refused.store else "read"
            observed.failed[case.id] = f"{did} outside {tensor_name(stopped.refused.tensor or 'its tensors')}"
        else:
            if why := _wrong_with(puzzle, one, where, code, observed):
                observed.failed[case.id] = why
            elif not observed.over_traffic and not one.result.on_gpu and not case.programs:
                summed = [one] if case.once else counted(evidence)
                if puzzle.launched(case.kernel):
                    observed.over_traffic += launch_findings(puzzle, one, where)
                else:
                    over = traffic_findings if puzzle.footprint is None else footprint_findings
                    observed.over_traffic += over(puzzle, one, summed, where)
    return observed


def _wrong_with(puzzle: Puzzle, one: Evidence, where: Locator, code: Text, observed: Observed) -> str:
    """Return the fault of a launch that ran to its end, in a few words; nothing if it is right."""
    assert one.result is not None
    notes: list[Note] = memory_notes(one, where) or _differing_runs(one, where)
    if notes := notes or list(kept_in_half(puzzle, one, where)):
        observed.memory += notes
        return notes[0].finding.title  # values follow from that
    lost = losses(one, where)
    observed.losses += lost
    if wrong := wrong_outputs(one.case, puzzle.expected(one.case), one.result, code):
        observed.wrong.append(wrong)
        return wrong.amount
    if lost:
        return lost[0].finding.title
    notes = [] if one.case.programs else list(_broken_invariants(puzzle, one, where))  # else some rows are as they were
    observed.memory += notes
    return notes[0].finding.title if notes else ""


def _diagnose(
    puzzle: Puzzle, observed: Observed, evidence: list[Evidence], where: Locator, code: Text
) -> list[Finding]:
    """Return findings on the cases that are worth a diagnosis, without those that `ORDER` drops."""
    diagnosed = _worth_a_diagnosis(observed, evidence)
    memory = first_of_each([note for note in observed.memory if note.case in diagnosed], lambda note: note.finding.id)
    right = [one.case for one in evidence if one.case.id not in observed.failed]
    telling = [case for case in right if case.informative]
    memory = name_gaps(puzzle, memory, [one for one in evidence if one.case.id in diagnosed], telling, where, code)
    memory.sort(key=lambda note: not isinstance(note, Left))  # its name says more than where tiles overlap
    raised = [one for one in observed.raised if one.case.id in diagnosed]
    refused = [one for one in observed.refused if one.case.id in diagnosed]
    wrong = [one for one in observed.wrong if one.case.id in diagnosed]
    values = _on_values(puzzle, observed, wrong, diagnosed, evidence, right, where)
    sizes: dict[int | None, str] = {one.case.id: "traffic of sizes" for one in evidence if one.case.once}
    moved = [one for one in observed.over_traffic if one.where.case_id in diagnosed]
    by_kind: list[tuple[set[str], Finding | None]] = [
        *(_seen(n.finding, "memory", ("gap", "wrong map")[n.shared] if isinstance(n, Left) else "") for n in memory),
        *(_seen(one, "error") for one in name_errors(puzzle, raised, where, code)),
        *(_seen(one, "address") for one in name_refusals(puzzle, refused, where, code)),
        *(({"wrong output"}, None) for _ in wrong),
        *(_seen(note.finding, "value", "" if note.conclusive else "inconclusive value") for note in values),
        *(_seen(one, "work") for one in observed.overwork if one.where.case_id in diagnosed),
        *(_seen(one, "traffic", sizes.get(one.where.case_id, "")) for one in moved),
    ]
    for outranks, dropped, _ in ORDER:
        if any(kinds & outranks for kinds, _ in by_kind):
            by_kind = [(kinds, finding) for kinds, finding in by_kind if dropped not in kinds]
    return [finding for _, finding in by_kind if finding]


def _seen(finding: Finding, *kinds: str) -> tuple[set[str], Finding]:
    """Return the finding with the words that `ORDER` knows it by."""
    return {*kinds, finding.id, f"named {kinds[0]}" if finding.named else ""}, finding


def _worth_a_diagnosis(observed: Observed, evidence: list[Evidence]) -> set[int]:
    """Return the failed cases that are worth a diagnosis.

    With a single column, say, most mistakes look alike, and a launch in huge tensors trips over every mistake in an
    address. They count only if there is nothing wrong with any other.
    """
    over = {finding.where.case_id for finding in observed.over_traffic}
    faulty = (observed.failed.keys() - observed.unseen) | over
    cases = [one.case for one in evidence if one.case.id in faulty]
    return {case.id for case in cases if case.informative} or {case.id for case in cases}


def _on_values(
    puzzle: Puzzle,
    observed: Observed,
    wrong: list[Wrong],
    diagnosed: set[int],
    evidence: list[Evidence],
    right: list[Case],
    where: Locator,
) -> list[Note]:
    """Return notes on wrong values, and on lost digits."""
    failed = [one.case for one in evidence if one.case.id in observed.failed]
    others = [one for one in observed.wrong if one.case.id not in diagnosed]
    notes = name_wrong(puzzle, wrong, failed, right, where, others)
    named = any(note.finding.named for note in notes)
    if observed.losses and not named:
        # What is wrong with such inputs may come of the digits that are lost: one thing at a time.
        lossy = {loss.case for loss in observed.losses if not loss.of_sizes}
        types = {_input_type(case) for case in failed if case.id in lossy}
        wrong_there = [one for one in wrong if _input_type(one.case) not in types]
        notes = name_wrong(puzzle, wrong_there, failed, right, where, others)
        if notes:  # no digit is lost there, and it is wrong all the same
            return [*notes, *(loss for loss in observed.losses if loss.case in diagnosed and loss.of_sizes)]
    explained = {one.case.id for one in wrong} if named else set()
    return most_telling([*notes, *(loss for loss in observed.losses if loss.case in diagnosed - explained)])


def _input_type(case: Case) -> np.dtype[np.generic]:
    return next(iter(case.tensors.values())).values.dtype


def _with_map(finding: Finding, wrong: list[Wrong]) -> Finding:
    """Return the finding with a map of its output, if it is about wrong values."""
    where = finding.where
    item = next((one for one in wrong if one.case.id == where.case_id and where.tensor in one.wrong), None)
    return finding if item is None else replace(finding, error_map=error_map(item, where.tensor or ""))


def _with_reason(finding: Finding, cases: Mapping[int, Case]) -> Finding:
    """Return the finding, saying first why its case was run if other submissions do not get it."""
    case = cases.get(-1 if finding.where.case_id is None else finding.where.case_id)
    return replace(finding, explanation=f"{case.why} {finding.explanation}") if case and case.why else finding


def _broken_invariants(puzzle: Puzzle, evidence: Evidence, where: Locator) -> Iterator[Note]:
    """Yield notes on laws that right outputs obey, and these do not."""
    assert evidence.result is not None
    for invariant in puzzle.invariants:
        broken = np.flatnonzero(invariant.broken(evidence.case, evidence.result.tensors))
        if broken.size:
            yield Note(
                Finding(
                    invariant.id,
                    Status.WRONG,
                    invariant.title,
                    f"{invariant.explanation} Row {broken[0]} does not.",
                    "Every element is close to its reference, so look for a small error that adds up: a constant that "
                    "is slightly off, or a sum that is rounded.",
                    where(None, evidence.case),
                )
            )


def _differing_runs(evidence: Evidence, where: Locator) -> list[Note]:
    """Return notes on outputs that depend on the order of programs: every bit must be the same in both runs."""
    if len(evidence.results) < 2:
        return []
    first, second = evidence.results
    notes = []
    for name in written_tensors(evidence.case):
        a, b = first.tensors[name], second.tensors[name]
        if a.tobytes() != b.tobytes() and not np.array_equal(a, b, equal_nan=True):
            index = tuple(int(i) for i in np.argwhere(~((a == b) | (np.isnan(a) & np.isnan(b))))[0])
            differs = finding(
                "order-dependent",
                Status.NOT_DETERMINISTIC,
                where(None, evidence.case, tensor=name, index=index),
                tensor=tensor_name(name),
                element=element_name(name, index),
                first=f"{a[index]:.6g}",
                second=f"{b[index]:.6g}",
            )
            notes.append(Note(differs))
    return notes
