"""What kernels with each misconception would write, compared with what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from checker.course.puzzle import Array, Case, Expected, Misconception, Puzzle
from checker.judge.compare import agrees, explains, gets_it_right, wrong_elements
from checker.judge.evidence import has_columns
from checker.judge.locate import Wrong, line_at


class Models:
    """What kernels with each misconception would write, computed once, and compared with what was seen."""

    def __init__(self, puzzle: Puzzle, items: list[Wrong]):
        self.puzzle = puzzle
        self.items = items
        self.written: dict[tuple[int, str], Mapping[str, Array]] = {}
        self.right: dict[str, Mapping[str, Expected]] = {item.case.name: item.expected for item in items}

    @cached_property
    def candidates(self) -> list[Misconception]:
        """Those with a model, whose line is there if they need one."""
        return [
            m
            for m in self.puzzle.misconceptions
            if m.outputs and (not m.only_if_found or line_at(self.items[0], m.points_at))
        ]

    def predicted(self, misconception: Misconception, case: Case) -> Mapping[str, Array]:
        """What a kernel with this idea would write."""
        assert misconception.outputs is not None
        key = (id(misconception), case.name)
        if key not in self.written:
            with np.errstate(all="ignore"):
                self.written[key] = {n: np.asarray(values) for n, values in misconception.outputs(case).items()}
        return self.written[key]

    def explains_most(self, misconception: Misconception, items: list[Wrong]) -> bool:
        """Whether it explains at least half of the cases in which a kernel with this idea would go wrong."""
        touched = [item for item in items if self._goes_wrong(misconception, item)]
        return 2 * sum(self.explains(misconception, item) for item in touched) >= len(touched) > 0

    def explains_all(self, misconception: Misconception, items: list[Wrong]) -> bool:
        """Whether it explains each of these cases."""
        return all(self.explains(misconception, item) for item in items)

    def explains(self, misconception: Misconception, item: Wrong) -> bool:
        """Whether the kernel wrote in this case what this idea gives, and the idea is wrong here."""
        predicted = self.predicted(misconception, item.case)
        return self._goes_wrong(misconception, item) and all(
            explains(p, item.outputs[n], item.expected[n], has_columns(item.case.tensors[n]))
            for n, p in predicted.items()
        )

    def fit(self, misconception: Misconception, item: Wrong) -> float:
        """The share of wrong elements that are as predicted, those that are numbers; NaN looks like any other NaN."""
        predicted = self.predicted(misconception, item.case)
        shares = [
            (agrees(p, item.outputs[n], item.expected[n]) & np.isfinite(p))[item.wrong[n]].mean()
            for n, p in predicted.items()
            if n in item.wrong
        ]
        return round(float(np.mean(shares)), 2) if shares else 0.0

    def refuted(self, misconception: Misconception, case: Case) -> bool:
        """Whether a kernel with this idea would have gone wrong in a case that came out right."""
        if case.name not in self.right:
            self.right[case.name] = self.puzzle.expected(case)
        expected = self.right[case.name]
        return not all(
            gets_it_right(p, case.tensors[n].values.dtype, expected[n])
            for n, p in self.predicted(misconception, case).items()
        )

    def _goes_wrong(self, misconception: Misconception, item: Wrong) -> bool:
        predicted = self.predicted(misconception, item.case)
        with np.errstate(all="ignore"):
            return any(
                wrong_elements(p.astype(item.outputs[n].dtype), item.expected[n]).any() for n, p in predicted.items()
            )
