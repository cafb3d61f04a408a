"""The kernels of `slow.toml`: slow ones, and the same without what makes them slow."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from checker import catalog
from checker.check import program_of
from checker.compiled import form, run
from checker.compiled.result import Made, Slow
from checker.compiled.slowness import slow
from checker.course import places
from checker.course.edits import edited
from checker.submission.read import from_cells

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Pair:
    """A slow kernel, and a quick one."""

    finding: str
    puzzle: str
    says: str
    edit: str = ""
    quick: str = ""  # a file below solutions/, without .py; none: the puzzle's own
    size: str = ""
    quick_size: str = ""
    launch: Mapping[str, int] = field(default_factory=dict)
    quick_launch: Mapping[str, int] = field(default_factory=dict)

    @property
    def slow_text(self) -> str:
        """The text of the slow one."""
        edits = tuple(self.edit.rstrip("\n").split("\n\n")) if self.edit else ()
        return edited(self.finding, places.solution(self.puzzle).read_text(), edits)

    @property
    def quick_text(self) -> str:
        """The text of the quick one."""
        solution = places.solution(self.puzzle)
        return (solution.parent / f"{self.quick}.py" if self.quick else solution).read_text()

    def found(self, *, quick: bool = False) -> tuple[list[Made], list[Slow]]:
        """What became of the kernels of one of the two, and what costs time in them."""
        puzzle = catalog.load(self.puzzle)
        text, launch = (self.quick_text, self.quick_launch) if quick else (self.slow_text, self.launch)
        size = self.quick_size if quick else self.size
        program, problems = program_of(from_cells([("code", text)], "kernel.py", numbered=False), puzzle.kernels)
        assert not problems, problems
        forms = form.forms(puzzle, program.kernels, ["sm_90"], size, launch)
        made = run.compiled({"yours": program}, forms)["yours"]
        found = [slow(one, run.causes(program, how, one)) for how, one in zip(forms, made, strict=True)]
        return made, [one for of_kernel in found for one in of_kernel]


@cache
def pairs() -> dict[str, Pair]:
    """All of them, by the finding that the slow one gets."""
    text = (Path(__file__).parent / "slow.toml").read_text(encoding="utf-8")
    return {name: Pair(name, **entry) for name, entry in tomllib.loads(text).items()}
