"""Check the mutants of a puzzle's solution. Those that get away are asked of the oracle, and need an excuse.

An excuse (`survivors.json`) is a reason why a class of mutants changes nothing, and patterns that say which they are.
It must hold: the judge accepts all that a pattern matches, and no launch of the oracle shows a difference.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from checker import catalog
from checker.judge.diagnose import UNNAMED
from checker.judge.verdict import Verdict
from checker.road import Terms, check
from checker.submission.read import from_cells
from tests.conftest import quick_terms
from tests.mutation.operators import Mutant, mutants
from tests.mutation.oracle import Oracle

ROOT = Path(__file__).parents[2]
EXCUSES = Path(__file__).with_name("survivors.json")
SEED = 20220527
PROCESSES = 2


@dataclass(frozen=True)
class Fate:
    """What became of a mutant."""

    mutant: Mutant
    finding: str | None  # the id of the first finding; None: it was accepted
    difference: str | None = None  # of one that was accepted: what the oracle says


@dataclass
class GateResult:
    """What became of the mutants of one puzzle."""

    puzzle: int
    all: int  # mutants there are
    checked: int
    named: int = 0  # refused with a name for the mistake
    located: int = 0  # refused with the place where it shows
    excused: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # accepted, and the oracle knows a launch in which they are wrong
    unexplained: list[str] = field(default_factory=list)  # accepted, never seen to be wrong, and nobody says why
    stale: list[str] = field(default_factory=list)  # excuses for mutants that do not get away (any more)

    @property
    def good(self) -> bool:
        """Whether nothing got away, and each excuse holds."""
        return not (self.wrong or self.unexplained or self.stale)

    def summary(self) -> str:
        """Rate, survivors, and how good the refusals were."""
        lines = [
            f"puzzle {self.puzzle}: {self.checked} of {self.all} mutants checked, {self.named + self.located} refused "
            f"({self.named} named, {self.located} located), {len(self.excused)} equivalent, "
            f"{len(self.wrong) + len(self.unexplained)} got away"
        ]
        lines += [f"  got away, and is wrong: {text}" for text in self.wrong]
        lines += [f"  got away, and nobody says why: {name}" for name in self.unexplained]
        lines += [f"  excused for nothing: {name}" for name in self.stale]
        return "\n".join(lines)


@dataclass(frozen=True)
class Excuse:
    """Why mutants whose names match change nothing; `...` in a pattern stands for anything."""

    reason: str
    pattern: str

    def covers(self, mutant: Mutant) -> bool:
        """Whether a mutant is one of these."""
        return re.fullmatch(".*".join(map(re.escape, self.pattern.split("..."))), mutant.name) is not None


def excuses(number: int) -> list[Excuse]:
    """What is excused in a puzzle."""
    listed = json.loads(EXCUSES.read_text(encoding="utf-8")).get(catalog.stems()[number], {})
    return [Excuse(reason, pattern) for reason, patterns in listed.items() for pattern in patterns]


def all_mutants(number: int) -> list[Mutant]:
    """All mutants of a puzzle's solution."""
    return mutants((ROOT / "solutions" / f"{catalog.stems()[number]}.py").read_text(encoding="utf-8"))


def run(number: int, sample: int | None = None) -> GateResult:
    """Check all mutants of a puzzle, or a sample of so many by a fixed seed."""
    everyone = all_mutants(number)
    chosen = everyone if sample is None else random.Random(SEED).sample(everyone, min(sample, len(everyone)))
    result = GateResult(number, len(everyone), len(chosen))
    known = excuses(number)
    for fate in fates(number, chosen):
        name, excused = fate.mutant.name, any(excuse.covers(fate.mutant) for excuse in known)
        if fate.finding is not None:
            result.located += fate.finding in UNNAMED
            result.named += fate.finding not in UNNAMED
            result.stale += [name] if excused else []
        elif fate.difference is not None:
            result.wrong.append(f"{name}: {fate.difference}")
        else:
            (result.excused if excused else result.unexplained).append(name)
    result.stale += [e.pattern for e in known if not any(map(e.covers, everyone))]
    return result


def fates(number: int, chosen: list[Mutant]) -> Iterator[Fate]:
    """In processes, each with children that are forked warm: Python 3.11 cannot parse in two threads at once."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        parts = [chosen[n::PROCESSES] for n in range(PROCESSES)]
        yield from chain.from_iterable(pool.map(_fates_of, [number] * PROCESSES, parts))


def _fates_of(number: int, chosen: list[Mutant]) -> list[Fate]:
    oracles: dict[str, Oracle] = {}
    with quick_terms() as terms:
        return [_fate(number, mutant, replace(terms, targets=()), oracles) for mutant in chosen]


def _fate(number: int, mutant: Mutant, terms: Terms, oracles: dict[str, Oracle]) -> Fate:
    verdict: Verdict = check(number, from_cells([("code", mutant.text)], "mutant.py", numbered=False), terms)
    if not verdict.accepted:
        return Fate(mutant, verdict.findings[0].id)
    if mutant.kernel not in oracles:
        oracles[mutant.kernel] = Oracle(number, mutant.kernel, terms)
    return Fate(mutant, None, oracles[mutant.kernel].difference(mutant.text))
