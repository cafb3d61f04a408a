"""`python3 -m benchmarks.cards`: what each solution takes of each card that is known, without having any.

The launch is the one that a check compiles first, with the assembler's word on registers. Writes `results/cards.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.setting import setting
from checker import catalog
from checker.check import program_of
from checker.course import places
from checker.course.ladder import LADDER
from checker.course.targets import KNOWN
from checker.judge.compiled import jobs
from checker.sandbox.compiling import Compiled, Compiler
from checker.sandbox.parent import Limits
from checker.submission.read import from_file

PAGE = Path(__file__).parent / "results" / "cards.md"
HEAD = """\
# What each solution takes of each card

`python3 -m benchmarks.cards`, {date}, commit {commit}, triton {triton}. The launch in fp16 that a check compiles first:
bytes of shared memory for one program, of those that it may have; stages, where not as many as Triton takes have room;
registers of a thread, and bytes of it that have no room there (*spilled*), which cost time and nothing else.
"""


def first_of_each(results: list[Compiled]) -> Iterator[Compiled]:
    """The first form of each kernel and target: all that is compiled as far as assembler text."""
    return (one for one in results if not one.job.until)


def line(one: Compiled) -> str:
    """One row of the table."""
    blocks = ", ".join(f"{name}={value}" for name, value in one.job.constexprs.items() if type(value) is int)
    stages = str(one.job.options.get("num_stages", ""))
    limit = KNOWN[one.job.target].shared_limit
    cells = [one.job.target, blocks, f"{one.shared:,} of {limit:,}", stages, one.registers, one.spilled or ""]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Write the page."""
    where = setting(["triton"])
    parts = [HEAD.format(date=where["date"], commit=where["commit"], triton=where["versions"]["triton"])]
    for rung in LADDER:
        puzzle = catalog.load(rung.id)
        if puzzle.pytorch:
            continue
        program, _ = program_of(from_file(places.solution(rung.id)), puzzle.kernels)
        with Compiler(program.source, jobs(puzzle, puzzle.cases(puzzle.draw()), tuple(KNOWN)), Limits()) as compiler:
            found = list(first_of_each(compiler.results()))
        for kernel in puzzle.kernels:
            rows = [line(one) for one in found if one.job.kernel == kernel.name]
            head = [
                "| target | launch | shared memory | stages | registers | spilled |",
                "|---|---|---:|---:|---:|---:|",
            ]
            parts.append("\n".join([f"## {rung.id}: {kernel.name}", "", *head, *rows]) + "\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
