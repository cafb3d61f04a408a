"""The results of a class in one puzzle: counts, and a few pieces of work as examples."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

from checker import catalog
from checker.course import ladder
from checker.course.verdict import Status
from checker.grading.export import harmless
from checker.grading.found import Work
from checker.grading.overview.seen import Seen
from checker.grading.settings import Settings

EXAMPLES = 2  # of each finding
Sentence = tuple[str, str]  # the id of a finding, and its title, for many titles may have one id
TENTHS = 10


@dataclass
class Tally:
    """One puzzle. Students are named here; whether a page shows their names is the page's business."""

    puzzle: str
    possible: int  # points
    students: int  # that are known
    handed_in: int = 0
    points: Counter[int] = field(default_factory=Counter)  # by tenth of the possible points; TENTHS: all of them
    proven: Counter[str] = field(default_factory=Counter)  # by property
    findings: Counter[Sentence] = field(default_factory=Counter)
    examples: dict[Sentence, dict[str, Work]] = field(default_factory=dict)  # by finding and program
    published: int = 0  # are the published solution
    not_begun: list[str] = field(default_factory=list)  # handed in nothing, or the stub
    forbidden: list[str] = field(default_factory=list)  # refused by the lint
    no_verdict: list[tuple[str, str]] = field(default_factory=list)  # (student, why): cannot be graded
    not_judged: int = 0

    @property
    def begun(self) -> int:
        """How many have begun, and were judged."""
        return self.points.total()

    def add(self, work: Work, seen: Seen) -> None:
        """Count one piece of work."""
        self.handed_in += 1
        if seen.status is None:
            if seen.problem:
                self.no_verdict.append((work.student, seen.problem))
            self.not_judged += not seen.problem
        elif seen.status is Status.NOT_STARTED:
            self.not_begun.append(work.student)
        else:
            self.points[TENTHS * seen.earned // self.possible if self.possible else TENTHS] += 1
            self.proven.update(seen.proven)
            self.published += seen.published
            if seen.status is Status.FORBIDDEN:
                self.forbidden.append(work.student)
            self.findings.update(seen.findings)
            for finding in seen.findings:
                examples = self.examples.setdefault(finding, {})
                if len(examples) < EXAMPLES:
                    examples.setdefault(seen.digest, work)

    def rates(self) -> Iterator[tuple[str, str, int]]:
        """(name, title, how many have it) of each property, the rarest first."""
        properties = catalog.load(self.puzzle).properties
        for one in sorted(properties, key=lambda one: self.proven[one.name]):
            yield one.name, one.title, self.proven[one.name]


def tallies(
    works: Sequence[Work], every: Iterable[Seen], course: Settings, students: Collection[str]
) -> dict[str, Tally]:
    """Return the counts by puzzle, in order. `students`: who is known besides those who have handed in."""
    everybody = {*students, *(work.student for work in works)}
    made = {one: Tally(one, course.possible(one), len(everybody)) for one in course.puzzles}
    handed: dict[str, set[str]] = {puzzle_id: set() for puzzle_id in made}
    for work, seen in zip(works, every, strict=True):
        made[work.puzzle].add(work, seen)
        handed[work.puzzle].add(work.student)
    for puzzle_id, tally in made.items():
        tally.not_begun = sorted([*tally.not_begun, *(everybody - handed[puzzle_id])])
    return made


def to_csv(every: Iterable[Tally], file: IO[str]) -> None:
    """A line for each count: puzzle, what was counted, its name, how many, of how many. No student's name."""
    out = csv.writer(file)
    out.writerow(("puzzle", "counted", "name", "count", "of"))
    for tally in every:
        counts: list[tuple[str, str, int, int]] = [
            ("submissions", "handed in", tally.handed_in, tally.students),
            ("submissions", "not begun", len(tally.not_begun), tally.students),
            ("submissions", "not judged yet", tally.not_judged, tally.handed_in),
            ("submissions", "cannot be graded", len(tally.no_verdict), tally.handed_in),
            ("submissions", "forbidden", len(tally.forbidden), tally.begun),
            ("submissions", "the published solution", tally.published, tally.begun),
            *(("points", label(tenth), tally.points[tenth], tally.begun) for tenth in range(TENTHS + 1)),
            *(("property", name, count, tally.begun) for name, _, count in tally.rates()),
            *(("finding", f"{id}: {title}", n, tally.begun) for (id, title), n in tally.findings.most_common()),
        ]
        for count in counts[: None if tally.begun else 4]:
            out.writerow([harmless(cell) for cell in (ladder.stems()[tally.puzzle], *count)])


def label(tenth: int) -> str:
    """Return the share of the points that a tenth stands for, in percent."""
    return "100 %" if tenth == TENTHS else f"{tenth * 10} to {tenth * 10 + 9} %"
