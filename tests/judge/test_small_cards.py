"""Right kernels on cards whose cores hold less than an H100's: which launches are compiled, and that they fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

import pytest

from checker import catalog
from checker.check import program_of
from checker.course import places
from checker.course.puzzle import Puzzle, Tuning
from checker.course.targets import KNOWN
from checker.judge.compiled import jobs
from checker.judge.forms import fitting, forms, job_of, shortened, timed_like
from checker.sandbox.compiling import Compiled, Compiler, Job
from checker.sandbox.parent import Limits
from checker.sandbox.protocol.fitting import sides
from checker.submission.read import from_file
from tests.conftest import STEMS_OF_KERNELS


def compiled(puzzle: Puzzle, wanted: list[Job]) -> list[Compiled]:
    program, problems = program_of(from_file(places.solution(puzzle.id)), puzzle.kernels)
    assert not problems
    with Compiler(program.source, wanted, Limits()) as compiler:
        return compiler.results()


@pytest.mark.parametrize("target", KNOWN)
@pytest.mark.parametrize("puzzle_id", STEMS_OF_KERNELS)
def test_every_solution_fits_on_every_card(puzzle_id: str, target: str) -> None:
    puzzle = catalog.load(puzzle_id)
    for one in compiled(puzzle, jobs(puzzle, puzzle.cases(puzzle.draw()), (target,))):
        assert one.error is None, (one.job, one.error)
        assert (one.shared or 0) <= KNOWN[target].shared_limit, one.job


def test_a_large_card_gets_the_launch_that_is_timed_and_a_small_one_fewer_stages() -> None:
    puzzle = catalog.load("p7")
    cases = [case for case in puzzle.cases(puzzle.draw()) if case.kernel == "dq_kernel"]
    kernel = puzzle.kernels[-1]
    large, small = (next(forms(kernel, cases, target, multiplies=True)) for target in ("sm_80", "sm_89"))
    assert large.fewer == () and small.fewer == (2, 1)
    assert large.constexprs == small.constexprs == {"D": 128, "Br": 64, "Bc": 64}
    [on_large, on_small] = compiled(puzzle, [large, small])
    assert on_large.job.options == {}
    assert on_small.job.options == {"num_stages": 2}
    without = next(forms(kernel, cases, "sm_75", multiplies=True))
    assert without.constexprs == {"D": 128, "Br": 32, "Bc": 32}


def test_what_is_tried_on_a_card() -> None:
    two = (Tuning({"Br": 64, "Bc": 64}, 4), Tuning({"Br": 128, "Bc": 64}, 8, 2))
    assert fitting(two, "sm_90", 227 << 10, multiplies=True) == two
    on_4070 = fitting(two, "sm_89", 99 << 10, multiplies=True)
    assert [(one.blocks["Br"], one.num_stages) for one in on_4070] == [(64, 3), (64, 2), (64, 1), (128, 2), (128, 1)]
    on_t4 = fitting(two, "sm_75", 64 << 10, multiplies=True)
    assert {tuple(one.blocks.values()) for one in on_t4} == {(32, 32)}


def test_a_block_that_holds_a_whole_row_is_never_shorter() -> None:
    row = (Tuning({"BLOCK_SIZE": 1024}, 4),)
    assert {one.blocks["BLOCK_SIZE"] for one in fitting(row, "sm_75", 64 << 10, multiplies=False)} == {1024}


def shown(puzzle: Puzzle) -> Iterator[tuple[str, dict[str, int]]]:
    """(kernel, numbers that are written down) of each launch in a lesson."""
    names = {kernel.name for kernel in puzzle.kernels}
    for node in ast.walk(ast.parse(places.script(puzzle.id).read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Subscript)
            and isinstance(node.func.value, ast.Name)
        ):
            written = {one.arg: one.value.value for one in node.keywords if isinstance(one.value, ast.Constant)}
            if node.func.value.id in names:
                yield node.func.value.id, {str(name): int(value) for name, value in written.items()}


@pytest.mark.parametrize("target", ["sm_89", "sm_75"], ids=["RTX 40", "T4"])
@pytest.mark.parametrize("puzzle_id", ["a1", "a3", "p6", "p7", "b1", "b2", "b3"])
def test_the_launches_that_lessons_show_fit_on_a_small_card(puzzle_id: str, target: str) -> None:
    """In fp16 with D = 128, and in fp32 with D = 64; on a T4 with 32 for what is more, as the guide says."""
    puzzle, limit = catalog.load(puzzle_id), KNOWN[target].shared_limit
    wanted = []
    for name, written in shown(puzzle):
        [kernel] = [kernel for kernel in puzzle.kernels if kernel.name == name]
        options = {option: written.pop(option) for option in ("num_warps", "num_stages") if option in written}
        cases = [case for case in puzzle.cases(puzzle.draw()) if case.kernel == name]
        first = job_of(kernel, timed_like(cases), target)
        for kind, width in (("*fp16", 128), ("*fp32", 64)):
            signature = {p: kind if t == "*fp16" else t for p, t in first.signature.items()}
            constexprs = {**first.constexprs, **written} | ({"D": width} if "D" in first.constexprs else {})
            constexprs |= shortened(sides(constexprs), target, multiplies=True)
            wanted.append(replace(first, signature=signature, constexprs=constexprs, options=options, until="llir"))
    assert wanted
    for one in compiled(puzzle, [replace(job, fewer=()) for job in wanted]):
        assert one.error is None and one.shared is not None
        assert one.shared <= limit, (one.job.kernel, one.job.constexprs, one.shared)
