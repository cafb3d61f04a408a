"""A notebook's calls in a real kernel: `check`, `run`, `trace`, `bench`, with the cells so far."""

from __future__ import annotations

import ast
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import checker.notebook
from checker import catalog
from checker.answers.saved import links_to
from checker.check import program_of
from checker.course import ladder, places
from checker.course.lesson import as_calls
from checker.submission.definitions import latest, submission_of
from checker.submission.extract import NotASubmission
from checker.submission.language import language_of
from tests.conftest import ROOT, SOLUTION, importable
from tests.kernels import named
from tests.notebook.conftest import Kernel

STEMS = ladder.stems()
WRONG = named("p1_no_division").text


def test_an_empty_kernel_gets_an_invitation(cell: Kernel) -> None:
    notebook = json.loads(places.notebook("p1").read_text())
    [stub] = [text for text in ("".join(c["source"]) for c in notebook["cells"]) if "FILL IN" in text]
    cell(stub)
    shown = cell("check(1)")
    assert "not started" in shown["text/html"] and re.search(r"cell \[\d+\], line 5", shown["text/html"])
    assert "not started" in shown["text/plain"]


def test_cells_that_were_not_run_are_asked_for(cell: Kernel) -> None:
    """The usual state after a restart of the notebook's kernel."""
    shown = cell("check(1)")["text/plain"]
    assert "No cell that was run defines naive_softmax_kernel" in shown
    assert "Run the cells above this one, then this one again." in shown and "git" not in shown


def test_a_notebook_with_several_definitions_is_told_which_one_was_judged(cell: Kernel, tmp_path: Path) -> None:
    """As it was saved last, of which nobody knows but where the front end says which file it is."""
    path = tmp_path / places.notebook("p1").name
    cells = [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in (WRONG, SOLUTION)]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    cell(SOLUTION)
    assert "By the way" not in cell("check(1)")["text/plain"]
    cell(f"import os\nos.environ['JPY_SESSION_NAME'] = {str(path)!r}")
    cell(WRONG)
    said = " ".join(cell("check(1)")["text/plain"].split())
    cell("del os.environ['JPY_SESSION_NAME']")
    assert re.search(r"defines naive_softmax_kernel in cells 1 and 2\. Judged was what was run last, \[\d+\]\.", said)
    assert "In grading the best one counts, as it is saved: after an edit, check again." in said


def cells_of(puzzle_id: str) -> list[tuple[str, str]]:
    """(kind, text) of the cells of a built notebook."""
    notebook = json.loads(places.notebook(puzzle_id).read_text())
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


@pytest.mark.parametrize("puzzle_id", STEMS)
def test_what_is_said_of_the_cells_above_is_true_of_every_notebook(puzzle_id: str) -> None:
    """Run, they are all that a check needs; a report on what they lack asks for a cell that is there."""
    cells, kernels = cells_of(puzzle_id), catalog.load(puzzle_id).kernels
    [at] = [n for n, (_, text) in enumerate(cells) if text.startswith("## How to check")]
    assert "Run the cells above, then the one below" in " ".join(cells[at][1].split())
    assert cells[at + 1][0] == "code" and cells[at + 1][1].endswith(f'\ncheck("{puzzle_id}")')
    above = [text for kind, text in cells[:at] if kind == "code"]
    program_of(submission_of(above), kernels)
    line = language_of(kernels).line
    imports = [text for text in above if line in text.split("\n")]
    assert len(imports) == 1
    with pytest.raises(NotASubmission, match="nothing imports it") as refused:
        program_of(submission_of([text for text in above if text not in imports]), kernels)
    assert f"Run the cell with {line}, then" in refused.value.problem.hint


@pytest.mark.parametrize("puzzle_id", STEMS)
def test_a_notebook_imports_what_its_lesson_and_its_reports_offer(puzzle_id: str) -> None:
    cells = cells_of(puzzle_id)
    lesson = " ".join(text for kind, text in cells if kind == "markdown")
    offered = {"check", "hint", "solution", "step", "trace", *re.findall(r"`(\w+)\(", lesson)} & {
        *checker.notebook.__all__
    }
    assert not re.search(r"\bmake\s+[a-z]+(?:`|\s+[A-Z]+=)|terminal", lesson), "a notebook has calls"
    imported = {
        name.name
        for kind, text in cells[2:]  # the first two are for other services
        if kind == "code"
        for statement in ast.parse(text).body
        if isinstance(statement, ast.ImportFrom) and statement.module == "checker.notebook"
        for name in statement.names
    }
    assert offered <= imported <= {*checker.notebook.__all__}


# The capstone runs the learner's own kernels, of which this copy has none: see tests/train/test_parts.py.
@pytest.mark.parametrize("puzzle_id", [one for one in STEMS if one != "c1"])
def test_solutions_are_accepted(puzzle_id: str, cell: Kernel) -> None:
    cell((ROOT / "solutions" / f"{STEMS[puzzle_id]}.py").read_text())
    shown = cell(f"check({puzzle_id!r})")
    assert "accepted" in shown["text/html"] and "100/100 points" in shown["text/html"]
    assert "accepted" in shown["text/plain"] and "\x1b" not in shown["text/plain"]


def test_what_was_run_last_counts(cell: Kernel) -> None:
    cell(WRONG)
    wrong = cell("check(1)")
    assert "no-division" in wrong["text/html"]
    cell(SOLUTION)
    assert "accepted" in cell("check(1)")["text/html"]
    cell(SOLUTION.replace("mask=mask)\n", "mask=mask\n"))  # a closing bracket is lost
    assert "Python cannot read this" in cell("check(1)")["text/plain"]
    cell(SOLUTION)
    assert "accepted" in cell("check(1)")["text/html"]


def test_helpers_may_stand_in_cells_of_their_own(cell: Kernel) -> None:
    cell("@triton.jit\ndef exponentials(x):\n    return tl.log(x)")
    cell(SOLUTION.replace("tl.exp(x.to(tl.float32))", "exponentials(x.to(tl.float32))"))
    assert "accepted" not in cell("check(1)")["text/html"]
    cell("@triton.jit\ndef exponentials(x):\n    return tl.exp(x)")
    assert "accepted" in cell("check(1)")["text/html"]


def test_the_notebooks_own_process_is_not_trusted(cell: Kernel) -> None:
    """The cells are text. Whatever else the process has come to believe changes nothing."""
    cell(WRONG)
    cell("import checker.judge.compare as c\nc.wrong_elements = lambda *_: None\ntl.exp = None")
    cell("import numpy as np, os\nnp.seterr(all='raise')\nos.chdir('/')\nnaive_softmax_kernel = None")
    assert "no-division" in cell("check(1)")["text/html"]


def test_a_finding_points_at_the_cell_as_it_is_numbered(cell: Kernel) -> None:
    cell("'a cell before'")
    cell(WRONG)
    shown = cell("check(1)")["text/plain"]
    assert "cell [3], as you last ran it, line" in shown


def test_a_cell_that_was_edited_and_not_run_is_told(cell: Kernel, tmp_path: Path) -> None:
    """As far as the saved file tells: it is written later than the cell was run, and holds what never was."""
    path = tmp_path / "saved.ipynb"
    edited = f"{SOLUTION}\n# as no other test runs it"
    edit = "was changed after you ran it"

    def shown(saved: str, at: float | None = None) -> str:
        path.write_text(json.dumps({"cells": [{"cell_type": "code", "id": "a", "source": saved}]}))
        os.utime(path, (at or time.time() + 1,) * 2)
        return " ".join(cell("check(1)")["text/plain"].split())

    cell(f"import os\nos.environ['JPY_SESSION_NAME'] = {str(path)!r}")
    try:
        before = time.time()
        cell(WRONG)
        assert edit not in shown(WRONG)  # run as it is saved
        assert f"cell [3] {edit}" in shown(edited)
        assert edit not in shown(edited, before)  # saved before it was run: nothing is known
        cell(edited)
        assert edit not in shown(edited)
        cell(SOLUTION.partition("    mask")[0] + "    # FILL IN (roughly 5 lines)")
        assert edit in shown(f"{SOLUTION}\n# and more")  # though nothing was run
    finally:
        cell("del os.environ['JPY_SESSION_NAME']")


def test_a_cell_that_was_run_is_found_by_what_it_defines(tmp_path: Path) -> None:
    saved = [
        {"id": "a", "source": ["import triton"]},
        {"id": "b", "source": ["@triton.jit\n", "def one(x):\n", "    0"]},
    ]
    path = tmp_path / "saved.ipynb"
    path.write_text(json.dumps({"cells": saved}))
    run_since = ["import triton", "def one(x, y):\n    return 1", "def two():\n    pass", "one()"]
    assert links_to(run_since, path) == {2: "#cell-id=b"}
    for text in ("", "[]", '{"cells": [{"source": 1}]}', '{"cells": [{"id": {}, "source": "def one():"}]}'):
        path.write_text(text)
        assert set(links_to(["x = 1"], path)) == set()
    assert links_to(run_since, tmp_path / "nowhere.ipynb") == {}


@pytest.mark.parametrize("call", ["check(9)", "check('x')", "bench(9)", "step(9)", "trace(9)"])
def test_misuse_is_a_sentence(call: str, cell: Kernel) -> None:
    assert "There is no puzzle" in cell(call)["text/plain"]


@pytest.mark.parametrize("call", ["check({})", "trace({})", "bench({})", "hint({}, again=True)"])
def test_a_puzzle_is_an_id_in_any_case_or_a_number(call: str, cell: Kernel) -> None:
    cell("from checker.notebook import hint")
    first, *others = (cell(call.format(puzzle)) for puzzle in ('"p1"', '"P1"', '"1"', "1"))
    assert "There is no puzzle" not in first["text/plain"]
    assert all(other == first for other in others)
    assert "There is no puzzle 'x9'" in cell(call.format('"x9"'))["text/plain"]


def test_commands_are_calls_here() -> None:
    assert as_calls("`make trace PUZZLE=a3` draws it.") == '`trace("a3")` draws it.'
    for other in ("make bench PUZZLE=a1", "`make predict PUZZLE=w1 GUESS=…`", "`make reset PUZZLE=…` brings it back"):
        assert as_calls(other) == other


def test_an_interrupt_is_a_word(process: Any, cell: Kernel) -> None:
    told = []
    process.execute_interactive(
        "from unittest import mock\n"
        "with mock.patch('checker.notebook.run_so_far', side_effect=KeyboardInterrupt):\n"
        "    check(1)",
        output_hook=lambda message: told.append(message["content"]) if message["msg_type"] == "error" else None,
        timeout=600,
    )
    assert [(one["ename"], one["traceback"]) for one in told] == [("Interrupted", ["Interrupted."])]
    calls = [getattr(checker.notebook, name) for name in checker.notebook.__all__]
    assert all(isinstance(call, type) or hasattr(call, "__wrapped__") for call in calls)


def test_outside_of_a_notebook_it_says_what_to_type() -> None:
    from checker.notebook import check, run, trace

    assert "make check PUZZLE=1" in repr(check(1))
    assert "make trace PUZZLE=1" in repr(trace(1))
    assert "needs a notebook" in repr(run("naive_softmax_kernel", grid=1))


EXPERIMENT = "import numpy as np\nx = np.array([[89.0, 1, 2], [3, 1, 2]], np.float32)\ny = np.zeros_like(x)"


def test_run_shows_arrays_and_traffic(cell: Kernel) -> None:
    cell(SOLUTION)
    cell(EXPERIMENT)
    shown = cell("done = run(naive_softmax_kernel, x, y, 3, 3, 3, BLOCK_SIZE=4, grid=2)\ndone")["text/plain"]
    assert "x: read 1.00, written 0.00 times per element" in shown and "nan" in shown
    assert "0.6652" in shown
    assert cell("float(done['y_ptr'][1, 1])")["text/plain"].startswith("0.0900")
    assert cell("float(y.sum())")["text/plain"] == "0.0"  # y itself has not changed


def test_run_takes_bf16(cell: Kernel) -> None:
    importable("torch")
    cell(SOLUTION)
    cell("import torch\nx = torch.tensor([[1.0, 2, 3, 9], [3, 1, 2, 9]], dtype=torch.bfloat16)[:, :3]")
    shown = cell("done = run(naive_softmax_kernel, x, x.clone(), 4, 3, 3, BLOCK_SIZE=4, grid=2)\ndone")["text/plain"]
    assert "written 1.00 times" in shown
    assert cell("done['y_ptr'].dtype, float(done['y_ptr'][1, 0])")["text/plain"] == "(dtype('float32'), 0.6640625)"


WRONG_CALLS = {
    "x, y, 300, 3, 3, BLOCK_SIZE=4, grid=2": "outside",
    "x, y, grid=2": "also needs x_row_stride",
    "x, y, 3, 3, 3, 4, 5, grid=2": "6 parameters, and 7",
    "x, y, 3, 3, 3, BLOCK=4, grid=2": "no parameter",
    "x.astype(int), y, 3, 3, 3, BLOCK_SIZE=4, grid=2": "float32, float16 or bfloat16",
    "x, y, 3, 3, 3, BLOCK_SIZE=3, grid=2": "The kernel stopped (line",
    "x, y, 3, 3, 3, BLOCK_SIZE=4": "grid=1",
    "x, y, 3, 'three', 3, BLOCK_SIZE=4, grid=2": "✗",
}


@pytest.mark.parametrize("arguments", WRONG_CALLS)
def test_run_explains_what_went_wrong(arguments: str, cell: Kernel) -> None:
    cell(SOLUTION)
    cell(EXPERIMENT)
    assert WRONG_CALLS[arguments] in cell(f"run(naive_softmax_kernel, {arguments})")["text/plain"]
    assert "No cell that was run defines nothing" in cell("run('nothing', x, grid=1)")["text/plain"]


def test_bench_shows_a_picture_and_refuses_what_is_wrong(cell: Kernel) -> None:
    cell(WRONG)
    assert "no-division" in cell("bench(1)")["text/html"]
    cell(SOLUTION)
    assert "image/png" in cell("bench(1)")


def test_step_shows_the_page_in_a_frame_and_says_where_it_begins(cell: Kernel) -> None:
    cell(WRONG)
    shown = cell("step(1)")
    assert shown["text/html"].startswith("<iframe ") and "&lt;script" in shown["text/html"]
    assert "where it first differs from the solution" in shown["text/plain"]
    assert "has no program 9 here" in cell("step(1, program=9)")["text/plain"]
    cell(SOLUTION.replace("mask=mask)\n", "mask=mask\n"))
    assert "Python cannot read this" in cell("step(1)")["text/html"]


def test_trace_shows_a_picture_and_says_the_same_in_words(cell: Kernel) -> None:
    cell((ROOT / "solutions" / f"{STEMS['p3']}.py").read_text())
    shown = cell("trace(3)")
    assert shown["text/html"].startswith("<div><svg ") and "image/png" not in shown
    assert "reads per element: x 2" in shown["text/plain"]


def test_trace_draws_what_is_wrong_and_reports_what_cannot_be_run(cell: Kernel) -> None:
    cell(WRONG)
    shown = cell("trace(1)")
    assert "<svg " in shown["text/html"] and "The exponentials were stored without dividing" in shown["text/plain"]
    assert 'check("p1") says more about it.' in shown["text/plain"]
    cell(SOLUTION.replace("mask=mask)\n", "mask=mask\n"))
    shown = cell("trace(1)")
    assert "<svg " not in shown["text/html"] and "Python cannot read this" in shown["text/html"]


def test_compiled_tells_lines_by_their_cells_and_reports_what_cannot_be_compiled(cell: Kernel, tmp_path: Path) -> None:
    (tmp_path / "before.py").write_text(SOLUTION)
    cell(SOLUTION.replace("mask = cols < n_cols", "mask = cols <= n_cols - 1"))
    shown = cell(f"compiled(1, target='sm_80', before='{tmp_path / 'before.py'}')")["text/plain"]
    assert "on sm_80 (A100)" in shown and "before" in shown and "4 bytes loaded, 16 times" in shown
    assert re.search(r"! cell \d+, line \d+: It loads 4 bytes at a time, where 16 are possible", shown)
    assert "There is no target" in cell("compiled(1, target='sm_12')")["text/plain"]
    assert "nowhere.py." in cell("compiled(1, before='nowhere.py')")["text/plain"].replace("\n", "")
    assert "Sizes, for size='…'" in shown
    cell(SOLUTION.replace("mask=mask)\n", "mask=mask\n"))
    assert "Python cannot read this" in cell("compiled(1)")["text/html"]


FUNCTION = st.builds("def {}():\n    return {}".format, st.sampled_from("abc"), st.integers(0, 9))
VALUE = st.builds("{} = {}".format, st.sampled_from("vwx"), st.integers(0, 9))
OTHER = st.sampled_from(["1 + 1", "for i in range(3): pass", "print(2)", "import os"])
CELL = st.lists(FUNCTION | VALUE | OTHER, max_size=4).map("\n".join)


@given(st.lists(CELL, max_size=6))
def test_only_the_last_definition_is_kept_and_lines_keep_their_numbers(cells: list[str]) -> None:
    kept = latest(cells)
    assert [text.count("\n") for text in kept] == [text.count("\n") for text in cells]
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for namespace, texts in ((before, cells), (after, kept)):
        for text in texts:
            exec(text.replace("print(2)", "pass"), namespace)
    for name in "abc":
        assert "\n".join(kept).count(f"def {name}(") <= max(text.count(f"def {name}(") for text in [*cells, ""])
        assert (name in before) == (name in after)
        if name in before:
            assert before[name]() == after[name]()
    assert all(before.get(name) == after.get(name) for name in "vwx")


def test_nbgrader_finds_the_kernels_and_the_check() -> None:
    nbformat = importable("nbformat")
    for puzzle_id in STEMS:
        notebook = nbformat.read(places.notebook(puzzle_id), 4)
        nbformat.validate(notebook)
        graded = [c["metadata"]["nbgrader"] for c in notebook.cells if "nbgrader" in c["metadata"]]
        assert [g["solution"] for g in graded] == [True] * (len(graded) - 1) + [False]
        assert graded[-1]["points"] == catalog.load(puzzle_id).possible
        assert len({g["grade_id"] for g in graded}) == len(graded)
        assert places.notebook(puzzle_id).stat().st_size < 60_000
