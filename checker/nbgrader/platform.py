"""Gradebooks that Canvas and Moodle export, and take back: the meaning of their columns and lines.

**Canvas**: *Grades → Export*, as its own source writes and reads it (`lib/gradebook_exporter.rb`,
`lib/gradebook_importer.rb`). `Student` (or `LastName`, `FirstName`), `ID`, `SIS User ID`, `SIS Login ID`, in some
accounts `Integration ID` and `Root Account`, `Section`, the instructor's own columns, assignments as `Title (number)`,
and totals, which are read-only. Below it are a line `Manual Posting`, if there is any, the line `    Points Possible`,
and students. Delimiters are commas or, by a setting of the user, semicolons; there is a byte order mark, by another.
At import, a line is found by `ID`, then by the SIS columns; an assignment by its number, then by its title, and what
has neither is new. *An empty cell where Canvas has a score removes the score*; `EX` excuses, and `N/A` stands where
nothing was assigned.

**Moodle**: *Grades → Export → Plain text file* (`grade/export/txt`), and *Import → CSV file* (`grade/import/csv`).
Names, `ID number` and `Email address`, by a site's settings others such as `Username`, then grade items as
`Assignment: Name (Real)`, or `(Percentage)`, `(Letter)`, `(Feedback)`, and `Last downloaded from this course`, by which
Moodle refuses to undo what was graded since. Delimiters are commas, tabs, colons or semicolons. The headings are in the
language of whoever exports: here it is English. At import, people say which column means what. *An empty cell, or `-`,
removes the grade*; in a new column, older versions took an empty cell for 0, and `-` is no grade in all of them.

So cells of students who have no grade here are left as they were in the export: then they change nothing.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import ClassVar

from checker.course import ladder
from checker.nbgrader.sheet import Sheet, folded

MOST_NAMES = 4  # of one person, in any order
KINDS = ("login", "number", "own", "email", "name")  # what tells who somebody is, the most certain first
Keys = dict[str, set[str]]  # by kind, in the form of `folded`


def letters(text: str) -> str:
    """Letters and digits of a name, as Canvas has them in the names of files."""
    return "".join(sign for sign in folded(text) if sign.isalnum())


class Platform(ABC):
    """A learning platform's gradebook format."""

    name: ClassVar[str]
    delimiters: ClassVar[str]
    needed: ClassVar[tuple[tuple[str, ...], ...]]  # columns, one of each
    columns: ClassVar[dict[str, tuple[str, ...]]]  # by kind
    shown: ClassVar[tuple[str, ...]]  # columns with the name of whoever a line is of
    none = ""  # no grade, in a new column
    kept: ClassVar[frozenset[str]] = frozenset()  # what a grade does not replace

    def lacks(self, header: Sequence[str]) -> list[str]:
        """Columns that such an export has, and this one has not."""
        there = {folded(heading) for heading in header}
        return [
            " or ".join(f'"{one}"' for one in some)
            for some in self.needed
            if not any(folded(one) in there for one in some)
        ]

    def label(self, sheet: Sheet, row: Sequence[str]) -> str:
        """Whoever a line is of, for people."""
        name, login = (
            " ".join(filter(None, (sheet.cell(row, column) for column in columns)))
            for columns in (self.shown, self.columns["login"])
        )
        return f"{name} ({login})" if name and login else name or login or ", ".join(filter(None, row))

    def keys(self, sheet: Sheet, row: Sequence[str]) -> Keys:
        """By what a student can be recognized in a line."""
        keys = {kind: {folded(sheet.cell(row, column)) for column in self.columns[kind]} for kind in self.columns}
        keys["email"] = {one for one in keys.get("email", set()) | keys["login"] if "@" in one}
        parts = (part.strip() for column in self.shown for part in sheet.cell(row, column).split(","))
        names = list(filter(None, parts))[:MOST_NAMES]
        orders = permutations(names) if len(names) > 1 else ()  # one name alone may be somebody else's login
        return keys | {"name": {folded(" ".join(some)) for some in orders}}  # as Moodle calls folders, too

    def places(self, header: Sequence[str], assignments: Sequence[str]) -> dict[str, list[int]]:
        """Return the columns of each assignment: none, one, or several of which nobody can say which is meant.

        By its whole name, then by the puzzle's ID and title, then by anything that begins with the ID. What is
        one assignment's is not another's as well.
        """
        found: dict[str, list[int]] = {}
        for named in (_whole, _titled, _begun):
            taken = {place for places in found.values() for place in places}
            for assignment in assignments:
                if assignment not in found and (is_it := named(assignment)) is not None:
                    fits = [
                        n
                        for n, heading in enumerate(header)
                        if n not in taken and any(is_it(title) for title in self.titles(heading, named is _whole))
                    ]
                    found |= {assignment: fits} if fits else {}
        return {assignment: found.get(assignment, []) for assignment in assignments}

    def points(self, sheet: Sheet) -> list[str] | None:
        """The line with the points that can be had, if there is one."""
        return None

    @abstractmethod
    def students(self, sheet: Sheet) -> Iterator[int]:
        """The lines that are of a student."""

    @abstractmethod
    def titles(self, heading: str, whole: bool) -> tuple[str, ...]:
        """Return what a column's assignment may be called; nothing if it takes no grades. `whole`: whole names only."""

    @abstractmethod
    def end(self, header: Sequence[str]) -> int:
        """Return where new columns belong: before those that are read-only."""


Named = Callable[[str], bool]


def _whole(assignment: str) -> Named | None:
    return lambda title: folded(title) == folded(assignment)


def _titled(assignment: str) -> Named | None:
    rung = ladder.RUNGS.get(ladder.ids().get(assignment, ""))
    return None if rung is None else lambda title: letters(title) == letters(rung.id + rung.title)


def _begun(assignment: str) -> Named | None:
    puzzle_id = ladder.ids().get(assignment)
    word = re.compile(rf"\s*{puzzle_id}(?![A-Za-z0-9])", re.IGNORECASE)
    return None if puzzle_id is None else lambda title: word.match(title) is not None


class Canvas(Platform):
    """Canvas's *Export*."""

    name = "Canvas"
    delimiters = ",;"
    needed = (("Student", "LastName"), ("ID",), ("Section",))
    columns: ClassVar[dict[str, tuple[str, ...]]] = {"login": ("SIS Login ID",), "number": ("SIS User ID",)}
    shown = ("Student", "LastName", "FirstName")
    kept = frozenset({"EX", "EXCUSED", "N/A"})
    _NUMBERED = re.compile(r"(.*\S)\s*\(\d+\)\s*", re.DOTALL)
    _TOTALS = re.compile(r"(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)")
    _NOBODY = re.compile(r"\s*((Muted|Manual Posting).*)?\s*", re.IGNORECASE | re.DOTALL)

    def keys(self, sheet: Sheet, row: Sequence[str]) -> Keys:
        """Return those of every platform, and `smithbob_12345`, as the names of Canvas's files begin."""
        name = letters("".join(sheet.cell(row, column) for column in self.shown))
        return super().keys(sheet, row) | {"own": {f"{name}_{sheet.cell(row, 'ID').strip()}"}}

    def points(self, sheet: Sheet) -> list[str] | None:
        """Return the line ` Points Possible`."""
        return next((row for row in sheet.rows if row and "Points Possible" in row[0]), None)

    def students(self, sheet: Sheet) -> Iterator[int]:
        """Yield all lines but that of the points, and that of how grades are posted."""
        points = self.points(sheet)
        for n, row in enumerate(sheet.rows):
            if row is not points and not all(self._NOBODY.fullmatch(cell) for cell in row):
                yield n

    def titles(self, heading: str, whole: bool) -> tuple[str, ...]:
        """Without the number; what has none is an assignment only under its whole name."""
        if self._TOTALS.search(heading):
            return ()
        numbered = self._NUMBERED.fullmatch(heading)
        return (numbered[1],) if numbered else (heading,) if whole else ()

    def end(self, header: Sequence[str]) -> int:
        """After the last assignment, or after *Section* and the instructor's own columns: before the totals."""
        last = max(n for n, heading in enumerate(header) if self.titles(heading, False) or folded(heading) == "section")
        totals = (n for n, heading in enumerate(header) if n > last and self._TOTALS.search(heading))
        return next(totals, len(header))


class Moodle(Platform):
    """Moodle's *Plain text file*."""

    name = "Moodle"
    delimiters = ",\t;:"
    needed = (("Email address", "ID number", "Username"), ("Last downloaded from this course",))
    columns: ClassVar[dict[str, tuple[str, ...]]] = {
        "login": ("Username",),
        "number": ("ID number",),
        "email": ("Email address",),
    }
    shown = ("First name", "Surname", "Last name")
    none = "-"
    _ITEM = re.compile(r"(.*?)\s*(\((Real|Percentage|Letter|Feedback)\))?\s*", re.DOTALL)

    def students(self, sheet: Sheet) -> Iterator[int]:
        """Return all lines that are not blank."""
        return (n for n, row in enumerate(sheet.rows) if any(cell.strip() for cell in row))

    def titles(self, heading: str, whole: bool) -> tuple[str, ...]:
        """With and without the kind of activity. Only a column of real grades counts, and no total."""
        item = self._ITEM.fullmatch(heading)
        assert item is not None  # whatever the heading is
        name = item[1]
        if item[3] not in (None, "Real") or name.endswith(" total"):
            return ()
        return tuple(filter(None, (name, name.partition(": ")[2])))

    def end(self, header: Sequence[str]) -> int:
        """Before *Last downloaded from this course*."""
        return next(n for n, heading in enumerate(header) if folded(heading) == folded(self.needed[1][0]))


PLATFORMS: dict[str, Platform] = {"canvas": Canvas(), "moodle": Moodle()}
