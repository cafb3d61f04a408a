"""`course.toml`: what an instructor decides about a course, and where that is not said, what holds.

Points are for the instructor to change at any time: they are applied when a report is made, so nothing is run again.
"""

from __future__ import annotations

import math
import os
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from checker import catalog
from checker.course import ladder
from checker.course.verdict import Verdict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # part of the lab layer

NAME = "course.toml"
POLICIES = ("none", "zero", "per day")
SANDBOXES = ("required", "none")


class SettingsError(Exception):
    """The course's settings cannot be used: a sentence for the instructor."""


@dataclass(frozen=True)
class Late:
    """What a submission loses that comes after its deadline, which nbgrader knows."""

    policy: str = "none"  # none; zero: everything; per day: a share of its score for each day that has begun
    percent_per_day: float = 10.0
    most_percent: float = 100.0
    grace_minutes: float = 0.0

    def penalty(self, score: float, seconds_late: float) -> float:
        """The points that a score loses."""
        late = seconds_late - 60 * self.grace_minutes
        if self.policy == "none" or late <= 0:
            return 0.0
        percent = 100.0 if self.policy == "zero" else math.ceil(late / 86400) * self.percent_per_day
        most = self.most_percent if self.policy == "per day" else 100.0
        return score * min(percent, most, 100.0) / 100  # never more than there is


@dataclass(frozen=True)
class Settings:
    """A course's folder and what its `course.toml` says."""

    folder: Path
    id: str = "flash-puzzles"
    key_file: str = ""  # nothing: see `key_path`
    caged: bool = True  # grade only where bubblewrap holds what is handed in
    late: Late = field(default_factory=Late)
    attempts: int = 0  # that count; 0: any number
    attempts_of: dict[str, int] = field(default_factory=dict)  # by assignment, where it differs
    points: dict[str, dict[str, int]] = field(default_factory=dict)  # by assignment and property

    @property
    def key_path(self) -> Path:
        """Where the course's key lies: not in the course's folder, which is shared, copied and released from."""
        if self.key_file:
            return Path(self.key_file).expanduser()
        home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
        return Path(home).expanduser() / "flash-puzzles" / f"{self.id}.key"

    @property
    def records(self) -> Path:
        """The folder of results, one file each."""
        return self.folder / "records"

    def allowed_attempts(self, assignment: str) -> int:
        """How many submissions count; 0: any number."""
        return self.attempts_of.get(assignment, self.attempts)

    def points_of(self, number: int) -> dict[str, int]:
        """The points of each property of a puzzle; the catalog's weights where nothing else is said."""
        puzzle = catalog.load(number)
        said = self.points.get(puzzle.stem, {})
        return {one.name: said.get(one.name, one.weight) for one in puzzle.properties}

    def weighed(self, verdict: Verdict) -> Verdict:
        """A verdict with this course's points."""
        if verdict.puzzle is None:
            return verdict
        points = self.points_of(verdict.puzzle)
        properties = tuple(replace(one, weight=points.get(one.name, one.weight)) for one in verdict.properties)
        return replace(verdict, properties=properties)


def read(folder: Path) -> Settings:
    """The settings of the course in a folder. Raises SettingsError with a sentence."""
    path = folder / NAME
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}. `make course` writes one.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}.") from error
    try:
        return _settings(folder, data)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def _settings(folder: Path, data: dict[str, Any]) -> Settings:
    _only(data, "the file", {"id", "key_file", "sandbox", "late", "attempts", "points"})
    id = _value(data, "id", str, Settings.id)
    check_id(id)
    attempts = dict(_value(data, "attempts", dict, {}))
    allowed = _amount(attempts, "allowed", 0, whole=True)
    attempts.pop("allowed", None)
    _only(attempts, "[attempts]", set(ladder.stems().values()))
    return Settings(
        folder=folder,
        id=id,
        key_file=_value(data, "key_file", str, ""),
        caged=_sandbox(data) == "required",
        late=_late(_value(data, "late", dict, {})),
        attempts=int(allowed),
        attempts_of={name: int(_amount(attempts, name, 0, whole=True)) for name in attempts},
        points=_points(_value(data, "points", dict, {})),
    )


def check_id(id: str) -> None:
    """Raises SettingsError unless this can be a course's id: it names folders and files."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", id):
        raise SettingsError(f"id = {id!r}: use letters, digits, `-`, `_` and `.` only.")


def _sandbox(data: dict[str, Any]) -> str:
    said: str = _value(data, "sandbox", str, SANDBOXES[0])
    if said not in SANDBOXES:
        raise SettingsError(f"sandbox = {said!r}: there is {', '.join(map(repr, SANDBOXES))}.")
    return said


def _late(data: dict[str, Any]) -> Late:
    _only(data, "[late]", {"policy", "percent_per_day", "most_percent", "grace_minutes"})
    policy = _value(data, "policy", str, Late.policy)
    if policy not in POLICIES:
        raise SettingsError(f"[late] policy = {policy!r}: there is {', '.join(map(repr, POLICIES))}.")
    names = ("percent_per_day", "most_percent", "grace_minutes")
    return Late(policy, *(_amount(data, name, getattr(Late, name)) for name in names))


def _points(data: dict[str, Any]) -> dict[str, dict[str, int]]:
    numbers = {stem: number for number, stem in ladder.stems().items()}
    _only(data, "[points]", set(numbers))
    points = {}
    for stem, given in data.items():
        if not isinstance(given, dict):
            raise SettingsError(f'[points.{stem}] must hold lines such as "property" = 10.')
        _only(given, f"[points.{stem}]", {one.name for one in catalog.load(numbers[stem]).properties})
        points[stem] = {name: int(_amount(given, name, 0, whole=True)) for name in given}
    return points


def _only(data: dict[str, Any], where: str, known: set[str]) -> None:
    """Insist on known names: a misspelt one would be passed over in silence, and cost somebody points."""
    for name in data:
        if name not in known:
            raise SettingsError(f"{where} says {name!r}, which is not known. Known: {', '.join(sorted(known))}.")


def _value(data: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    value = data.get(name, default)
    if not isinstance(value, kind):
        raise SettingsError(f"{name} = {value!r} has the wrong type.")
    return value


def _amount(data: dict[str, Any], name: str, default: float, *, whole: bool = False) -> float:
    value = data.get(name, default)
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6
    if not fits or (whole and not isinstance(value, int)):
        raise SettingsError(f"{name} = {value!r}: use a {'whole ' if whole else ''}number that is not negative.")
    return float(value)


def template(id: str) -> str:
    """A new course's `course.toml`: everything that can be said in it, as it holds by default."""
    return _HEAD.format(id=id) + "".join(_template_points(number) for number in ladder.stems())


def _template_points(number: int) -> str:
    puzzle = catalog.load(number)
    width = 2 + max(len(one.name) for one in puzzle.properties)
    lines = [f"{chr(34) + one.name + chr(34):{width}} = {one.weight:<3} # {one.title}" for one in puzzle.properties]
    return f"\n[points.{puzzle.stem}]\n" + "\n".join(lines) + "\n"


_HEAD = """\
# This course's own settings. `make course` wrote this file once; it is yours, and is never overwritten.
# After a change: `make course` brings the points into source/, and says what to type then. Nothing that was judged is
# run again.

id = "{id}" # nbgrader's course_id; the name of the folder in the exchange

# The key that hidden inputs are drawn from. Nothing: in your configuration folder, under the course's id.
key_file = ""

# "required": grade only in a sandbox; `python -m checker doctor` says whether there is one. "none": without one, if you
# trust everybody who hands in; a submission can then read all that you can, and each result says so.
sandbox = "required"

[late] # deadlines are nbgrader's: set them in the formgrader
policy = "none" # "none", "zero" (a late submission gets nothing), or "per day"
percent_per_day = 10 # of the score, for each day that has begun
most_percent = 100
grace_minutes = 0

[attempts] # the newest of the first N submissions counts, with `nbgrader collect --update`; 0: any number
allowed = 0
# p5_flash_attention_1 = 3 # for one assignment

# Points, by property.
"""
