"""c1 runs the learner's own kernels of p6 and p7: where they are found, and what is said if they are wrong."""

from __future__ import annotations

import pytest

from tests.conftest import importable
from tests.learner.conftest import Course, solved

FIRST = "This runs your kernels of puzzle {0}, which are not accepted. First: ./check {0}"


@pytest.fixture(autouse=True)
def _with_pytorch() -> None:
    importable("torch")


def solve(course: Course, *puzzles: str) -> None:
    for puzzle_id in puzzles:
        course.script(puzzle_id).write_text(solved(puzzle_id))


def test_the_kernels_of_other_puzzles_come_first(course: Course) -> None:
    assert course.run("check", "c1").returncode == 4  # not started: nothing is asked of the others yet
    solve(course, "c1", "p7")
    done = course.run("check", "c1")
    assert (done.returncode, FIRST.format("p6") in done.stdout, "Try:" in done.stdout) == (2, True, False), done
    assert "c1" not in course.progress


def test_own_kernels_are_run_and_looked_at_again_only_if_need_be(course: Course) -> None:
    solve(course, "c1", "p6", "p7")
    done = course.run("check", "c1")
    assert (done.returncode, "accepted" in done.stdout) == (0, True), done
    assert "puzzle c1: solved" in course.progress

    right = course.script("p6").read_text()
    course.script("p6").write_text(right.replace("Oi = alpha[:, None] * Oi", "Oi = Oi"))
    done = course.run("check", "c1")
    assert (done.returncode, FIRST.format("p6") in done.stdout) == (2, True), done  # and not that O is wrong

    course.script("p6").write_text(right)
    course.script("c1").write_text(solved("c1").replace("dq, dk, dv, None", "dq, dv, dk, None"))
    wrong = course.run("check", "c1")
    assert (wrong.returncode, "another order" in wrong.stdout) == (1, True), wrong


def test_all_puzzles_are_checked_although_one_needs_another(course: Course) -> None:
    solve(course, "c1")
    done = course.run("check", "--no-compile", ends=2)
    assert "First: ./check p6" in done.stdout and "w1" in done.stdout and "b3" in done.stdout


def test_a_notebook_will_do_where_the_file_is_as_it_was(course: Course) -> None:
    from checker import catalog
    from checker.course.lesson import notebook_text

    solve(course, "c1", "p7")
    course.notebook("p6").write_text(notebook_text(solved("p6"), catalog.load("p6")))
    done = course.run("check", "c1")
    assert (done.returncode, "accepted" in done.stdout) == (0, True), done
