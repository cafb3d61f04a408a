"""The words that all reports share, whatever they are shown on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from checker.course.places import check_typed
from checker.course.status import ExitStatus
from checker.course.verdict import (
    SCORES_NOTHING,
    Compilation,
    ErrorMap,
    Finding,
    Held,
    PropertyResult,
    Status,
    Traffic,
    Verdict,
    Where,
)
from checker.report.translated import said
from checker.sandbox.protocol.device import Device

MOST_FINDINGS = 3  # the first ones, of the plainest cases; the rest often follow from them
MOST_PRINTED_LINES = 20
WALK_THROUGH, STEPPING, STUCK, NEXT = "The solution:", "See it happen:", "Stuck?", "Next:"  # what is typed follows
_FIRST = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|(?<=[。！？])")  # where a sentence ends
_SIZES = re.compile(r" ?[(（]")  # of a case
SHADES = "·░▒▓█"  # of a cell of an error map: all right, up to a third, two thirds, nearly all, all wrong

PLAIN_WORDS = {
    Status.CHECKER_FAULT: "the checker failed",
    Status.TOO_BUSY: "nothing was judged",
    Status.MISUSED: "nothing was checked",
    Status.INVALID: "cannot be run",
    Status.FORBIDDEN: "uses something that this course does not allow",
    Status.NOT_STARTED: "not started",
    Status.NOT_JUDGED: "could not be judged",
    Status.DOES_NOT_COMPILE: "does not compile for a GPU",
    Status.OUTPUT_FLOOD: "printed too much",
    Status.OUT_OF_MEMORY: "out of memory",
    Status.TIME_LIMIT: "did not finish",
    Status.CRASHED: "stopped with an error",
    Status.NO_OUTPUT: "returned no result",
    Status.MALFORMED_OUTPUT: "returned something that is not a result",
    Status.OUT_OF_BOUNDS: "reads or writes out of bounds",
    Status.INPUT_CHANGED: "changes its input",
    Status.NOT_A_NUMBER: "gives NaN",
    Status.NOT_DETERMINISTIC: "can give different results from run to run",
    Status.WRONG: "gives wrong results",
    Status.OVER_TRAFFIC: "moves too much memory",
    Status.PARTLY_RIGHT: "partly right",
    Status.ACCEPTED: "accepted",
}


def sign(status: Status) -> str:
    """Return one character for how it ended."""
    ours = dict.fromkeys((Status.CHECKER_FAULT, Status.TOO_BUSY, Status.MISUSED, Status.NOT_JUDGED), "!")
    special = {Status.ACCEPTED: "✓", Status.NOT_STARTED: "○"} | ours
    return special.get(status, "✗")


def typed(
    verb: str, puzzle_id: str, *, in_notebook: bool = False, force: bool = False, file: str | Path | None = None
) -> str:
    """Return what is typed for a verb: a cell of a notebook, or a line of a terminal, where a file can be named."""
    if in_notebook:
        return f'{verb}("{puzzle_id}"{", force=True" if force else ""})'
    if verb == "check":
        return check_typed(puzzle_id, file)
    return f"make {verb} PUZZLE={puzzle_id}{' FORCE=1' if force else ''}"


def leading(verdict: Verdict) -> Status:
    """Return what the headline says: what the finding below it says, though one further down may be more severe.

    A submission that scores 0 is told why.
    """
    first = verdict.findings[0].status if verdict.findings else verdict.status
    if verdict.status in SCORES_NOTHING or first.severity <= verdict.status.severity:
        return verdict.status
    proven = any(one.passed for one in verdict.properties)
    return Status.PARTLY_RIGHT if first is Status.WRONG and proven else first


def plain(verdict: Verdict) -> str:
    """Return the headline, in a few words. What PyTorch moves nobody knows: there it is what lives, and what is
    computed.
    """
    if verdict.status is Status.OVER_TRAFFIC and verdict.runs and verdict.runs[0].device == Device.PYTORCH:
        return said(
            "takes more memory or work than is needed" if verdict.runs[0].held else "does not launch each kernel once"
        )
    return said(PLAIN_WORDS[leading(verdict)])


def points(verdict: Verdict) -> str:
    """Return the score in words; nothing if nothing was run, or if there are no points."""
    return said(f"{verdict.earned}/{verdict.possible} points") if verdict.runs and verdict.possible else ""


def worth(verdict: Verdict, result: PropertyResult) -> str:
    """Return what a property brings, of how much; nothing if there are no points."""
    return f"{verdict.worth(result)}/{result.weight}" if verdict.possible else ""


def title(verdict: Verdict) -> str:
    """Return what was checked."""
    return said(f"Puzzle {verdict.puzzle}: {verdict.title}") if verdict.puzzle else verdict.title or "flash-puzzles"


def first_finding(verdict: Verdict) -> str:
    """Return what is wrong first of all; nothing if that is said by how it ended."""
    said = verdict.accepted or verdict.status is Status.NOT_STARTED
    return "" if said or not verdict.findings else verdict.findings[0].title


def spot(file: str, where: Where) -> str:
    """Return where a line is: in a file, in a notebook's file, or, without a file, in a cell as it was run."""
    if where.cell is None:
        return f"{file}:{where.line}"
    if not file:
        return said(f"cell [{where.cell}], as you last ran it, line {where.line}")
    return said(f"{file}, cell {where.cell}, line {where.line}")


def place(verdict: Verdict, finding: Finding, *, short: bool = False) -> str:
    """File or cell, line, who stored the first wrong element, and the case that a finding was seen with.

    In `short`: nothing of the element, and the case of which the difference from the solution is.
    """
    where, case = finding.where, finding.where.case
    parts = []
    if where.line is not None:
        role = said(f"where {_stored(where, 'stored')}") if where.stored == where.line else where.role
        parts.append(spot(verdict.file, where) + (f"{said(' (')}{role}{said(')')}" if role and not short else ""))
    if where.stored not in (None, where.line) and not short:
        parts.append(said(f"{_stored(where, 'stores')} in line {where.stored}"))
    if short and finding.differs is not None and finding.differs.case:
        case = said(finding.differs.case)
    if short and case is not None:
        case = _SIZES.split(case, maxsplit=1)[0]
    if case is not None:
        parts.append(said(f"seen with: {case}"))
    return " · ".join(parts)


def _stored(where: Where, did: str) -> str:
    """Return which program stored the first wrong element."""
    program, index = where.program or (0,), ", ".join(map(str, where.index or ()))
    name = program[0] if len(program) == 1 else program
    return f"program {name} {did} {(where.tensor or '').removesuffix('_ptr')}[{index}]"


def to_type(verdict: Verdict) -> list[tuple[str, str]]:
    """Return what can be typed after a check, behind the words that say what for."""
    found = ((STUCK, verdict.asking), (STEPPING, verdict.stepping), (WALK_THROUGH, verdict.walk_through))
    return [(said(what), typed) for what, typed in found if typed]


def more_than(verdict: Verdict, shown: int) -> str:
    """Return what stands below the findings that are shown, if there are others."""
    rest = len(verdict.findings) - shown
    return said(f"and {rest} more, which may follow from {'this' if shown == 1 else 'these'}.") if rest > 0 else ""


def source(finding: Finding, *, short: bool = False) -> list[tuple[int, str]]:
    """Return (number, text) of a finding's line and its neighbours, without blank lines at the end."""
    at = finding.where.line
    lines = [one for one in finding.where.source if not short or at is None or abs(one[0] - at) <= 1]
    while lines and not lines[-1][1].strip():
        lines.pop()
    return lines


def advice(finding: Finding, *, short: bool = False) -> tuple[str, str]:
    """Return (question, hint): in `short` one of them, and of a mistake that was seen before the hint."""
    hint = "" if finding.withheld else finding.hint
    return ("" if short and hint else finding.question), hint


def differs(finding: Finding) -> tuple[str, ...]:
    """Return where the kernel differs from the solution, if the headline does not say that already."""
    if finding.differs is None or finding.differs.headline:
        return ()
    case = f"That is with {finding.differs.case}." if finding.differs.case else ""
    return tuple(said(text) for text in (*finding.differs.told, case) if text)


def in_short(verdict: Verdict) -> bool:
    """Return whether a report can say less at first: in practice, of a kernel that was run and is wrong."""
    return verdict.mode == "practice" and bool(verdict.runs and verdict.findings) and not verdict.accepted


def shortly(finding: Finding) -> tuple[str, ...]:
    """Return the difference from the solution, or else the first sentence of why, and one value."""
    if finding.differs is None:
        return (*filter(None, [_FIRST.split(finding.explanation, maxsplit=1)[0]]), *finding.examples[:1])
    if finding.differs.headline:
        return (*filter(None, [finding.explanation]), *finding.examples[:1])
    return (" ".join(map(said, finding.differs.told)).replace("。 ", "。"),)


def besides(verdict: Verdict) -> Iterator[str]:
    """Yield what a short report leaves out: other findings, and how many properties fail."""
    if more := more_than(verdict, 1):
        yield more
    failed, count = [one.title for one in verdict.properties if not one.passed], len(verdict.properties)
    if len(failed) == 1:
        yield said(f"1 of {count} properties fails: {failed[0]}")
    elif failed:
        yield said(f"{len(failed)} of {count} properties fail")


def shows_traffic(verdict: Verdict) -> bool:
    """Return whether a report says what was moved or held: if all is right, or if that is what is wrong."""
    return verdict.accepted or any(one.status is Status.OVER_TRAFFIC for one in verdict.findings)


def why(result: PropertyResult) -> str:
    """Return why a property is not proven, in a few words; or what else there is to say of it."""
    return said(f"failed with: {result.case}") if result.case else result.detail


def mark(verdict: Verdict, result: PropertyResult) -> str:
    """Return what stands before a property: nothing, if it is proven of a submission that scores 0."""
    return "✗" if not result.passed else "✓" if verdict.counts(result) else " "


def apart(done: float, most: float) -> tuple[str, str]:
    """Both numbers, with as many decimals as it takes to tell them apart: two at least."""
    decimals = 2
    while done != most and f"{done:.{decimals}f}" == f"{most:.{decimals}f}":
        decimals += 1
    return f"{done:.{decimals}f}", f"{most:.{decimals}f}"


def moved(traffic: Sequence[Traffic]) -> Iterator[tuple[str, float, float]]:
    """(what was moved, how often per element, how often at most) for each tensor and direction."""
    several = len({t.kernel for t in traffic}) > 1
    for t in traffic:
        name = (f"{t.kernel}: " if several else "") + t.tensor.removesuffix("_ptr")
        for verb, done, most in (("read", t.loads, t.most_loads), ("written", t.stores, t.most_stores)):
            if done or most:
                yield said(f"{name} {verb}"), done / t.elements, most / t.elements


def held(calls: Sequence[Held]) -> Iterator[tuple[str, int, int, int]]:
    """(what was held or computed, how much, how much at most, how much by plain attention) for each function."""
    several = len({one.kernel for one in calls}) > 1
    for one in calls:
        name = f"{one.kernel}: " if several else ""
        yield said(f"{name}numbers alive at once"), one.at_once, one.most_at_once, one.plain_at_once
        yield said(f"{name}multiply-adds"), one.products, one.most_products, one.plain_products


def compiled(results: Sequence[Compilation]) -> Iterator[str]:
    """Yield a sentence for each kernel and target."""
    several = len({c.kernel for c in results}) > 1
    for c in results:
        name = f"{c.kernel}: " if several else ""
        facts = [f"{c.registers} registers"] if c.registers is not None else []
        if c.shared is not None:
            used = f"{c.shared / 1024:.3g}" if c.shared >= 1024 else f"{c.shared} bytes"
            fewer = f" with num_stages={c.stages}" if c.stages else ""
            facts.append(f"{used} of {c.shared_limit >> 10} KB shared memory{fewer}")
        if c.spilled:
            facts.append(f"{c.spilled} bytes for which the registers have no room (spilled)")
        if (c.shared or 0) > c.shared_limit:
            yield name + said(f"does not fit into the shared memory of {c.target}")
        else:
            yield name + said(
                f"compiles for {c.target}: {', '.join(facts)}" if c.compiles else f"does not compile for {c.target}"
            )


def shaded(picture: ErrorMap) -> list[str]:
    """Return an error map as lines of characters."""
    return ["".join(_shade(share) for share in line) for line in picture.wrong]


def _shade(share: float) -> str:
    return SHADES[0 if share == 0 else 4 if share == 1 else 1 + int(share * 3)]


def legend(picture: ErrorMap) -> str:
    """Return what an error map shows."""
    of = f"{picture.cell[0]} x {picture.cell[1]} elements" if picture.cell != (1, 1) else "one element"
    axes = f"{picture.rows} downwards, {picture.columns} across" if picture.columns else f"{picture.rows} downwards"
    name = picture.tensor.removesuffix("_ptr")
    return said(
        f"{name}, {axes}; a character is {of}: {SHADES[0]} right, {SHADES[1:4]} partly wrong, {SHADES[4]} wrong"
    )


def printed(verdict: Verdict) -> tuple[str, list[str], int]:
    """Return what was printed in the case that matters, that of the first finding: (case, lines,
    how many more lines).
    """
    of_interest = verdict.findings[0].where.case if verdict.findings else None
    case, text = next((p for p in verdict.printed if p[0] == of_interest), verdict.printed[0])
    lines = text.strip("\n").split("\n")
    return case, lines[:MOST_PRINTED_LINES], max(0, len(lines) - MOST_PRINTED_LINES)


def closing(verdict: Verdict) -> str:
    """Return the last sentence: what to do next, in practice, and how long it took."""
    devices = {Device.INTERPRETER: "the interpreter", Device.CUDA: "the GPU", Device.PYTORCH: "PyTorch"}
    took = ", ".join(f"{run.seconds:.2f} s on {devices[Device(run.device)]}" for run in verdict.runs if run.seconds)
    seconds = f" ({took})" if took else ""
    if verdict.accepted:
        return said(f"All of it is right{seconds}.")
    if verdict.exit_status is not ExitStatus.REFUSED or verdict.mode != "practice":
        return ""
    if all(finding.status is Status.PARTLY_RIGHT for finding in verdict.findings):  # only kernels are missing
        return said(f"Right so far. Fill in the next kernel, then check again{seconds}.")
    first = "the first finding" if len(verdict.findings) > 1 else "this"
    return said(f"Fix {first}, then check again{seconds}.")
