"""Differences of a mutant from the solution, in random launches far beyond the judge's own cases.

The judge's cases, its budgets and its findings have no part in it: what a mutant writes is held against the reference,
what it loads, stores and multiplies against what the solution does in the same launch.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from checker import catalog
from checker.check import Conditions, device_of, program_of
from checker.check.linking import linked
from checker.course.case import Case, Role
from checker.course.puzzle import Expected, Puzzle
from checker.judge import footprint
from checker.judge.compare import wrong_elements
from checker.judge.requests import launch_of
from checker.sandbox.parent import Sandbox
from checker.sandbox.protocol.records import BARRIER, BLOCK, DOT, LOAD, STORE
from checker.sandbox.protocol.results import LaunchResult
from checker.submission.read import from_cells
from tests.mutation.launches import launches

ROOT = Path(__file__).parents[2]
LAUNCHES = 120
AT_ONCE = 40  # launches that a mutant is asked for before it is looked at
SEED = 20230717
SLACK = 2  # of the reference's tolerance, which is drawn up for the sizes of the judge's cases


class Oracle:
    """One kernel of a puzzle's solution, and what it does in each launch."""

    def __init__(self, puzzle_id: str, kernel: str, conditions: Conditions, count: int = LAUNCHES, seed: int = SEED):
        self.puzzle: Puzzle = catalog.load(puzzle_id)
        # Launches of real size, many at once, perhaps on a busy machine; and who never ends has been refused before.
        self.conditions = conditions
        self.kernel = next(k for k in self.puzzle.kernels if k.name == kernel)
        self.names = [k.name for k in self.puzzle.kernels] if self.kernel.launches else [kernel]
        self.linked = linked(puzzle_id, conditions.linked)
        self.cases = launches(self.puzzle, self.kernel, count, seed)
        self.solution = (ROOT / "solutions" / f"{self.puzzle.stem}.py").read_text(encoding="utf-8")

    def difference(self, text: str) -> str | None:
        """What is different, and in which launch; None if nothing is."""
        for number, result in self._ran(text):
            if what := self._differs(number, result):
                return f"{what}  [{self.cases[number].name}]"
        return None

    def _differs(self, number: int, result: LaunchResult | str) -> str | None:
        case = self.cases[number]
        if isinstance(result, str):
            return result
        if wrong := _wrong(case, result, self._expected[number]):
            return wrong
        if self.puzzle.footprint is not None:
            used, most = footprint.used(result), self.puzzle.footprint.most(case)
            return None if footprint.within(used, most) else f"{used} instead of {most}"
        return _more(case, counts(result), self._does[number])

    @cached_property
    def _expected(self) -> list[dict[str, Expected]]:
        return [
            {
                name: Expected(right.values, SLACK * right.tolerance)
                for name, right in self.puzzle.expected(case).items()
            }
            for case in self.cases
        ]

    @cached_property
    def _does(self) -> list[dict[str, int]]:
        """What the solution does, which must be right in all launches."""
        does = []
        for number, result in self._ran(self.solution):
            wrong = result if isinstance(result, str) else _wrong(self.cases[number], result, self._expected[number])
            if wrong is not None or isinstance(result, str):
                raise RuntimeError(f"the solution itself fails: {wrong} [{self.cases[number].name}]")
            does.append(counts(result))
        return does

    def _ran(self, text: str) -> Iterator[tuple[int, LaunchResult | str]]:
        """(number of a launch, what came of it) as far as it gets; how it ended, if it did not get to the end."""
        if self.kernel.launches:  # what it imports is linked to it instead
            text = program_of(from_cells([("code", text)], "", numbered=False), self.puzzle.kernels)[0].source
        for first in range(0, len(self.cases), AT_ONCE):
            some = [launch_of(c, self.puzzle) for c in self.cases[first : first + AT_ONCE]]
            order = np.random.default_rng(first)
            asked = [(n, order.permutation(launch.programs)) for n, launch in enumerate(some)]
            device = device_of(self.puzzle.id, Conditions())
            with Sandbox(self.conditions.limits, device, host=self.conditions.host) as sandbox:
                [answers] = sandbox.run(text, self.names, some, [asked], self.linked).passes
            for n, result in answers.results.items():
                yield first + n, result
            if len(answers.results) < len(some):
                yield first + len(answers.results), f"it ended: {answers.loading or answers.ending}"
                return


def counts(result: LaunchResult) -> dict[str, int]:
    """What a launch loaded and stored of each tensor, and what it multiplied; its largest block; its barriers."""
    log = result.log
    made = {
        f"{'stores' if kind == STORE else 'loads'} {name}": int(
            log.distinct[(log.kind == kind) & (log.tensor == position)].sum(dtype=np.int64)
        )
        for position, name in enumerate(result.tensors)
        for kind in (LOAD, STORE)
    }
    made["multiplies"] = int((log.lanes.astype(np.int64) * log.terms).sum())
    made["largest block"] = int(log.lanes[np.isin(log.kind, (LOAD, STORE, DOT, BLOCK))].max(initial=0))
    made["lanes that collide"] = int(log.overwritten.sum(dtype=np.int64))
    made["no barriers"] = -int(np.count_nonzero(log.kind == BARRIER))
    return made


def _wrong(case: Case, result: LaunchResult, expected: dict[str, Expected]) -> str | None:
    """What is wrong with the results themselves."""
    if result.error is not None:
        return f"{result.error.type}: {result.error.message[:80]}"
    if result.refused is not None:
        return f"{'stores' if result.refused.store else 'loads'} outside {result.refused.tensor}"
    for name, tensor in case.tensors.items():
        after = result.tensors[name]
        if tensor.role is Role.INPUT:
            if after.tobytes() != tensor.values.tobytes():
                return f"changes {name}"
            continue
        if any(filled[name].tobytes() != after.tobytes() for filled in result.filled):
            return f"{name} depends on masked lanes"
        wrong = wrong_elements(after, expected[name])
        if wrong.any():
            return f"{int(wrong.sum())} of {wrong.size} elements of {name} are wrong"
    return None


def _more(case: Case, mutant: dict[str, int], solution: dict[str, int]) -> str | None:
    """What it does more than the solution; of tensors that are gone through again and again, less as well."""
    state = {f"loads {name}" for name, tensor in case.tensors.items() if tensor.role is Role.STATE}
    for what, count in mutant.items():
        if count > solution[what] or (what in state and count != solution[what]):
            return f"{what}: {count} instead of {solution[what]}"
    return None
