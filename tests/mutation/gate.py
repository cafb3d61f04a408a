"""Check the mutants of a puzzle's solution. Those that get away are asked of the oracle, and need an excuse.

`survivors.json` has reasons why mutants change nothing, and under each the patterns of their names. It must hold: the
judge accepts every mutant that a pattern matches, and the oracle knows no launch in which one of them differs.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from checker.check import Conditions, check
from checker.course import ladder
from checker.course.verdict import Finding, Verdict
from checker.grading.viva.mutants import Mutant, mutants
from checker.submission.read import from_cells
from tests.conftest import quick_conditions
from tests.mutation.oracle import Oracle

ROOT = Path(__file__).parents[2]
EXCUSES = Path(__file__).with_name("survivors.json")
SLICES = 50  # each takes about half a minute on sixteen cores


@dataclass(frozen=True)
class Fate:
    """The fate of a mutant."""

    mutant: Mutant
    accepted: bool
    finding: Finding | None = None  # the first one, if there is one
    difference: str | None = None  # of one that was accepted: what the oracle says


@dataclass
class GateResult:
    """The fates of one puzzle's mutants."""

    puzzle: str
    all: int  # mutants there are
    checked: int = 0
    named: int = 0  # refused with a name for the mistake
    located: int = 0  # refused with the place where it shows
    excused: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # accepted, and the oracle knows a launch in which they are wrong
    unexplained: list[str] = field(default_factory=list)  # accepted, never seen to be wrong, and nobody says why
    silent: list[str] = field(default_factory=list)  # refused without a finding
    stale: list[str] = field(default_factory=list)  # refused, and excused for nothing

    @property
    def flaws(self) -> list[str]:
        """Everything that must not be, a line each."""
        lines = [f"got away, and is wrong: {text}" for text in self.wrong]
        lines += [f"got away, and nobody says why: {name}" for name in self.unexplained]
        lines += [f"refused without a word: {name}" for name in self.silent]
        return lines + [f"excused for nothing: {name}" for name in self.stale]

    def summary(self) -> str:
        """Rate, survivors, and how good the refusals were."""
        first = (
            f"puzzle {self.puzzle}: {self.checked} of {self.all} mutants checked, {self.named + self.located} refused "
            f"({self.named} named, {self.located} located), {len(self.excused)} equivalent, "
            f"{len(self.wrong) + len(self.unexplained)} got away"
        )
        return "\n  ".join([first, *self.flaws])


def excuses() -> dict[str, str]:
    """Pattern of mutants' names → why they change nothing. In a pattern, `...` stands for anything."""
    listed: dict[str, list[str]] = json.loads(EXCUSES.read_text(encoding="utf-8"))
    return {pattern: reason for reason, patterns in listed.items() for pattern in patterns}


def matching(patterns: Iterable[str]) -> re.Pattern[str]:
    """What matches the names that any of these patterns stands for."""
    return re.compile("|".join(".*".join(map(re.escape, pattern.split("..."))) for pattern in patterns) or "(?!)")


@cache
def all_mutants(puzzle_id: str) -> list[Mutant]:
    """All mutants of a puzzle's solution."""
    return mutants((ROOT / "solutions" / f"{ladder.stems()[puzzle_id]}.py").read_text(encoding="utf-8"))


def of_slice(puzzle_id: str, number: int) -> list[Mutant]:
    """The mutants of a puzzle that are in a slice: by a hash of their names, so each is in one."""
    return [one for one in all_mutants(puzzle_id) if zlib.crc32(one.name.encode()) % SLICES == number]


def run(puzzle_id: str, fates: Iterable[Fate]) -> GateResult:
    """What became of some mutants of a puzzle, weighed."""
    return weighed(GateResult(puzzle_id, len(all_mutants(puzzle_id))), fates, matching(excuses()))


def weighed(result: GateResult, fates: Iterable[Fate], known: re.Pattern[str]) -> GateResult:
    """The result with what became of each mutant; `known` matches the names of those that are excused."""
    for fate in fates:
        result.checked += 1
        name, excused = fate.mutant.name, known.fullmatch(fate.mutant.name) is not None
        if fate.difference is not None:
            result.wrong.append(f"{name}: {fate.difference}")
        elif fate.accepted:
            (result.excused if excused else result.unexplained).append(name)
        elif fate.finding is None:
            result.silent.append(name)
        else:
            result.located += not fate.finding.named
            result.named += fate.finding.named
        if excused and not fate.accepted:
            result.stale.append(name)
    return result


def fate(puzzle_id: str, mutant: Mutant) -> Fate:
    """What becomes of a mutant."""
    submission = from_cells([("code", mutant.text)], "mutant.py", numbered=False)
    verdict: Verdict = check(puzzle_id, submission, _conditions()).verdict
    if not verdict.accepted:
        return Fate(mutant, False, verdict.findings[0] if verdict.findings else None)
    return Fate(mutant, True, difference=_oracle(puzzle_id, mutant.kernel).difference(mutant.text))


def _conditions() -> Conditions:
    return replace(quick_conditions(), targets=())


@cache
def _oracle(puzzle_id: str, kernel: str) -> Oracle:
    return Oracle(puzzle_id, kernel, _conditions())
