"""Notebooks that define a kernel in several cells: what a check in them has judged is a candidate wherever they go."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import catalog
from checker.course.lesson import emptied
from checker.submission import definitions
from checker.submission.definitions import MOST, MOST_TRIED, Candidate, among, latest, program_text, submission_of
from checker.submission.read import Cell
from tests.conftest import ROOT, SOLUTION

KERNELS = catalog.load("p1").kernels
IMPORTS, _, KERNEL = SOLUTION.partition("\n\n\n")
IMPORTS = IMPORTS.split('"""')[-1].lstrip()
STUB = (
    "@triton.jit"
    + emptied((ROOT / "puzzles" / "p1_naive_softmax.py").read_text(), catalog.load("p1")).split("@triton.jit")[1]
)
STUB = STUB.split("\n\n\n")[0] + "\n"
BACKWARD = catalog.load("p7").kernels


def code(text: str, ran: int = 0, grade_id: str = "") -> Cell:
    return Cell("code", text, grade_id, ran)


def variant(number: int) -> str:
    """The kernel, told from others by a number in it."""
    return KERNEL.replace("    row = ", f"    other = {number}\n    row = ")


def numbers(found: Sequence[Candidate]) -> list[int]:
    """Which variants some candidates are."""
    return [int(one.submission.text.split("other = ")[1].split("\n")[0]) for one in found]


@given(st.data())
def test_what_a_check_has_judged_is_a_candidate(data: st.DataObject) -> None:
    """Cells stand in any order, are run in any order, and are as they were when they were run."""
    texts = [variant(n) for n in range(data.draw(st.integers(1, MOST)))]
    runs = data.draw(st.lists(st.sampled_from(range(len(texts))), min_size=1, max_size=8))
    history, ran, judged = [IMPORTS], {}, []
    for one in runs:
        history.append(texts[one])
        ran[one] = len(history)
        judged.append(program_text(submission_of(history), KERNELS))
    cells = [code(IMPORTS, 1), *(code(texts[n], ran.get(n, 0)) for n in data.draw(st.permutations(range(len(texts)))))]
    found = among(cells, KERNELS, "x.ipynb")
    there = [program_text(one.submission, KERNELS) for one in found]
    assert there[0] == judged[-1] and {*judged} <= {*there} and len(there) <= MOST


@given(st.permutations(range(4)), st.permutations(range(4)))
def test_a_helper_or_a_number_that_was_defined_anew_belongs_to_its_time(order: list[int], places: list[int]) -> None:
    helpers = ["@triton.jit\ndef half(x):\n    return x / 2\n", "@triton.jit\ndef half(x):\n    return x * 0.5\n"]
    texts = [*helpers, "EPS = 0.5\n", KERNEL.replace("    row = ", "    other = half(EPS)\n    row = ")]
    history, judged = [IMPORTS], []
    for one in order:
        history.append(texts[one])
        if {0, 1} & {*order[: order.index(one) + 1]} and {2, 3} <= {*order[: order.index(one) + 1]}:
            judged.append(program_text(submission_of(history), KERNELS))
    cells = [code(IMPORTS, 1), *(code(texts[n], 2 + order.index(n)) for n in places)]
    there = [program_text(one.submission, KERNELS) for one in among(cells, KERNELS, "x.ipynb")]
    assert there[0] == judged[-1] and {*judged} <= {*there}


@pytest.mark.parametrize("start", [[0, 1], [1, 0]])
@pytest.mark.parametrize("begun", [KERNEL, KERNEL + "\n  1", KERNEL.replace("x_ptr", "x")])
def test_a_stub_never_counts_beside_a_kernel_that_was_begun(start: list[int], begun: str) -> None:
    """Whichever was run last, and also if Python cannot read what was begun."""
    texts = [STUB, begun]
    cells = [code(IMPORTS, 1), *(code(texts[n], 2 + place) for place, n in enumerate(start))]
    (found,) = among(cells, KERNELS, "x.ipynb")
    assert STUB.strip() not in found.submission.text and begun.strip() in found.submission.text
    assert found.cells == {KERNELS[0].name: 1 + start.index(1)}
    assert found.notes[0].startswith(
        f"{KERNELS[0].name} is defined in cells 2 and 3; that in cell {2 + start.index(1)}"
    )


def test_without_numbers_the_end_of_the_file_is_the_newest_and_equal_ones_are_one() -> None:
    cells = [code(IMPORTS), *(code(variant(n)) for n in (1, 2, 1, 3, 4, 4))]
    assert numbers(among(cells, KERNELS, "x.ipynb")) == [4, 3, 1]
    assert numbers(among([cells[0], *[cells[1]] * 30], KERNELS, "x.ipynb")) == [1]


def test_of_several_kernels_those_run_last_the_marked_ones_and_the_last_in_the_file_are_tried() -> None:
    text = (ROOT / "solutions" / "p7_causal_backward.py").read_text()
    head, *kernels = text.split("@triton.jit\n")
    names = [kernel.name for kernel in BACKWARD]
    written = {one.split("(")[0].removeprefix("def "): "@triton.jit\n" + one for one in kernels}
    helpers = [one for name, one in written.items() if name not in names]

    def cell(name: str, number: int, ran: int, mark: str = "") -> Cell:
        return code(written[name].replace("):", f"):\n    other = {number}", 1), ran, mark)

    cells = [code(head.split('"""')[-1], 1), *(code(one, 2) for one in helpers)]
    cells += [cell(name, 1, 9 - n) for n, name in enumerate(names)]  # run last
    cells += [cell(name, 2, 3, name) for name in names]  # marked
    cells += [cell(name, 3, 4) for name in names]  # last in the file
    found = among(cells, BACKWARD, "x.ipynb")
    assert [[text[0] for text in one.submission.text.split("other = ")[1:]] for one in found] == [
        [str(n)] * len(names) for n in (1, 2, 3)
    ]


def test_a_notebook_made_to_be_slow_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many states there were, a few are looked at."""
    looked_at = 0

    def counted(cells: Sequence[str]) -> list[str]:
        nonlocal looked_at
        looked_at += 1
        return latest(cells)

    monkeypatch.setattr(definitions, "latest", counted)
    cells = [code(IMPORTS), *(code(f"EPS = {n}\n") for n in range(1000)), code(KERNEL), *[code("EPS = 1\n")] * 1000]
    assert len(among(cells, KERNELS, "x.ipynb")) == 1 and looked_at <= 1 + MOST_TRIED
