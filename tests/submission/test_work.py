"""The checker's own work on a text grows with the text, and no faster: counted in calls, not in seconds.

No limit of the sandbox's holds for it, because it is done outside. Each text is made for one of its steps.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checker import catalog
from checker.check import check, program_of
from checker.course.space import points
from checker.judge.text.possible import Possible
from checker.report.html import html
from checker.report.screen import plain
from checker.report.terminal import report
from checker.submission.fingerprint import fingerprint, place
from checker.submission.read import Submission, cells_of, from_cells
from tests.conftest import SOLUTION

KERNELS = catalog.load("p1").kernels
HEAD, _, _ = SOLUTION.partition("    tl.store(")
STORE = SOLUTION[len(HEAD) :]
MOST = 5.0  # times the calls for four times the text


def inside(*lines: str) -> list[str]:
    """The solution with lines before its store, as a cell."""
    return [HEAD + "".join(f"    {line}\n" for line in lines) + STORE]


# Each makes the cells of a text of a size.
TEXTS: dict[str, Callable[[int], list[str]]] = {
    "numbers": lambda n: inside(f"y = ({', '.join(['3'] * n)})"),
    "different numbers": lambda n: inside(f"y = ({', '.join(map(str, range(n)))})"),
    "numbers in lines": lambda n: inside(*[f"y = {k}" for k in range(n)]),
    "cells": lambda n: [*["#"] * n, *inside("y = (3, 4, 5)")],
    "cells and numbers": lambda n: [*["#"] * n, *inside(f"y = ({', '.join(['3'] * n)})")],
    "names": lambda n: [*[f"v{k} = {k}" for k in range(n)], *inside(*[f"y = v{k}" for k in range(n)])],
    "constants": lambda n: ["\n".join(f"V{k}: tl.constexpr = {k}" for k in range(n)), *inside("y = V0")],
    "ifs": lambda n: inside(*[line for k in range(n) for line in (f"if n_cols > {k}:", "    row = row")]),
    "returns": lambda n: inside(*[line for k in range(n) for line in (f"if n_cols > {k}:", "    return")]),
    "nested": lambda n: inside(
        *[f"{'    ' * k}if n_cols > {k}:" for k in range(40)], f"{'    ' * 40}y = ({', '.join(['3'] * n)})"
    ),
    "unknown names": lambda n: inside(*[f"y = nobody_{k}" for k in range(n)]),
    "refused": lambda n: inside(*[f"y = eval({k})" for k in range(n)]),
    "comments": lambda n: inside(*[f"# {k}" for k in range(n)]),
    "a long text": lambda n: inside(f"'{'x' * 20 * n}'"),
    "functions": lambda n: ["\n".join(f"def f{k}():\n    return {k}" for k in range(n)), *inside()],
    "definitions": lambda n: ["\n".join(f"def naive_softmax_kernel_{k}():\n    pass" for k in range(n)), *inside()],
    "products": lambda n: inside(*[f"y = n_cols * {k} + {k}" for k in range(n)]),
    "comparisons": lambda n: inside(*[f"y = row < {k}" for k in range(n)]),
}
SMALL = 200
[SPACE] = catalog.load("p1").spaces.values()
POINTS = points(SPACE, np.random.default_rng(0), [])


def calls(does: Callable[[], object]) -> int:
    """How many functions are called, those of C as well."""
    made = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        does()
    finally:
        sys.setprofile(None)
    return made


def steps(cells: list[str], folder: Path) -> dict[str, int]:
    """Calls of each step on a notebook."""
    path = folder / "text.ipynb"
    made = [{"cell_type": "code", "source": text} for text in cells]
    path.write_text(json.dumps({"cells": made, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    kept: dict[str, Any] = {}

    def read() -> None:
        kept["submission"] = from_cells([(cell.kind, cell.text) for cell in cells_of(path)], "text.ipynb")

    def extract_and_lint() -> None:
        kept["program"], kept["problems"] = program_of(kept["submission"], KERNELS)

    counted = {"read": calls(read), "extract and lint": calls(extract_and_lint)}
    submission: Submission = kept["submission"]
    counted["possible"] = calls(
        lambda: Possible(kept["program"], KERNELS[0].name, POINTS, {}, np.random.default_rng(0))
    )
    counted["fingerprint"] = calls(lambda: (fingerprint(kept["program"]), place(submission, KERNELS)))
    if kept["problems"]:  # nothing is run
        verdict = check("p1", submission).verdict
        counted["report"] = calls(lambda: (plain(report(verdict)), html(verdict)))
    return counted


@pytest.mark.parametrize("name", TEXTS)
def test_four_times_the_text_is_about_four_times_the_work(name: str, tmp_path: Path) -> None:
    steps(TEXTS[name](1), tmp_path)  # what is the same for all texts is remembered
    small, large = (steps(TEXTS[name](size), tmp_path) for size in (SMALL, 4 * SMALL))
    assert {step: large[step] / small[step] for step in small if large[step] > MOST * small[step]} == {}
