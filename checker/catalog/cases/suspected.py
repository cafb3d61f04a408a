"""Cases on both sides of the numbers in a submission: which are wanted first, and how many can be afforded.

Each size that a kernel can see takes a suspicious value, both its neighbours, and something far beyond. Such cases are
cheap: if one size is large, the others are small, and of many programs a few are run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from checker.course.case import Case
from checker.course.puzzle import Suspect, Suspects

MOST_CASES = 60
MOST_MILLISECONDS = 2000.0  # of all cases together, on the interpreter, as estimated
MOST_ELEMENTS = 1_500_000  # of the tensors of one case
MOST_TOUCHED = 900_000  # elements that the programs of one case load and store: what can be waited for
LEAST_DEPTH = 3
LEAST_EXPONENT = 24  # what is further below the maximum adds nothing that fp32 could show, to any sum here
LIKELY = 9  # cases around a number that come first
FEW = 24  # programs of which all are run
WHY = "Your code contains {}, so it was also run with what lies around that, and beyond."


Sizes = TypeVar("Sizes")


@dataclass(frozen=True)
class Wanted:
    """A case that could be made: what it costs, and how to make it from its name."""

    what: object  # two wishes for the same launch are one
    milliseconds: float
    elements: int
    touched: int
    make: Callable[[str], Case]


@dataclass(frozen=True)
class Around(Generic[Sizes]):
    """The launches that a family wants around numbers, by their sizes, the most likely to tell something first."""

    size: Callable[[int, bool], Iterable[Sizes]]  # a number in all places; or in a few, as it is computed
    alone: Callable[[int], Iterable[Sizes]]  # a number as it is, in one place at a time, and 1 in the others
    value: Callable[[float], Iterable[Sizes]]  # data on both sides of a number
    pair: Callable[[int, int], Sizes]  # two numbers in two places
    far: Sequence[Sizes]  # beyond any likely number
    small_blocks: Sequence[Sizes]  # the same in number of blocks

    def cases(self, suspects: Suspects, wanted: Callable[[Sizes], Wanted]) -> list[Case]:
        """As many cases as can be afforded, those wanted first before others."""
        cases: dict[str, Case] = {}
        seen: set[object] = set()
        spent = 0.0
        for suspect, words, sizes in self._in_order(suspects):
            one = wanted(sizes)
            affordable = spent + one.milliseconds <= MOST_MILLISECONDS and len(cases) < MOST_CASES
            if one.what in seen or one.elements > MOST_ELEMENTS or one.touched > MOST_TOUCHED or not affordable:
                continue
            seen.add(one.what)
            spent += one.milliseconds
            made = one.make(f"{words} {suspect.text}")
            cases.setdefault(made.name, replace(made, informative=False, once=True, why=WHY.format(suspect.text)))
        return list(cases.values())

    def _in_order(self, suspects: Suspects) -> Iterator[tuple[Suspect, str, Sizes]]:
        """Because of which number, the word before it, and the sizes."""
        written = [(s, [*self.size(int(s.value), False)]) for s in suspects.sizes if not s.computed]
        computed = [(s, [*self.size(int(s.value), True)]) for s in suspects.sizes if s.computed]
        solved = [(s, self.alone(int(s.value))) for s in suspects.sizes if s.solved]
        first = suspects.sizes[:1]
        yield from _in_turn([[(s, "around", one) for one in some] for s, some in solved])
        yield from _in_turn([[(s, "around", one) for one in some[:LIKELY]] for s, some in written])
        yield from ((s, "far beyond", one) for s in first for one in self.far)
        yield from ((s, "around", one) for s in suspects.values for one in self.value(s.value))
        yield from _in_turn([[(s, "around", one) for one in some[:2]] for s, some in computed])
        yield from (
            (a, "around", self.pair(int(a.value), int(b.value))) for a, _ in written for b, _ in written if a != b
        )
        yield from _in_turn([[(s, "around", one) for one in some[LIKELY:]] for s, some in written])
        yield from ((s, "far beyond", one) for s in first for one in self.small_blocks)
        yield from _in_turn([[(s, "around", one) for one in some[2:]] for s, some in computed])


def _in_turn(lists: list[list[tuple[Suspect, str, Sizes]]]) -> Iterator[tuple[Suspect, str, Sizes]]:
    """Yield the first of each, then the second of each, and so on."""
    for some in itertools.zip_longest(*lists):
        yield from (one for one in some if one is not None)


def some(count: int, c: int) -> tuple[int, ...]:
    """Numbers of programs to run, of `count`: the first and the last, and those around c; () if all are few."""
    if count <= FEW:
        return ()
    return tuple(sorted({n for n in (0, 1, c - 2, c - 1, c, c + 1, 2 * c, count - 2, count - 1) if 0 <= n < count}))


def gap(stride: int, extent: int, far: int = 1 << 60) -> int:
    """Return what lies between rows of `extent` elements to give a stride, or some elements if that is too small a
    stride.

    From `far` on, a launch takes the stride itself.
    """
    if stride >= far:
        return stride
    return stride - extent if stride >= extent else 24


def power(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 << max(0, n - 1).bit_length()


def powers_around(c: int, least: int, most: int) -> list[int]:
    """Powers of two on both sides of c, and c if it is one, as blocks can have them."""
    above = power(c)
    return sorted({min(max(size, least), most) for size in (above // 2, above, 2 * above)})
