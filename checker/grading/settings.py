"""`course.toml`: what an instructor decides about a course, and where that is not said, what holds.

Points are for the instructor to change at any time: they are applied when a report is made, so nothing is run again.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from checker import catalog
from checker.course import ladder
from checker.course.status import Misuse
from checker.course.verdict import Verdict
from checker.report.detail import FULL, Detail

_T = TypeVar("_T")
NAME = "course.toml"
MOST_ATTEMPTS = 50  # of a student that are judged: whoever hands in thousands makes nobody wait
SEVEN = ("p1", "p2", "p3", "p4", "p5", "p6", "p7")  # what a course has whose file is older than the line `puzzles`


def _kind(of: Any, description: str, **limits: Any) -> Any:
    """Return what a value of the file may be; the description ends the sentence on one that does not fit."""
    return Annotated[of, Meta(description=description, **limits)]


_ID = _kind(str, "use letters, digits, `-`, `_` and `.` only, in quotes", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
_SLUG = _kind(
    str,
    "use at most 50 small letters, digits and `-` between them, in quotes",
    pattern=r"^[a-z0-9]+(-[a-z0-9]+)*\Z",
    max_length=50,  # of a cell's id there may be 64
)
_Markdown = Annotated[
    str,
    Meta(
        description="use a text, in quotes, without the lines that nbgrader takes for marks, such as BEGIN SOLUTION",
        pattern=r"(?s)^(?!.*(BEGIN|END) (SOLUTION|MARK SCHEME|HIDDEN TESTS)).*\S",
    ),
]
_RUBRIC = _kind(list[_Markdown], 'use texts, such as ["names the maximum"], without nbgrader\'s marks')
_TEXT = _kind(str, "use a text, in quotes")
_AMOUNT = _kind(float, "use a number that is not negative", ge=0, lt=1e6)
MOST_DAYS = 10_000  # of an extension
_DAYS = _kind(float, f"use a number of days from 0 to less than {MOST_DAYS}", ge=0, lt=MOST_DAYS)
_FACTOR = _kind(float, "use a factor from 1 to 100: with 1.5 there is half as much time again", ge=1, le=100)
_MOMENT = _kind(datetime, "use a time with its offset, such as 2030-05-01T12:00:00Z", tz=True)
_WHOLE = _kind(int, "use a whole number that is not negative", ge=0, lt=1_000_000)
_COUNTS = _kind(Literal["best", "newest"], "use 'best' or 'newest'")
_DETAIL = _kind(Detail, "use 'full', 'finding' or 'points'")
_POLICY = _kind(Literal["none", "zero", "per day"], "use 'none', 'zero' or 'per day'")
_SANDBOX = _kind(Literal["required", "none"], "use 'required' or 'none'")
_PUZZLES = _kind(list[str | int], 'name the puzzles of the course, such as ["p1", "p2"]', min_length=1)
_TABLE = _kind(dict[str, Any], 'it must hold lines such as "name" = 10')
_QUESTIONS = _kind(list[dict[str, Any]], "write [[question.ASSIGNMENT]], in double brackets, above each question")
_PERCENT = _kind(int, "use a whole number from 0 to 100", ge=0, le=100)
_FILE = {"id": _ID, "puzzles": _PUZZLES, "key_file": _TEXT, "sandbox": _SANDBOX, "does_not_compile": _PERCENT}
_TABLES = ("late", "extension", "accommodations", "handed_out", "attempts", "points", "question", "feedback")
_FILE |= dict.fromkeys(_TABLES, _TABLE)
_LATE = {"policy": _POLICY, "percent_per_day": _AMOUNT, "most_percent": _AMOUNT, "grace_minutes": _AMOUNT}
_QUESTION = {"name": _SLUG, "text": _Markdown, "points": _WHOLE, "rubric": _RUBRIC}


class SettingsError(Exception):
    """The course's settings cannot be used: a sentence for the instructor."""


@dataclass(frozen=True)
class Question:
    """A question that students answer in writing, and people grade."""

    name: str  # a slug
    text: str  # Markdown
    points: int
    rubric: tuple[str, ...] = ()  # what graders look for; students do not see it


@dataclass(frozen=True)
class Late:
    """The loss of a submission after its deadline, which nbgrader knows."""

    policy: str = "none"  # none; zero: everything; per day: a share of its score for each day that has begun
    percent_per_day: float = 10.0
    most_percent: float = 100.0
    grace_minutes: float = 0.0

    def days(self, seconds_late: float) -> int:
        """Return how many days have begun since the deadline and its grace."""
        return max(0, math.ceil((seconds_late - 60 * self.grace_minutes) / 86400))

    def percent(self, seconds_late: float) -> float:
        """Return the share of a score that is lost, never more than there is."""
        days = self.days(seconds_late)
        if self.policy == "none" or not days:
            return 0.0
        return 100.0 if self.policy == "zero" else min(days * self.percent_per_day, self.most_percent, 100.0)

    def penalty(self, score: float, seconds_late: float) -> float:
        """Return the points that a score loses."""
        return score * self.percent(seconds_late) / 100


@dataclass(frozen=True)
class Settings:
    """A course's folder and what its `course.toml` says."""

    folder: Path
    id: str = "flash-puzzles"
    puzzles: tuple[str, ...] = SEVEN  # IDs, as they stand on the ladder
    key_file: str = ""  # nothing: see `key_path`
    sandbox: str = "required"  # or none
    does_not_compile: int = 0  # percent of the points that count all the same
    late: Late = field(default_factory=Late)
    extension: dict[str, dict[str, float]] = field(default_factory=dict)  # days, by assignment and student
    accommodations: dict[str, float] = field(default_factory=dict)  # by student: the time of all, times this
    handed_out: dict[str, datetime] = field(default_factory=dict)  # when first, by assignment
    attempts: dict[str, int] = field(default_factory=dict)  # by assignment; `allowed`: of all others
    counts: str = "best"  # of several attempts; or newest
    points: dict[str, dict[str, int]] = field(default_factory=dict)  # by assignment and property
    question: dict[str, tuple[Question, ...]] = field(default_factory=dict)  # by assignment
    feedback: dict[str, Detail] = field(default_factory=dict)  # by assignment; `detail`: of all others
    regrade: str = ""  # what students read about asking for one; nothing: a sentence of ours

    @property
    def key_path(self) -> Path:
        """Where the course's key lies: not in the course's folder, which is shared, copied and released from."""
        if self.key_file:
            return expanded(self.key_file)
        home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
        return expanded(home) / "flash-puzzles" / f"{self.id}.key"

    @property
    def caged(self) -> bool:
        """Whether to grade only where bubblewrap holds what is handed in."""
        return self.sandbox == "required"

    @property
    def records(self) -> Path:
        """The folder of results, one file each."""
        return self.folder / "records"

    def allowed_attempts(self, assignment: str) -> int:
        """Return how many submissions count; 0: any number."""
        return self.attempts.get(assignment, self.attempts.get("allowed", 0))

    def counting(self, assignment: str, attempts: Sequence[_T]) -> Sequence[_T]:
        """Return those of a student's attempts, the oldest first, that count: of too many only the newest are read."""
        allowed = self.allowed_attempts(assignment)
        return (attempts[:allowed] if allowed else attempts)[-MOST_ATTEMPTS:]

    def more_time(self, assignment: str, student: str, due: datetime | None) -> timedelta:
        """Return how much later than `due`, the deadline of all in UTC, a student's own one is."""
        more, out = 86400 * self.extension.get(assignment, {}).get(student, 0.0), self.handed_out.get(assignment)
        if due is not None and out is not None:
            given = (due.replace(tzinfo=timezone.utc) - out).total_seconds()
            more += (self.accommodations.get(student, 1.0) - 1) * max(0.0, given)
        return timedelta(seconds=more)

    def penalty(self, assignment: str, student: str, score: float, seconds_late: float, due: datetime | None) -> float:
        """Return the points that a score loses. `seconds_late`: after the deadline of all, `due`, which is in UTC."""
        return self.late.penalty(score, seconds_late - self.more_time(assignment, student, due).total_seconds())

    def questions(self, puzzle_id: str) -> tuple[Question, ...]:
        """Return the written questions of a puzzle's assignment."""
        return self.question.get(ladder.stems()[puzzle_id], ())

    def detail(self, puzzle_id: str) -> Detail:
        """Return how much of a verdict on a puzzle students are told."""
        return self.feedback.get(ladder.stems()[puzzle_id], self.feedback.get("detail", FULL))

    def points_of(self, puzzle_id: str) -> dict[str, int]:
        """Return the points of each property of a puzzle; the catalog's weights where nothing else is said."""
        puzzle = catalog.load(puzzle_id)
        said = self.points.get(puzzle.stem, {})
        return {one.name: said.get(one.name, one.weight) for one in puzzle.properties}

    def possible(self, puzzle_id: str) -> int:
        """Return the points of all properties of a puzzle: what the judge gives."""
        return sum(self.points_of(puzzle_id).values())

    def weighed(self, verdict: Verdict) -> Verdict:
        """Return a verdict with this course's points."""
        if verdict.puzzle is None:
            return verdict
        return replace(verdict.weighed(self.points_of(verdict.puzzle)), uncompiled=self.does_not_compile)


def expanded(path: str) -> Path:
    """Return a path in which ~ stands for a home folder. Raises SettingsError if nobody says where that is."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise SettingsError(f"{path} is in a home folder that is not known here: say in HOME where it is.") from error


def read(folder: Path) -> Settings:
    """Return the settings of the course in a folder. Raises SettingsError with a sentence."""
    path = folder / NAME
    try:
        return checked(path.read_text(encoding="utf-8"), folder)
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}. `make course` writes one.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}.") from error


def checked(text: str, folder: Path) -> Settings:
    """Return the settings that a text says, of the course in a folder. Raises SettingsError with a sentence."""
    path = folder / NAME
    try:
        return Settings(folder, **_said(msgspec.toml.decode(text)))
    except msgspec.DecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}.") from error
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


@cache
def read_once(folder: Path) -> Settings:
    """Return the same, for a process that works for one course. Raises SettingsError."""
    return read(folder)


def _said(data: dict[str, Any]) -> dict[str, Any]:
    """Return what a file says, as the fields of `Settings`."""
    said = _table("the file", data, _FILE)
    ids = ladder.ids()
    if "puzzles" in said:
        said["puzzles"] = ids_of(said["puzzles"])
    said["late"] = Late(**_table("[late]", said.get("late", {}), _LATE))
    extension = _table("[extension]", said.get("extension", {}), dict.fromkeys(ids, _TABLE))
    said["extension"] = {
        stem: _table(f"[extension.{stem}]", given, dict.fromkeys(given, _DAYS)) for stem, given in extension.items()
    }
    for name, kind in (("accommodations", _FACTOR), ("handed_out", _MOMENT)):
        given = said.get(name, {})
        said[name] = _table(f"[{name}]", given, dict.fromkeys(given, kind))
    of_attempts = dict.fromkeys(["allowed", *ids], _WHOLE) | {"counts": _COUNTS}
    said["attempts"] = _table("[attempts]", said.get("attempts", {}), of_attempts)
    said["counts"] = said["attempts"].pop("counts", Settings.counts)
    points = _table("[points]", said.get("points", {}), dict.fromkeys(ids, _TABLE))
    said["points"] = {
        stem: _table(f"[points.{stem}]", given, {p.name: _WHOLE for p in catalog.load(ids[stem]).properties})
        for stem, given in points.items()
    }
    questions = _table("[question]", said.get("question", {}), dict.fromkeys(ids, _QUESTIONS))
    said["question"] = {stem: tuple(_questions(stem, given)) for stem, given in questions.items()}
    of_feedback = dict.fromkeys(["detail", *ids], _DETAIL) | {"regrade": _TEXT}
    said["feedback"] = _table("[feedback]", said.get("feedback", {}), of_feedback)
    said["regrade"] = said["feedback"].pop("regrade", "")
    return said


def _questions(stem: str, given: list[dict[str, Any]]) -> Iterator[Question]:
    """Yield the questions of an assignment. Raises SettingsError."""
    where, names = f"[[question.{stem}]]", set()
    for number, table in enumerate(given, start=1):
        said = {"name": f"question-{number}", **_table(where, table, _QUESTION)}
        if missing := [name for name in ("text", "points") if name not in said]:
            raise SettingsError(f"{where}, number {number}, has no {missing[0]}.")
        if said["name"] in names:
            raise SettingsError(f"{where} has two questions called {said['name']!r}: each needs a name of its own.")
        names.add(said["name"])
        yield Question(**said | {"rubric": tuple(said.get("rubric", ()))})


def ids_of(named: list[str | int]) -> tuple[str, ...]:
    """Return the puzzles that are meant, each once, in the order of the course. Raises SettingsError."""
    try:
        ids = sorted({ladder.id_of(one) for one in named}, key=ladder.place_of)
    except Misuse as problem:
        raise SettingsError(str(problem)) from problem
    if practised := [id for id in ids if id not in ladder.graded()]:
        raise SettingsError(
            f"Puzzle {practised[0]} runs the learner's own kernels of other puzzles: it is for practice, and has no "
            "points."
        )
    return tuple(ids)


def _table(where: str, data: dict[str, Any], kinds: dict[str, Any]) -> dict[str, Any]:
    """Return a table of the file, each value as its kind. Raises SettingsError.

    A misspelt name would be passed over in silence, and cost somebody points: so it is refused.
    """
    made = {}
    for name, value in data.items():
        if name not in kinds:
            raise SettingsError(f"{where} says {name!r}, which is not known. Known: {', '.join(sorted(kinds))}.")
        try:
            made[name] = msgspec.convert(value, kinds[name])
        except msgspec.ValidationError as error:
            raise SettingsError(f"{name} = {value!r}: {kinds[name].__metadata__[0].description}.") from error
    return made


def check_id(id: str) -> None:
    """Raises SettingsError unless this can be a course's id: it names folders and files."""
    _table("the file", {"id": id}, _FILE)


def template(id: str) -> str:
    """Return a new course's `course.toml`: everything that can be said in it, as it holds by default."""
    head = Path(__file__).with_name(NAME).read_text(encoding="utf-8")
    head = head.format(id=id, puzzles=json.dumps(ladder.graded()))
    return head + "".join(_template_points(puzzle_id) for puzzle_id in ladder.graded())


def _template_points(puzzle_id: str) -> str:
    puzzle = catalog.load(puzzle_id)
    width = 2 + max(len(one.name) for one in puzzle.properties)
    lines = [f"{chr(34) + one.name + chr(34):{width}} = {one.weight:<3} # {one.title}" for one in puzzle.properties]
    return f"\n[points.{puzzle.stem}]\n" + "\n".join(lines) + "\n"
