"""A learner's notebook, in a real kernel: success is noted, hints come one at a time."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checker import catalog
from checker.course import ladder
from checker.course.lesson import notebook_text
from tests.conftest import importable
from tests.learner.conftest import STEMS, Course, solution_text, solved, walk_through
from tests.notebook.test_notebook import Kernel

Start = Callable[..., Kernel]


@pytest.fixture
def start(course: Course) -> Iterator[Start]:
    """Start a kernel as a front end does, in a folder of the course."""
    manager = importable("jupyter_client.manager")
    running: list[tuple[Any, Any]] = []

    def begin(folder: str = "notebooks", **variables: str) -> Kernel:
        environment = {k: v for k, v in os.environ.items() if k not in {"JPY_SESSION_NAME", "NBGRADER_EXECUTION"}}
        running.append(
            manager.start_new_kernel(
                cwd=str(course.root / folder), env={**environment, "PYTHONPATH": str(course.root), **variables}
            )
        )
        return Kernel(running[-1][1])

    yield begin
    for kernel, client in running:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)


def solve(cell: Kernel) -> dict[str, str]:
    cell(solution_text("p1"))
    return cell("from checker.notebook import check\ncheck(1)")


def test_success_in_the_puzzles_own_notebook_is_noted(course: Course, start: Start) -> None:
    cell = start()
    shown = solve(cell)
    upcoming = course.notebook("p2").name
    assert f'Next: <b><a href="{upcoming}">{upcoming}</a></b>' in shown["text/html"]
    assert shown["text/plain"].endswith(f"Next: {upcoming}")
    assert "puzzle p1: solved" in (course.root / "progress.txt").read_text()


def test_it_is_its_own_notebook_wherever_it_goes(course: Course, start: Start) -> None:
    cell = start()
    cell("import os\nos.chdir('../checker')")
    assert solve(cell)["text/plain"].endswith(f"Next: {course.notebook('p2')}")
    assert "puzzle p1: solved" in (course.root / "progress.txt").read_text()


WHO = {
    "lab says it is the puzzle's": ("puzzles", "JPY_SESSION_NAME", "notebooks/{}.ipynb", True),
    "lab says it is another": ("notebooks", "JPY_SESSION_NAME", "notebooks/mine.ipynb", False),
    "grading": ("notebooks", "NBGRADER_EXECUTION", "autograde", False),
    "another folder": ("puzzles", "", "", False),
}


@pytest.mark.parametrize("name", WHO)
def test_only_the_puzzles_own_notebook_counts(name: str, course: Course, start: Start) -> None:
    folder, variable, value, noted = WHO[name]
    path = str(course.root / value.format(ladder.numbered("p1"))) if value.endswith(".ipynb") else value
    shown = solve(start(folder, **({variable: path} if variable else {})))
    assert "accepted" in shown["text/html"]
    assert (course.root / "progress.txt").exists() == noted
    assert ("Next:" in shown["text/html"]) == (name != "grading")


def test_a_notebook_with_an_earlier_versions_name_counts(course: Course, start: Start) -> None:
    earlier = course.notebook("p1").rename(course.root / "notebooks" / f"{STEMS['p1']}.ipynb")
    assert "Next:" in solve(start(JPY_SESSION_NAME=str(earlier)))["text/html"]
    assert "puzzle p1: solved" in course.progress


def test_vs_code_says_which_notebook_it_is(course: Course, start: Start) -> None:
    cell = start("puzzles")
    cell(f"__vsc_ipynb_file__ = {str(course.notebook('p1'))!r}")
    solve(cell)
    assert "puzzle p1: solved" in (course.root / "progress.txt").read_text()


def test_hints_one_at_a_time_shared_with_the_terminal(course: Course, start: Start) -> None:
    cell = start()
    first = cell("from checker.notebook import hint\nhint(5)")
    assert first["text/markdown"].startswith("**Hint 1 of 3: a nudge**\n\nLine 6 belongs")
    assert first["text/plain"].startswith("Hint 1 of 3: a nudge\nLine 6 belongs")
    assert '`hint("p5")`' in first["text/markdown"] and "Hint 2" not in first["text/markdown"]
    assert "hint 2 of 3" in course.run("hint", "5").stdout
    third = cell("hint(5)")
    assert "**Hint 3 of 3" in third["text/markdown"] and "opens after success" in third["text/markdown"]
    assert '`solution("p5")`' in third["text/markdown"]
    assert "You have seen all 3 hints" in cell("hint(5)")["text/plain"]
    again = cell("hint(5, again=True)")["text/markdown"]
    assert [f"**Hint {level} of 3" in again for level in (1, 2, 3, 4)] == [True, True, True, False]
    assert "$-\\infty$" in again  # a notebook shows formulas
    assert "There is no puzzle 'x'" in cell("hint('x')")["text/plain"]


def test_after_the_last_hint_a_stub_with_comments_comes_into_a_new_cell(course: Course, start: Start) -> None:
    cell = start()
    last = cell("from checker.notebook import hint\nhint(5)\nhint(5)\nhint(5)")["text/markdown"]
    [typed] = re.findall("`(from .*)`", last)
    payloads = [
        one
        for help in (1, 2)
        for one in cell.client.execute_interactive(typed.replace("1", f"{help}"))["content"]["payload"]
    ]
    assert [one["source"] for one in payloads] == ["set_next_input"] * 2
    comments, holes = (one["text"] for one in payloads)
    assert "            # Line 13: write li, mi." in comments and "li_new" not in comments.replace("by li_new.", "")
    assert "            Oi = ...\n" in holes
    assert course.progress == "puzzle p5: not solved, 3 hints seen, helped at level 2\n"


def test_the_solution_opens_after_success(course: Course, start: Start) -> None:
    cell = start()
    cell("from checker.notebook import solution")
    for refused in (cell("solution(1)"), cell('solution("p1")')):
        assert (
            '`check("p1")`' in refused["text/markdown"] and '`solution("p1", force=True)`' in refused["text/markdown"]
        )
        assert "tl.load" not in refused["text/markdown"] + refused["text/plain"]
    shown = solve(cell)
    assert 'The solution: solution("p1")\nNext: ' in shown["text/plain"]
    assert "<code>solution(&quot;p1&quot;)</code>" in shown["text/html"]
    opened = cell("solution(1)")
    assert opened["text/markdown"].startswith(f"```python\n{solution_text('p1').strip()}\n```\n\n# Puzzle p1: ")
    assert walk_through("p1").strip() in opened["text/markdown"]
    assert opened["text/markdown"].endswith(f"0 of 3 hints.\n\nNext: `{course.notebook('p2').name}`")
    assert solution_text("p1").strip() in opened["text/plain"] and "Next: " in opened["text/plain"]
    assert "part by part" in cell("solution(2, force=True)")["text/markdown"]
    assert "There is no puzzle 'x'" in cell("solution('x')")["text/plain"]


def test_what_a_report_tells_to_type_can_be_typed(course: Course, start: Start) -> None:
    """In a kernel that has run the notebook's cells, whatever is told in turn, of a wrong kernel and of a right one."""
    path = course.notebook("p1")
    cell = start(JPY_SESSION_NAME=str(path))
    for one in json.loads(path.read_text())["cells"]:
        if one["cell_type"] == "code":
            cell("".join(one["source"]))
    typed: set[str] = set()
    for kernel in (solution_text("p1").replace('other=-float("inf")', "other=0.0"), solution_text("p1")):
        cell(kernel)
        waiting = ['check("p1")', 'trace("p1")']
        while waiting:
            call = waiting.pop()
            typed.add(call)
            shown = cell(call)["text/plain"]
            assert not re.search(r"\bmake \w+ PUZZLE=", shown), shown
            waiting += {*re.findall(r"\b[a-z]+\(\"p1\"[^)]*\)", shown)} - typed
    assert {call.partition("(")[0] for call in typed} == {"check", "hint", "solution", "step", "trace"}


def test_a_copy_without_solutions_says_so_in_a_sentence(course: Course, start: Start) -> None:
    shutil.rmtree(course.root / "solutions")
    cell = start()
    assert "explained" not in solve(cell)["text/plain"]
    cell("from checker.notebook import solution")
    for call in ("solution(1)", "solution(1, force=True)"):
        assert "has no solution of puzzle p1" in cell(call)["text/plain"]


def test_damage_is_told_in_the_notebook(course: Course, start: Start) -> None:
    (course.root / "progress.txt").write_text("nonsense\n")
    assert "progress.txt.bak" in solve(start())["text/html"]
    (course.root / "progress.txt").write_text("nonsense\n")
    assert "progress.txt.bak2" in start()("from checker.notebook import hint\nhint(1)")["text/markdown"]


def test_a_notebook_shows_what_make_progress_shows(course: Course, start: Start) -> None:
    cell = start()
    solve(cell)
    shown = cell("from checker.notebook import progress\nprogress()")
    terminal = course.run("progress").stdout
    for part in (shown["text/plain"], terminal):
        assert re.search(r"✓ p1 Naive softmax +\d{4}-\d\d-\d\d", part) and "1 of 18 puzzles solved." in part
    assert shown["text/plain"].splitlines()[:-2] == [line.rstrip() for line in terminal.splitlines()[:-2]]
    links = re.findall(r'href="([^"]+)"', shown["text/html"])
    assert links == [course.notebook(one).name for one in (*ladder.ORDER, "w1")]
    assert re.sub(r"<[^>]*>|\s", "", shown["text/html"]).startswith("solvedhintspredicted○w1Vectoraddition")


def test_all_puzzles_are_checked_as_they_were_saved(course: Course, start: Start) -> None:
    """Of each, what was begun; a terminal begins with files, a notebook with notebooks."""
    course.notebook("p1").write_text(notebook_text(solved("p1"), catalog.load("p1")))
    course.notebook("p2").write_text(notebook_text(solved("p2"), catalog.load("p2")))
    course.script("p2").write_text(solved("p2").replace("tl.max(", "tl.min("))
    shown = start()("from checker.notebook import check\ncheck()")
    of = {line.split()[0]: line for line in shown["text/plain"].splitlines()[:18]}
    assert list(of) == list(ladder.ORDER)
    assert "✓ accepted     100/100" in of["p1"] and "✓ accepted     100/100" in of["p2"]
    assert all(line.endswith("○ not started") for id, line in of.items() if id not in ("p1", "p2"))
    assert shown["text/html"].count("not started") == 16 and shown["text/html"].count("✓ accepted") == 2
    assert course.progress.count("solved") == 2
    said = course.run("check").stdout.splitlines()
    assert "✓ accepted" in said[1] and "accepted" not in said[2] and "not started" not in said[2]


def test_reset_and_notebook_agree(course: Course) -> None:
    """What reset writes is a notebook for Jupyter."""
    nbformat = importable("nbformat")
    notebook = json.loads(course.notebook("p1").read_text())
    kernel = next(cell for cell in notebook["cells"] if "def naive_softmax_kernel" in cell["source"])
    kernel["source"] = solution_text("p1").split("\n\n\n")[1]
    course.notebook("p1").write_text(json.dumps(notebook))
    assert course.run("reset", "1").returncode == 0
    nbformat.validate(nbformat.read(course.notebook("p1"), 4))
    assert "FILL IN" in course.notebook("p1").read_text()
