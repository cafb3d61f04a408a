"""Findings on their way to a verdict, with what decides which of them are said."""

from __future__ import annotations

from collections.abc import Iterable
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
class WrittenTwice(Note):
    """Two programs write the same element."""


@dataclass(frozen=True, eq=False)
class Left(Note):
    """Some elements of an output are left unwritten by all programs; `shared`: several write to the rest."""

    shared: bool


@dataclass(frozen=True, eq=False)
class Loss(Note):
    """Digits are lost, in one of the ways of `records.WAYS`."""

    way: int
    of_sizes: bool = False  # not of values, but of positions and sizes

    @property
    def conclusive(self) -> bool:
        """Not if it is about sizes: those also go wrong in a wrong address."""
        return super().conclusive and not self.of_sizes


def findings(notes: Iterable[Note]) -> list[Finding]:
    """Return what the notes say."""
    return [note.finding for note in notes]
