"""A course's grades in a learning platform's export: whose line is whose, and what is filled in.

Only what is graded is filled in. Every other cell stays as it was: a student without a grade keeps what stands there,
because an empty cell would take a grade away, and what the platform itself has settled, such as `EX`, is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checker.grading.export import harmless
from checker.nbgrader.platform import KINDS, Keys, Platform, letters
from checker.nbgrader.sheet import Sheet, folded

# The status of a row in nbgrader's own export here: only of the first is the score final.
GRADED, NEEDS_GRADING, NOT_HANDED_IN = "graded", "needs grading", "not handed in"


@dataclass(frozen=True)
class Column:
    """A column with an assignment's grades."""

    assignment: str
    heading: str
    new: bool
    grades: int  # how many were filled in
    possible: float  # points in nbgrader
    there: str  # points that the platform says; nothing if it says none
    waiting: list[str]  # students whose work has no grade yet, and whose cells stay as they are
    absent: int  # how many students have not handed in: theirs stay, too

    @property
    def differs(self) -> bool:
        """Whether the platform has another number of points for it."""
        try:
            return bool(self.there) and float(self.there.replace(",", ".")) != self.possible
        except ValueError:
            return True


@dataclass(frozen=True)
class Filled:
    """An export with grades, and all that somebody has to look at."""

    sheet: Sheet
    columns: list[Column]
    unclear: dict[str, list[str]]  # assignment → headings, none of which was filled in
    missing: list[str]  # students of nbgrader who are in no line
    ambiguous: list[str]  # those for whom several lines fit, or one that fits another student as well
    nobody: list[str]  # lines of nobody in nbgrader
    twice: list[str]  # an assignment, and the students whose grades would be in one cell
    kept: list[str]  # an assignment, a student, and what was kept instead of the grade


def filled(sheet: Sheet, platform: Platform, grades: Sequence[Mapping[str, Any]]) -> Filled:
    """Fill in grades. `grades`: rows of `checker.nbgrader.gradebook`."""
    people = {row["student_id"]: _keys(row) for row in grades}
    students = list(platform.students(sheet))
    lines, ambiguous = matched(people, {n: platform.keys(sheet, sheet.rows[n]) for n in students})
    settled, matched_lines = {*lines, *ambiguous}, set(lines.values())
    scores: dict[str, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))  # by line and student
    possible = {row["assignment"]: float(row["max_score"]) for row in grades}
    for row in grades:
        if row["status"] == GRADED and row["student_id"] in lines:
            scores[row["assignment"]][lines[row["student_id"]]][row["student_id"]] = row["score"]
    places = platform.places(sheet.header, list(possible))
    new = [assignment for assignment in possible if not places[assignment] and assignment in scores]
    made = _with_columns(sheet, platform, {assignment: possible[assignment] for assignment in new}, students)
    end = platform.end(sheet.header)
    columns, twice, kept = [], [], []
    for assignment in possible:
        if assignment in new:
            place = end + new.index(assignment)
        elif len(places[assignment]) == 1:
            (place,) = places[assignment]
            place += len(new) * (place >= end)
        else:
            continue
        done = 0
        for n, of in scores[assignment].items():
            line = made.rows[n]
            before = line[place].strip() if place < len(line) else ""
            if len(of) > 1:
                twice.append(f"{assignment}: {' and '.join(of)}")
            elif before.upper() in platform.kept:
                kept.append(f"{assignment}: {next(iter(of))} ({before})")
            else:
                line += [""] * (place + 1 - len(line))
                line[place] = number(*of.values())
                done += 1
        points = platform.points(made)
        there = points[place].strip() if points is not None and place < len(points) else ""
        others = [row for row in grades if row["assignment"] == assignment and row["student_id"] in lines]
        waiting = [row["student_id"] for row in others if row["status"] == NEEDS_GRADING]
        absent = sum(row["status"] == NOT_HANDED_IN for row in others)
        heading = made.header[place]
        columns.append(
            Column(assignment, heading, assignment in new, done, possible[assignment], there, waiting, absent)
        )
    return Filled(
        made,
        columns,
        {one: [sheet.header[n] for n in several] for one, several in places.items() if len(several) > 1},
        [name for name in people if name not in settled],
        ambiguous,
        [platform.label(sheet, sheet.rows[n]) for n in students if n not in matched_lines],
        twice,
        kept,
    )


def number(score: float) -> str:
    """Return a score with at most two decimals, which is what both platforms show, and a point, which both read
    anywhere.
    """
    return f"{score:.2f}".rstrip("0").rstrip(".")


def matched(people: Mapping[str, Keys], lines: Mapping[int, Keys]) -> tuple[dict[str, int], list[str]]:
    """Return the line of each student, and the students who fit more than one, or not alone.

    What is most certain decides: if there are several lines by a student's login, no name is asked. Several names may
    be one student's if different things say so, such as a login and, for what came through the platform, its number.
    """
    found: dict[str, int] = {}
    ambiguous: list[str] = []
    for kind in KINDS:
        of_lines, of_people = _by_key(lines, kind), _by_key(people, kind)
        settled = {*found, *ambiguous}
        for name in people.keys() - settled:
            keys = people[name].get(kind, set()) & of_lines.keys()
            fitting = {n for key in keys for n in of_lines[key]}
            others = {other for key in keys for other in of_people[key]} - settled
            if len(fitting) == 1 and others == {name}:
                (found[name],) = fitting
            elif fitting:
                ambiguous.append(name)
    return found, sorted(ambiguous)


def _by_key(all_keys: Mapping[Any, Keys], kind: str) -> dict[str, set[Any]]:
    made: dict[str, set[Any]] = defaultdict(set)
    for one, keys in all_keys.items():
        for key in keys.get(kind, ()):
            made[key].add(one)
    made.pop("", None)
    return made


def _keys(row: Mapping[str, Any]) -> Keys:
    """By what nbgrader's student can be recognized."""
    name, whole = folded(row["student_id"]), folded(f"{row.get('first_name') or ''} {row.get('last_name') or ''}")
    prefix, _, last = name.rpartition("_")
    emails = {folded(row["email"] or ""), name}
    return {
        "login": {name},
        "number": {name},
        "own": {f"{letters(prefix)}_{last}"},
        "email": {one for one in emails if "@" in one},
        "name": {name, *([whole] if row.get("first_name") and row.get("last_name") else [])},
    }


def _with_columns(sheet: Sheet, platform: Platform, new: Mapping[str, float], students: Iterable[int]) -> Sheet:
    """Return a copy of a sheet with new columns, in which nobody has a grade yet."""
    at, every, points = platform.end(sheet.header), set(students), platform.points(sheet)

    def wider(row: list[str], cells: list[str]) -> list[str]:
        """Return a row that is not as long as the header gets empty cells only if a new one comes after them."""
        return [*row[:at], *[""] * (at - len(row)), *cells, *row[at:]] if row and cells else list(row)

    rows = []
    for n, row in enumerate(sheet.rows):
        none = platform.none if n in every else ""
        rows.append(wider(row, [number(one) if row is points else none for one in new.values()]))
    return replace(sheet, header=wider(sheet.header, [harmless(name) for name in new]), rows=rows)
