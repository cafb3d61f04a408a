"""Outputs of kernels with each misconception, compared with those of a submission."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from checker.course.case import Array, Case
from checker.course.misconception import Writes
from checker.course.puzzle import Expected, Puzzle
from checker.judge.compare import agrees, explains, gets_it_right, wrong_elements
from checker.judge.evidence import has_columns
from checker.judge.naming import Idea, ideas
from checker.judge.wrong import Wrong


class Models:
    """Outputs of kernels with each misconception, computed once, and compared with a submission's."""

    def __init__(self, puzzle: Puzzle, items: list[Wrong]):
        self.puzzle = puzzle
        self.items = items
        self.written: dict[tuple[int, int], Mapping[str, Array]] = {}
        self.right: dict[int, Mapping[str, Expected]] = {item.case.id: item.expected for item in items}

    def possible(self, test: Callable[[Writes], bool]) -> list[Idea[Writes]]:
        """Return the misconceptions whose outputs pass a test, if their line is there where they need one."""

        def passes(sign: Writes) -> bool:
            return (not sign.needs_line or self.items[0].line_of(sign.line) is not None) and test(sign)

        return ideas(self.puzzle.misconceptions, Writes, passes)

    def predicted(self, sign: Writes, case: Case) -> Mapping[str, Array]:
        """Return what a kernel with this idea would write."""
        key = (id(sign), case.id)
        if key not in self.written:
            with np.errstate(all="ignore"):
                self.written[key] = {n: np.asarray(values) for n, values in sign.outputs(case).items()}
        return self.written[key]

    def explains_most(self, sign: Writes, items: list[Wrong]) -> bool:
        """Return whether it explains at least half of the cases in which a kernel with this idea would go wrong."""
        touched = [item for item in items if self._goes_wrong(sign, item)]
        return 2 * sum(self.explains(sign, item) for item in touched) >= len(touched) > 0

    def explains_all(self, sign: Writes, items: list[Wrong]) -> bool:
        """Return whether it explains each of these cases."""
        return all(self.explains(sign, item) for item in items)

    def explained(self, signs: Iterable[Writes], items: Iterable[Wrong]) -> int:
        """Return how many cases one of these explains."""
        return sum(any(self.explains(sign, item) for sign in signs) for item in items)

    def explains(self, sign: Writes, item: Wrong) -> bool:
        """Return whether the kernel wrote in this case what this idea gives, and is wrong by that."""
        predicted = self.predicted(sign, item.case)
        about = not item.wrong.keys().isdisjoint(predicted)
        return (
            about
            and self._goes_wrong(sign, item)
            and all(
                explains(p, item.outputs[n], item.expected[n], has_columns(item.case.tensors[n]))
                for n, p in predicted.items()
            )
        )

    def fit(self, sign: Writes, item: Wrong) -> float:
        """Return the share of wrong elements that are as predicted, those that are numbers; NaN looks like any other
        NaN.
        """
        predicted = self.predicted(sign, item.case)
        shares = [
            (agrees(p, item.outputs[n], item.expected[n], has_columns(item.case.tensors[n])) & np.isfinite(p))[
                item.wrong[n]
            ].mean()
            for n, p in predicted.items()
            if n in item.wrong
        ]
        return round(float(np.mean(shares)), 1) if shares else 0.0  # last digits differ between machines

    def in_numbers(self, sign: Writes, item: Wrong) -> bool:
        """Return whether some wrong element is as predicted, and a number that says something: finite, and not 0."""
        return any(
            bool(np.any(agrees(p, item.outputs[n], item.expected[n]) & item.wrong[n] & np.isfinite(p) & (p != 0)))
            for n, p in self.predicted(sign, item.case).items()
            if n in item.wrong
        )

    def refuted(self, sign: Writes, case: Case) -> bool:
        """Return whether a kernel with this idea would have gone wrong in a case that came out right."""
        if case.id not in self.right:
            self.right[case.id] = self.puzzle.expected(case)
        expected = self.right[case.id]
        return not all(
            gets_it_right(p, case.tensors[n].values.dtype, expected[n]) for n, p in self.predicted(sign, case).items()
        )

    def _goes_wrong(self, sign: Writes, item: Wrong) -> bool:
        predicted = self.predicted(sign, item.case)
        with np.errstate(all="ignore"):
            return any(
                wrong_elements(p.astype(item.outputs[n].dtype), item.expected[n]).any() for n, p in predicted.items()
            )
