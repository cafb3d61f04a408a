"""In which forms kernels are compiled: as few as have everything in them that Triton makes another kernel of.

At a launch Triton compiles a kernel for the types of its tensors and for its constexprs, makes a constant of an
integer that is 1, and notes which integers are multiples of 16. Each type and each switch that a puzzle's cases have
is compiled at least once, with the largest tile it is run with, and so are integers that are multiples of 16, that
are not, and that are 1: each of them, not their product.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from checker.course.case import Case
from checker.course.kernel import Kernel
from checker.course.puzzle import Tuning
from checker.course.targets import KNOWN
from checker.judge.requests import launch_of
from checker.sandbox.compiling import Job
from checker.sandbox.protocol.fitting import fewer_stages, longest_side, sides
from checker.sandbox.protocol.launch import CONSTEXPR, Form

TYPES, MEMORY = "ttir", "llir"  # Triton's stages after which types, and shared memory, are settled


def forms(kernel: Kernel, cases: Sequence[Case], target: str, *, multiplies: bool = False) -> Iterator[Job]:
    """Yield the jobs for one kernel, whose cases these are: as it is timed, what else it is run as, and with sizes of
    1.

    `multiplies`: tiles, by tl.dot.
    """
    timed, *others = _covering([_shortened(case, target, multiplies) for case in cases])
    first = job_of(kernel, timed, target)
    yield first
    for case in others or [timed]:
        # A row that is not multiplied takes no more shared memory when it is longer, and very long ones take long.
        longer_row = not multiplies and len(sides(case.constexprs)) == 1 and _tile(case) > _tile(timed)
        job = replace(job_of(kernel, case, target), multiples=(), until=TYPES if longer_row else MEMORY)
        yield replace(job, simpler=tuple(_simpler(first, job)))
    if integers := first.multiples:
        for form in (first, *_switched(first, cases)):
            yield replace(_with_ones(form, integers), simpler=tuple(_with_ones(form, (name,)) for name in integers))


def _shortened(case: Case, target: str, multiplies: bool) -> Case:
    """Return the launch with tiles as short as the target multiplies."""
    return replace(case, constexprs={**case.constexprs, **shortened(sides(case.constexprs), target, multiplies)})


def shortened(blocks: Mapping[str, int], target: str, multiplies: bool) -> dict[str, int]:
    """Sides of tiles that are as short as the target multiplies; blocks that are not multiplied stay as they are."""
    longest = longest_side(target) if multiplies else 0
    return {name: min(side, longest or side) for name, side in blocks.items()}


def fitting(tunings: Iterable[Tuning], target: str, shared: int, multiplies: bool) -> tuple[Tuning, ...]:
    """Return the launches to try on a target with n bytes of shared memory: these, and variants for a small one."""
    tried = [
        replace(one, blocks=shortened(one.blocks, target, multiplies), num_stages=stages)
        for one in tunings
        for stages in (one.num_stages, *(fewer for fewer in fewer_stages(shared) if fewer < one.num_stages))
    ]
    return tuple({str(one): one for one in tried}.values())


def _switched(first: Job, cases: Sequence[Case]) -> Iterator[Job]:
    """Yield the first form with each switch the other way, if any case has it so."""
    for name, value in first.constexprs.items():
        if isinstance(value, bool) and any(case.constexprs[name] != value for case in cases):
            yield replace(first, constexprs={**first.constexprs, name: not value})


def ones(job: Job) -> tuple[str, ...]:
    """Return the integers that are 1 in this form."""
    return tuple(name for name in job.constexprs if name in job.multiples)


def _covering(cases: Sequence[Case]) -> list[Case]:
    """Few cases with every type, every switch, and the largest tile of each type; the first is most like a timed one.

    Timing is of fp16, large tiles and the causal kernel.
    """
    largest = sorted(cases, key=_tile, reverse=True)
    chosen = [timed_like(largest)]
    missing = {level for case in cases for level in _levels(case, largest)} - _levels(chosen[0], largest)
    while missing:
        chosen.append(max(largest, key=lambda case: len(_levels(case, largest) & missing)))
        missing -= _levels(chosen[-1], largest)
    return chosen


def timed_like(cases: Sequence[Case]) -> Case:
    """Return the case that is most like a timed one: with fp16, the largest tile, and switches on."""
    return max(cases, key=lambda case: ("float16" in _types(case), _tile(case), _switched_on(case)))


def _levels(case: Case, largest: Sequence[Case]) -> set[object]:
    """Return what a case has of that which must be compiled."""
    same_types = next(one for one in largest if _types(one) == _types(case))
    tile = {("largest", _types(case))} if _tile(case) == _tile(same_types) else set()
    return {_types(case), *((n, v) for n, v in case.constexprs.items() if isinstance(v, bool)), *tile}


def _types(case: Case) -> tuple[str, ...]:
    return tuple(tensor.type for tensor in case.tensors.values())


def _tile(case: Case) -> int:
    return math.prod(int(v) for v in case.constexprs.values() if not isinstance(v, bool))


def _switched_on(case: Case) -> int:
    return sum(v is True for v in case.constexprs.values())


def job_of(kernel: Kernel, case: Case, target: str) -> Job:
    """Return a launch like this one, with integers that are multiples of 16."""
    form = launch_of(case).form(ones=False)
    integers = tuple(name for name in kernel.parameters if form.signature.get(name, "").startswith("i"))
    return _job(kernel, replace(form, multiples=integers), target)


def as_launched(kernel: Kernel, case: Case, target: str) -> Job:
    """Return the form of this launch: integers that are 1 are constants, and multiples of 16 are marked."""
    return _job(kernel, launch_of(case).form(), target)


def _job(kernel: Kernel, form: Form, target: str) -> Job:
    signature = {name: form.signature.get(name, CONSTEXPR) for name in kernel.parameters}
    limit = KNOWN[target].shared_limit
    return Job(
        kernel.name, target, signature, form.constexprs, form.multiples, most_shared=limit, fewer=fewer_stages(limit)
    )


def _simpler(first: Job, job: Job) -> Iterator[Job]:
    """Yield the first form with one of the things that are otherwise in another; nothing if that is all there is."""
    base = replace(first, until=TYPES)
    parts = [replace(base, multiples=job.multiples)] if job.multiples != first.multiples else []
    if job.signature != first.signature:
        parts.append(replace(base, signature=job.signature))
    for name, value in job.constexprs.items():
        if isinstance(value, bool) and value != first.constexprs[name]:
            parts.append(replace(base, constexprs={**first.constexprs, name: value}))
    if len(parts) > 1 or job.constexprs != first.constexprs:
        yield from parts


def _with_ones(first: Job, integers: Sequence[str]) -> Job:
    """Return the form with 1 for these parameters, which Triton makes constants."""
    return replace(
        first,
        signature={name: CONSTEXPR if name in integers else kind for name, kind in first.signature.items()},
        constexprs={**first.constexprs, **dict.fromkeys(integers, 1)},
        until=TYPES,
    )
