"""The results of a batch as CSV and JSON: sorted, and the same however it was graded."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

from checker.course import ladder
from checker.course.clean import ORDERS, clean
from checker.course.verdict import Verdict
from checker.grading.batch import Outcome, verdict_of
from checker.grading.settings import Settings
from checker.report.as_json import as_dict, finite

NO_SCORE = "no-score"  # instead of a verdict


class Row(NamedTuple):
    """The result of one submission, in the course's points."""

    outcome: Outcome
    verdict: Verdict | None
    possible: int


class Rows:
    """Outcomes with their verdicts, which are read as they are asked for: there may be too many to hold."""

    def __init__(self, outcomes: Sequence[Outcome], course: Settings):
        self.outcomes, self.course = outcomes, course

    def __iter__(self) -> Iterator[Row]:
        course = self.course
        return (Row(one, verdict_of(one, course), course.possible(one.work.puzzle)) for one in self.outcomes)


COLUMNS = ("student", "puzzle", "verdict", "earned", "possible", "findings", "sandbox", "fault", "file")
_LONG = 1000  # characters of a name, or of a reason
_FORMULA = re.compile(r"((?:^|[;|\t\n])\s*)(?=[=+\-@＝＋－＠])")  # the latter four where Japanese is written


def to_csv(rows: Iterable[Row], file: IO[str]) -> None:
    """One line for each submission. A cell never begins as a formula would."""
    out = csv.writer(file)
    out.writerow(COLUMNS)
    for row in rows:
        facts = _facts(row)
        out.writerow([harmless(facts[name]) for name in COLUMNS])


def to_properties(rows: Iterable[Row], file: IO[str]) -> None:
    """A line for each property of each submission that has a score, for a pivot table or a script."""
    out = csv.writer(file)
    out.writerow(("student", "puzzle", "property", "earned", "possible"))
    for row in rows:
        facts = _facts(row)
        for one in row.verdict.properties if row.verdict is not None else ():
            earned = 0 if row.verdict is None else row.verdict.worth(one)
            out.writerow([harmless(facts["student"]), facts["puzzle"], one.name, earned, one.weight])


def to_json(rows: Iterable[Row], file: IO[str]) -> None:
    """A list with an object for each submission; `result` is what `check --json` writes."""
    file.write("[")
    for number, row in enumerate(rows):
        facts = _facts(row) | {"result": None if row.verdict is None else as_dict(row.verdict)}
        file.write((",\n" if number else "\n") + json.dumps(finite(facts), ensure_ascii=False, allow_nan=False))
    file.write("\n]\n")


FORMS: dict[str, Callable[[Iterable[Row], IO[str]], None]] = {
    "csv": to_csv,
    "json": to_json,
    "properties": to_properties,
}


def _facts(row: Row) -> dict[str, Any]:
    outcome, verdict, possible = row
    return {
        "student": clean(outcome.work.student, _LONG),
        "puzzle": ladder.stems()[outcome.work.puzzle],
        "verdict": NO_SCORE if verdict is None else verdict.status.value,
        "earned": None if verdict is None else verdict.earned,
        "possible": possible,
        "findings": "" if verdict is None else " ".join(dict.fromkeys(one.id for one in verdict.findings)),
        "sandbox": "" if verdict is None else verdict.sandbox,
        "fault": clean(outcome.fault, _LONG) or ("the record is gone" if verdict is None else ""),
        "file": clean(outcome.files, _LONG),
    }


def harmless(value: Any) -> Any:
    """Return a text that a spreadsheet takes for no formula, and that turns no cell around: students choose names of
    files.

    Some begin a cell at a semicolon or a tab as well, whatever stands around it, or pass over blanks.
    """
    return _FORMULA.sub(r"\1'", ORDERS.sub("�", value)) if isinstance(value, str) else value
