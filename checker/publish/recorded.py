"""Record what the solutions do: the values next to which wrong kernels are shown, a file for each puzzle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from checker import catalog
from checker.check import launch, program_of
from checker.course import places
from checker.course.ladder import entry
from checker.judge.difference.events import Event, events_of, shape_of_loops
from checker.judge.difference.recordings import Recorded, cases_of
from checker.judge.requests import launch_of
from checker.sandbox.parent import Limits, pytorch_missing
from checker.sandbox.protocol.device import Device
from checker.sandbox.protocol.steps import MOST_STEPS
from checker.submission.definitions import newest

CLOSE = 1e-5  # of a block's largest number: as far as machines may differ


def recorded(puzzle_id: str, root: Path = places.ROOT) -> list[Recorded]:
    """Return the launches of a puzzle's solution; none of a function that launches kernels.

    A launch that is too long to be recorded whole is left out.
    """
    puzzle = catalog.load(puzzle_id)
    if entry(puzzle_id).launches or (puzzle.pytorch and pytorch_missing()):
        return []
    program, _ = program_of(newest(places.solution(puzzle_id, root), puzzle.kernels), puzzle.kernels)
    device = Device.PYTORCH if puzzle.pytorch else Device.INTERPRETER
    found = []
    for kernel in puzzle.kernels:
        cases = cases_of(puzzle, kernel.name)
        asked = [replace(launch_of(case, puzzle), most_steps=MOST_STEPS) for case in cases]
        results = launch(program, asked, Limits(), device=device).results if cases else {}
        loops = shape_of_loops(program.source, kernel.name)
        ran = ((case, events_of(program.source, case, results[n])) for n, case in enumerate(cases))
        found += [Recorded(kernel.name, case.name, loops, programs) for case, programs in ran if programs]
    return found


def alike(old: Sequence[Recorded], new: Sequence[Recorded]) -> bool:
    """Return whether two recordings are the same, but for the last digits of their numbers."""
    if [(one.kernel, one.case, one.loops) for one in old] != [(one.kernel, one.case, one.loops) for one in new]:
        return False
    pairs = [(a.programs, b.programs) for a, b in zip(old, new, strict=True)]
    return all(
        a.keys() == b.keys() and all(len(a[n]) == len(b[n]) and all(map(_same, a[n], b[n])) for n in a)
        for a, b in pairs
    )


def _same(old: Event, new: Event) -> bool:
    if (old.kind, old.place, old.name) != (new.kind, new.place, new.name):
        return False
    if not np.array_equal(
        old.elements if old.elements is not None else (), new.elements if new.elements is not None else ()
    ):
        return False
    if old.numbers is None or new.numbers is None:
        return old.numbers is new.numbers
    finite = np.abs(new.numbers[np.isfinite(new.numbers)])
    close = CLOSE * float(finite.max()) if finite.size else 0.0
    return old.numbers.shape == new.numbers.shape and np.allclose(
        old.numbers, new.numbers, CLOSE, close, equal_nan=True
    )
