"""Launches of kernels by a function, each of which it must launch once; and the compiler's jobs for a GPU."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from checker.course.misconception import InHalf, Launches
from checker.course.puzzle import Puzzle
from checker.course.targets import KNOWN
from checker.course.verdict import Finding, Status
from checker.judge.evidence import Evidence, Locator, listed
from checker.judge.forms import MEMORY
from checker.judge.general import finding
from checker.judge.naming import ideas
from checker.judge.notes import Note
from checker.sandbox.compiling import Compiled, Job
from checker.sandbox.protocol.results import Launched

IDLE = "idle-programs"
MOST_COMPILED = 8  # launches; of more than that, those with the largest tiles, and each kernel once


def launch_findings(puzzle: Puzzle, evidence: Evidence, where: Locator) -> Iterator[Finding]:
    """Yield the misconception that explains which kernels a call has launched; or the first one
    that it does not fit.
    """
    case, result = evidence.case, evidence.result
    assert result is not None
    every = _every(puzzle)
    launches = [(every[number], line) for number, line, _ in result.log.launched if number < len(every)]
    times = Counter(name for name, _ in launches)
    asked = puzzle.launched(case.kernel)
    wrong = next((name for name in every if times[name] != asked.count(name)), None)
    if wrong is None:
        yield from _idle_programs(puzzle, evidence, where)
        return
    line = next((line for name, line in reversed(launches) if name == wrong), None)
    known = ideas(puzzle.misconceptions, Launches)
    if idea := next((one for one in known if any(sign.recognises(times) for sign in one.signs)), None):
        yield idea.finding(Status.OVER_TRAFFIC, where(line, case))
    elif not times[wrong]:
        yield finding("kernel-not-launched", Status.OVER_TRAFFIC, where(None, case), function=wrong)
    else:
        yield finding("launched-too-often", Status.OVER_TRAFFIC, where(line, case), function=wrong, times=times[wrong])


def _idle_programs(puzzle: Puzzle, evidence: Evidence, where: Locator) -> Iterator[Finding]:
    """Yield the first launch whose grid is larger than it has to be."""
    case, result, every = evidence.case, evidence.result, _every(puzzle)
    assert result is not None
    blocks = {one.kernel: one.form.constexprs for one in reversed(result.launched)}
    for number, line, programs in result.log.launched:
        sizes = {name: side for name, side in blocks.get(number, {}).items() if type(side) is int and side > 0}
        if puzzle.programs is None or not sizes:
            continue
        if programs > (needed := puzzle.programs(case, every[number], sizes)):
            place, which = where(line, case), every[number]
            yield finding(IDLE, Status.OVER_TRAFFIC, place, function=which, programs=programs, needed=needed)
            return


def kept_in_half(puzzle: Puzzle, evidence: Evidence, where: Locator) -> Iterator[Note]:
    """Yield the tensors that a function keeps in half precision although it rounds no others so."""
    assert evidence.result is not None
    for one in evidence.result.launched:
        for idea in ideas(puzzle.misconceptions, InHalf):
            if any(sign.recognises(one.form.signature) for sign in idea.signs):
                yield Note(idea.finding(Status.WRONG, where(one.line, evidence.case)))


def _every(puzzle: Puzzle) -> list[str]:
    """Return the kernels that a puzzle's functions launch, in the order in which the sandbox has them."""
    return [kernel for one in puzzle.kernels for kernel in one.launches]


def as_launched(puzzle: Puzzle, evidence: Sequence[Evidence], targets: Sequence[str]) -> list[tuple[Launched, Job]]:
    """Return the kernels to compile as they were launched: of each kernel, type and set of options
    the largest tiles.
    """
    every, largest = _every(puzzle), dict[object, Launched]()
    for one in (launched for e in evidence for result in e.results for launched in result.launched):
        if 0 <= one.kernel < len(every) and _types(one):  # what a runner says may be anything
            blocks = {name: value for name, value in one.form.constexprs.items() if name != "D"}
            kind = str((one.kernel, _types(one), blocks, one.options))
            largest[kind] = max(largest.get(kind, one), one, key=_bytes)
    times: Counter[int] = Counter()
    ranked: list[tuple[int, Launched]] = []  # one launch of each kernel, then a second one of each
    for one in sorted(largest.values(), key=_bytes, reverse=True):
        ranked.append((times[one.kernel], one))
        times[one.kernel] += 1
    ranked.sort(key=lambda rank: rank[0])
    chosen = [one for _, one in ranked[: max(MOST_COMPILED, len(times))]]
    return [
        (
            one,
            Job(
                every[one.kernel],
                target,
                dict(one.form.signature),
                dict(one.form.constexprs),
                one.form.multiples,
                MEMORY,
                one.options,
            ),
        )
        for target in targets
        for one in chosen
    ]


def _types(one: Launched) -> list[str]:
    return [kind for kind in one.form.signature.values() if kind.startswith("*")]


def _bytes(one: Launched) -> int:
    """Return the size of a tile in each dimension, times that of its elements."""
    sides = math.prod(value for value in one.form.constexprs.values() if type(value) is int)
    return sides * (4 if _types(one)[0] == "*fp32" else 2)


def refused_launches(compiled: Sequence[tuple[Launched, Compiled]], where: Locator) -> Iterator[Finding]:
    """Launches that a GPU does not take: there is no room for their tiles, or they do not compile."""
    for launched, made in compiled:
        job, limit = made.job, KNOWN[made.job.target].shared_limit
        said = [f"{name}={value}" for name, value in {**job.constexprs, **job.options}.items()]
        how, place = listed([*said, f"{_types(launched)[0][1:]} inputs"]), where(launched.line)
        if made.error is not None:
            yield finding(
                "launch-does-not-compile",
                Status.DOES_NOT_COMPILE,
                place,
                (f"Triton says: {made.error.message.strip().split(chr(10))[0]}",),
                kernel=job.kernel,
                target=job.target,
                how=how,
            )
        elif made.shared is not None and made.shared > limit:
            yield finding(
                "launch-too-large",
                Status.DOES_NOT_COMPILE,
                place,
                kernel=job.kernel,
                target=job.target,
                how=how,
                shared=made.shared,
                limit=limit,
            )
