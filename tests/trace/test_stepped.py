"""The launch and program to step through, its first step, and the page that shows it."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape
from typing import Any

import numpy as np
import pytest

from checker import catalog
from checker.check import Conditions, Outcome, check
from checker.course import ladder
from checker.course.status import Misuse
from checker.submission.read import Submission, from_cells, from_file
from checker.trace import page, run, stepped
from checker.trace.stepped import Asked, data_of
from tests.conftest import ROOT, STEMS_OF_KERNELS, importable
from tests.kernels import named

MOST_BYTES = 1_000_000
ASKED = Asked()


def solution(puzzle_id: str) -> Submission:
    return from_file(ROOT / "solutions" / f"{ladder.stems()[puzzle_id]}.py")


@cache
def outcome(name: str) -> Outcome:
    """Of a kernel of the tests, or of a puzzle's solution."""
    if name in ladder.stems():
        return check(name, solution(name), Conditions(targets=()))
    kernel = named(name)
    return check(
        kernel.puzzle, from_cells([("code", kernel.text)], "kernel.py", numbered=False), Conditions(targets=())
    )


def data(name: str, asked: Asked = ASKED) -> dict[str, Any]:
    found = data_of(outcome(name), asked)
    assert found is not None
    return found


def first_launch(of: dict[str, Any]) -> dict[str, Any]:
    launch: dict[str, Any] = of["launches"][of["first"]]
    return launch


def start(launch: dict[str, Any]) -> tuple[int, str]:
    """The program that is shown first, and the text of the line."""
    program, line = launch["steps"][launch["start"]][:2]
    return program, launch["statements"][line][0]


@pytest.mark.parametrize("puzzle_id", STEMS_OF_KERNELS, ids=STEMS_OF_KERNELS.values())
def test_every_solution_is_stepped_through_to_its_end_in_a_small_page(puzzle_id: str) -> None:
    found = data(puzzle_id)
    kernels = [kernel.name for kernel in catalog.load(puzzle_id).kernels]
    assert [launch["kernel"] for launch in found["launches"]] == kernels
    for launch in found["launches"]:
        assert launch["whole"] and launch["stopped"] is None
        assert any(store for step in launch["steps"] for _, _, store, *_ in step[5])
        assert all(str(step[1]) in map(str, launch["statements"]) for step in launch["steps"])
    assert len(page.page(found).encode()) < MOST_BYTES


@pytest.mark.parametrize("puzzle_id", ["a2", "a4"])
def test_functions_in_pytorch_are_stepped_through_as_well(puzzle_id: str) -> None:
    importable("torch")
    [launch] = data(puzzle_id)["launches"]
    assert launch["whole"] and len(launch["steps"]) > 50
    changed = [name for step in launch["steps"] for name, _ in step[4]]
    assert changed.count("Qi") > 1 or changed.count("Kj") > 1


def test_autograd_is_stepped_through_in_both_directions() -> None:
    importable("torch")
    conditions = Conditions(targets=(), linked={one: solution(one) for one in ("p6", "p7")})
    judged = check("c1", solution("c1"), conditions)
    assert judged.verdict.accepted
    found = data_of(judged)
    assert found is not None
    assert [len(launch["steps"]) > 3 for launch in found["launches"]] == [True] * len(found["launches"])


def test_what_a_load_gives_is_what_is_in_memory() -> None:
    [case] = run.cases_of(catalog.load("w1"))
    [launch] = data("w1")["launches"]
    inputs = [tensor.values.reshape(-1) for tensor in case.tensors.values()]
    seen = 0
    for step in launch["steps"]:
        for tensor, runs, store, mask, _ in step[5]:
            if not store and len(step[4]) == 1:
                numbers = np.array(launch["values"][step[4][0][1]][2], float)
                lanes = np.array(launch["values"][mask][2], bool) if mask >= 0 else np.ones(numbers.size, bool)
                elements = [one for first, count in runs for one in range(first, first + count)]
                assert np.allclose(numbers[lanes], inputs[tensor][elements], rtol=1e-3)
                seen += 1
    assert seen == 2 * len(launch["programs"])


@pytest.mark.parametrize("name", ["p3_not_rescaled", "p6_accumulator_not_rescaled", "a2_causal_one_too_many"])
def test_a_wrong_kernel_begins_at_its_first_difference_with_the_solutions_value(name: str) -> None:
    if name.startswith("a2"):
        importable("torch")
    differs, launch = outcome(name).verdict.findings[0].differs, first_launch(data(name))
    assert differs is not None and launch["differs"]
    program, line, _, _, changed, _, right = launch["steps"][launch["start"]]
    assert differs.where.program is not None and program == differs.where.program[0]  # of grids that are rows
    assert [shown for at, shown, _ in launch["code"] if at == line] == [differs.where.line]
    [(value, first)] = [rest for own, *rest in right if own == differs.name]
    own, solutions = (float(launch["values"][place][2][first]) for place in (dict(changed)[differs.name], value))
    assert (f"{own:.4g}", f"{solutions:.4g}") == (differs.yours, differs.right)


@pytest.mark.parametrize("name", ["p4_padding_counted", "p3_not_rescaled", "p6_last_keys_only"])
def test_the_step_is_known_that_stored_the_wrong_element(name: str) -> None:
    launch = first_launch(data(name))
    wrong = launch["wrong"]
    program, line, *_, accesses, _ = launch["steps"][wrong["step"]]
    assert wrong["stored"] and "tl.store(" in launch["statements"][line][0] and program == start(launch)[0]
    [runs] = [runs for tensor, runs, store, *_ in accesses if store and tensor == wrong["tensor"]]
    assert any(first <= wrong["element"] < first + count for first, count in runs)
    yours, right = wrong["both"]
    assert yours != right


def test_no_text_of_a_kernel_turns_around_what_is_beside_it() -> None:
    loud = solution("w1").text.replace("tl.store(", "assert n < 9, 'می\u200cخواهم \u202eevil'  # \u2066\n    tl.store(")
    made = check("w1", from_cells([("code", loud)], "k\u202eernel.py", numbered=False), Conditions(targets=()))
    found = data_of(made)
    assert found is not None
    shown = page.page(found)
    assert "می\u200cخواهم �evil" in shown and "�evil" in first_launch(found)["stopped"]
    assert not {"\u202e", "\u2066"} & {*shown}


def test_a_stopped_kernel_is_shown_up_to_the_line_that_stopped_it() -> None:
    launch = first_launch(data("p1_no_store_mask"))
    assert launch["start"] == max(
        n for n, step in enumerate(launch["steps"]) if step[0] == launch["steps"][launch["start"]][0]
    )
    assert "tl.store(" in start(launch)[1]
    assert "which is outside" in launch["stopped"]
    assert "wrong" not in launch


def test_a_program_and_a_size_can_be_asked_for() -> None:
    assert start(first_launch(data("p6", Asked(2))))[0] == 2
    other = first_launch(data("p6", Asked(size="a tail of keys")))
    assert other["case"].startswith("a tail of keys") and other["tensors"][0]["shape"] == (1, 16, 16)


def test_of_a_large_grid_the_neighbours_are_recorded() -> None:
    launch = first_launch(data("b3", Asked(0)))
    assert [*launch["programs"]] == [str(n) for n in range(stepped.MOST_PROGRAMS)]
    late = first_launch(data("b3", Asked(11)))
    assert [*late["programs"]] == [str(n) for n in range(12 - stepped.MOST_PROGRAMS, 12)] and start(late)[0] == 11


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [(Asked(4), "has no program 4 here: they are 0 to 3"), (Asked(size="nowhere"), "two by two tiles")],
    ids=["program", "size"],
)
def test_what_there_is_not_is_refused_in_a_sentence(asked: Asked, sentence: str) -> None:
    with pytest.raises(Misuse, match=sentence):
        data_of(outcome("p6"), asked)


def test_programs_that_take_turns_cannot_be_followed() -> None:
    track = sorted((ROOT / "solutions" / "tuned").glob("**/*.py"))
    [path] = [one for one in track if "tl.atomic_add" in one.read_text()][:1]
    puzzle_id = path.relative_to(ROOT / "solutions" / "tuned").parts[0].partition("_")[0]
    judged = check(puzzle_id, from_file(path), Conditions(targets=()))
    with pytest.raises(Misuse, match="take turns"):
        data_of(judged)


def test_no_text_ends_the_pages_script_or_its_frame() -> None:
    text = named("p1_no_store_mask").text.replace("cols < n_cols\n", "cols < n_cols  # </script><b>\n")
    judged = check("p1", from_cells([("code", text)], "kernel.py", numbered=False), Conditions(targets=()))
    found = data_of(judged)
    assert found is not None and "</script><b>" in json.dumps(found)
    made = page.page(found)
    [inside] = re.findall(r'<script type="application/json">(.*?)</script>', made)
    assert json.loads(inside)["launches"][0]["code"] == found["launches"][0]["code"]
    framed = page.framed(found)
    assert unescape(framed.partition('srcdoc="')[2].rpartition('"')[0]) == made and framed.count("<") == 2


def test_the_page_needs_nothing_from_elsewhere() -> None:
    made = page.page(data("p3"))
    assert not re.search(r"(?:src|href)\s*=|@import|url\(|fetch\(|https?:", made)
