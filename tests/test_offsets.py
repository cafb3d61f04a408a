"""Offsets have 64 bits: in the text of every solution, in what Triton makes of it, and in what the judge asks for."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from checker import catalog
from checker.check import Conditions, check, program_of
from checker.compiled.form import forms
from checker.course import places
from checker.course.puzzle import Puzzle
from checker.sandbox.compiling import Compiler
from checker.sandbox.parent import Limits
from checker.submission.read import Submission, from_cells, from_file
from tests.conftest import ROOT, STEMS_OF_KERNELS

WIDENED = ".to(tl.int64)"
NARROW = {"row-offset-32-bit", "offset-32-bit", "offset-in-32-bits", "sizes-multiplied"}
EVERY = [
    (puzzle_id, at.start())
    for puzzle_id in STEMS_OF_KERNELS
    for at in re.finditer(re.escape(WIDENED), places.solution(puzzle_id).read_text())
    if puzzle_id != "b3" or not at.string[: at.start()].endswith("queries[:, None]")  # which are those of one tile
]
TUNED = [path for path in sorted((ROOT / "solutions" / "tuned").glob("[abp]*.py")) if "warp" not in path.stem]


def of_text(text: str) -> Submission:
    return from_cells([("code", text)], "kernel.py", numbered=False)


def narrow_products(puzzle_id: str, submission: Submission) -> list[str]:
    """Return the products of 32-bit integers, in TTGIR, of which a factor is a stride."""
    puzzle = catalog.load(puzzle_id)
    program, problems = program_of(submission, puzzle.kernels)
    assert not problems
    jobs = [replace(form.job, until="ttgir") for form in forms(puzzle, program.kernels, ["sm_90"])]
    with Compiler(program.source, jobs, Limits(), assembled=False) as compiler:
        texts = [result.texts["ttgir"] for result in compiler.results()]
    found = []
    for text in texts:
        strides = set(re.findall(r"(%\w+_stride\w*): i32", text))
        for line in text.split("\n"):
            if not (made := re.match(r"\s*(%\w+) = ([\w.]+) ([^:]*): (?:tensor<[\dx]*x)?i32", line)):
                continue
            if strides.intersection(re.findall(r"%\w+", made[3])):
                found += [line] if made[2] == "arith.muli" else []
                strides |= {made[1]} if made[2].startswith("tt") else set()  # a stride for each element of a block
    return found


@pytest.mark.parametrize("path", [*map(places.solution, STEMS_OF_KERNELS), *TUNED], ids=lambda path: path.stem)
def test_strides_are_multiplied_in_64_bits(path: Path) -> None:
    assert narrow_products(path.stem.partition("_")[0], from_file(path)) == []


@pytest.mark.parametrize("index", ["queries", "keys"])
def test_a_narrow_product_is_found(index: str) -> None:
    text = places.solution("p6").read_text()
    assert narrow_products("p6", of_text(text.replace(f"{index}[:, None]{WIDENED} *", f"{index}[:, None] *")))


@pytest.mark.parametrize(("puzzle_id", "at"), EVERY, ids=[f"{puzzle_id}-{at}" for puzzle_id, at in EVERY])
def test_no_conversion_of_a_solution_can_be_left_out(puzzle_id: str, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only launches that look for overflow are run: what is left out makes no other difference."""
    text = places.solution(puzzle_id).read_text()
    monkeypatch.setattr(catalog, "load", lambda id, load=catalog.load: with_far_cases(load(id)))
    verdict = check(puzzle_id, of_text(text[:at] + text[at + len(WIDENED) :]), Conditions(targets=())).verdict
    assert verdict.findings and verdict.findings[0].id in NARROW, verdict.findings


def with_far_cases(puzzle: Puzzle) -> Puzzle:
    return replace(puzzle, cases=lambda draw: [one for one in puzzle.cases(draw) if one.checked_arithmetic])
