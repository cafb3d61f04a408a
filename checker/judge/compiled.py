"""Findings and remarks on kernels as compiled, of those that earn points on the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from checker.course.case import Case
from checker.course.puzzle import Puzzle
from checker.course.targets import KNOWN
from checker.course.verdict import Compilation, Finding, Status, Verdict, Where
from checker.judge.errors import known_errors
from checker.judge.evidence import Locator, listed
from checker.judge.forms import forms, ones
from checker.judge.general import finding
from checker.judge.naming import explaining_all
from checker.sandbox.compiling import DIED, Compiled, Job

_HALF = {"*fp16", "*bf16"}


def jobs(puzzle: Puzzle, cases: Sequence[Case], targets: Sequence[str]) -> list[Job]:
    """Return each kernel that has cases, for each target, in each of its forms."""
    wanted = []
    for kernel in puzzle.kernels:
        if own := [case for case in cases if case.kernel == kernel.name]:
            wanted += [
                job for target in targets for job in forms(kernel, own, target, multiplies=puzzle.work is not None)
            ]
    return wanted


def compilations(results: Sequence[Compiled]) -> tuple[Compilation, ...]:
    """Return the results as the verdict has them: the form that is timed stands for all."""
    said = []
    for timed, others in _by_kernel(results):
        job, compiles = timed.job, all(r.error is None or ones(r.job) for r in (timed, *others))
        limit = KNOWN[job.target].shared_limit
        stages = job.options.get("num_stages")
        said.append(
            Compilation(job.kernel, job.target, compiles, timed.shared, limit, timed.registers, timed.spilled, stages)
        )
    return tuple(said)


def compile_findings(puzzle: Puzzle, results: Sequence[Compiled], where: Locator) -> list[Finding]:
    """Return what keeps kernels from running on a GPU, once per kind; of each kernel and target, the first form's."""
    found: dict[str, Finding] = {}
    for timed, others in _by_kernel(results):
        refused = (_complaint(puzzle, r, timed, where) for r in (timed, *others) if not ones(r.job))
        if finding := next((finding for finding in refused if finding), None):
            found.setdefault(finding.id, finding)
    return list(found.values())


def compile_remarks(results: Sequence[Compiled], where: Locator) -> list[str]:
    """Return what fails only where an integer is 1, once per kernel."""
    said = {r.job.kernel: _remark(r, where) for r in reversed(results) if r.error and ones(r.job)}
    return [said[kernel] for kernel in dict.fromkeys(r.job.kernel for r in results) if kernel in said]


def only_in_half(results: Sequence[Compiled]) -> bool:
    """Return whether each kernel that does not compile was compiled in fp32 as well, where nothing fails.

    A form that was compiled only until its types are settled says nothing of shared memory.
    """
    forms = [result for result in results if not ones(result.job)]
    failed = [one for one in forms if one.error or _takes_too_much(one)]
    in_fp32 = [one for one in forms if _HALF.isdisjoint(one.job.signature.values()) and one not in failed]
    known = {(one.job.kernel, one.job.target) for one in in_fp32}
    measured = {(one.job.kernel, one.job.target) for one in in_fp32 if one.shared is not None}
    return bool(failed) and all(
        not _HALF.isdisjoint(one.job.signature.values())
        and (one.job.kernel, one.job.target) in (known if one.error else measured)
        for one in failed
    )


def _takes_too_much(result: Compiled) -> bool:
    return (result.shared or 0) > KNOWN[result.job.target].shared_limit


def without_half(verdict: Verdict, before: Status) -> Verdict:
    """Return a verdict on kernels that compile in fp32 alone: they lose what half precision is worth, and no more.

    `before`: what the verdict was without the compiler. What is worse than partly right stays.
    """
    properties = tuple(
        replace(p, passed=False, detail=p.detail or "does not compile") if p.name == "half" else p
        for p in verdict.properties
    )
    status = Status.PARTLY_RIGHT if before is Status.ACCEPTED else before
    return replace(verdict, status=status, properties=properties)


def _by_kernel(results: Sequence[Compiled]) -> Iterator[tuple[Compiled, list[Compiled]]]:
    """(the form that is timed, the others) for each kernel and target."""
    for _, group in groupby(results, key=lambda r: (r.job.kernel, r.job.target)):
        timed, *others = group
        yield timed, others


def _complaint(puzzle: Puzzle, result: Compiled, timed: Compiled, where: Locator) -> Finding | None:
    job, form = result.job, _form(result.job, timed.job)
    if result.error is None:
        if not _takes_too_much(result):
            return None
        return finding(
            "shared-memory",
            Status.DOES_NOT_COMPILE,
            kernel=job.kernel,
            target=job.target,
            shared=result.shared,
            form=form,
            stages=_stages(job),
            limit=KNOWN[job.target].shared_limit,
        )
    if result.error.type == DIED:
        return finding(
            "compiler-error/not-finished", Status.DOES_NOT_COMPILE, kernel=job.kernel, target=job.target, form=form
        )
    message, place = _first_line(result), where(result.error.line)
    said = f"Triton says, compiling for {job.target}{form}: {message}"
    if idea := explaining_all(
        known_errors(puzzle), [result.error.message], lambda sign, said: sign.at is None and sign.recognises(said)
    ):
        return idea.finding(Status.DOES_NOT_COMPILE, place, (said,))
    return finding(
        "compiler-error", Status.DOES_NOT_COMPILE, place, (said,), kernel=job.kernel, target=job.target, form=form
    )


def _stages(job: Job) -> str:
    return ", and even without loading ahead" if job.options.get("num_stages") == 1 else ""


def _form(job: Job, timed: Job) -> str:
    """Return the differences from the timed form, in words."""
    types = dict.fromkeys(t.strip("*") for p, t in job.signature.items() if t != timed.signature[p] and t[0] == "*")
    said = [f"{' and '.join(types)} inputs"] if types else []
    said += [f"{name}={value}" for name, value in job.constexprs.items() if value != timed.constexprs[name]]
    if job.multiples != timed.multiples:
        said.append("sizes that are not multiples of 16")
    return f" with {listed(said)}" if said else ""


def _remark(result: Compiled, where: Locator) -> str:
    assert result.error is not None
    names, line = ones(result.job), _line(where(result.error.line))
    is_one, written = (names[0], names[0]) if len(names) == 1 else ("a size or a stride", "n")
    return (
        f"{result.job.kernel} does not compile for a launch in which {is_one} is 1{line}. Triton makes a constant of "
        f"an integer that is 1. Begin with {written} = tl.cast({written}, tl.int32), and it is a number of the launch "
        f"again. Triton says: {_first_line(result)}"
    )


def _line(place: Where) -> str:
    if place.line is None:
        return ""
    return f" ({f'cell {place.cell}, ' if place.cell else ''}line {place.line})"


def _first_line(result: Compiled) -> str:
    assert result.error is not None
    return result.error.message.strip().split("\n")[0]
