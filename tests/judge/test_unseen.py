"""Outcomes that a kernel can have and that no launch has had get a launch; what is planted under them is found."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from checker import catalog
from checker.check import Conditions, check
from checker.course import ladder, places
from checker.course.case import Case
from checker.course.space import Points, points
from checker.course.verdict import Verdict
from checker.judge import unseen
from checker.judge.text.possible import KEPT, MOST, Possible
from checker.judge.unseen import NEVER, _tight
from checker.sandbox.inside import outcomes
from checker.submission.extract import Program, extract
from checker.submission.read import from_cells
from tests.conftest import installed

PLACES = {
    "p1": ("/ denominator", "/ denominator * {}"),
    "p3": ("/ l,", "/ l * {},"),
    "w1": ("x + y,", "(x + y) * {},"),
    "w2": ("row, total", "row, total * {}"),
    "w3": ("tl.trans(x),", "tl.trans(x) * {},"),
    "a1": (" acc,", " acc * {},"),
    "a2": ("li)  #", "li) * {}  #"),
    "a3": (" Oi, mask", " Oi * {}, mask"),
    "p6": (" Oi, mask", " Oi * {}, mask"),
    "b3": (" Oi, mask", " Oi * {}, mask"),
    "p7": ("scale * dQi,", "scale * dQi * {},"),
}
TABLE = (Path(__file__).parent / "planted.tsv").read_text(encoding="utf-8").splitlines()
PLANTED = [tuple(line.split("\t")) for line in TABLE if not line.startswith("#")]
KERNELS = [(one, kernel) for one in ladder.RUNGS for kernel in catalog.load(one).spaces]


def one_percent(puzzle_id: str, condition: str) -> str:
    """The solution, one percent off where a condition holds."""
    text, (old, new) = places.solution(puzzle_id).read_text(encoding="utf-8"), PLACES[puzzle_id]
    assert text.count(old) == 1
    value = f"(1.01 if {condition} else 1.0)" if puzzle_id == "a2" else f"tl.where({condition}, 1.01, 1.0)"
    return text.replace(old, new.format(value))


def checked(puzzle_id: str, text: str, conditions: Conditions) -> Verdict:
    if ladder.RUNGS[puzzle_id].pytorch:
        installed("torch")
    return check(puzzle_id, from_cells([("code", text)], "kernel.py", numbered=False), conditions).verdict


@pytest.mark.parametrize(("puzzle_id", "condition", "said"), [(one, what, said) for one, _, what, said in PLANTED])
def test_one_percent_under_a_condition_is_found(puzzle_id: str, condition: str, said: str, quick: Conditions) -> None:
    assert checked(puzzle_id, one_percent(puzzle_id, condition), quick).accepted == (said == "accepted")


@pytest.mark.parametrize(
    ("puzzle_id", "old", "new"),
    [
        ("b2", "log(li), mask=queries < n_q", "log(li), mask=queries < tl.minimum(n_q, 1000)"),
        ("b3", "queries < n_q", "queries < min(n_q, 1000)"),
        ("b2", "lse_ptr + head * n_q +", "lse_ptr + head * tl.minimum(n_q, 1000) +"),
        ("c1", "n_q, n_k, ctx.scale", "min(n_q, 1000), n_k, ctx.scale"),
        ("c1", "(triton.cdiv(n_k, BLOCK)", "(triton.cdiv(min(n_k, 1000), BLOCK)"),
        ("p5", "(l_head + queries, mask=queries < n_q", "(l_head + queries, mask=queries < tl.minimum(n_q, 1500)"),
        ("p6", "offset = n_k - n_q", "offset = n_k - tl.minimum(n_q, 1000)"),
        ("b1", "offset = n_k - n_q", "offset = tl.minimum(n_k, 1000) - n_q"),
        ("p7", "tl.load(delta_ptr + head * n_q", "tl.load(delta_ptr + head * tl.minimum(n_q, 1000)"),
        ("a2", "+ n_k - n_q, ", "+ min(n_k, 1000) - n_q, "),
        ("a2", " else n_k", " else min(n_k, 1000)"),
    ],
)
def test_a_size_that_is_cut_off_is_found(puzzle_id: str, old: str, new: str, quick: Conditions) -> None:
    verdict = checked(puzzle_id, places.solution(puzzle_id).read_text(encoding="utf-8").replace(old, new, 1), quick)
    assert re.search(r"< 1[05]00 is False", str(verdict.findings[0].where.case))


def test_what_never_varied_is_said_and_is_no_finding(quick: Conditions) -> None:
    """No square has this remainder."""
    verdict = checked("p1", one_percent("p1", "row * row % 487 == 5"), quick)
    assert verdict.accepted
    assert NEVER.format(line=17) in verdict.remarks


def test_a_launch_says_why_it_was_made(quick: Conditions) -> None:
    [finding] = checked("p1", one_percent("p1", "n_cols // 7 % 61 == 53"), quick).findings
    assert "Line 17 can have an outcome that no launch has had" in finding.explanation
    assert "for line 17: n_cols // 7 % 61 == 53 is True" in str(finding.where.case)


@pytest.mark.parametrize(("puzzle_id", "kernel"), KERNELS)
def test_a_launch_is_what_its_point_says(puzzle_id: str, kernel: str) -> None:
    """What was evaluated, and what is run, are the same scalars, constexprs and programs; it shows one percent."""
    puzzle = catalog.load(puzzle_id)
    space, draw = puzzle.spaces[kernel], puzzle.draw()
    some = points(space, draw.case("points"), [])
    tight = []
    for point in range(0, 20_000, 1_000):
        made = made_at(puzzle_id, kernel, some, point, usual=point % 2_000 == 0)
        told = {**made.scalars, **made.constexprs}
        assert {name: some.columns[name][point] for name in told if name in some.columns} == pytest.approx(
            {name: value for name, value in told.items() if name in some.columns}, rel=1e-6
        )
        assert {"n_q", "n_cols", "n", "m", "Br", "q"} & told.keys() & some.columns.keys() or "q" in some.columns
        programs = [some.columns[f"num_programs{axis}"][point] for axis in range(len(made.grid))]
        assert programs == [*made.grid] or ladder.RUNGS[puzzle_id].pytorch
        assert made.proves == (space.proves,)
        tight.append(_tight(puzzle, made))
    assert any(tight)


def made_at(puzzle_id: str, kernel: str, some: Points, point: int, usual: bool) -> Case:
    """The launch at a point, with its numbers or with usual data."""
    puzzle = catalog.load(puzzle_id)
    return puzzle.spaces[kernel].case(
        "a point",
        {name: int(values[point]) for name, values in some.drawn.items()},
        {name: float(values[point]) for name, values in some.numbers.items() if not (usual and "_ptr" in name)},
        np.random.default_rng(0),
    )


def test_a_launch_counts_if_its_bound_shows_one_percent() -> None:
    """In bf16 none does, in fp32 all do, but those with values that fp32 itself rounds."""
    puzzle = catalog.load("p6")
    tight = [(case.tensors["o_ptr"], _tight(puzzle, case)) for case in puzzle.cases(puzzle.draw())]
    assert not any(shows for tensor, shows in tight if tensor.bf16)
    assert np.mean([shows for tensor, shows in tight if tensor.values.dtype == np.float32 and not tensor.bf16]) > 0.8


def test_another_key_has_other_points() -> None:
    puzzle = catalog.load("p1")
    [space] = puzzle.spaces.values()
    one, other = (points(space, puzzle.draw(key).case("points"), []) for key in ("a", "b"))
    for name in ("x_gap", "y_gap"):
        assert (one.drawn[name][:20_000] == other.drawn[name][:20_000]).mean() < 0.7
        assert (one.drawn[name][:KEPT] != other.drawn[name][:KEPT]).any()


def program(text: str) -> Program:
    [kernel] = catalog.load("p1").kernels
    head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    body = "".join(f"    {line}\n" for line in text.split("\n"))
    return extract(from_cells([("code", f"{head}def {kernel.name}({kernel.signature}):\n{body}")], "p1.py"), (kernel,))


def possible(text: str) -> Possible:
    puzzle = catalog.load("p1")
    [(kernel, space)] = puzzle.spaces.items()
    random = np.random.default_rng(0)
    return Possible(program(text), kernel, points(space, random, []), {}, random)


OUTCOMES = {
    "n_cols > 70": {outcomes.TRUE, outcomes.FALSE},
    "n_cols > 0": {outcomes.TRUE},
    "tl.load(x_ptr + n_cols) > 3.0": {outcomes.TRUE, outcomes.FALSE},
    "tl.program_id(0).to(tl.int64) - n_cols": {outcomes.BELOW, outcomes.ZERO, outcomes.ABOVE},
    "tl.num_programs(0) - tl.program_id(0)": {outcomes.ABOVE},
    "x_ptr.dtype.element_ty == tl.float16": {outcomes.TRUE, outcomes.FALSE},
    "n_cols * n_cols % 4 == 2": {outcomes.FALSE},
    "tl.minimum(n_cols, 70)": {outcomes.TRUE, outcomes.FALSE},
    "max(n_cols, 1)": {outcomes.FALSE},
    "1 if n_cols > 0 and x_row_stride < n_cols else 0": {outcomes.FALSE},
    "tl.arange(0, BLOCK_SIZE) < BLOCK_SIZE": {outcomes.TRUE},
    "range() == 1": set(),
    "unknown(n_cols) == 1": set(),
}


@pytest.mark.parametrize("text", OUTCOMES)
def test_outcomes_are_known_as_far_as_they_can_be(text: str) -> None:
    found = possible(f"y = {text}")
    [number] = [n for n, node in enumerate(found.texts) if isinstance(node, ast.expr)][:1]
    assert {outcome for (of, outcome), some in found.at.items() if of == number and len(some)} == OUTCOMES[text]


def test_a_body_is_seen_by_those_that_enter_it() -> None:
    found = possible("if n_cols > 70:\n    y = n_cols > 60\nfor i in range(0, n_cols, BLOCK_SIZE):\n    y = i > 0")
    assert {(n, outcome) for (n, outcome), some in found.at.items() if not len(some)} == {
        (1, outcomes.FALSE),
        (2, outcomes.TRUE),
    }


def test_what_is_evaluated_of_a_text_is_bounded() -> None:
    found = possible("\n".join(f"y = n_cols + {n} > 5" for n in range(MOST // 4)))
    assert found.done < 1.1 * MOST


@pytest.mark.parametrize("values", [[1], [0], [-1, 1], [-1, 0, 1], [True], [True, False], []])
def test_the_outcomes_of_a_block_are_those_of_its_values(values: list[int]) -> None:
    block = np.array(values, np.bool_ if values[:1] == [True] else np.int64)
    names = {-1: outcomes.BELOW, 0: outcomes.ZERO, 1: outcomes.ABOVE}
    if block.dtype == bool:
        names = {True: outcomes.TRUE, False: outcomes.FALSE}
    assert outcomes.bits(block) == sum({names[value] for value in values})


def test_outcomes_of_a_launch_are_gathered_and_floats_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "had", {})
    assert [outcomes.noted(0, value) for value in (5, 0, 7)] == [5, 0, 7]
    assert [outcomes.noted(1, value) for value in (True, False)] == [True, False]
    assert [outcomes.noted(number, value) for number, value in ((~3, 7), (3, 8))] == [7, 8]
    assert outcomes.had.pop(3) == outcomes.TRUE
    assert outcomes.noted(2, 1.5) == 1.5
    assert (outcomes.had[0], outcomes.had[2]) == (outcomes.ZERO | outcomes.ABOVE, outcomes.TRUTHS | outcomes.SIGNS)
    assert [outcomes.complete(bits) for bits in outcomes.had.values()] == [False, True, True]


def test_a_kernel_that_has_shown_every_outcome_costs_no_points(
    quick: Conditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(unseen, "points")
    assert checked("p1", places.solution("p1").read_text(encoding="utf-8"), quick).accepted
    with pytest.raises(NameError):
        checked("p1", one_percent("p1", "n_cols == 4099"), quick)
