"""Cases on both sides of the numbers in a submission: which are wanted first, and how many can be afforded.

Each size that a kernel can see takes a suspicious value, both its neighbours, and something far beyond. Such cases are
cheap: if one size is large, the others are small, and of many programs a few are run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from checker.course.puzzle import Case, Suspect, Suspects

MOST_CASES = 60
MOST_MILLISECONDS = 2000.0  # of all cases together, on the interpreter, as estimated
MOST_ELEMENTS = 1_500_000  # of the tensors of one case
MOST_TOUCHED = 900_000  # elements that the programs of one case load and store: what can be waited for
LEAST_DEPTH = 3
LEAST_EXPONENT = 24  # what is further below the maximum adds nothing that fp32 could show, to any sum here
LIKELY = 9  # cases around a number that come first
FEW = 24  # programs of which all are run
WHY = "Your kernel contains {}, so it was also run with what lies around that, and beyond."


@dataclass(frozen=True)
class Wanted:
    """A case that could be made: what it costs, and how to make it from its name."""

    what: object  # two wishes for the same launch are one
    milliseconds: float
    elements: int
    touched: int
    make: Callable[[str], Case]
    words: str = "around"  # before the number


def chosen(wanted: Iterable[tuple[Suspect, Wanted]]) -> list[Case]:
    """As many cases as can be afforded, those wanted first before others."""
    cases: dict[str, Case] = {}
    seen: set[object] = set()
    spent = 0.0
    for suspect, one in wanted:
        feasible = one.elements <= MOST_ELEMENTS and one.touched <= MOST_TOUCHED
        if one.what in seen or not feasible or spent + one.milliseconds > MOST_MILLISECONDS or len(cases) == MOST_CASES:
            continue
        seen.add(one.what)
        spent += one.milliseconds
        made = one.make(f"{one.words} {suspect.text}")
        cases.setdefault(made.name, replace(made, telling=False, once=True, why=WHY.format(suspect.text)))
    return list(cases.values())


def in_order(
    suspects: Suspects,
    around: Callable[[Suspect], Iterator[Wanted]],
    values: Iterable[tuple[Suspect, Wanted]],
    pair: Callable[[Suspect, Suspect], Wanted],
    far: Iterable[Wanted],
    small_blocks: Iterable[Wanted],
) -> Iterator[tuple[Suspect, Wanted]]:
    """What is wanted because of some numbers, the most likely first; `around` gives it for one number in this order."""
    written = [(s, [*around(s)]) for s in suspects.sizes if not s.computed]
    computed = [(s, [*around(s)]) for s in suspects.sizes if s.computed]
    yield from ((s, one) for s, some in written for one in some[:LIKELY])
    yield from ((s, replace(one, words="far beyond")) for s in suspects.sizes[:1] for one in far)
    yield from values
    yield from ((s, one) for s, some in computed for one in some[:2])
    yield from ((a, pair(a, b)) for a, _ in written for b, _ in written if a != b)
    yield from _in_turn([[(s, one) for one in some[LIKELY:]] for s, some in written])
    yield from ((s, replace(one, words="far beyond")) for s in suspects.sizes[:1] for one in small_blocks)
    yield from _in_turn([[(s, one) for one in some[2:]] for s, some in computed])


def _in_turn(lists: list[list[tuple[Suspect, Wanted]]]) -> Iterator[tuple[Suspect, Wanted]]:
    """The first of each, then the second of each, and so on."""
    for some in itertools.zip_longest(*lists):
        yield from (one for one in some if one is not None)


def some(count: int, c: int) -> tuple[int, ...]:
    """Numbers of programs to run, of `count`: the first and the last, and those around c; () if all are few."""
    if count <= FEW:
        return ()
    return tuple(sorted({n for n in (0, 1, c - 2, c - 1, c, c + 1, 2 * c, count - 2, count - 1) if 0 <= n < count}))


def gap(stride: int, extent: int, far: int = 1 << 60) -> int:
    """What lies between rows of `extent` elements to give a stride, or some elements if that is too small a stride.

    From `far` on, a launch takes the stride itself.
    """
    if stride >= far:
        return stride
    return stride - extent if stride >= extent else 24


def power(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << max(0, n - 1).bit_length()


def powers_around(c: int, least: int, most: int) -> list[int]:
    """Powers of two on both sides of c, and c if it is one, as blocks can have them."""
    above = power(c)
    return sorted({min(max(size, least), most) for size in (above // 2, above, 2 * above)})
