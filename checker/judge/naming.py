"""Names of mistakes: the misconceptions whose signs explain the observations.

The misconception that explains most is named first. Observations that it leaves are explained anew: two mistakes in
one kernel get two names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from checker.course.misconception import Misconception
from checker.course.verdict import Finding, Status, Where

MOST_NAMES = 3

S = TypeVar("S")  # a kind of sign
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Idea(Generic[S]):
    """A misconception, and those of its signs that are looked for."""

    misconception: Misconception
    signs: Sequence[S]

    def finding(self, status: Status, where: Where, examples: tuple[str, ...] = ()) -> Finding:
        """Return the finding on a kernel that has this idea."""
        m = self.misconception
        return Finding(m.id, status, m.title, m.explanation, m.hint, where, examples, question=m.question)


def ideas(
    misconceptions: Iterable[Misconception], kind: type[S], possible: Callable[[S], bool] = lambda _: True
) -> list[Idea[S]]:
    """Misconceptions that have possible signs of a kind, with these."""
    found = []
    for misconception in misconceptions:
        signs: list[S] = [sign for sign in misconception.signs if isinstance(sign, kind)]
        if signs := [sign for sign in signs if possible(sign)]:
            found.append(Idea(misconception, signs))
    return found


def cover(
    candidates: Sequence[Idea[S]], items: Iterable[T], recognises: Callable[[S, T], bool], most: int = MOST_NAMES
) -> tuple[list[tuple[Idea[S], list[T]]], list[T]]:
    """Ideas that together explain the most items, best first, each with what it explains; and what none explains."""
    chosen: list[tuple[Idea[S], list[T]]] = []
    rest = list(items)
    while rest and len(chosen) < most:
        explained = [[item for item in rest if any(recognises(s, item) for s in idea.signs)] for idea in candidates]
        best = max(range(len(candidates)), key=lambda n: len(explained[n]), default=None)
        if best is None or not explained[best]:
            break
        chosen.append((candidates[best], explained[best]))
        rest = [item for item in rest if not any(item is one for one in explained[best])]
    return chosen, rest


def explaining_all(
    candidates: Sequence[Idea[S]], items: Iterable[T], recognises: Callable[[S, T], bool]
) -> Idea[S] | None:
    """Return the first idea that explains every item, if there is any item."""
    named, rest = cover(candidates, items, recognises, most=1)
    return named[0][0] if named and not rest else None
