"""Findings that are not said yet, with the facts that decide which of them are."""

from __future__ import annotations

from dataclasses import dataclass

from checker.course.verdict import Finding


@dataclass(frozen=True, eq=False)
class Note:
    """A finding on one case."""

    finding: Finding

    @property
    def case(self) -> int | None:
        """The case's id."""
        return self.finding.where.case_id

    @property
    def conclusive(self) -> bool:
        """Whether it says what is wrong, and that may not follow from something else that is."""
        return self.finding.named


@dataclass(frozen=True, eq=False)
class Left(Note):
    """Elements of an output that no program writes; `shared`: several programs write some of the others."""

    shared: bool


@dataclass(frozen=True, eq=False)
class Loss(Note):
    """A loss of digits, in one of the ways of `records.WAYS`."""

    way: int
    of_sizes: bool = False  # of positions and sizes, not of values

    @property
    def conclusive(self) -> bool:
        """Not if it is about sizes: those also go wrong in a wrong address."""
        return super().conclusive and not self.of_sizes
