"""Launches to step through: run once more in the sandbox, which records every line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from checker import catalog
from checker.check import Conditions, Outcome, device_of, launch
from checker.check.linking import linked
from checker.course.case import Case, numbered
from checker.course.puzzle import Puzzle
from checker.course.status import Misuse
from checker.course.verdict import Finding, Where
from checker.judge.difference.events import events_of
from checker.judge.difference.recordings import recordings
from checker.judge.requests import launch_of
from checker.report.translated import said
from checker.report.words import plain, sign
from checker.sandbox.host import Host
from checker.sandbox.parent import Limits
from checker.sandbox.protocol.results import LaunchResult
from checker.sandbox.protocol.steps import MOST_STEPS
from checker.trace.as_data import Data, add_solution, launch_data
from checker.trace.run import cases_of

MOST_PROGRAMS = 8  # of a launch that are recorded: the one that is asked for, and its neighbours


@dataclass(frozen=True)
class Asked:
    """The launch and program to show."""

    program: int | None = None  # of the grid, counted along x first; None: the one that the finding is about
    size: str = ""  # words of a launch's name; none: the launch of the finding, or else the pictured one


def data_of(outcome: Outcome, asked: Asked = Asked(), host: Host | None = None) -> Data | None:
    """Return all launches of a submission that has been judged, right or wrong. None if nothing can be run.

    Raises Misuse for what cannot be stepped through, and for a program or a size that there is not.
    """
    verdict, program, submission = outcome.verdict, outcome.program, outcome.submission
    if program is None or submission is None:
        return None
    assert verdict.puzzle is not None
    puzzle = catalog.load(verdict.puzzle)
    if program.atomics:
        raise Misuse("Its programs wait for each other, so they take turns: no program can be followed alone.")
    finding = verdict.findings[0] if verdict.findings else None
    differs = finding.differs if finding and not asked.size else None
    about = differs.where if differs else finding.where if finding and not asked.size else Where()
    cases = [case for case in _cases(puzzle, about, asked.size) if not program.empty(case.kernel)]
    first = next((case for case in cases if case.id >= 0 and case.id == about.case_id), None)
    launches = {}
    for case in cases:
        spot = about if case is first else Where()
        own = asked.program if case is (first or cases[0]) and asked.program is not None else _program_of(spot, case)
        order = _order(case, own)
        result = _result(outcome, case, order, host)
        if result is not None and result.steps and result.steps.steps:
            expected = puzzle.expected(case) if case is first else {}
            data = launch_data(program, submission, case, result, spot, order[0], expected)
            if differs is not None and case is first:
                right = {one.case: one.programs for one in recordings(puzzle.id)[case.kernel]}[case.name]
                yours = events_of(program.source, case, result)
                add_solution(data, yours, right, _program_of(spot, case), differs.step)
            launches[case.kernel] = data
    if not launches:
        return None
    return {
        "puzzle": puzzle.id,
        "title": puzzle.title,
        "outcome": f"{sign(verdict.status)} {plain(verdict)}" + (said(": ") + said(finding.title) if finding else ""),
        "example": _example(finding),
        "first": [*launches].index(first.kernel) if first is not None and first.kernel in launches else 0,
        "launches": [*launches.values()],
    }


def _example(finding: Finding | None) -> str | None:
    """Return what the page is to show, in numbers."""
    if finding is None:
        return None
    if finding.differs is None:
        return next(iter(finding.examples), None)
    return (finding.differs.sentence if finding.named else finding.differs.proof) or None


def summary(data: Data) -> Iterator[str]:
    """Yield what the page is about, in lines of plain text."""
    yield f"Puzzle {data['puzzle']}: {data['title']}, step by step"
    yield data["outcome"]
    for one in data["launches"]:
        steps, programs = len(one["steps"]), len(one["programs"])
        more = "" if one["whole"] else ", where the recording ends"
        yield f"  {one['kernel']}: {steps} steps of {programs} program{'s' * (programs > 1)}{more}"
    begins = data["launches"][data["first"]]
    program, line = begins["steps"][begins["start"]][:2]
    wrong = begins.get("wrong", {})
    shown = next((shown for at, shown, _ in begins["code"] if at == line), line)
    begin = f"It begins at line {shown} of {begins['programs'][str(program)]}, "
    if begins.get("differs"):
        yield f"{begin}where it first differs from the solution."
    elif wrong.get("stored"):
        yield f"{begin}which stored {wrong['name']}."
    elif begins["stopped"]:
        yield f"{begin}which {begins['stopped'].partition(':')[0]}."


def _cases(puzzle: Puzzle, about: Where, size: str) -> list[Case]:
    """Return one launch of each kernel: that of the finding, one whose name has some words, or the pictured one."""
    every = numbered(puzzle.cases(puzzle.draw()))
    pictured = {case.kernel: case for case in cases_of(puzzle)}
    if size:
        found = {
            case.kernel: case
            for case in reversed([*every, *pictured.values()])
            if any(size in name for name in (case.name, said(case.name)))
        }
        if not found:
            names = "\n  ".join(dict.fromkeys(said(case.name) for case in every))
            raise Misuse(f"No launch of {puzzle.id} has “{size}” in its name. They are called:\n  {names}\n")
        return [found[kernel.name] for kernel in puzzle.kernels if kernel.name in found]
    own = {case.kernel: case for case in every if case.id == about.case_id}
    return list((pictured | own).values())


def _program_of(about: Where, case: Case) -> int | None:
    """Return the linear number of the program that a finding is about."""
    if about.program is None:
        return None
    return sum(at * math.prod(case.grid[:axis]) for axis, at in enumerate(about.program))


def _order(case: Case, own: int | None) -> list[int]:
    """Return the programs that are recorded, the one that is asked for first. Raises Misuse if there is no such
    program.
    """
    programs = case.programs or range(math.prod(case.grid))
    if own is not None and own not in programs:
        raise Misuse(f"{case.kernel} has no program {own} here: they are {programs[0]} to {programs[-1]}.")
    at = programs.index(own) if own is not None else 0
    first = max(0, min(at, len(programs) - MOST_PROGRAMS))
    near = [programs[n] for n in range(first, min(first + MOST_PROGRAMS, len(programs)))]
    return near if own is None else [own, *(one for one in near if one != own)]


def _result(outcome: Outcome, case: Case, order: Sequence[int], host: Host | None) -> LaunchResult | None:
    assert outcome.program is not None and outcome.verdict.puzzle is not None
    puzzle = catalog.load(outcome.verdict.puzzle)
    asked = replace(launch_of(case, puzzle), most_steps=MOST_STEPS)
    device = device_of(puzzle.id, Conditions(targets=(), host=host or Host()))
    others = outcome.linked or linked(puzzle.id, None)  # what was accepted before was not run again
    ran = launch(outcome.program, [asked], Limits(), host, device, others, order)
    return ran.results.get(0)
