"""Check the mutants of a puzzle's solution, and hold those that get away against the list of excuses."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from checker import catalog
from checker.judge.diagnose import UNNAMED
from checker.judge.verdict import Verdict
from checker.road import check
from checker.submission.read import from_cells
from tests.conftest import quick_terms
from tests.mutation.operators import Mutant, mutants

ROOT = Path(__file__).parents[2]
EXCUSES = Path(__file__).with_name("survivors.json")
SEED = 20220527


@dataclass
class GateResult:
    """What became of the mutants of one puzzle."""

    puzzle: int
    all: int  # mutants there are
    checked: int
    named: int = 0  # refused with a name for the mistake
    located: int = 0  # refused with the place where it shows
    excused: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)  # excuses for mutants that do not get away (any more)

    def summary(self) -> str:
        """Rate, survivors, and how good the refusals were."""
        refused = self.named + self.located
        lines = [
            f"puzzle {self.puzzle}: {self.checked} of {self.all} mutants checked, {refused} refused "
            f"({self.named} named, {self.located} located), {len(self.excused)} equivalent, "
            f"{len(self.unexplained)} got away"
        ]
        lines += [f"  got away: {name}" for name in self.unexplained]
        lines += [f"  excused for nothing: {name}" for name in self.stale]
        return "\n".join(lines)


def excuses(number: int) -> dict[str, str]:
    """Mutants of a puzzle that are known to change nothing → why."""
    listed: dict[str, str] = json.loads(EXCUSES.read_text(encoding="utf-8")).get(catalog.stems()[number], {})
    return listed


def run(number: int, sample: int | None = None) -> GateResult:
    """Check all mutants of a puzzle, or a sample of so many by a fixed seed."""
    stem = catalog.stems()[number]
    everyone = mutants((ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8"))
    chosen = everyone if sample is None else random.Random(SEED).sample(everyone, min(sample, len(everyone)))
    result = GateResult(number, len(everyone), len(chosen))
    known = excuses(number)
    for mutant, verdict in _verdicts(number, chosen):
        if verdict.accepted and mutant.name in known:
            result.excused.append(mutant.name)
        elif verdict.accepted:
            result.unexplained.append(mutant.name)
        else:
            if verdict.findings[0].id in UNNAMED:
                result.located += 1
            else:
                result.named += 1
            if mutant.name in known:
                result.stale.append(mutant.name)
    if sample is None:
        result.stale += sorted(set(known) - {mutant.name for mutant in everyone})
    return result


def _verdicts_on(number: int, chosen: list[Mutant]) -> list[tuple[Mutant, Verdict]]:
    with quick_terms() as terms:
        terms = replace(terms, targets=())
        texts = [from_cells([("code", mutant.text)], "mutant.py", numbered=False) for mutant in chosen]
        return [(mutant, check(number, text, terms)) for mutant, text in zip(chosen, texts, strict=True)]


def _verdicts(number: int, chosen: list[Mutant]) -> Iterator[tuple[Mutant, Verdict]]:
    """On two cores, in processes: Python 3.11 cannot parse in two threads at once (AST recursion depth)."""
    with ProcessPoolExecutor(2) as pool:
        for verdicts in pool.map(_verdicts_on, [number] * 2, [chosen[0::2], chosen[1::2]]):
            yield from verdicts
