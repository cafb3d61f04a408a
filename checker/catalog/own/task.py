"""What is asked of a function that somebody has written with a signature of their own: a puzzle that no lesson has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from checker.course.case import Case
from checker.course.claims import Claims
from checker.course.misconception import Misconception, Raises, Unwritten, Writes
from checker.course.puzzle import Budget, Puzzle

ENOUGH = Budget(loads=1 << 62, stores=1 << 62)


@dataclass(frozen=True)
class Task(Puzzle):
    """Everything the judge knows about it. There are no points, and no bounds on traffic."""

    name: str = ""
    claims: Claims = field(default_factory=Claims)
    basic: int = 0  # so many cases are run first; the others if these are right

    @property
    def stem(self) -> str:
        """What its cases are drawn for."""
        return f"own-{self.id}"

    @property
    def title(self) -> str:
        """What reports call it."""
        return self.name

    @property
    def pytorch(self) -> bool:
        """It is called, and launches what it likes."""
        return True

    def launched(self, name: str) -> tuple[str, ...]:
        """Nothing is asked of what it launches."""
        return ()


def unlimited(case: Case) -> Mapping[str, Budget]:
    """Any traffic will do."""
    return dict.fromkeys(case.tensors, ENOUGH)


def rounded_up(n: int, claims: Claims) -> int:
    """A length that the claims allow."""
    return -(-n // 128) * 128 if claims.whole_tiles else n


def of_signs(ideas: Sequence[Misconception], translated: Mapping[int, Sequence[object]]) -> Iterator[Misconception]:
    """The ideas that any of their signs was translated of, by the signs' identities, or that Triton's words tell."""
    for one in ideas:
        signs: list[object] = [sign for sign in one.signs if isinstance(sign, Raises)]
        for sign in one.signs:
            if isinstance(sign, Writes | Unwritten):
                signs += translated.get(id(sign), ())
        if signs:
            yield replace(one, signs=tuple(signs))  # type: ignore[arg-type]
