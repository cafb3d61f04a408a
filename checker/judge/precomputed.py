"""Expected values, computed while the sandbox runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

from checker.course.case import Case
from checker.course.puzzle import Expected, Puzzle


@contextmanager
def expected_ahead(puzzle: Puzzle, cases: Iterable[Case]) -> Iterator[Puzzle]:
    """Yield the puzzle with the expected values of these cases, whose computation begins at once."""
    with ThreadPoolExecutor(1) as pool:
        begun = {case: pool.submit(puzzle.expected, case) for case in cases}

        def expected(case: Case) -> Mapping[str, Expected]:
            return begun[case].result() if case in begun else puzzle.expected(case)

        try:
            yield replace(puzzle, expected=expected)
        finally:
            pool.shutdown(cancel_futures=True)
