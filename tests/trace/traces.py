"""Traces of kernels of this repository, and what the tests read off them."""

from __future__ import annotations

from functools import cache

import pytest

from checker.check import Conditions, check
from checker.submission.read import from_cells
from checker.trace import run, words
from checker.trace.result import Pairs, Trace
from tests.conftest import STEMS_OF_KERNELS
from tests.kernels import named

STEMS = STEMS_OF_KERNELS
every_puzzle = pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
BESIDE_DIAGONAL = frozenset((i, j) for i in range(4) for j in range(i + 1, 4))


def traced(puzzle_id: str, text: str, name: str = "kernel.py") -> Trace:
    submission = from_cells([("code", text)], name, numbered=False)
    return run.traced(check(puzzle_id, submission, Conditions(targets=())))


@cache
def of_kernel(name: str) -> Trace:
    kernel = named(name)
    return traced(kernel.puzzle, kernel.text)


def solution(puzzle_id: str) -> Trace:
    return of_kernel(STEMS[puzzle_id])


def wrong(name: str) -> Trace:
    return of_kernel(name)


def pairs_of(trace: Trace, kernel: int = 0) -> Pairs:
    pairs = trace.launches[kernel].pairs
    assert pairs is not None
    return pairs


def said(trace: Trace) -> str:
    return "\n".join(words.summary(trace))


def trail(pairs: Pairs) -> dict[int, list[tuple[int, int]]]:
    """Program → the pairs that it visited, in order."""
    return {p: [(v.query_tile, v.key_tile) for v in pairs.of_program(p)] for p in pairs.programs}
