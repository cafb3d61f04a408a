"""What became of what was handed in, puzzle by puzzle: every form of results is written from this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker import catalog
from checker.course import ladder
from checker.course.clean import clean
from checker.course.verdict import Verdict
from checker.grading.cells import Handed
from checker.grading.chosen import Unresolved, chosen
from checker.grading.found import Work, in_folder, puzzle_of
from checker.report import words
from checker.report.detail import FULL, Detail, told
from checker.report.screen import plain
from checker.report.terminal import report

COLUMNS = 80
Judge = Callable[[str, Handed, str], Verdict]  # of a puzzle's ID, what was handed in, and its name


@dataclass(frozen=True)
class Credit:
    """What a property brought, or a whole puzzle of which nothing was judged."""

    puzzle: str  # its ID
    position: int  # among the puzzle's, from 1
    title: str
    passed: bool
    possible: int  # points
    why: str  # in a few words

    @property
    def earned(self) -> int:
        """Points."""
        return self.possible if self.passed else 0


@dataclass(frozen=True)
class Part:
    """What became of one puzzle."""

    puzzle: str  # its ID
    possible: int  # points
    verdict: Verdict | None = None
    problem: str = ""  # why there is no verdict: nothing was handed in, or it is open what
    detail: Detail = FULL  # how much of the verdict the student is told

    @property
    def told(self) -> Verdict | None:
        """The verdict as the student gets it."""
        return None if self.verdict is None else told(self.verdict, self.detail)

    @property
    def credits(self) -> tuple[Credit, ...]:
        """One for each property that was judged; if none was, one for all of them."""
        verdict = self.told
        if verdict is None or not verdict.properties:
            why = self.problem if verdict is None else words.plain(verdict)
            return (Credit(self.puzzle, 1, catalog.load(self.puzzle).title, False, self.possible, why),)
        return tuple(
            Credit(
                self.puzzle,
                position,
                one.title,
                verdict.counts(one),
                one.weight,
                words.why(one) if verdict.counts(one) or not one.passed else words.plain(verdict),
            )
            for position, one in enumerate(verdict.properties, start=1)
        )

    @property
    def text(self) -> str:
        """The report as a terminal without colours shows it."""
        verdict = self.told
        if verdict is None:
            return f"{catalog.load(self.puzzle).heading}\n{self.problem}"
        return plain(report(verdict), COLUMNS)


def works_in(folder: Path, puzzles: Sequence[str]) -> tuple[list[Work], list[Path]]:
    """What lies in a folder for each of some puzzles, by the names of files; and what is for other puzzles."""
    paths = in_folder(folder)
    named = {path: puzzle_of(path, puzzles) for path in paths}
    works = [Work("", one, tuple(path for path in paths if named[path] == one)) for one in puzzles]
    return works, [path.relative_to(folder) for path in paths if named[path] not in (None, *puzzles)]


def part_of(work: Work, possible: int, judge: Judge, detail: Detail = FULL) -> Part:
    """What becomes of a puzzle that is worth so many points. Raises what `judge` raises: then there is no score."""
    stem = ladder.stems()[work.puzzle]
    if not work.paths:
        problem = f"Nothing was handed in: no file is called {stem}.ipynb or {stem}.py."
        return Part(work.puzzle, possible, problem=problem)
    try:
        file, handed = chosen(work)
    except Unresolved as problem:
        return Part(work.puzzle, possible, problem=f"{problem}.")
    return Part(work.puzzle, possible, judge(work.puzzle, handed, clean(file.name, 200)), detail=detail)
