"""For which launch a kernel is compiled: one that is timed, exactly as Triton would compile it at that launch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from checker.course.case import Case
from checker.course.kernel import Kernel
from checker.course.puzzle import PLENTY, Puzzle, Timed, Tuning
from checker.course.status import Misuse
from checker.judge.forms import as_launched, job_of, shortened, timed_like
from checker.sandbox.compiling import Job

MOST_WARPS = 32  # 1024 threads
WARPS = 4  # of a launch that says nothing of them


@dataclass(frozen=True)
class Form:
    """A job, and what is launched there."""

    job: Job
    tuning: Tuning
    size: str = ""  # in words; nothing: too small to be timed

    def words(self, stages: int) -> str:
        """Return what is launched, with so many stages: if nobody has chosen them, as many as there is room for."""
        size = f"{self.size}; " if self.size else ""
        return f"{size}{replace(self.tuning, num_stages=stages)}"


def forms(
    puzzle: Puzzle,
    kernels: Iterable[str],
    targets: Sequence[str],
    size: str = "",
    launch: Mapping[str, int] | None = None,
    stages: tuple[str, ...] = ("ttgir",),
) -> list[Form]:
    """Of each kernel the first launch that `make bench` times, or the first whose size has these words in it.

    `launch`: blocks, num_warps and num_stages that are otherwise; those that a kernel does not have are not for it.
    `stages`: which of Triton's texts are wanted. Raises Misuse if no size has the words.
    """
    found = []
    for kernel in puzzle.kernels:
        if kernel.name not in kernels:
            continue
        timed = timed_at(puzzle, kernel, size, launch or {})
        for target in targets:
            if timed is None:  # too small to be timed: as the judge compiles it first
                case = _judged(puzzle, kernel)
                blocks = {name: value for name, value in case.constexprs.items() if type(value) is int}
                tuning = _changed(Tuning(blocks, WARPS), launch or {})
                case = replace(case, constexprs={**case.constexprs, **tuning.blocks})
                job, size_of_it = job_of(kernel, case, target), ""
            else:
                [tuning] = timed.tunings[kernel.name]
                if not launch:
                    tuning = replace(tuning, blocks=shortened(tuning.blocks, target, puzzle.work is not None))
                job, size_of_it = as_launched(kernel, timed.launch(kernel.name, tuning.blocks), target), timed.name
            options = {"num_warps": tuning.num_warps, "num_stages": tuning.num_stages}
            fewer = () if launch else job.fewer
            found.append(Form(replace(job, options=options, stages=stages, fewer=fewer), tuning, size_of_it))
    return found


def sizes(puzzle: Puzzle, *, usual: bool = False) -> list[str]:
    """Return what the sizes are called that can be asked for, the usual ones first; `usual`: only those."""
    every = puzzle.timed(PLENTY) if puzzle.timed else []
    return [one.name for one in sorted(every, key=lambda one: not one.usual) if one.usual or not usual]


def changes(text: str, puzzle: Puzzle) -> dict[str, int]:
    """Return what a launch is to have otherwise, from words such as `Br=128 num_warps=8`. Raises Misuse."""
    known = {*_blocks(puzzle), "num_warps", "num_stages"}
    found = {}
    for word in text.replace(",", " ").split():
        name, _, value = word.partition("=")
        if name not in known or not value.isascii() or not value.isdigit() or int(value) < 1:
            raise Misuse(f"{word!r} cannot change a launch. Write NAME=NUMBER; names: {', '.join(sorted(known))}.")
        found[name] = int(value)
        if name != "num_stages" and int(value) & (int(value) - 1):
            raise Misuse(f"{name} must be a power of two, and {value} is not.")
    if found.get("num_warps", 1) > MOST_WARPS:
        raise Misuse(f"A program has at most {MOST_WARPS} warps.")
    return found


def _blocks(puzzle: Puzzle) -> set[str]:
    """Return the constexprs that a launch may have otherwise: sizes of blocks that are tuned, or that the judge
    chooses.
    """
    if puzzle.timed is None:
        return {
            name
            for case in puzzle.cases(puzzle.draw())
            for name, value in case.constexprs.items()
            if type(value) is int
        }
    tunings = [tuning for one in puzzle.timed(PLENTY) for several in one.tunings.values() for tuning in several]
    return {name for tuning in tunings for name in tuning.blocks}


def _changed(tuning: Tuning, launch: Mapping[str, int]) -> Tuning:
    blocks = {name: launch.get(name, value) for name, value in tuning.blocks.items()}
    return Tuning(blocks, launch.get("num_warps", tuning.num_warps), launch.get("num_stages", tuning.num_stages))


def timed_at(puzzle: Puzzle, kernel: Kernel, size: str, launch: Mapping[str, int]) -> Timed | None:
    """Return the size at which a kernel is compiled, with its one launch; None if it is not timed. Raises Misuse."""
    timed = [one for one in (puzzle.timed(PLENTY) if puzzle.timed else []) if kernel.name in one.tunings]
    if not timed:
        if size:
            raise Misuse(f"Puzzle {puzzle.id} is not timed, so it has no sizes to choose from.")
        return None
    wanted = [one for one in sorted(timed, key=lambda one: not one.usual) if size.lower() in one.name.lower()]
    if not wanted:
        raise Misuse(f"No size of {kernel.name} matches {size!r}. Sizes: {'; '.join(sizes(puzzle))}.")
    found = next((one for one in wanted if size.lower() == one.name.lower()), wanted[0])
    return replace(found, tunings={**found.tunings, kernel.name: (_changed(found.tunings[kernel.name][0], launch),)})


def _judged(puzzle: Puzzle, kernel: Kernel) -> Case:
    return timed_like([case for case in puzzle.cases(puzzle.draw()) if case.kernel == kernel.name])
