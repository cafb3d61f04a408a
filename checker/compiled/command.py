"""The work of `compiled` once a submission has been read: compile it and the solution, and say what became of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from checker.check import program_of
from checker.compiled import form, run, table
from checker.compiled.form import Form
from checker.compiled.listing import STAGES, listing
from checker.compiled.result import Made
from checker.compiled.slowness import slow
from checker.course import ladder
from checker.course import targets as known
from checker.course.places import ROOT
from checker.course.puzzle import Puzzle
from checker.course.status import Misuse
from checker.judge.evidence import locator
from checker.report.words import typed
from checker.sandbox import standin
from checker.submission.extract import NotASubmission, Program
from checker.submission.read import Submission, from_file

SOLUTION, BEFORE = "solution", "before"


@dataclass(frozen=True)
class Shown:
    """The text to print, and whether every kernel compiles."""

    parts: Iterable[RenderableType]
    compiles: bool


def shown(
    puzzle: Puzzle,
    submission: Submission,
    before: Submission | None,
    targets: str,
    size: str,
    launch: str,
    *,
    in_notebook: bool = False,
) -> Shown | None:
    """Return the report, kernel by kernel, next to an older version and the solution; None if nothing can be compiled.

    `targets`, `size` and `launch` are in words. Raises Misuse.
    """
    if (program := _program_of(puzzle, submission)) is None:
        return None
    programs = {table.YOURS: program, **dict(_beside(puzzle, submission, before))}
    forms = _forms(puzzle, program, targets, size, launch)
    made = run.compiled(programs, forms)
    where = locator(submission)
    parts: list[RenderableType] = [Text(puzzle.heading, style="bold")]
    for number, one in enumerate(forms):
        beside = {name: of_program[number] for name, of_program in made.items()}
        yours = beside[table.YOURS]
        found = [] if yours.error else slow(yours, run.causes(program, one, yours))
        parts += ["", table.report(beside, found, where)]
    if len(sizes := form.sizes(puzzle, usual=True)) > 1:
        option = "size='…'" if in_notebook else "SIZE=…"
        parts += ["", Text(f"Sizes, for {option}: {'; '.join(sizes)}.", style="dim")]
    return Shown(parts, not any(one.error for one in made[table.YOURS]))


def listed(puzzle: Puzzle, submission: Submission, targets: str, size: str, launch: str, stage: str) -> Shown | None:
    """Return one stage's text of each kernel, with the submission's lines; None if nothing can be compiled. Raises
    Misuse.
    """
    if (program := _program_of(puzzle, submission)) is None:
        return None
    forms = _forms(puzzle, program, targets, size, launch, stage)
    made = run.compiled({table.YOURS: program}, forms, cached=stage != "llir")  # LLVM's text is too long to be kept
    yours = made[table.YOURS]
    return Shown(_listed(yours, stage, submission), not any(one.error for one in yours))


def _listed(made: Sequence[Made], stage: str, submission: Submission) -> Iterator[str]:
    where = locator(submission)
    for one in made:
        yield f"{one.kernel} on {one.target.name}, {one.launch}"
        yield one.error
        yield from listing(one.texts, stage, submission.text.split("\n"), lambda line: table.numbered(where(line)))


def _program_of(puzzle: Puzzle, submission: Submission) -> Program | None:
    """Return the program, if something of it is filled in and nothing forbidden: a check says what it is, if not."""
    if puzzle.pytorch:
        raise Misuse(f"Puzzle {puzzle.id} is written in PyTorch: there is no kernel to compile.")
    if standin.needed():
        raise Misuse("Triton itself is not installed here, and nothing else can compile a kernel.")
    try:
        program, problems = program_of(submission, puzzle.kernels)
    except (NotASubmission, RecursionError, MemoryError, ValueError):
        return None
    return None if problems or all(program.empty(name) for name in program.kernels) else program


def _beside(puzzle: Puzzle, submission: Submission, before: Submission | None) -> Iterator[tuple[str, Program]]:
    """Yield the version before it, and the course's solution, as far as they are there and are other texts."""
    if before is not None:
        if (program := _program_of(puzzle, before)) is None:
            why = typed("check", puzzle.id, file=before.name)
            raise Misuse(f"{before.name} cannot be compiled. Why: {why}")
        yield BEFORE, program
    own = ROOT / "solutions" / f"{ladder.stems()[puzzle.id]}.py"
    if own.exists() and own.read_text(encoding="utf-8") != submission.text:
        yield SOLUTION, program_of(from_file(own), puzzle.kernels)[0]


def _forms(puzzle: Puzzle, program: Program, targets: str, size: str, launch: str, stage: str = "ttgir") -> list[Form]:
    """In which forms the kernels that are filled in are compiled."""
    kernels = [name for name in program.kernels if not program.empty(name)]
    stages = tuple(dict.fromkeys(("ttgir", STAGES[stage])))
    return form.forms(puzzle, kernels, known.chosen(targets), size, form.changes(launch, puzzle), stages)
