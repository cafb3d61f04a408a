"""Whoever has seen points in a notebook gets at least these, whatever the notebook looks like when it is handed in.

Each of these notebooks is edited and run in a real kernel, saved as a front end saves it, and graded with another key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from checker import catalog
from checker.course import ladder, places
from checker.grading.chosen import chosen
from checker.grading.found import Work
from checker.grading.grade import judged
from checker.grading.key import make
from checker.grading.settings import Settings
from tests.conftest import ROOT
from tests.kernels import named
from tests.notebook.conftest import Kernel

WRONG = {"p1": "p1_no_division", "p3": "p3_not_rescaled", "p7": "p7_delta_missing"}


@dataclass
class Session:
    """A student at a puzzle's notebook."""

    puzzle: str
    kernel: Kernel
    cells: list[dict[str, Any]] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)  # the points of each check

    def __post_init__(self) -> None:
        text = places.notebook(self.puzzle).read_text(encoding="utf-8")
        self.cells = [cell | {"source": "".join(cell["source"])} for cell in json.loads(text)["cells"]]
        self.name = catalog.load(self.puzzle).kernels[0].name
        solution = (ROOT / "solutions" / f"{ladder.stems()[self.puzzle]}.py").read_text(encoding="utf-8")
        self.right = "@triton.jit\n" + solution.partition("@triton.jit\n")[2]
        self.wrong = "@triton.jit\n" + named(WRONG[self.puzzle]).text.partition("@triton.jit\n")[2]
        self.worse = self.right.replace("tl.store(", "tl.load(")
        self.imports, self.stub, self.check_cell = (
            self.of("import triton\n"),
            self.of("FILL IN"),
            self.of("import check,"),
        )

    def of(self, text: str) -> dict[str, Any]:
        """The first code cell with a text."""
        return next(cell for cell in self.cells if cell["cell_type"] == "code" and text in cell["source"])

    def add(self, text: str, beside: dict[str, Any] | None = None, above: bool = False, **more: Any) -> dict[str, Any]:
        """A new cell below another one, or above it; by default below the stub."""
        new = {"cell_type": "code", "source": text, "metadata": {}, "execution_count": None, "outputs": []} | more
        place = next(n for n, cell in enumerate(self.cells) if cell is (beside or self.stub))
        self.cells.insert(place + (not above), new | {"id": f"new{len(self.cells)}"})
        return self.cells[place + (not above)]

    def copy(self, cell: dict[str, Any], text: str, above: bool = False) -> dict[str, Any]:
        """A copy of a cell with its metadata and its number, but with another text."""
        return self.add(
            text, cell, above, **{k: json.loads(json.dumps(cell[k])) for k in ("metadata", "execution_count")}
        )

    def run(self, *cells: dict[str, Any]) -> None:
        """Run these cells; one that checks shows points."""
        for cell in cells:
            shown = self.kernel(cell["source"].replace("\r\n", "\n"))
            cell["execution_count"] = self.kernel.count
            if "check(" in cell["source"]:
                text = shown["text/plain"]
                points = re.search(r"(\d+)/100 points", text)
                self.seen.append(int(points[1]) if points else 100 * ("All of it is right" in text))

    def fill(self, text: str) -> dict[str, Any]:
        """Type into the cell that is there for it."""
        self.stub["source"] = text
        return self.stub

    def check(self, *cells: dict[str, Any]) -> None:
        """Run the imports, these cells, and the check."""
        self.run(self.imports, *cells, self.check_cell)


Kind = Callable[[Session], object]


def plain(s: Session) -> None:
    s.check(s.fill(s.right))


def only_the_stub(s: Session) -> None:
    s.check(s.stub)


def below_the_stub(s: Session) -> None:
    s.check(s.stub, s.add(s.right))


def above_the_stub(s: Session) -> None:
    s.check(s.add(s.right, above=True))


def stub_run_last(s: Session) -> None:
    s.check(s.add(s.right))
    s.check(s.stub)


def duplicated_wrong_then_right(s: Session) -> None:
    s.check(s.fill(s.wrong))
    s.check(s.copy(s.stub, s.right))


def duplicated_right_then_wrong(s: Session) -> None:
    second = s.copy(s.fill(s.right), s.wrong)
    s.check(second, s.stub)


def old_try_above(s: Session) -> None:
    s.check(s.add(s.wrong, above=True), s.fill(s.right))


def old_try_below(s: Session) -> None:
    s.add(s.wrong)
    s.check(s.fill(s.right))


def wrong_below_run_last(s: Session) -> None:
    s.check(s.fill(s.right))
    s.check(s.add(s.wrong))


def three_tries(s: Session) -> None:
    s.check(s.fill(s.worse))
    s.check(s.add(s.wrong))
    s.check(s.add(s.right))


def three_tries_right_first(s: Session) -> None:
    s.check(s.fill(s.right))
    s.check(s.add(s.wrong))
    s.check(s.add(s.worse))


def wrong_in_its_cell(s: Session) -> None:
    s.check(s.fill(s.wrong))
    s.check(s.add(s.right))


def edited_in_place(s: Session) -> None:
    s.check(s.fill(s.wrong))
    s.check(s.fill(s.right))


def renamed_marks(s: Session) -> None:
    s.stub["metadata"] = {"nbgrader": {**s.stub["metadata"]["nbgrader"], "grade_id": "mine"}}
    s.check(s.fill(s.right))


def mark_on_the_wrong_one(s: Session) -> None:
    s.check(s.add(s.right))
    s.fill(s.wrong)


def no_metadata(s: Session) -> None:
    s.check(s.fill(s.wrong), s.add(s.right))
    for cell in s.cells:
        cell["metadata"] = {}


def as_colab_saves_it(s: Session) -> None:
    below_the_stub(s)
    for cell in s.cells:
        cell.pop("id", None)
        cell["metadata"] = {"id": "Xy_1", "colab": {"base_uri": "x"}}


def as_vs_code_saves_it(s: Session) -> None:
    wrong_below_run_last(s)
    for cell in s.cells:
        cell["metadata"]["vscode"] = {"languageId": "python"}
        cell["source"] = cell["source"].splitlines(keepends=True)


def without_numbers(s: Session) -> None:
    s.check(s.fill(s.wrong), s.add(s.right))
    for cell in s.cells:
        cell.pop("execution_count", None)


def without_numbers_right_above(s: Session) -> None:
    below = s.add(s.wrong)
    s.check(below, s.fill(s.right))
    for cell in s.cells:
        if cell["cell_type"] == "code":
            cell["execution_count"] = None


def odd_numbers(s: Session) -> None:
    s.check(s.fill(s.wrong), s.add(s.right))
    for cell, count in zip((s.stub, s.imports), (True, -3, "x"), strict=False):
        cell["execution_count"] = count


def numbers_of_two_sessions(s: Session) -> None:
    """The kernel was restarted: what was run last has a lower number."""
    s.check(s.fill(s.wrong), s.add(s.right))
    s.stub["execution_count"] = 250


def helper_cell(s: Session) -> None:
    s.check(s.add("@triton.jit\ndef unused(x):\n    return x\n", above=True), s.fill(s.right))


def helper_defined_anew(s: Session) -> None:
    first = s.add("@triton.jit\ndef the_same(x):\n    return x\n", above=True)
    helped = s.right.replace("tl.store(", "the_same(1)\n    tl.store(", 1)
    s.check(first, s.fill(helped))
    s.check(s.add("@triton.jit\ndef the_same(x):\n    return x\n    while True: pass\n"))


def number_in_a_cell(s: Session) -> None:
    number = s.add("ONE = tl.constexpr(1.0)\n", above=True)
    s.check(number, s.fill(s.right.replace("numerator / ", "numerator * ONE / ")))
    s.check(s.add("ONE = tl.constexpr(3.0)\n"))


def merged_cells(s: Session) -> None:
    s.fill(f"{s.imports['source']}\n\n{s.right}")
    s.cells.remove(s.imports)
    s.run(s.stub, s.check_cell)


def in_the_check_cell(s: Session) -> None:
    s.check_cell["source"] = f"{s.right}\n\n{s.check_cell['source']}"
    s.run(s.imports, s.check_cell)


def timed(s: Session) -> None:
    s.fill(f"%time 1 + 1\n{s.wrong}")
    s.check(s.stub, s.add(f"%time 1 + 1\n{s.right}"))


def with_magics(s: Session) -> None:
    s.check(s.fill(f"%pwd\n!true\n{s.right}"))


def broken_try_below(s: Session) -> None:
    s.check(s.fill(s.right))
    s.run(s.add(s.right.replace("tl.store(", "tl.store((")))


def broken_in_its_cell(s: Session) -> None:
    s.check(s.fill(s.right.replace("tl.store(", "tl.store((")), s.add(s.right))


def line_ends_of_windows(s: Session) -> None:
    s.check(s.fill(s.wrong.replace("\n", "\r\n")), s.add(s.right.replace("\n", "\r\n")))


def twice_alike(s: Session) -> None:
    s.check(s.fill(s.right), s.copy(s.stub, s.right))


def twice_in_one_cell(s: Session) -> None:
    s.check(s.fill(f"{s.wrong}\n\n{s.right}"))


def twice_in_one_cell_and_once_more(s: Session) -> None:
    s.check(s.fill(f"{s.wrong}\n\n{s.right}"), s.add(s.right))


def try_as_text(s: Session) -> None:
    s.add(s.wrong, cell_type="markdown")
    s.add(s.wrong, cell_type="raw")
    s.check(s.fill(s.right))


def commented_out(s: Session) -> None:
    s.check(s.add("# " + s.wrong.replace("\n", "\n# ")), s.fill(s.right))


def inside_something(s: Session) -> None:
    s.check(s.fill("if True:\n    " + s.wrong.replace("\n", "\n    ")), s.add(s.right))


def imports_deleted(s: Session) -> None:
    s.check(s.fill(s.right))
    s.cells.remove(s.imports)


def checked_too_early(s: Session) -> None:
    s.run(s.imports, s.check_cell)
    s.check(s.fill(s.right))


def seven_tries(s: Session) -> None:
    for number in range(6):
        s.run(s.imports, s.add(s.wrong.replace("tl.store(", f"{number} + 0\n    tl.store(", 1)))
    s.check(s.fill(s.right))


def cells_in_another_order(s: Session) -> None:
    s.check(s.fill(s.wrong), s.add(s.right))
    s.cells.reverse()


def signature_changed_later(s: Session) -> None:
    s.check(s.fill(s.right))
    s.check(s.add(s.right.replace("_kernel(", "_kernel(extra, ", 1)))


def copy_under_another_name(s: Session) -> None:
    s.check(s.add(s.wrong.replace(s.name, "old_" + s.name), above=True), s.fill(s.right))


def one_kernel_anew(s: Session) -> None:
    """Of several kernels only one has an old try."""
    s.check(s.fill(s.wrong))
    s.check(s.add("@triton.jit\n" + s.right.split("@triton.jit\n")[-1].split("\n\n\n")[0]))
    s.check(s.add(s.right))


def each_in_a_cell(s: Session) -> None:
    s.fill(s.wrong)
    s.check(*(s.add(f"@triton.jit\n{one}") for one in s.right.split("@triton.jit\n")[1:]))


def each_in_a_cell_run_backwards(s: Session) -> None:
    s.check(*reversed([s.add(f"@triton.jit\n{one}") for one in s.right.split("@triton.jit\n")[1:]]))


OF_ANY: tuple[Kind, ...] = (
    *(plain, only_the_stub, below_the_stub, above_the_stub, stub_run_last, duplicated_wrong_then_right),
    *(duplicated_right_then_wrong, old_try_above, old_try_below, wrong_below_run_last, three_tries),
    *(three_tries_right_first, wrong_in_its_cell, edited_in_place, renamed_marks, mark_on_the_wrong_one, no_metadata),
    *(as_colab_saves_it, as_vs_code_saves_it, without_numbers, without_numbers_right_above, odd_numbers),
    *(numbers_of_two_sessions, helper_cell, helper_defined_anew, number_in_a_cell, merged_cells, in_the_check_cell),
    *(timed, with_magics, broken_try_below, broken_in_its_cell, line_ends_of_windows, twice_alike, twice_in_one_cell),
    *(twice_in_one_cell_and_once_more, try_as_text, commented_out, inside_something, imports_deleted),
    *(checked_too_early, seven_tries, cells_in_another_order, signature_changed_later, copy_under_another_name),
)
OF_SEVERAL: tuple[Kind, ...] = (
    *(plain, below_the_stub, wrong_below_run_last, wrong_in_its_cell, without_numbers, stub_run_last),
    *(one_kernel_anew, each_in_a_cell, each_in_a_cell_run_backwards),
)
OF_A_LOOP: tuple[Kind, ...] = (
    below_the_stub,
    wrong_below_run_last,
    three_tries,
    no_metadata,
    broken_in_its_cell,
    timed,
)
ODD = [
    *(("p1", kind) for kind in OF_ANY),
    *(("p3", kind) for kind in OF_A_LOOP),
    *(("p7", kind) for kind in OF_SEVERAL),
]


@pytest.mark.parametrize(("puzzle", "kind"), ODD, ids=[f"{puzzle}-{kind.__name__}" for puzzle, kind in ODD])
def test_who_has_seen_points_gets_them(puzzle: str, kind: Kind, cell: Kernel, tmp_path: Path) -> None:
    session = Session(puzzle, cell)
    kind(session)
    path = tmp_path / f"{ladder.stems()[puzzle]}.ipynb"
    path.write_text(json.dumps({"cells": session.cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    course = Settings(tmp_path / "course", key_file=str(tmp_path / "key"), sandbox="none")
    course.folder.mkdir()
    make(course.key_path, course.folder)
    handed_in, verdict = judged(puzzle, chosen(Work("anna", puzzle, (path,))), course)
    assert session.seen and verdict.earned >= max(session.seen), (session.seen, verdict.earned, handed_in.notes)
    if kind not in (only_the_stub, twice_in_one_cell):
        assert verdict.earned == 100 == max(session.seen)
